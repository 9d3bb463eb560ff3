"""Strict orders and rising attributes: exact in every history that is drawn, however large the noise, and checked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from servers import PASSWORD
from understudy.engines.opening import PrivateData
from understudy.errors import DataError, SchemaError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import run
from understudy.relations.changes import Change, StepChanges
from understudy.relations.panel import STEPS, Panel
from understudy.relations.reading import opened_people, people_fit
from understudy.relations.tilts import Move
from understudy.schema import Axis, Schema
from understudy.testing import SeededSource

TEXT = """
[table]
name = "checkups"
neighbours = "add-remove"
[person]
id = "who"
order = "year"
at_most = 5
strict = true
rising = ["age", "height"]
[attributes.who]
kind = "id"
[attributes.year]
kind = "integer"
range = [2001, 2008]
[attributes.age]
kind = "integer"
range = [0, 99]
bins = 10
[attributes.height]
kind = "number"
range = [50, 200]
bins = 6
missing = [""]
[attributes.state]
kind = "category"
values = ["well", "ill"]
"""


def schema(**more: str) -> Schema:
    text = TEXT
    for old, new in more.items():
        assert old in text
        text = text.replace(old, new)
    return Schema.from_toml(text)


def checkups(people: int, last: int = 2008) -> Any:
    """Return rows of people in years that are never the same, whose age and height never fall; some were not
    measured."""
    draw = np.random.default_rng(4)
    rows = []
    for who in range(people):
        age, height = int(draw.integers(1, 80)), float(draw.uniform(60, 170))
        years = sorted(draw.choice(np.arange(2001, last + 1), int(draw.integers(1, 8)), replace=False))
        for year, since in zip(years, np.diff([years[0], *years])):
            age, height = age + int(since), height + float(draw.uniform(0, 4)) * (age < 18)
            shown = None if draw.random() < 0.3 else str(round(height, 1))
            rows.append((str(who), str(year), str(age), shown, ("well", "ill")[int(draw.integers(2))]))
    names = ("who", "year", "age", "height", "state")
    return pa.table({n: pa.array(column, pa.string()) for n, column in zip(names, zip(*rows))})


def histories(table: Any, name: str) -> list[list[float]]:
    """Return the values of a column by person, in the order of the rows, without missing ones."""
    found: dict[Any, list[float]] = {}
    for who, value in zip(table["who"].to_pylist(), table[name].to_pylist()):
        found.setdefault(who, [])
        if value is not None:
            found[who].append(float(value))
    return list(found.values())


def falls(table: Any, name: str, strict: bool = False) -> int:
    """Return how many people have a value below an earlier one, or the same."""
    return sum(any(b < a or (strict and a == b) for a, b in itertools.pairwise(own)) for own in histories(table, name))


def drawn(path: Path, declared: Schema, rows: int = 6000, **more: Any) -> Any:
    made = run(
        checkups(60), declared, Budget("0.05", "1e-6"), "auto", {}, ledger=path / "l.db", cap="none",
        source=SeededSource(8), types="declared", quiet=True,
    )  # fmt: skip
    return made.release.sample(rows, seed=1)


@pytest.mark.costly
@pytest.mark.parametrize("change", [
    {}, {"bins = 10": 'bins = "each"'}, {"range = [2001, 2008]": "range = [1800, 2008]"}, {"at_most = 5": "at_most = 8"},
], ids=["as it is", "values beyond weights", "a long order", "as many rows as places"])  # fmt: skip
def test_no_history_breaks_what_is_declared_when_all_is_noise(change: dict[str, str], tmp_path: Path) -> None:
    table = drawn(tmp_path, schema(**change))
    assert falls(table, "year", strict=True) == 0
    assert falls(table, "age") == 0 and falls(table, "height") == 0
    assert None in table["height"].to_pylist() and max(map(len, histories(table, "year"))) > 3


@pytest.mark.costly
def test_without_the_words_the_same_noise_breaks_them(tmp_path: Path) -> None:
    """A twin: what the test above looks for is there where nothing is declared."""
    table = drawn(tmp_path, schema(**{'strict = true\nrising = ["age", "height"]\n': ""}))
    assert falls(table, "year", strict=True) > 50 and falls(table, "age") > 50 and falls(table, "height") > 50
    assert falls(table, "year") == 0  # an order never falls


@pytest.mark.costly
def test_a_release_from_a_file_draws_the_same(tmp_path: Path) -> None:
    made = understudy.publish(
        checkups(60), schema(), epsilon="0.1", delta="1e-6", ledger=tmp_path / "l.db", types="declared"
    )
    made.save(tmp_path / "a.zip")
    again = understudy.Release.open(tmp_path / "a.zip")
    one, other = (r.sample(300, seed=2) for r in (made, again))
    assert [histories(one, n) == histories(pa.Table.from_pandas(other), n) for n in ("year", "height")] == [True] * 2


# -- codes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "size"), [
    (StepChanges(9, upward=True, strict=True), 9), (StepChanges(90, upward=True, strict=True), 90),
    (StepChanges(2, upward=True), 2), (StepChanges(12, upward=True, missing=True), 13), (StepChanges(70, upward=True, missing=True), 71),
])  # fmt: skip
def test_no_change_leads_down_and_each_leads_back_to_itself(change: StepChanges, size: int) -> None:
    before, now = (column.ravel() for column in np.divmod(np.arange(size**2), size))
    missing = change.values if change.missing else -1
    fits = (now > before) if change.strict else (now >= before) | (before == missing)
    before, now = before[fits], now[fits]
    codes = change.code(before, now)
    assert codes.min() >= 0 and codes.max() < change.size
    assert change.possible(before)[np.arange(len(codes)), codes].all()
    draw = np.random.default_rng(1)
    for move in (change.apply, Move(change, size).apply):
        led = move(before, codes, draw)
        assert (change.code(before, led) == codes).all()
        seen = (before != missing) & (led != missing)
        assert ((led > before) if change.strict else (led >= before))[seen].all()
    reach = Move(change, size).reach(np.arange(size))
    assert not reach[np.arange(size) == change.values - 1][:, 1 : len(change._low)].any()  # nothing is above the last


def test_a_move_that_cannot_be_has_no_weight() -> None:
    """Pairs that go down have no change: they must not count for the change that is coded last."""
    move: Change = StepChanges(10, upward=True)
    reach = np.asarray(Move(move, 10).reach(np.arange(10)))
    assert (reach > 0).tolist() == np.asarray(move.possible(np.arange(10))).tolist()


# -- what is checked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"strict = true": "strict = 1"}, "true or false"),
        ({'rising = ["age", "height"]': 'rising = ["state"]'}, "'state', which is no number"),
        ({'rising = ["age", "height"]': 'rising = ["who"]'}, "'who', which is no number"),
        ({'rising = ["age", "height"]': 'rising = ["year"]'}, "'year', the order"),
        ({'rising = ["age", "height"]': 'rising = ["agee"]'}, "'agee', which is not declared. Did you mean 'age'"),
        ({'rising = ["age", "height"]': 'rising = ["age"]\nconstant = ["age"]'}, "'age', which is constant"),
        ({'rising = ["age", "height"]': "rising = 3"}, "list of texts"),
    ],
)
def test_words_that_cannot_be_are_refused(change: dict[str, str], match: str) -> None:
    with pytest.raises(SchemaError, match=match):
        schema(**change)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"range = [2001, 2008]": "range = [2001, 2008]\nbins = 4"}, "a bin of its own, and 'year' has not"),
        ({'kind = "integer"\nrange = [2001, 2008]': 'kind = "number"\nrange = [2001, 2008]'}, "a bin of its own"),
        ({"at_most = 5": "at_most = 9"}, "9 rows cannot follow each other in the 8 values of 'year'"),
    ],
)
def test_a_strict_order_has_places_enough(change: dict[str, str], match: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=match):
        understudy.plan(schema(**change), epsilon=1, rows=1000)
    with pytest.raises(SchemaError, match=match):
        understudy.publish(checkups(9), schema(**change), epsilon=1, ledger=tmp_path / "l.db", types="declared")


def test_the_words_are_in_the_schema_only_where_they_are_said() -> None:
    plain = schema(**{'strict = true\nrising = ["age", "height"]\n': ""})
    assert set(plain.as_json()["person"]) == {"id", "order", "at_most", "constant"}
    assert schema(**{"strict = true": "strict = false", 'rising = ["age", "height"]': "rising = []"}).hash == plain.hash
    again = Schema.from_dict(schema().as_json())
    assert again.hash == schema().hash != plain.hash and again.person == schema().person
    assert Schema.from_toml(schema().edit(account="a").to_toml()).person == schema().person


Load = Callable[[Any], Any]


@pytest.fixture(params=["memory", "duckdb", "postgresql"])
def load(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    if request.param == "memory":
        return lambda table: table
    if request.param == "postgresql":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        server = request.getfixturevalue("postgresql")
        return lambda table: server.load("checkups", table)

    def loaded(table: Any) -> str:
        import duckdb

        with duckdb.connect(str(tmp_path / "c.db")) as connection:
            connection.register("loaded", table)
            connection.execute("CREATE OR REPLACE TABLE checkups AS SELECT * FROM loaded")
        return f"duckdb:///{tmp_path}/c.db?table=checkups"

    return loaded


def test_the_derived_tables_are_the_same_everywhere(load: Load) -> None:
    def counts(data: Any) -> list[Any]:
        engine: Any = opened_people(PrivateData(data, types="declared"), schema()).engine
        names = Panel.of(schema()).steps.names
        pairs = [(Axis(a), Axis(b)) for a, b in itertools.combinations(names, 2)]
        try:
            return [
                engine.fingerprint(b"key"),
                *(np.asarray(t).tolist() for t in engine.tables[STEPS].marginals(pairs)),
            ]
        finally:
            engine.close()

    table = checkups(50)
    assert counts(load(table)) == counts(table)


def rows(*own: tuple[str, str, str | None]) -> Any:
    """Return rows of one person: year, age, height; and one of somebody else who is younger and smaller."""
    years, ages, heights = zip(*own, ("2001", "0", "50"))
    many = len(own)
    return pa.table({
        "who": [*["1"] * many, "2"], "year": list(years), "age": list(ages),
        "height": pa.array(heights, pa.string()), "state": ["ill"] * (many + 1),
    })  # fmt: skip


@pytest.mark.parametrize(("own", "match"), [
    ([("2001", "30", "90"), ("2001", "30", "90")], "nobody has two rows at the same 'year'"),
    ([("2001", "30", "90"), ("2002", "29", "90")], "'age' is declared `rising`"),
    ([("2001", "30", "190"), ("2002", "31", None), ("2003", "32", "100")], "'height' is declared `rising`"),
    ([("2001", "30", None), ("2002", "31", "90"), ("2003", "32", None), ("2004", "39", "90")], None),
    ([("2001", "39", "90"), ("2002", "31", "90")], None),  # inside one bin, which is all that is seen
], ids=["the same place", "falls", "falls while missing", "as declared", "inside a bin"])  # fmt: skip
def test_rows_that_break_them_are_refused_before_a_charge(
    own: Any, match: str | None, load: Load, tmp_path: Path
) -> None:
    data = load(rows(*own))
    if match is None:
        assert people_fit(PrivateData(data, types="declared"), schema()).persons == 2
        return
    for asked in (lambda: people_fit(PrivateData(data, types="declared"), schema()),
                  lambda: understudy.publish(data, schema(), epsilon=1, ledger=tmp_path / "l.db", types="declared")):  # fmt: skip
        with pytest.raises(DataError, match=match) as caught:
            asked()
        assert "29" not in caught.value.message and "2001" not in caught.value.message
    with Ledger(tmp_path / "l.db") as book:
        assert not book.entries()
