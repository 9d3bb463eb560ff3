"""Release files: what is inside, and every way a file can be wrong. Each is a ReleaseError; nothing is executed."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import ReleaseError, UnderstudyError
from understudy.publishing import publish
from understudy.release import Release, storage
from understudy.release.storage import content_hash, pack, release_bytes
from understudy.report import public_report
from understudy.schema import Attribute, Booleans, Categories, Schema, files

SCHEMA = Schema(
    "people", (Attribute("a", Categories(("x", "y", "z"))), Attribute("b", Booleans()), Attribute("c", Booleans())), 60
)
CANARY = "Zaphod4711"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0.1" / "releases"

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    table = pa.table({"a": ["x", "y", "z"] * 20, "b": [True, False] * 30, "c": [True, True, False] * 20})
    ledger = tmp_path_factory.mktemp("storage") / "l.db"
    return publish(table, SCHEMA, epsilon=5, ledger=ledger, estimate="paper")


@pytest.fixture
def path(release: Release, tmp_path: Path) -> Path:
    release.save(tmp_path / "r.release.zip")
    return tmp_path / "r.release.zip"


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def write_release(path: Path, members: Members, ledger: dict[str, Any]) -> None:
    path.write_bytes(release_bytes(members, ledger))


def forge(path: Path, change: Callable[[Members], Any]) -> None:
    """Change the content and make every hash fit again, as a forger would."""
    members = members_of(path)
    ledger = json.loads(members.pop("ledger.json"))
    del members["manifest.json"]
    change(members)
    write_release(path, members, ledger)


def edit(name: str, change: Callable[[Any], Any]) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        document = json.loads(members[name])
        change(document)
        members[name] = json.dumps(document).encode()

    return apply


def npy(array: Any, **how: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), **how)
    return buffer.getvalue()


# -- there and back ----------------------------------------------------------------------------------------------


def test_a_release_comes_back(release, path):
    again = Release.open(path)
    assert again.hash == release.hash and again.schema == release.schema and again.card == release.card
    assert (again.rows, again.columns, again.facts, again.head) == (60, ("a", "b", "c"), release.facts, release.head)
    for old, new in zip(release.measurements, again.measurements, strict=True):
        assert old.axes == new.axes and (old.values == new.values).all()
        assert old.noise == new.noise
    assert list(again.sample(40, seed=3)["a"]) == release.sample(40, seed=3)["a"].to_pylist()


def test_the_same_release_is_the_same_file(release, path, tmp_path):
    release.save(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == path.read_bytes()


def test_what_is_inside(path):
    members = members_of(path)
    assert {"manifest.json", "schema.json", "card.json", "model.json", "measurements.json", "ledger.json"} <= set(
        members
    )
    rest = {name for name in members if not name.endswith(".json")}
    assert rest and all(name.startswith("arrays/") and name.endswith(".npy") for name in rest)
    manifest = json.loads(members["manifest.json"])
    assert manifest["format"] == storage.Format.PLAIN == 1
    hashed = {name: data for name, data in members.items() if name not in ("manifest.json", "ledger.json")}
    assert manifest["hash"] == content_hash(hashed)
    assert manifest["members"] == {name: hashlib.sha256(data).hexdigest() for name, data in hashed.items()}
    assert all(np.load(io.BytesIO(members[name]), allow_pickle=False).dtype.kind in "fi" for name in rest)


def test_arrays_are_plain_numbers():
    with pytest.raises(ValueError, match="pickle"):
        pack({name: {} for name in ("schema", "card", "model", "measurements")}, {"x": np.asarray([object()])})


def test_a_failed_write_leaves_the_old_file(release, path, monkeypatch):
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("understudy.release.replacement.os.fsync", full)
    with pytest.raises(UnderstudyError, match="No space"):
        release.save(path)
    assert path.read_bytes() == before and [p.name for p in path.parent.iterdir()] == [path.name]


# -- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_file(path, keep):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(ReleaseError):
        Release.open(path)


def test_every_flipped_byte_is_harmless_or_noticed(release, path):
    """A flip in a zip's unused fields changes nothing; any other is refused. Never another model, never a traceback."""
    content = bytearray(path.read_bytes())
    refused = 0
    for at in np.random.default_rng(1).choice(len(content), size=250, replace=False):
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at % 8)
        path.write_bytes(flipped)
        try:
            opened = Release.open(path)
        except ReleaseError:
            refused += 1
            continue
        assert opened.hash == release.hash and opened.card == release.card
        assert opened.sample_codes(20, None, opened.generator(1)).keys() == {"a", "b", "c"}
    assert refused > 150


