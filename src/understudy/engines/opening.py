"""Opening: data (a frame, a path or an address), a schema and the name of an engine become rows that can be counted.

What can be refused without a charge is refused here: absent columns, cells that do not fit, a wrong row count.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.engines.addresses import address_of, scheme_of
from understudy.engines.coding import Misfit
from understudy.engines.engine import GroupingEngine, OpenEngine
from understudy.engines.trust import Types, types_of
from understudy.errors import DataError, UsageError, did_you_mean
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.engines.cell_fit import CellFit
    from understudy.engines.sources import RowSource
    from understudy.engines.sql import Warehouse

SQL_ENGINES = ("duckdb", "postgresql", "spark")
ENGINES = ("memory", "mapped", *SQL_ENGINES)


@dataclass(frozen=True, eq=False)
class PrivateData:
    """Private rows where they are, and how they are to be read.

    Args:
        data: a frame, a path or an address.
        engine: the name of the engine that counts; None: by the kind of data.
        master: the address of Spark's cluster.
        types: whether the columns' types were "inferred" from the rows or "declared"; None: by the kind of data.
    """

    data: Any = field(repr=False)  # an address may hold a password, and a frame holds rows
    engine: str | None = None
    master: str | None = None
    types: str | None = None

    @property
    def trust(self) -> Types | None:
        """Return whether the columns' types are to be trusted; None: by the kind of data."""
        return types_of(self.types)

    def engine_name(self) -> str | None:
        """Return the name of the engine that counts the rows; None for an embedded one by size.

        An address is never shown.
        """
        data, engine = self.data, self.engine
        if engine is not None and engine not in ENGINES:
            raise UsageError(f"there is no engine {engine!r}. {did_you_mean(engine, list(ENGINES))}")
        if self.master is not None and engine not in (None, "spark"):
            raise UsageError("a master goes with the engine spark")
        engine = "spark" if self.master is not None else engine
        if engine != "spark" and scheme_of(data) is not None:
            named = address_of(data).engine
            if engine not in (None, named):
                raise UsageError(f"this address is read by the engine {named}, not by {engine}")
            return named
        if engine == "postgresql":
            raise UsageError("the engine postgresql reads an address: postgresql://host/database?table=schema.people")
        return engine

    def warehouse(self) -> Warehouse | None:
        """Return a connection for the engines that count by SQL; None for the embedded ones."""
        data, trust, engine = self.data, self.trust, self.engine_name()
        if engine == "postgresql":
            from understudy.engines.postgresql_rows import PostgreSQLRows

            return PostgreSQLRows(address_of(data))
        if engine not in SQL_ENGINES:
            return None
        if not isinstance(data, str | os.PathLike):
            raise UsageError(f"the engine {engine} reads a table or a Parquet file where it is, not a frame in memory")
        if engine == "spark":
            from understudy.engines.spark_rows import SparkRows

            return SparkRows(os.fspath(data), self.master, trust)
        return _duckdb_rows(data, trust)

    def source(self, schema: Schema) -> RowSource:
        """Return the rows of a frame or a file, to be read in this process."""
        from understudy.engines.sources import open_source

        return open_source(self.data, schema.csv, self.trust, names=schema.columns)


def _duckdb_rows(data: str | os.PathLike[str], types: Types | None) -> Warehouse:
    from understudy.engines.duckdb_rows import DuckDBRows

    if scheme_of(data) is not None:
        return DuckDBRows(address_of(str(data)), types or "declared")
    path = Path(data)
    if path.suffix.lower() not in (".parquet", ".pq"):
        raise UsageError(
            "the engine duckdb counts Parquet files and tables of a DuckDB file; leave --engine for others"
        )
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}")
    return DuckDBRows(path, types or "inferred")


@dataclass(frozen=True)
class Opened:
    """An engine over rows that fit, and the order of all columns in the source. Whoever opened it closes the engine."""

    engine: OpenEngine
    columns: tuple[str, ...]


def open_engine(rows: PrivateData, schema: Schema, key: bytes | None = None) -> Opened:
    """Open the engine over the rows, or raise the first reason why not.

    An attribute with `fine` is counted on its fine grid too, as one more attribute of the same column. Whoever will ask
    for the fingerprint under a key says so here: a warehouse then finds it in the pass it makes anyway.
    """
    from understudy.engines.embedded import open_embedded
    from understudy.engines.sql import open_sql

    if schema.person is not None:  # its rows are never counted as they are
        raise UsageError(
            "a schema with [person] is for `publish` on one machine: several owners, bought evaluation and discovery "
            "do not put a person's rows in order. Leave [person] out and declare rows_per_person there"
        )
    if schema.tables:
        raise UsageError(
            "a schema with [tables.NAME] is for `publish` on one machine: several owners and bought evaluation do not "
            "join tables"
        )
    if (warehouse := rows.warehouse()) is not None:
        return Opened(*open_sql(warehouse, schema.counted, key))
    return Opened(*open_embedded(rows.data, schema.counted, rows.engine, rows.trust))


def open_groups(rows: PrivateData, schema: Schema) -> GroupingEngine:
    """Return the engine that counts texts for value lists. Nothing is opened until it is asked."""
    from understudy.engines.grouping import SourceGroups, WarehouseGroups

    if rows.engine_name() in SQL_ENGINES:
        return WarehouseGroups(rows.warehouse)  # type: ignore[arg-type]
    return SourceGroups(lambda: rows.source(schema))


def find_misfits(rows: PrivateData, schema: Schema) -> list[Misfit]:
    """Return every reason why `open_engine` would refuse the data."""
    from understudy.engines.coding import misfits
    from understudy.engines.sql import sql_misfits

    if (warehouse := rows.warehouse()) is not None:
        return sql_misfits(warehouse, schema)
    return misfits(rows.source(schema), schema)


def fit_of_cells(rows: PrivateData, schema: Schema, show: int = 0) -> list[CellFit]:
    """Count how the cells of each attribute are read; exact, for the custodian alone.

    Of a file or a frame, up to `show` distinct offending cells of each sort are kept. Data that cannot be read at all
    has no fit: `find_misfits` says why.
    """
    from understudy.engines.cell_fit import source_fit, warehouse_fit

    warehouse = rows.warehouse()
    try:
        if warehouse is None:
            return source_fit(rows.source(schema), schema, show)
        with closing(warehouse):
            return warehouse_fit(warehouse, schema)
    except DataError:
        return []


def find_rule_breaks(rows: PrivateData, schema: Schema) -> list[int] | None:
    """Return how many rows break each rule; None for data that an engine counts by SQL."""
    from understudy.engines.rule_breaks import rule_breaks

    return None if rows.engine_name() in SQL_ENGINES else rule_breaks(rows.source(schema), schema)
