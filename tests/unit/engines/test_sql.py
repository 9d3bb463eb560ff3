"""The SQL engine: addresses, refusals, passes over the rows, projections, and DuckDB where it differs."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from conftest import columns_of, schema_of
from understudy.engines.addresses import Address, address_of, names_of
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import PrivateData, find_misfits, open_engine
from understudy.engines.sql import SqlEngine, coarser_code
from understudy.errors import DataError, TooLarge, UsageError
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 300}


def test_addresses() -> None:
    found = address_of("postgresql://me:pw@host:5433/db?table=s.people&sslmode=require")
    assert found == Address("postgresql", ("s", "people"), "postgresql://me:pw@host:5433/db?sslmode=require")
    assert "pw" not in repr(found)
    found = address_of("postgres:///db?application_name=a%20b&table=people")
    assert found.place == "postgresql:///db?application_name=a%20b"
    assert address_of("duckdb:///a/b.db?table=t").place == "a/b.db"
    assert address_of("duckdb:////a/b.db?table=t").place == "/a/b.db"
    assert names_of('"odd.""name".t') == ('odd."name', "t")
    for wrong in (
        "mysql://h/d?table=t",
        "postgresql://h/d",
        "postgresql://h/d?table=",
        "duckdb:///?table=t",
        "duckdb://h/f?table=t",
    ):
        with pytest.raises(UsageError):
            address_of(wrong)
    for name in ("", "a..b", 'a"b', "a.", '"'):
        with pytest.raises(UsageError):
            names_of(name)


@pytest.fixture
def engines(tmp_path: Path) -> Any:
    columns = columns_of(SIZES, 5000)
    schema = schema_of(SIZES, 5000)
    table = pa.table({name: column.astype(str) for name, column in columns.items()})
    parquet.write_table(table, tmp_path / "t.parquet")
    engine = open_engine(PrivateData(tmp_path / "t.parquet", "duckdb"), schema).engine
    yield engine, MemoryEngine(columns, 5000, schema)
    engine.close()


def test_the_same_tables_in_one_pass(engines: tuple[SqlEngine, MemoryEngine]) -> None:
    engine, memory = engines
    axes = [Axis(name) for name in SIZES]
    workload = [tuple(ask) for width in (0, 1, 2, 3) for ask in itertools.permutations(axes[:4], width)]
    workload += [
        (axes[4],),
        (axes[4], axes[0]),
        (Axis("e", bit=0), Axis("e", bit=3), axes[1]),
        (Axis("e", bit=2, gray=True),),
    ]
    assert engine.scans == 1
    for found, expected in zip(engine.marginals(workload), memory.marginals(workload), strict=True):
        assert found.dtype == np.int64 and (found == expected).all()
    assert engine.scans == 2
    list(engine.marginals(workload[::2]))
    assert engine.scans == 2  # nothing is counted twice
    assert engine.rows() == 5000


def test_the_first_pass_brings_what_is_asked_next(engines: tuple[SqlEngine, MemoryEngine]) -> None:
    engine, _ = engines
    list(engine.marginals([(Axis("a"),)]))
    list(engine.marginals([(Axis(x), Axis(y)) for x, y in itertools.combinations(SIZES, 2)]))
    assert engine.scans == 2
    with pytest.raises(TooLarge):
        list(engine.marginals([tuple(Axis("e", bit=b) for b in range(9)) * 4]))


def test_what_is_foreseen_is_counted_with_the_next_ask(engines: tuple[SqlEngine, MemoryEngine]) -> None:
    engine, memory = engines
    pairs = [(Axis(x), Axis(y)) for x, y in itertools.combinations(SIZES, 2)]
    triples = [(Axis("a"), Axis("b"), Axis("c")), (Axis("b"), Axis("c"), Axis("d"))]
    engine.foresee([*pairs, *triples])
    assert engine.scans == 1  # nothing is read for it alone
    list(engine.marginals([(Axis("a"),)]))
    for found, expected in zip(engine.marginals([*triples, *pairs]), memory.marginals([*triples, *pairs])):
        assert (found == expected).all()
    assert engine.scans == 2


def test_what_is_foreseen_never_takes_more_room_than_the_cache_has(
    engines: tuple[SqlEngine, MemoryEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, memory = engines
    monkeypatch.setattr("understudy.engines.sql.CACHE_CELLS", 2000)
    counted: list[int] = []
    scan = SqlEngine._scan
    monkeypatch.setattr(
        SqlEngine, "_scan", lambda self, blocks: (counted.append(self._schema.cells(blocks[0])), scan(self, blocks))[1]
    )
    wide = (Axis("d"), Axis("e"))
    engine.foresee([(Axis("a"), Axis("b")), (Axis("c"), Axis("d"), Axis("e")), wide])
    list(engine.marginals([(Axis("a"),)]))
    assert sum(counted) <= 2000 and engine.scans == 2
    (found,), (expected,) = engine.marginals([wide]), memory.marginals([wide])
    assert (found == expected).all() and engine.scans == 3  # asked for, so it is counted whatever was left out


def test_regrouped_engines_count_their_passes_together(engines: tuple[SqlEngine, MemoryEngine]) -> None:
    engine, _ = engines
    coarser = engine.regrouped(schema_of(SIZES | {"d": 2}, 5000), {"d": np.array([0, 0, 0, 1, 1])})
    list(coarser.marginals([(Axis("d"),)]))
    assert coarser.scans == engine.scans == 2


@pytest.mark.parametrize("seed", range(8))
def test_a_coarser_code_is_the_one_that_is_given(seed: int) -> None:
    import duckdb

    from understudy.engines.sql_dialects import DuckDBSyntax

    draw = np.random.default_rng(seed)
    rises = draw.random(400) < np.repeat(draw.choice([0.0, 0.1, 1.0], 40), 10)
    home = np.append(0, np.cumsum(rises)) if seed else np.zeros(1, dtype=np.int64)
    found = duckdb.sql(f"SELECT {coarser_code('q0', home, DuckDBSyntax())} FROM range({len(home)}) t(q0) ORDER BY q0")
    assert [code for (code,) in found.fetchall()] == home.tolist()


def test_thousands_of_cells_in_a_row_are_one_comparison() -> None:
    """A look has a cell for each unit of some leaves: as a tree of as many comparisons PostgreSQL took minutes."""
    from understudy.engines.sql_dialects import PostgreSQLSyntax

    home = np.repeat(np.arange(9_002), [500, *[1] * 9_000, 500])
    assert len(coarser_code("q0", home, PostgreSQLSyntax())) < 500


@pytest.mark.costly
def test_views_by_taxonomy(tmp_path: Path) -> None:
    from understudy.demo import demo_schema, demo_table

    schema, table = demo_schema(400), demo_table(400, np.random.default_rng(1))
    parquet.write_table(table, tmp_path / "t.parquet")
    workload = [(Axis(a.name, level=level),) for a in schema.modelled for level in range(a.levels)]
    sql, memory = (
        open_engine(PrivateData(tmp_path / "t.parquet", "duckdb"), schema),
        open_engine(PrivateData(table, "memory"), schema),
    )
    for found, expected in zip(sql.engine.marginals(workload), memory.engine.marginals(workload), strict=True):
        assert (found == expected).all()
    sql.engine.close()
    assert sql.columns == memory.columns


def words(*values: str) -> Schema:
    return Schema("people", (Attribute("a", Categories(values)),), neighbours="add-remove")


@pytest.mark.costly
def test_a_million_values_in_a_category_are_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [f"v{i}" for i in range(1_000_000)]}), tmp_path / "t.parquet")
    with pytest.raises(DataError) as refusal:
        open_engine(PrivateData(tmp_path / "t.parquet", "duckdb"), words("v1", "v2"))
    assert refusal.value.attribute == "a" and "v3" not in refusal.value.message
    assert not leftovers()


def leftovers() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"understudy-*-{os.getpid()}-*"))


def test_a_collation_does_not_change_what_is_compared(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "t.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('x'), ('X'), ('x')")
    engine = open_engine(PrivateData(f"duckdb:///{path}?table=t"), words("x", "X")).engine
    assert [table.tolist() for table in engine.marginals([(Axis("a"),)])] == [[2, 1]]
    engine.close()
    assert not leftovers()
    with pytest.raises(UsageError, match="no table or view 'nowhere'"):
        open_engine(PrivateData(f"duckdb:///{path}?table=nowhere"), words("x"))
    assert not leftovers()


def test_what_an_engine_does_not_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\nx\n")
    table = pa.table({"a": ["x"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    refused: list[tuple[Any, str | None, str | None]] = [
        (table, "duckdb", None), (table, "spark", None), (tmp_path / "t.csv", "duckdb", None),
        (tmp_path / "none.parquet", "duckdb", None), (tmp_path / "t.parquet", "postgresql", None),
        (tmp_path / "t.parquet", "duckdb", "local[1]"), (tmp_path / "t.parquet", "sqlite", None),
        ("duckdb:///none.db?table=t", None, None), ("duckdb:///none.db?table=t", "mapped", None),
        ("mysql://me:pw@host/db?table=t", None, None),
    ]  # fmt: skip
    for data, engine, master in refused:
        with pytest.raises(UsageError) as refusal:
            open_engine(PrivateData(data, engine, master), words("x"))
        assert "pw" not in refusal.value.message
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing else")
    with pytest.raises(DataError):
        open_engine(PrivateData(tmp_path / "bad.parquet", "duckdb"), words("x"))
    assert not leftovers()


def test_formats_and_types_that_sql_cannot_read_name_the_attribute(tmp_path: Path) -> None:
    day = Intervals("date", (18262.0, 18263.0, 18264.0), format="%d %b %Y")
    table = pa.table({"a": ["1 Jan 2020"], "b": pa.array([[1]]), "c": ["x"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    attributes = (Attribute("a", day), Attribute("b", Categories(("1",))), Attribute("c", Categories(("y",))))
    schema = Schema("people", attributes, neighbours="add-remove")
    with pytest.raises(DataError) as refusal:
        open_engine(PrivateData(tmp_path / "t.parquet", "duckdb", types="declared"), schema)
    assert refusal.value.attribute == "a" and "view" in refusal.value.message
    found = find_misfits(PrivateData(tmp_path / "t.parquet", "duckdb", types="declared"), schema)
    assert [misfit.attribute for misfit in found] == ["a", "b", "c"]