@pytest.mark.parametrize("name", ["schema.json", "card.json", "model.json", "measurements.json"])
def test_a_changed_part_is_noticed(path, name):
    members = members_of(path)
    write(path, members | {name: members[name].replace(b"1", b"2", 1)})
    with pytest.raises(ReleaseError, match="own hashes"):
        Release.open(path)


def test_a_changed_array_is_noticed(path):
    members = members_of(path)
    name = next(n for n in members if n.startswith("arrays/"))
    write(path, members | {name: members[name][:-1] + bytes([members[name][-1] ^ 1])})
    with pytest.raises(ReleaseError, match="own hashes"):
        Release.open(path)


def test_a_changed_hash_a_missing_part_an_extra_part(path):
    members = members_of(path)
    manifest = json.loads(members["manifest.json"])
    wrong = json.dumps(manifest | {"hash": "0" * 64}).encode()
    array = next(n for n in members if n.startswith("arrays/"))
    for changed in (
        members | {"manifest.json": wrong},
        members | {"evil.py": b"print(1)"},
        {n: d for n, d in members.items() if n != array},
        {n: d for n, d in members.items() if n != "card.json"},
        {n: d for n, d in members.items() if n != "manifest.json"},
        {n: d for n, d in members.items() if n != "ledger.json"},
        {},
    ):
        write(path, changed)
        with pytest.raises(ReleaseError):
            Release.open(path)


def test_a_newer_format_says_so(path):
    members = members_of(path)
    manifest = json.loads(members["manifest.json"])
    for newer in (storage.NEWEST + 1, 99):
        write(path, members | {"manifest.json": json.dumps(manifest | {"format": newer}).encode()})
        with pytest.raises(ReleaseError, match="newer understudy: upgrade"):
            Release.open(path)
    for odd in ("1", None, [1], {"a": 1}, 1.5):
        write(path, members | {"manifest.json": json.dumps(manifest | {"format": odd}).encode()})
        with pytest.raises(ReleaseError):
            Release.open(path)


@pytest.mark.parametrize("junk", [b"[]", b"null", b"{", b"\xff\xfe", b'"x"', b"[" * 5000 + b"]" * 5000, b""])
@pytest.mark.parametrize("name", ["manifest.json", "ledger.json", "model.json", "card.json"])
def test_documents_that_are_none(path, name, junk):
    members = members_of(path)
    write(path, members | {name: junk})
    with pytest.raises(ReleaseError):
        Release.open(path)
    if name not in ("manifest.json", "ledger.json"):
        write(path, members)
        forge(path, lambda m: m.__setitem__(name, junk))
        with pytest.raises(ReleaseError):
            Release.open(path)


# -- forged content with right hashes -------------------------------------------------------------------------------


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was opened",))


def crafted(
    attributes: dict[str, Any], model: dict[str, Any], measurements: Any = (), facts: Any = None
) -> dict[str, Any]:
    """The documents of a release that nobody published."""
    card = json.loads(members_of(FIXTURES / "bayesian-network.release.zip")["card.json"])
    body = {"rows": 10, "columns": list(attributes), "facts": facts or {}, "model": model}
    schema = {"table": {"name": "t", "rows": 10}, "attributes": attributes}
    return {"schema": schema, "card": card, "model": body, "measurements": {"measurements": list(measurements)}}


