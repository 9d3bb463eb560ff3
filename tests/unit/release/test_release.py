"""The release: sampling in the caller's library, evidence, the seed, what it shows, what it never holds."""

from __future__ import annotations

import gzip
import pickle
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import same_noise
from understudy.errors import UsageError
from understudy.privacy.ledger import Ledger
from understudy.publishing import publish
from understudy.release import Release
from understudy.schema import Schema
from understudy.testing import publish_seeded

ROWS = 400
CANARY = "Zaphod4711"
SCHEMA = Schema.from_toml(
    f"""
[table]
name = "people"
rows = {ROWS}
[attributes.name]
kind = "id"
[attributes.age]
kind = "integer"
range = [0, 99]
bins = 10
[attributes.town]
kind = "category"
values = ["A1", "A2", "B1"]
taxonomy = {{ A = ["A1", "A2"], B = ["B1"] }}
missing = true
other = "B1"
[attributes.day]
kind = "date"
range = [2024-01-01, 2024-12-31]
bins = 12
[attributes.member]
kind = "boolean"
[attributes.note]
kind = "drop"
"""
)


def columns() -> dict[str, list[Any]]:
    g = np.random.default_rng(2)
    age = g.integers(0, 100, ROWS)
    towns = ["A1", "A2", "B1", None, CANARY]
    return {
        "name": [f"{CANARY}-{i}" for i in range(ROWS)],
        "age": age.tolist(),
        "town": [towns[i] for i in (age // 20)],
        "day": [date(2024, 1 + int(a) // 10, 5) for a in age],
        "member": (age > 50).tolist(),
        "note": [CANARY] * ROWS,
    }


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    ledger = tmp_path_factory.mktemp("release") / "l.db"
    with same_noise():
        return publish(pa.table(columns()), SCHEMA, epsilon=9, ledger=ledger)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_rows_come_in_the_callers_library(library, tmp_path):
    data = columns()
    frame: Any = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](data)
    drawn = publish(frame, SCHEMA, epsilon=5, ledger=tmp_path / "l.db").sample(30)
    assert type(drawn) is type(frame) and len(drawn) == 30
    names = drawn.column_names if library == "pyarrow" else list(drawn.columns)
    assert names == ["name", "age", "town", "day", "member"]
    if library == "pandas":
        assert drawn["age"].dtype == frame["age"].dtype and drawn["member"].dtype == bool


MISSING = """
[table]
name = "t"
rows = 40
neighbours = "replace-one"
[attributes.age]
kind = "integer"
range = [0, 63]
bins = 4
missing = true
[attributes.km]
kind = "number"
range = [0, 60]
bins = 4
[attributes.member]
kind = "boolean"
missing = true
[attributes.code]
kind = "category"
values = ["1", "2"]
missing = true
"""


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_types_of_drawn_rows_do_not_tell_whether_a_cell_was_missing(library, tmp_path):
    """pandas turns integers into floats where one is missing, booleans into objects: one row would show for free."""
    (tmp_path / "schema.toml").write_text(MISSING)
    whole: dict[str, list[Any]] = {
        "age": list(range(40)), "km": list(range(40)), "member": [True, False] * 20, "code": [1, 2] * 20,
    }  # fmt: skip
    lacking = {name: [None, *values[1:]] for name, values in whole.items()} | {"km": [0.5, *whole["km"][1:]]}
    found = []
    for i, data in enumerate((whole, lacking)):
        frame: Any = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](data)
        drawn = publish(
            frame,
            tmp_path / "schema.toml",
            epsilon=900,
            accept_large_epsilon=True,
            method="privbayes",
            ledger=tmp_path / f"{i}.db",
        )
        assert drawn.library == library
        tables = [drawn.sample(6, seed=seed) for seed in range(8)]
        types = [t.schema.types if library == "pyarrow" else list(t.dtypes) for t in tables]
        found.append({tuple(map(str, t)) for t in types})
    assert found[0] == found[1] and len(found[0]) == 1


def test_how_many_rows(release):
    assert release.sample().num_rows == ROWS and release.sample(0).num_rows == 0 and release.sample(3).num_rows == 3
    for odd in (-1, 2**41):
        with pytest.raises(UsageError, match="number of rows"):
            release.sample(odd)


def test_a_seed_repeats(release):
    assert release.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert not release.sample(50, seed=1).equals(release.sample(50, seed=2))
    assert not release.sample(50).equals(release.sample(50))


@pytest.mark.parametrize(
    ("given", "column", "allowed"),
    [
        ({"town": "A1"}, "town", {"A1"}),
        ({"town": "A"}, "town", {"A1", "A2"}),
        ({"town": "missing"}, "town", {None}),
        ({"member": True}, "member", {True}),
        ({"member": "false"}, "member", {False}),
        ({"age": 42}, "age", set(range(39, 51))),
        ({"age": "42", "member": True}, "age", set(range(39, 51))),
    ],
)
def test_given(release, given, column, allowed):
    assert set(release.sample(60, given=given, seed=4)[column].to_pylist()) <= allowed


def test_given_agrees_with_the_model(release):
    """Rows drawn under evidence follow the model's own conditional distribution."""
    joint = release.model.project(["member", "town"]).table
    truth = joint[1] / joint[1].sum()
    codes = release.sample_codes(20_000, {"member": True}, release.generator(5))
    seen = np.bincount(codes["town"], minlength=4) / 20_000
    assert set(codes["member"]) == {1} and abs(seen - truth).sum() / 2 < 0.02


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"twon": "A1"}, "Did you mean 'town'?"),
        ({"town": "A11"}, "Did you mean 'A1"),
        ({"name": "x"}, "not part of the model"),
        ({"note": "x"}, "not part of the model"),
        ({"member": "perhaps"}, "member has no value 'perhaps'"),
    ],
)
def test_given_something_odd(release, given, words):
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        release.sample(5, given=given)


