"""PEOPLE and STEPS by a database: the same rows, cell by cell, the same release, and the same refusals as in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import understudy
from servers import PASSWORD
from understudy.engines.opening import PrivateData
from understudy.engines.sql_dialects import DuckDBSyntax
from understudy.errors import DataError
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.relations.changes import Coarse, Flip, Moves, StepChanges
from understudy.relations.panel import Panel
from understudy.relations.reading import opened_people, people_fit
from understudy.schema import Axis, Schema
from understudy.testing import SeededSource
from visits import visits, visits_schema

Load = Callable[[Any], str]
KEY = b"a key of this test"
DAYS = """
[table]
name = "days"
neighbours = "add-remove"
[person]
id = "who"
order = "day"
at_most = 3
constant = ["sex"]
[attributes.who]
kind = "id"
[attributes.day]
kind = "date"
range = [2020-01-01, 2024-12-31]
[attributes.sex]
kind = "category"
values = ["f", "m"]
[attributes.score]
kind = "integer"
range = [0, 40]
bins = 40
missing = true
[attributes.flag]
kind = "boolean"
"""


@pytest.fixture(params=["duckdb", "postgresql"])
def load(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Put a table into a real database; its address."""
    if request.param == "postgresql":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        server = request.getfixturevalue("postgresql")
        return lambda table: server.load("visits", table)

    def loaded(table: Any) -> str:
        import duckdb

        with duckdb.connect(str(tmp_path / "v.db")) as connection:
            connection.register("loaded", table)
            connection.execute("CREATE OR REPLACE TABLE visits AS SELECT * FROM loaded")
        return f"duckdb:///{tmp_path}/v.db?table=visits"

    return loaded


def days(people: int = 60) -> tuple[Any, Schema]:
    """Return typed rows with equal places, missing values and histories longer than are used."""
    draw = np.random.default_rng(2)
    who = np.repeat(np.arange(people), draw.integers(1, 7, people))
    day = np.datetime64("2020-01-01") + draw.integers(0, 1800, len(who)) // 300 * 300
    table = pa.table({
        "who": who, "day": pa.array(day.astype("M8[D]")), "sex": np.where(who % 2, "f", "m"),
        "score": pa.array(draw.integers(0, 41, len(who)), mask=draw.random(len(who)) < 0.3),
        "flag": draw.random(len(who)) < 0.5,
    })  # fmt: skip
    return table.take(draw.permutation(len(who))), Schema.from_toml(DAYS)


def tables_of(data: Any, schema: Schema) -> list[Any]:
    """Return the keyed fingerprint of whole rows, and every table of one and two attributes, of both derived tables."""
    opened = opened_people(PrivateData(data, types="declared"), schema)
    engine: Any = opened.engine
    try:
        found: list[Any] = [opened.columns, engine.fingerprint(KEY)]
        for own, part in engine.tables.items():
            names = getattr(Panel.of(schema), own).names
            workload = [
                (),
                *((Axis(n),) for n in names),
                *((Axis(a), Axis(b)) for a, b in itertools.combinations(names, 2)),
            ]
            found += [np.asarray(table).tolist() for table in part.marginals(workload)]
        return found
    finally:
        engine.close()


@pytest.mark.parametrize("made", [days, lambda: (visits(80), visits_schema())], ids=["days", "visits"])
def test_both_tables_are_those_of_memory_cell_by_cell(made: Any, load: Load) -> None:
    table, schema = made()
    assert tables_of(load(table), schema) == tables_of(table, schema)


TINY = """
[table]
name = "tiny"
neighbours = "add-remove"
[person]
id = "id"
order = "at"
at_most = 2
constant = ["c"]
[attributes.id]
kind = "id"
[attributes.at]
kind = "integer"
range = [1, 2]
[attributes.c]
kind = "boolean"
[attributes.x]
kind = "category"
values = ["a", "b", "c"]
"""


