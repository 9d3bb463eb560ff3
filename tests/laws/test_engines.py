"""Every method on every engine: the same test seed gives the same release, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from test_matrix import small_table

from servers import PASSWORD
from understudy.demo import demo_schema, demo_table
from understudy.engines.sql import SqlEngine
from understudy.methods import METHODS
from understudy.publishing import plan
from understudy.schema import Schema
from understudy.testing import publish_seeded

# a table and a folder -> DATA and options of `publish`
Opener = Callable[[pa.Table, Path, pytest.FixtureRequest], tuple[Any, dict[str, Any]]]


def as_parquet(table: pa.Table, folder: Path) -> Path:
    path = folder / "people.parquet"
    parquet.write_table(table, path, row_group_size=300)
    return path


def mapped(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    return as_parquet(table, folder), {"engine": "mapped"}


def duckdb(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    return as_parquet(table, folder), {"engine": "duckdb"}


def duckdb_file(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    import duckdb

    with duckdb.connect(str(folder / "people.db")) as connection:
        connection.register("loaded", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM loaded")
    return f"duckdb:///{folder}/people.db?table=people", {}


def postgresql(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    server = request.getfixturevalue("postgresql")
    request.getfixturevalue("monkeypatch").setenv("PGPASSWORD", PASSWORD)
    return server.load("people", table), {}


ENGINES: dict[str, Opener] = {
    "mapped": mapped, "duckdb": duckdb, "duckdb file": duckdb_file, "postgresql": postgresql
}  # fmt: skip


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_release_does_not_depend_on_the_engine(
    engine: str, method: str, neighbours: str, tmp_path: Path, request: pytest.FixtureRequest, scans: list[int]
) -> None:
    table, schema = small_table(method, neighbours)
    data, options = ENGINES[engine](table, tmp_path, request)
    assert members(data, schema, method, tmp_path / "engine.db", **options) == by_memory(method, neighbours)
    assert all(found <= plan(schema, epsilon=2, method=method, rows=600).scans for found in scans)
    assert bool(scans) == (engine != "mapped")
    if method == "aim":
        assert set(scans) <= {2}  # one to check the cells, one for every table of every round and of the model's error


@pytest.mark.parametrize("engine", ENGINES)
def test_every_kind_of_column_and_the_shape_inside_bins(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The whole demo table: dates, numbers, missing values, taxonomies, an attribute that is counted on two grids."""
    schema, table = demo_schema(600), demo_table(600, np.random.default_rng(3))
    assert len(schema.counted.modelled) > len(schema.modelled)
    data, options = ENGINES[engine](table, tmp_path, request)
    expected = members(table, schema, "privbayes", tmp_path / "memory.db", engine="memory")
    assert members(data, schema, "privbayes", tmp_path / "engine.db", **options) == expected


FORMATTED = """
[table]
name = "formatted"
rows = 600
[attributes.patient]
kind = "id"
pattern = "P-{5 digits}"
[attributes.diagnosis]
kind = "category"
values = ["E10.1", "E11.0", "E11.9", "I10", "I21.4"]
taxonomy = "prefix:1,3"
[attributes.price]
kind = "number"
range = [0, 200]
bins = 7
points = [0]
decimals = 2
fine = "wavelet"
[attributes.dose]
kind = "number"
range = [0, 1]
step = 0.05
[attributes.karnofsky]
kind = "integer"
range = [0, 100]
step = 10
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_decimals_and_prefixes(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Values off their grid too: they are coded the same everywhere."""
    draw, schema = np.random.default_rng(4), Schema.from_toml(FORMATTED)
    table = pa.table({
        "patient": [str(i) for i in range(600)],
        "diagnosis": draw.choice(["E10.1", "E11.0", "E11.9", "I10", "I21.4"], 600),
        "price": np.where(draw.random(600) < 0.3, 0.0, draw.exponential(40, 600)),
        "dose": draw.integers(0, 41, 600) / 40,
        "karnofsky": draw.integers(-3, 104, 600),
    })  # fmt: skip
    data, options = ENGINES[engine](table, tmp_path, request)
    expected = members(table, schema, "privbayes", tmp_path / "memory.db", engine="memory")
    assert members(data, schema, "privbayes", tmp_path / "engine.db", **options) == expected