ONE = {"kind": "category", "values": ["x", "y", "z"]}
HALF = np.full(2, 0.5)
THIRD = np.full(3, 1 / 3)


def base(name: str) -> list[Any]:
    return [name, 0, -1, 0]


@pytest.mark.parametrize(
    ("pairs", "tables"),
    [
        pytest.param([(base("a"), []), (base("a"), [])], [THIRD, THIRD], id="an attribute twice"),
        pytest.param([(base("a"), []), (["a", 0, 0, 0], [])], [THIRD, HALF], id="itself and a bit of it"),
        pytest.param([(["a", 0, 0, 0], [])], [HALF], id="one bit of two"),
        pytest.param([(["a", 0, 0, 0], []), (["a", 0, 1, 1], [])], [HALF, HALF], id="bits in two spellings"),
        pytest.param([(["a", 0, -1, 1], [])], [THIRD], id="a spelling without bits"),
        pytest.param([(base("a"), [base("a")])], [np.full((3, 3), 1 / 3)], id="its own parent"),
        pytest.param([(["a", True, -1, 0], [])], [THIRD], id="a level that is a truth"),
        pytest.param([(["a", 0.5, -1, 0], [])], [THIRD], id="half a level"),
        pytest.param([(["a", "0", -1, 0], [])], [THIRD], id="a level that is a text"),
    ],
)
def test_networks_that_name_an_attribute_wrongly(tmp_path, pairs, tables):
    listed = [{"child": child, "parents": parents} for child, parents in pairs]
    documents = crafted({"a": ONE}, {"kind": "bayesian-network", "pairs": listed})
    arrays = {f"conditional-{i}": table for i, table in enumerate(tables)}
    write_release(tmp_path / "r.zip", pack(documents, arrays), {"seq": 1, "hash": ""})
    with pytest.raises(ReleaseError):
        Release.open(tmp_path / "r.zip")


@pytest.mark.parametrize("levels", [[0, 0], [0, 1], [1, 1]])
def test_a_parent_seen_in_two_ways_is_refused(tmp_path, levels):
    taxonomy = {"kind": "category", "values": ["x", "y", "z"], "taxonomy": {"xy": ["x", "y"], "rest": ["z"]}}
    shape = tuple(3 - level for level in levels)
    pairs = [(base("a"), []), (base("b"), [["a", level, -1, 0] for level in levels])]
    listed = [{"child": child, "parents": parents} for child, parents in pairs]
    documents = crafted({"a": taxonomy, "b": ONE}, {"kind": "bayesian-network", "pairs": listed})
    arrays = {"conditional-0": THIRD, "conditional-1": np.full((*shape, 3), 1 / 3)}
    write_release(tmp_path / "r.zip", pack(documents, arrays), {"seq": 1, "hash": ""})
    with pytest.raises(ReleaseError):
        Release.open(tmp_path / "r.zip")