def test_every_small_history_at_once(load: Load) -> None:
    """All histories of up to three rows over a small domain, each of a person, in every order of the file."""
    kinds = [(at, x) for at in (1, 2) for x in "abc"]
    many = [(c, own) for n in (1, 2, 3) for own in itertools.product(kinds, repeat=n) for c in (False, True)]
    rows = [(f"p{i}", at, c, x) for i, (c, own) in enumerate(many) for at, x in own]
    table = pa.table(dict(zip(("id", "at", "c", "x"), map(list, zip(*rows)))))
    schema = Schema.from_toml(TINY)
    assert tables_of(load(table), schema) == tables_of(table, schema)


def test_nobody_with_two_rows(load: Load) -> None:
    table = visits(30, most=1)
    assert tables_of(load(table), visits_schema()) == tables_of(table, visits_schema())


def test_the_release_is_that_of_memory_byte_for_byte(load: Load, tmp_path: Path) -> None:
    def released(data: Any, name: str) -> dict[str, bytes]:
        made = run(
            data, visits_schema(), Budget("2", "1e-6"), "auto", {}, ledger=tmp_path / name, cap="none",
            source=SeededSource(5), types="declared", quiet=True,
        )  # fmt: skip
        return made.release.members

    table = visits(150)
    expected = released(table, "m.db")
    assert released(load(table), "e.db") == expected
    assert released(load(table.slice(20)), "o.db") != expected  # the comparison sees rows


def test_the_order_of_the_rows_does_not_matter(load: Load) -> None:
    table, schema = days()
    shuffled = table.take(np.random.default_rng(9).permutation(len(table)))
    assert tables_of(load(shuffled), schema) == tables_of(table, schema)


def test_a_persons_rows_are_cut_by_themselves(load: Load) -> None:
    """Somebody else's rows, before or after in the table, move no row of a person."""
    table, schema = days(20)
    mine = table.filter(pa.compute.less(table["who"], 10))
    both = [
        people_fit(PrivateData(load(part)), schema)
        for part in (mine, table.filter(pa.compute.greater_equal(table["who"], 10)))
    ]
    whole = people_fit(PrivateData(load(table)), schema)
    assert [a.used + b.used for a, b in [both]] == [whole.used] and whole.persons == 20
    assert whole == people_fit(PrivateData(table, types="declared"), schema)


# -- ids ------------------------------------------------------------------------------------------------------

WRITTEN = ["7", "07", "7.0", " 7", "+7", "7 ", "\u00a07", "\u30007\u2003", "-7", "-07.", "-0", "0", "000", "a", "A",
           "a ", "á", "a\u0301", "1e3", "1000", "7.5", "7.50", "9" * 40, "09" + "9" * 39, "0.0", "+", ".0", "x'y"]  # fmt: skip


def with_ids(ids: Any) -> Any:
    rows = len(ids)
    return pa.table({
        "patient": ids, "year": ["2003"] * rows, "born": ["1950"] * rows, "sex": ["f"] * rows, "state": ["ill"] * rows,
        "weight": [str(50 + i) for i in range(rows)],
    })  # fmt: skip


def test_ids_are_compared_as_in_memory(load: Load) -> None:
    table = with_ids(WRITTEN * 2)
    assert tables_of(load(table), visits_schema()) == tables_of(table, visits_schema())
    fit = people_fit(PrivateData(load(table)), visits_schema())
    assert fit == people_fit(PrivateData(table, types="declared"), visits_schema()) and fit.persons < len(WRITTEN) - 8


@pytest.mark.parametrize("ids", [
    pa.array([7, 7, 8, -7]), pa.array([Decimal("7.00"), Decimal("7.00"), Decimal("7.50"), Decimal("-7.50")]),
], ids=["integer", "decimal"])  # fmt: skip
def test_typed_ids(ids: Any, load: Load) -> None:
    table = with_ids(ids)
    assert tables_of(load(table), visits_schema()) == tables_of(table, visits_schema())


UUIDS = ["6f1c2a0e-5b0d-4c59-9a55-0d7f6f2f9b10", "6F1C2A0E-5B0D-4C59-9A55-0D7F6F2F9B10",
         "00000000-0000-0000-0000-000000000007", "10000000-0000-0000-0000-000000000007"]  # fmt: skip