CLOCKED = """
[table]
name = "clocked"
rows = 600
[attributes.arrival]
kind = "time"
range = ["06:00", "22:00"]
missing = true
[attributes.slot]
kind = "time"
range = ["08:00", "18:00"]
step = 900
format = "%H:%M"
[attributes.ward]
kind = "category"
values = ["A", "B"]
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_times_of_day(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """One typed, found by a noisy tree; one as text."""
    draw, schema = np.random.default_rng(6), Schema.from_toml(CLOCKED)
    slots = [f"{8 + at // 4:02d}:{at % 4 * 15:02d}" for at in draw.integers(0, 41, 600)]
    arrivals = pa.array(draw.normal(46_800, 9_000, 600).clip(0, 86_399).astype(np.int32), mask=draw.random(600) < 0.1)
    table = pa.table({
        "arrival": arrivals.cast(pa.time32("s")), "slot": slots, "ward": draw.choice(["A", "B"], 600),
    })  # fmt: skip
    data, options = ENGINES[engine](table, tmp_path, request)
    expected = members(table, schema, "privbayes", tmp_path / "memory.db", engine="memory")
    assert members(data, schema, "privbayes", tmp_path / "engine.db", **options) == expected


UNBINNED = """
[table]
name = "unbinned"
rows = 3000
[attributes.income]
kind = "integer"
range = [-1000, 5_000_000]
missing = [""]
[attributes.rate]
kind = "number"
range = [0, 100]
[attributes.day]
kind = "date"
range = [1990-01-01, 2030-12-31]
[attributes.sex]
kind = "category"
values = ["f", "m"]
"""


def unbinned_table() -> tuple[pa.Table, Schema]:
    """Ranges without bins: units, levels of a tree, and rows regrouped to what it found."""
    draw = np.random.default_rng(8)
    income = np.where(draw.random(3000) < 0.3, 0, np.floor(draw.lognormal(9, 1, 3000))).astype(np.int64)
    days = np.datetime64("2015-01-01") + draw.integers(0, 2000, 3000)
    table = pa.table({
        "income": pa.array(income, mask=draw.random(3000) < 0.1),
        "rate": np.round(draw.gamma(2, 4, 3000), 3),
        "day": pa.array(days.astype("M8[D]")),
        "sex": draw.choice(["f", "m"], 3000),
    })  # fmt: skip
    return table, Schema.from_toml(UNBINNED)


@pytest.mark.parametrize("method", ["aim", "privbayes"])
@pytest.mark.parametrize("engine", ENGINES)
def test_bins_of_a_noisy_tree(
    engine: str, method: str, tmp_path: Path, request: pytest.FixtureRequest, scans: list[int]
) -> None:
    table, schema = unbinned_table()
    data, options = ENGINES[engine](table, tmp_path, request)
    expected = members(table, schema, method, tmp_path / "memory.db", engine="memory")
    assert any(name.endswith("tree-0-0.npy") for name in expected)
    assert members(data, schema, method, tmp_path / "engine.db", **options) == expected
    if method == "aim":
        assert set(scans) <= {3}  # one more, for the trees


@pytest.mark.parametrize("engine", ENGINES)
def test_another_seed_gives_another_release(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The broken twin of the law: the comparison sees a difference where there is one."""
    table, schema = small_table("privbayes", "replace-one")
    data, options = ENGINES[engine](table, tmp_path, request)
    first = members(data, schema, "privbayes", tmp_path / "1.db", **options)
    assert members(data, schema, "privbayes", tmp_path / "2.db", seed=6, **options) != first


@cache
def by_memory(method: str, neighbours: str) -> dict[str, bytes]:
    table, schema = small_table(method, neighbours)
    with TemporaryDirectory() as folder:
        return members(table, schema, method, Path(folder) / "memory.db", engine="memory")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many passes over the rows each SQL engine made until it was closed."""
    found: list[int] = []
    close = SqlEngine.close

    def counted(engine: SqlEngine) -> None:
        found.append(engine.scans)
        close(engine)

    monkeypatch.setattr(SqlEngine, "close", counted)
    return found


def members(data: Any, schema: Schema, method: str, ledger: Path, seed: int = 5, **options: Any) -> dict[str, bytes]:
    done = publish_seeded(data, schema, seed=seed, epsilon=2, method=method, ledger=ledger, cap="none", **options)
    return done.release.members