def test_no_cell_of_the_table_is_in_the_release(release, tmp_path):
    release.save(tmp_path / "r.zip")
    release.write(tmp_path / "r.csv")
    again = Release.open(tmp_path / "r.zip")
    content = b"".join(again.members.values()) + (tmp_path / "r.csv").read_bytes() + (tmp_path / "r.zip").read_bytes()
    assert CANARY.encode() not in content
    assert CANARY not in release.summary() + repr(release) + release._repr_html_()


def marked_frame(library: str) -> Any:
    """The table with a canary wherever a frame can hold one besides its cells."""
    data = columns()
    if library == "polars":
        return pl.DataFrame(data).with_columns(pl.col("town").cast(pl.Enum(["A1", "A2", "B1", CANARY])))
    if library == "pyarrow":
        town = pa.array(data["town"]).dictionary_encode()
        fields = pa.table(data | {"town": town}).schema
        marked = [field.with_metadata({"about": CANARY}) for field in fields]
        return pa.table(data | {"town": town}).cast(pa.schema(marked, metadata={"about": CANARY}))
    frame = pd.DataFrame(data, index=pd.Index([f"{CANARY}{i}" for i in range(ROWS)], name=CANARY))
    frame["town"] = pd.Categorical(frame["town"], categories=["A1", "A2", "B1", CANARY, f"{CANARY} too"])
    frame.columns.name = CANARY
    frame.attrs["about"] = CANARY
    return frame


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_what_is_drawn_holds_declared_values_and_nothing_of_the_frame(library, tmp_path):
    made = publish(marked_frame(library), SCHEMA, epsilon=9, ledger=tmp_path / "l.db")
    drawn = made.sample(200, seed=1)
    if library == "pandas":
        assert drawn.attrs == {} and drawn.columns.name is None and drawn.index.name is None
        assert drawn.index.tolist() == list(range(200))
    table = drawn if library == "pyarrow" else pa.table(drawn)
    files = [tmp_path / name for name in ("r.csv", "r.tsv", "r.csv.gz", "r.parquet")]
    for path in files:
        made.write(path, 200, seed=1)
    parquet = pq.read_table(files[-1])
    assert set(pq.read_schema(files[-1]).metadata or {}) <= {b"ARROW:schema"}
    pages = [gzip.decompress(files[2].read_bytes()), *(path.read_bytes() for path in files)]
    assert not any(CANARY.encode() in page for page in [*pages, repr(drawn).encode(), pickle.dumps(drawn)])
    for found in (table, parquet):
        assert found["name"].to_pylist() == list(range(1, 201))
        assert set(found["town"].to_pylist()) <= {"A1", "A2", "B1", None}
        assert all(0 <= age <= 99 for age in found["age"].to_pylist())
        assert found.column_names == ["name", "age", "town", "day", "member"]
    assert files[0].read_text().replace(",", "\t") == files[1].read_text()