@pytest.mark.parametrize(
    ("left", "right", "fits"),
    [
        pytest.param([[0.2, 0.3], [0.1, 0.4]], [[0.1, 0.2], [0.3, 0.4]], True, id="one distribution"),
        pytest.param([[0.2, 0.3], [0.1, 0.4]], [[0.4, 0.3], [0.2, 0.1]], False, id="two that disagree"),
        pytest.param([[2.0, 3.0], [1.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], False, id="ten in all"),
        pytest.param([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], False, id="nothing at all"),
        pytest.param([[1e308, 1e308], [1e308, 1e308]], [[1e308, 1e308], [1e308, 1e308]], False, id="beyond numbers"),
    ],
)
def test_trees_that_are_no_distribution(tmp_path, left, right, fits):
    attributes = {name: {"kind": "boolean"} for name in "abc"}
    cliques = [[base("a"), base("b")], [base("b"), base("c")]]
    documents = crafted(attributes, {"kind": "junction-tree", "cliques": cliques})
    arrays = {"clique-0": np.asarray(left), "clique-1": np.asarray(right)}
    write_release(tmp_path / "r.zip", pack(documents, arrays), {"seq": 1, "hash": ""})
    if fits:
        assert Release.open(tmp_path / "r.zip").query("count where a = true").value == pytest.approx(5)
        return
    with pytest.raises(ReleaseError):
        Release.open(tmp_path / "r.zip")


def test_a_network_with_a_line_between_any_two(tmp_path):
    """160 boxes and 12,720 lines: drawn, they would take an hour."""
    names = [f"a{i}" for i in range(160)]
    network = [{"attribute": name, "parents": names[:i]} for i, name in enumerate(names)]
    pairs = [{"child": base(name), "parents": []} for name in names]
    documents = crafted(
        {name: {"kind": "boolean"} for name in names},
        {"kind": "bayesian-network", "pairs": pairs},
        facts={"network": network},
    )
    write_release(
        tmp_path / "r.zip", pack(documents, {f"conditional-{i}": HALF for i in range(160)}), {"seq": 1, "hash": ""}
    )
    page = public_report(Release.open(tmp_path / "r.zip"))
    assert "12,720 lines are too many to draw" in page and "a159" in page


def first(members: Members, prefix: str) -> str:
    return min(n for n in members if n.startswith(f"arrays/{prefix}"))


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(lambda good: npy(np.asarray([Bomb()], dtype=object)), id="pickled objects"),
        pytest.param(lambda good: pickle.dumps(Bomb()), id="a bare pickle"),
        pytest.param(lambda good: npy(good[..., :-1]), id="a missing slice"),
        pytest.param(lambda good: npy(good.ravel()[:-1]), id="another shape"),
        pytest.param(lambda good: npy(good[None]), id="another rank"),
        pytest.param(lambda good: npy(good.astype(np.float32)), id="another float"),
        pytest.param(lambda good: npy(good.astype(complex)), id="complex"),
        pytest.param(lambda good: npy(good.astype(str)), id="texts"),
        pytest.param(lambda good: npy(np.full_like(good, np.nan)), id="not a number"),
        pytest.param(lambda good: npy(np.full_like(good, np.inf)), id="infinite"),
        pytest.param(lambda good: npy(-good), id="negative"),
        pytest.param(lambda good: npy(good * 2), id="not a distribution"),
        pytest.param(lambda good: npy(good)[:-8], id="cut off"),
        pytest.param(lambda good: npy(good) + b"tail", id="with a tail"),
        pytest.param(lambda good: npy(np.zeros(10**6))[:300], id="a lying header"),
        pytest.param(lambda good: npy(good, version=(2, 0)), id="another npy version"),
        pytest.param(lambda good: b"\x93NUMPY\x01\x00\x10\x00__import__('os')", id="code in the header"),
        pytest.param(lambda good: npy(good).replace(b"}", b"(", 1), id="a header that does not end"),
        pytest.param(lambda good: npy(good).replace(b"'descr'", b"'d\\escr"), id="a header that is no text"),
        pytest.param(lambda good: npy(np.asfortranarray(np.stack([good, good]))), id="columns first"),
        pytest.param(lambda good: npy(good.astype(">f8")), id="bytes the other way round"),
        pytest.param(lambda good: b"", id="nothing"),
    ],
)
def test_arrays_that_are_no_model(path, array):
    def change(members: Members) -> None:
        name = first(members, "conditional")
        members[name] = array(np.load(io.BytesIO(members[name]), allow_pickle=False))

    forge(path, change)
    with pytest.raises(ReleaseError):
        Release.open(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("model.json", lambda d: d["model"].update(kind="oracle"), id="unknown kind"),
        pytest.param("model.json", lambda d: d["model"].pop("kind"), id="no kind"),
        pytest.param("model.json", lambda d: d["model"].update(pairs=[]), id="no pairs"),
        pytest.param("model.json", lambda d: d["model"].update(pairs=3), id="pairs are a number"),
        pytest.param("model.json", lambda d: d["model"]["pairs"].reverse(), id="children before parents"),
        pytest.param("model.json", lambda d: d["model"]["pairs"].append(d["model"]["pairs"][0]), id="a pair twice"),
        pytest.param(
            "model.json", lambda d: d["model"]["pairs"][0]["child"].__setitem__(0, CANARY), id="no such child"
        ),
        pytest.param("model.json", lambda d: d["model"]["pairs"][0]["child"].__setitem__(1, 9), id="no such level"),
        pytest.param("model.json", lambda d: d["model"]["pairs"][0]["child"].__setitem__(2, 70), id="no such bit"),
        pytest.param("model.json", lambda d: d["model"]["pairs"][0]["child"].append(1), id="a long axis"),
        pytest.param("model.json", lambda d: d.update(rows="many"), id="rows are a word"),
        pytest.param("model.json", lambda d: d.update(rows=-3), id="fewer than no rows"),
        pytest.param("model.json", lambda d: d.update(columns=["a", "b", CANARY]), id="no such column"),
        pytest.param("model.json", lambda d: d.update(columns=["a"]), id="a missing column"),
        pytest.param("model.json", lambda d: d.update(columns=["a", "b", "c", "c"]), id="a column twice"),
        pytest.param("model.json", lambda d: d.update(columns=None), id="no columns"),
        pytest.param("model.json", lambda d: d.update(facts=[1]), id="facts are a list"),
        pytest.param("model.json", lambda d: d.pop("facts"), id="no facts"),
        pytest.param("schema.json", lambda d: d["attributes"]["a"].update(kind="query"), id="unknown attribute kind"),
        pytest.param("schema.json", lambda d: d["attributes"].pop("b"), id="an attribute is gone"),
        pytest.param("schema.json", lambda d: d["table"].update(rows=None), id="no row count"),
        pytest.param("measurements.json", lambda d: d.update(measurements={}), id="measurements are a table"),
        pytest.param("measurements.json", lambda d: d["measurements"][0].update(noise="none"), id="unknown noise"),
        pytest.param("measurements.json", lambda d: d["measurements"][0].update(scale="x"), id="no scale"),
        pytest.param("measurements.json", lambda d: d["measurements"][0].update(axes=[["a", 0, -1, 0]] * 9), id="axes"),
        pytest.param(
            "measurements.json", lambda d: d["measurements"].append(d["measurements"][0]), id="no array for it"
        ),
        pytest.param("measurements.json", lambda d: d["measurements"][0].update(scale=1e300), id="too much noise"),
        pytest.param("model.json", lambda d: d["facts"]["network"].append(d["facts"]["network"][0]), id="named twice"),
        pytest.param("model.json", lambda d: d["facts"]["network"][0].update(attribute=CANARY), id="a stranger named"),
        pytest.param("model.json", lambda d: d["facts"]["network"][-1].update(parents=["a", "a"]), id="a parent twice"),
        pytest.param("model.json", lambda d: d["facts"]["network"][0].update(parents=[CANARY]), id="a strange parent"),
        pytest.param("model.json", lambda d: d["facts"]["network"][0].update(parents="a"), id="parents are a text"),
        pytest.param("model.json", lambda d: d["facts"].update(network={"a": 1}), id="the network is a table"),
        pytest.param("model.json", lambda d: d["facts"].update(tables=3), id="tables are a number"),
        pytest.param("model.json", lambda d: d["facts"].update(tables=[[1]]), id="a table of numbers"),
        pytest.param("model.json", lambda d: d.update(rows=10**30), id="rows without end"),
        pytest.param("model.json", lambda d: d.update(rows=True), id="rows are a truth"),
        pytest.param("card.json", lambda d: d.pop("epsilon"), id="no epsilon on the card"),
        pytest.param("card.json", lambda d: d.update(charges=None), id="no charges on the card"),
        pytest.param("card.json", lambda d: d.update(unit=["x"]), id="the card's unit is a list"),
        pytest.param("card.json", lambda d: d.update(notes="x"), id="the card's notes are a text"),
        pytest.param("card.json", lambda d: d.update(warnings=[None]), id="the card warns of nothing"),
        pytest.param("card.json", lambda d: d["charges"][0].update(times=[1]), id="a charge made how often?"),
        pytest.param("card.json", lambda d: d.update(epsilon=float("inf")), id="no end to epsilon"),
        pytest.param("model.json", lambda d: d.update(rows=float("inf")), id="no end to the rows"),
        pytest.param("measurements.json", lambda d: d["measurements"][0]["axes"][0].__setitem__(1, -1), id="a level"),
        pytest.param(
            "measurements.json", lambda d: d["measurements"][0]["axes"][0].__setitem__(1, 10**30), id="levels"
        ),
    ],
)
def test_documents_that_do_not_fit_each_other(path, name, change):
    forge(path, edit(name, change))
    with pytest.raises(ReleaseError) as caught:
        Release.open(path)
    assert CANARY not in caught.value.message