def test_ids_of_the_type_uuid_are_their_texts_in_lower_case(load: Load, request: pytest.FixtureRequest) -> None:
    address = load(with_ids(UUIDS))
    if address.startswith("duckdb"):
        import duckdb

        with duckdb.connect(address.removeprefix("duckdb:///").partition("?")[0]) as connection:
            connection.execute("ALTER TABLE visits ALTER patient TYPE UUID")
    else:
        with request.getfixturevalue("postgresql").connect() as connection:
            connection.execute("ALTER TABLE visits ALTER patient TYPE uuid USING patient::uuid")
    as_text = with_ids([one.lower() for one in UUIDS])
    assert tables_of(address, visits_schema()) == tables_of(as_text, visits_schema())
    assert people_fit(PrivateData(address), visits_schema()).persons == 3


@pytest.mark.parametrize(("ids", "match"), [
    (["1", None], "have no 'patient'"), (["1", " "], "have no 'patient'"), (["1", "0x1F"], "hexadecimal"),
    (pa.array([1.0, 2.0]), "of the type"), (pa.array([True, False]), "of the type"),
])  # fmt: skip
def test_ids_that_are_refused(ids: Any, match: str, load: Load) -> None:
    with pytest.raises(DataError, match=match):
        people_fit(PrivateData(load(with_ids(ids))), visits_schema())


def test_two_values_of_a_constant_and_cells_that_do_not_fit_are_refused(load: Load, tmp_path: Path) -> None:
    table = with_ids(["1", "1", "2"])
    sexes = table.set_column(3, "sex", pa.array(["f", "m", "f"]))
    with pytest.raises(DataError, match="'sex' is declared constant"):
        understudy.publish(load(sexes), visits_schema(), epsilon=1, ledger=tmp_path / "l.db")
    with pytest.raises(DataError, match="'state': some cells"):
        people_fit(PrivateData(load(table.set_column(4, "state", pa.array(["gone"] * 3)))), visits_schema())
    with pytest.raises(DataError, match="no such column"):
        people_fit(PrivateData(load(table.drop_columns(["patient"]))), visits_schema())


def test_a_parquet_file_by_duckdb(tmp_path: Path) -> None:
    table = visits(40)
    parquet.write_table(table, tmp_path / "v.parquet")
    schema = visits_schema(**{'missing = [""]': "missing = true"})
    found = people_fit(PrivateData(tmp_path / "v.parquet", "duckdb"), schema)
    assert found == people_fit(PrivateData(tmp_path / "v.parquet"), schema) and found.persons == 40


# -- public maps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [
    Flip(), Moves(5), StepChanges(3), StepChanges(21), StepChanges(21, missing=True), StepChanges(5, missing=True), StepChanges(70, upward=True), StepChanges(1),
])  # fmt: skip
def test_changes_in_sql_are_those_in_memory(change: Any) -> None:
    import duckdb

    values = getattr(change, "values", 2)
    size = values + getattr(change, "missing", False)
    before, now = (column.ravel() for column in np.divmod(np.arange(size**2), size))
    if getattr(change, "upward", False):
        before, now = before[now >= before], now[now >= before]
    pairs = pa.table({"b": before, "n": now})
    with duckdb.connect() as connection:
        connection.register("pairs", pairs)
        found = connection.execute(f"SELECT {change.sql('b', 'n')} AS c FROM pairs").fetchnumpy()["c"]
    assert np.asarray(found).tolist() == np.asarray(change.code(before, now)).tolist()


@pytest.mark.parametrize("units", [1, 12, 33, 100, 5501])
def test_coarse_units_in_sql_are_those_in_memory(units: int) -> None:
    import duckdb

    coarse, at = Coarse(units), np.arange(units)
    with duckdb.connect() as connection:
        connection.register("units", pa.table({"u": at}))
        found = connection.execute(f"SELECT {coarse.sql('u', DuckDBSyntax())} AS c FROM units").fetchnumpy()["c"]
    assert np.asarray(found).tolist() == np.asarray(coarse.code(at)).tolist()