@pytest.mark.costly
def test_the_callers_frame_is_not_kept(tmp_path):
    """What stays is the name of the library: a release in memory holds no row and no type either."""
    import gc
    import weakref

    frame = pd.DataFrame(columns())
    held = weakref.ref(frame)
    kept = publish(frame, SCHEMA, epsilon=5, ledger=tmp_path / "l.db")
    del frame
    gc.collect()
    assert held() is None and isinstance(kept.sample(3), pd.DataFrame)


def test_what_is_measured_is_kept_for_later_estimators(release):
    assert release.measurements
    for measurement in release.measurements:
        assert measurement.values.shape == SCHEMA.sizes(measurement.axes) and measurement.noise.scale > 0
        assert measurement.values.dtype == np.int64


def test_the_summary_is_one_page(release):
    text = release.summary()
    assert text.splitlines()[0] == f"people: {ROWS} rows, 4 attributes modelled" and len(text.splitlines()) < 40
    assert "Measured together" in text and "Promise" in text
    assert release._repr_html_().startswith('<div class="understudy">') and "<script" not in release._repr_html_()


def test_the_summary_of_a_network(tmp_path):
    made = publish(pa.table(columns()), SCHEMA, epsilon=1, method="privbayes", ledger=tmp_path / "l.db")
    assert "Network" in made.summary() and "Measured together" not in made.summary()


def test_a_seeded_release_is_stamped_everywhere(tmp_path):
    ledger = tmp_path / "l.db"
    seeded = [
        publish_seeded(pa.table(columns()), SCHEMA, seed=3, epsilon=1, ledger=ledger, cap="none").release
        for _ in range(2)
    ]
    assert seeded[0].measurements[0].values.tolist() == seeded[1].measurements[0].values.tolist()
    assert seeded[0].card.private is False and "NOT PRIVATE" in seeded[0].summary()
    book = Ledger(ledger)
    assert not book.show()["accounts"][0]["private"]
    assert all("NOT PRIVATE" in e.body["stamp"] for e in book.entries() if e.kind == "reserve")


def test_two_runs_never_draw_the_same(tmp_path):
    once, again = (
        publish(pa.table(columns()), SCHEMA, epsilon=1, ledger=Path(tmp_path / f"{i}.db")).measurements
        for i in range(2)
    )
    assert any(a.values.shape != b.values.shape or (a.values != b.values).any() for a, b in zip(once, again))


# -- in batches --------------------------------------------------------------------------------------------------


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.release.drawing.SMALL_BATCH", 64)
    monkeypatch.setattr("understudy.release.drawing.BATCH_CELLS", 64)
    monkeypatch.setattr("understudy.release.writing.CHUNK_CELLS", 200)


@pytest.mark.parametrize("rows", [0, 1, 64, 1000])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_and_a_frame_have_the_same_rows(
    release, rows: int, suffix: str, small_batches: None, tmp_path: Path
) -> None:
    drawn = list(release.sample_batches(rows, None, release.generator(9)))
    assert sum(len(batch["age"]) for batch in drawn) == rows
    assert len(drawn) == max(1, -(-rows // 64))
    release.write(tmp_path / f"out{suffix}", rows, seed=9)
    frame = release.sample(rows, seed=9)
    written = read_back(tmp_path / f"out{suffix}")
    assert written["age"] == frame["age"].to_pylist()
    assert written["name"] == list(range(1, rows + 1))  # ids go on from batch to batch


def read_back(path: Path) -> dict[str, list[Any]]:
    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    return frame.to_dict(as_series=False)


def test_batches_keep_the_sampling_error_low(release, small_batches: None) -> None:
    """Systematic rounding in each batch: far closer to the model than independent rows would be."""
    batches = list(release.sample_batches(64 * 200, None, release.generator(1)))
    counts = np.bincount(np.concatenate([batch["age"] for batch in batches]), minlength=10)
    expected = release.model.project(["age"]).table * 64 * 200
    independent = np.sqrt(expected * (1 - expected / expected.sum()))
    assert np.abs(counts - expected).max() < 0.6 * independent.max()
    assert (np.abs(counts - expected) <= 200).all()  # at most one row for each batch and cell of the root


def test_a_failure_while_drawing_reaches_the_caller(
    release, small_batches: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are drawn one step ahead, on another thread."""
    drawn = []

    def tired(self: Any, *given: Any) -> Any:
        drawn.append(1)
        if len(drawn) > 3:
            raise UsageError("no more")
        return real(self, *given)

    real = type(release.model).sample
    monkeypatch.setattr(type(release.model), "sample", tired)
    with pytest.raises(UsageError, match="no more"):
        release.write(tmp_path / "out.csv", 1000)
    assert not list(tmp_path.glob("*out.csv*"))