@pytest.mark.parametrize(
    "ledger", [{}, {"seq": "x", "hash": ""}, {"seq": None, "hash": None}, {"seq": 1e400, "hash": ""}]
)
def test_a_head_that_is_none(path, ledger):
    members = members_of(path)
    write(path, members | {"ledger.json": json.dumps(ledger).encode()})
    with pytest.raises(ReleaseError):
        Release.open(path)


# -- size ----------------------------------------------------------------------------------------------------------


def test_a_bomb_is_refused_before_it_is_unpacked(path, monkeypatch):
    """The declared size is checked first; a part larger than it declares is cut off and refused."""
    monkeypatch.setattr(storage, "FREE_BYTES", 10_000_000)
    members = members_of(path)
    write(path, members | {"arrays/bomb.npy": bytes(20_000_000)})
    assert path.stat().st_size < 100_000
    reads: list[str] = []
    original = zipfile.ZipFile.open
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, m, *a: reads.append(m) or original(self, m, *a))
    with pytest.raises(ReleaseError, match="would unpack to far more than its size"):
        Release.open(path)
    assert reads == []


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the parts that are unpacked, as they are."""
    names: list[str] = []
    original = zipfile.ZipFile.open

    def told(self: zipfile.ZipFile, member: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if mode == "r":
            names.append(member.filename if isinstance(member, zipfile.ZipInfo) else member)
        return original(self, member, mode, *rest, **more)

    monkeypatch.setattr(zipfile.ZipFile, "open", told)
    return names


def test_a_part_that_nothing_refers_to_is_not_unpacked(path, unpacked):
    """Two gigabytes of zeros take two megabytes in a zip."""
    forge(path, lambda members: members.__setitem__("arrays/more.npy", npy(np.zeros(1000))))
    unpacked.clear()
    with pytest.raises(ReleaseError, match="nothing in it refers to"):
        Release.open(path)
    assert unpacked and "arrays/more.npy" not in unpacked


def test_an_array_of_another_size_is_not_unpacked(path, unpacked):
    """A few megabytes may always be unpacked, so it is the shape that is asked for that decides."""

    def change(members: Members) -> None:
        members[first(members, "conditional")] = npy(np.full(4_000_000, 0.25))

    forge(path, change)
    unpacked.clear()
    with pytest.raises(ReleaseError, match="an array"):
        Release.open(path)
    assert unpacked and not [name for name in unpacked if name.startswith("arrays/")]


@pytest.mark.costly
def test_a_table_of_zeros_that_fits_the_schema_is_not_unpacked_either(tmp_path, unpacked):
    """A measurement of 49 million cells, as the schema has them: 400 MB in a file of 400 kB."""
    path = tmp_path / "r.zip"
    attribute = {"kind": "integer", "range": [0, 6999]}
    pairs = [{"child": [name, 0, -1, 0], "parents": []} for name in "ab"]
    listed = [{"axes": [["a", 0, -1, 0], ["b", 0, -1, 0]], "noise": "laplace", "scale": 1.0}]
    documents = crafted(
        {"a": attribute, "b": attribute}, {"kind": "bayesian-network", "pairs": pairs}, measurements=listed
    )
    members = pack(documents, {f"conditional-{i}": np.full(7000, 1 / 7000) for i in range(2)})
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    header = npy(np.zeros((7000, 7000), np.int64))[:128]
    digest = hashlib.sha256(header)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("arrays/measurement-0.npy", "w", force_zip64=True) as part:
            part.write(header)
            for _ in range(7000):
                part.write(row := bytes(56_000))
                digest.update(row)
        digests["arrays/measurement-0.npy"] = digest.hexdigest()
        joint = hashlib.sha256("\n".join(f"{d} {n}" for n, d in sorted(digests.items())).encode()).hexdigest()
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps({"format": 1, "members": digests, "hash": joint}))
        archive.writestr("ledger.json", json.dumps({"seq": 1, "hash": ""}))
    assert path.stat().st_size < 2_500_000
    unpacked.clear()
    with pytest.raises(ReleaseError, match="far more than its size"):
        Release.open(path)
    assert unpacked == []


def test_a_release_that_would_look_like_a_bomb_is_not_packed(release, tmp_path, monkeypatch):
    """What we write can be opened again, however well it packs."""
    monkeypatch.setattr(storage, "FREE_BYTES", 1000)
    monkeypatch.setattr(storage, "MAX_RATIO", 1)
    release.save(tmp_path / "r.zip")
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    assert Release.open(tmp_path / "r.zip").hash == release.hash


def test_a_schema_of_too_many_values(tmp_path, monkeypatch):
    """Sixty attributes of 65,535 values, each by its bits: 200 kB, and minutes if they were all laid out."""
    names = [f"a{i}" for i in range(60)]
    pairs = [{"child": [name, 0, bit, 0], "parents": []} for name in names for bit in range(16)]
    attributes = {name: {"kind": "integer", "range": [0, 65_534]} for name in names}
    documents = crafted(attributes, {"kind": "bayesian-network", "pairs": pairs})
    arrays = {f"conditional-{i}": np.full(2, 0.5) for i in range(len(pairs))}
    write_release(tmp_path / "r.zip", pack(documents, arrays), {"seq": 1, "hash": ""})
    made: list[str] = []
    monkeypatch.setattr(storage, "FREE_CODES", 100_000)
    original = files.attribute_from_dict
    monkeypatch.setattr(files, "attribute_from_dict", lambda name, *rest: made.append(name) or original(name, *rest))
    with pytest.raises(ReleaseError):
        Release.open(tmp_path / "r.zip")
    assert len(made) == 3


def test_a_schema_of_too_many_attributes(tmp_path):
    attributes = {"a": {"kind": "boolean"}, **{f"i{i}": {"kind": "id"} for i in range(storage.MAX_ATTRIBUTES)}}
    documents = crafted(attributes, {"kind": "bayesian-network", "pairs": [{"child": ["a", 0, -1, 0], "parents": []}]})
    write_release(tmp_path / "r.zip", pack(documents, {"conditional-0": np.full(2, 0.5)}), {"seq": 1, "hash": ""})
    with pytest.raises(ReleaseError):
        Release.open(tmp_path / "r.zip")


@pytest.mark.parametrize("name", ["manifest.json", "ledger.json", "model.json", "card.json"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"{", b'{"x": 1, "x": 2, ', id="a key twice"),
        pytest.param(b"{", b'{"x": NaN, ', id="not a number"),
        pytest.param(b"{", b'{"x": -Infinity, ', id="infinite"),
        pytest.param(b"{", b'{"x": 1e999, ', id="a number that becomes infinite"),
        pytest.param(b"{", b'{"x": "\\ud800", ', id="half a surrogate pair"),
        pytest.param(b"{", b'{"\\udfff": 1, ', id="half a surrogate pair as a key"),
        pytest.param(b"{", b'{"x": ' + b"[" * 101 + b"]" * 101 + b", ", id="nested"),
        pytest.param(b"{", b'{"x": ' + b'{"x":' * 400 + b"1" + b"}" * 400 + b", ", id="nested objects"),
        pytest.param(b"{", b'{"x": [' + b"[]," * 4_000_000 + b"1], ", id="too many values"),
        pytest.param(b"{", b'{"x": ' + b"1" * 5000 + b", ", id="too many digits"),
    ],
)
def test_documents_that_no_program_of_ours_writes(path, name, old, new):
    members = members_of(path)
    changed = members[name].replace(old, new, 1)
    if name in ("manifest.json", "ledger.json"):
        write(path, members | {name: changed})
    else:
        forge(path, lambda members: members.__setitem__(name, changed))
    with pytest.raises(ReleaseError, match=name):
        Release.open(path)


def test_a_lying_size_is_refused(path):
    members = members_of(path)
    write(path, members | {"arrays/bomb.npy": bytes(5_000_000)})
    content = bytearray(path.read_bytes())
    size = (5_000_000).to_bytes(4, "little")
    assert content.count(size) == 2  # the local header and the directory
    path.write_bytes(bytes(content).replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(ReleaseError):
        Release.open(path)


def test_too_many_or_repeated_parts(path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_MEMBERS", 30)
    members = members_of(path)
    write(path, members | {f"arrays/{i}.npy": b"" for i in range(40)})
    with pytest.raises(ReleaseError, match="too many"):
        Release.open(path)
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for data in (b"{}", b"{ }"):
            archive.writestr("manifest.json", data)
    with pytest.raises(ReleaseError, match="repeated"):
        Release.open(path)


def test_paths_in_a_zip_go_nowhere(path, tmp_path):
    members = members_of(path)
    write(path, members | {"../evil.txt": b"x", "/etc/evil": b"x"})
    with pytest.raises(ReleaseError):
        Release.open(path)
    assert not (tmp_path.parent / "evil.txt").exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04" + b"\0" * 50, b"not a zip at all" * 20])
def test_files_that_are_no_zip(tmp_path, content):
    (tmp_path / "r.zip").write_bytes(content)
    with pytest.raises(ReleaseError, match="r.zip"):
        Release.open(tmp_path / "r.zip")


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(ReleaseError, match="there is no release file"):
        Release.open(tmp_path / "r.zip")
    with pytest.raises(ReleaseError, match="folder"):
        Release.open(tmp_path)


def test_an_opened_release_has_the_hash_of_its_file(tmp_path):
    """Whatever the order in which a model would be written anew, and after being saved again."""
    rng = np.random.default_rng(0)
    table = pa.table({f"c{i}": rng.integers(0, 3, 400).astype(str) for i in range(7)})
    schema = Schema("t", tuple(Attribute(f"c{i}", Categories(("0", "1", "2"))) for i in range(7)), rows=400)
    made = publish(table, schema, epsilon=20, accept_large_epsilon=True, method="aim", ledger=tmp_path / "l.db")
    made.save(tmp_path / "a.zip")
    opened = Release.open(tmp_path / "a.zip")
    assert opened.hash == made.hash
    opened.save(tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == (tmp_path / "a.zip").read_bytes()
