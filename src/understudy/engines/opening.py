"""Opening: data (a frame, a path or an address), a schema and the name of an engine become rows that can be counted.

What can be refused without a charge is refused here: absent columns, cells that do not fit, a wrong row count.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
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
    from understudy.engines.sql import Warehouse

ENGINES = ("memory", "mapped", "duckdb", "postgresql", "spark")


@dataclass(frozen=True)
class Opened:
    """An engine over rows that fit, and the order of all columns in the source. Whoever opened it closes the engine."""

    engine: OpenEngine
    columns: tuple[str, ...]


def open_engine(
    data: Any,
    schema: Schema,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
    key: bytes | None = None,
) -> Opened:
    """Open the engine of this name (None: by the kind of data) over this data, or raise the first reason why not.

    `types` says whether the columns' types were "inferred" from the rows or "declared" (None: by the kind of data).
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
    trust = types_of(types)
    warehouse = warehouse_of(data, engine_for(data, engine, master), master, trust)
    if warehouse is not None:
        return Opened(*open_sql(warehouse, schema.counted, key))
    return Opened(*open_embedded(data, schema.counted, engine, trust))


def open_groups(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> GroupingEngine:
    """Return the engine that counts texts for value lists. Nothing is opened until it is asked."""
    from understudy.engines.grouping import SourceGroups, WarehouseGroups
    from understudy.engines.sources import open_source

    trust, named = types_of(types), engine_for(data, engine, master)
    if named in ("postgresql", "duckdb", "spark"):
        return WarehouseGroups(lambda: warehouse_of(data, named, master, trust))  # type: ignore[arg-type,return-value]
    return SourceGroups(lambda: open_source(data, schema.csv, trust, names=schema.columns))


def find_misfits(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> list[Misfit]:
    """Return every reason why `open_engine` would refuse the data."""
    from understudy.engines.coding import misfits
    from understudy.engines.sources import open_source
    from understudy.engines.sql import sql_misfits

    trust = types_of(types)
    warehouse = warehouse_of(data, engine_for(data, engine, master), master, trust)
    if warehouse is not None:
        return sql_misfits(warehouse, schema)
    return misfits(open_source(data, schema.csv, trust, names=schema.columns), schema)


def fit_of_cells(
    data: Any,
    schema: Schema,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
    show: int = 0,
) -> list[CellFit]:
    """Count how the cells of each attribute are read; exact, for the custodian alone.

    Of a file or a frame, up to `show` distinct offending cells of each sort are kept. Data that cannot be read at all
    has no fit: `find_misfits` says why.
    """
    from understudy.engines.cell_fit import source_fit, warehouse_fit
    from understudy.engines.sources import open_source

    trust = types_of(types)
    warehouse = warehouse_of(data, engine_for(data, engine, master), master, trust)
    try:
        if warehouse is not None:
            return warehouse_fit(warehouse, schema)
        return source_fit(open_source(data, schema.csv, trust, names=schema.columns), schema, show)
    except DataError:
        return []
    finally:
        if warehouse is not None:
            warehouse.close()


def find_rule_breaks(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> list[int] | None:
    """Return how many rows break each rule; None for data that an engine counts by SQL."""
    from understudy.engines.rule_breaks import rule_breaks
    from understudy.engines.sources import open_source

    if engine_for(data, engine, master) not in (None, "memory", "mapped"):
        return None
    return rule_breaks(open_source(data, schema.csv, types_of(types), names=schema.columns), schema)


def engine_for(data: Any, engine: str | None, master: str | None) -> str | None:
    """Return the name of the engine that counts this data; None for an embedded one by size.

    An address is never shown.
    """
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}. {did_you_mean(engine, list(ENGINES))}")
    if master is not None and engine not in (None, "spark"):
        raise UsageError("a master goes with the engine spark")
    engine = "spark" if master is not None else engine
    if engine != "spark" and scheme_of(data) is not None:
        named = address_of(data).engine
        if engine not in (None, named):
            raise UsageError(f"this address is read by the engine {named}, not by {engine}")
        return named
    if engine == "postgresql":
        raise UsageError("the engine postgresql reads an address: postgresql://host/database?table=schema.people")
    return engine


def warehouse_of(data: Any, engine: str | None, master: str | None, types: Types | None) -> Warehouse | None:
    """Return a connection for the engines that count by SQL; None for the embedded ones."""
    if engine == "postgresql":
        from understudy.engines.postgresql_rows import PostgreSQLRows

        return PostgreSQLRows(address_of(data))
    if engine not in ("duckdb", "spark"):
        return None
    if not isinstance(data, str | os.PathLike):
        raise UsageError(f"the engine {engine} reads a table or a Parquet file where it is, not a frame in memory")
    if engine == "spark":
        from understudy.engines.spark_rows import SparkRows

        return SparkRows(os.fspath(data), master, types)
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
