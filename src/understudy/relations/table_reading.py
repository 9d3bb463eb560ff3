"""Reading tables with foreign keys: files of a folder, frames by name or tables of a database become counted tables.

Files and frames are joined in memory, tables of a database where they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.engines.addresses import address_of, scheme_of, table_addresses
from understudy.engines.coding import encode_table
from understudy.engines.duckdb_rows import DuckDBRows
from understudy.engines.file_guard import unchanged
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import Opened, PrivateData
from understudy.engines.other_programs import SUFFIXES as OTHER_SUFFIXES
from understudy.engines.postgresql_rows import PostgreSQLRows
from understudy.engines.sources import RowSource, open_source
from understudy.engines.trust import types_of
from understudy.errors import DataError, UsageError, did_you_mean
from understudy.privacy.custodian import CustodianFigures
from understudy.relations.linking import CodedRows, Index, linked_tables, no_parent, of_table, twice, used_rows
from understudy.relations.persons import person_numbers
from understudy.relations.reading import DerivedEngine, closed_on_error
from understudy.relations.sql_linking import SqlTables
from understudy.relations.table_tree import Branch, TableTree
from understudy.schema import Schema
from understudy.schema.delimited_names import is_delimited


@dataclass(frozen=True)
class TableFit(CustodianFigures):
    """How many rows a table has, how many belong to one row of its parent at most, and how many are used. Exact."""

    table: str
    rows: int
    used: int
    at_most: int = 0  # 0: the root
    most: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the figures with the custodian's stamp."""
        numbers = {k: int(getattr(self, k)) for k in ("rows", "used", "at_most", "most")}
        return super().as_json() | {"table": self.table} | numbers


def opened_tables(rows: PrivateData, schema: Schema) -> Opened:
    """Return the engines over the tables of a folder, or of frames by name, as what a publication opens."""
    tree = TableTree.of(schema)
    if (warehouses := table_warehouses(rows.data, tree, rows.engine, rows.master)) is not None:
        with closed_on_error(warehouses[schema.name]):
            joined = SqlTables(warehouses, tree)
            return Opened(DerivedEngine(joined.engines(), warehouses[schema.name].name), joined.columns)  # type: ignore[arg-type]
    coded, order = coded_tables(rows.data, tree, rows.engine, rows.master, rows.types)
    columns = linked_tables(tree, coded)
    used = {name: len(next(iter(own.values()))) for name, own in columns.items()}
    engines = {name: MemoryEngine(columns[name], used[name], b.derived) for name, b in tree.branches.items()}
    return Opened(DerivedEngine(engines), order)  # type: ignore[arg-type]


def tables_fit(data: PrivateData, schema: Schema) -> list[TableFit]:
    """Return the exact figures of all tables, for the custodian alone; refuse rows that do not hang together."""
    tree = TableTree.of(schema)
    if (warehouses := table_warehouses(data.data, tree, data.engine, data.master)) is not None:
        with closing(warehouses[schema.name]):
            tallies = SqlTables(warehouses, tree).tallies
        bounds = {child.name: child.at_most for child in schema.tables}
        return [TableFit(name, own.rows, own.used, bounds.get(name, 0), own.most) for name, own in tallies.items()]
    coded, _ = coded_tables(data.data, tree, data.engine, data.master, data.types)
    used, found = used_rows(tree, coded), []
    for name, branch in tree.branches.items():
        rows, parent = coded[name].rows, coded[name].parent
        if branch.child is None or parent is None:
            found.append(TableFit(name, rows, rows))
        else:
            most = int(np.bincount(parent).max()) if rows else 0
            found.append(TableFit(name, rows, len(used[name].rows), branch.child.at_most, most))
    return found


def coded_tables(
    data: Any, tree: TableTree, engine: str | None = None, master: str | None = None, types: str | None = None
) -> tuple[dict[str, CodedRows], tuple[str, ...]]:
    """Return the rows of each table in codes, with the row of the parent that each belongs to, and the order of the
    root's columns. Nothing is quoted of rows that do not fit."""
    sources = table_sources(data, tree, engine, master, types)
    found: dict[str, CodedRows] = {}
    numbers: dict[tuple[str, str], dict[str, int]] = {}  # of the rows of a parent, by a column that is referenced
    order: tuple[str, ...] = ()
    with ExitStack() as guard:
        for source in sources.values():  # each pass has a guard, and there are several
            if (path := getattr(source, "path", None)) is not None:
                guard.enter_context(unchanged(path))
        for name, branch in tree.branches.items():
            try:
                table = encode_table(sources[name], branch.schema, empty=branch.child is not None)
                order = table.order if branch.child is None else order
                parent = _parent_rows(sources[name], branch, tree, table.rows, numbers)
                for column in dict.fromkeys(child.references for child in tree.children(name)):
                    numbers[name, column] = _numbers(sources[name], branch, column, table.rows)
            except DataError as error:
                raise of_table(name, error) from None
            ids = _ids(tree, numbers) if branch.child is None else ()
            found[name] = CodedRows(table.columns, table.rows, parent, ids)
    return found, order


def _ids(tree: TableTree, numbers: Mapping[tuple[str, str], dict[str, int]]) -> tuple[str, ...]:
    """Return the id of each row of the root, in the order of the rows: the first column that a table refers to."""
    root = tree.schema.name
    places = numbers[root, tree.children(root)[0].references]
    return tuple(sorted(places, key=places.__getitem__))


def _numbers(source: RowSource, branch: Branch, column: str, rows: int) -> dict[str, int]:
    """Return the place of each row by its id; refuse an id that two rows have.

    Ids are numbered as they stand in a column's dictionary, which need not be the order of the rows.
    """
    known: dict[str, int] = {}
    found = person_numbers(source, branch.schema[column].column, rows, known)
    if len(np.unique(found)) < rows:
        raise twice(column)
    at = dict(zip(found.tolist(), range(rows)))
    return {text: at[number] for text, number in known.items() if number in at}


def _parent_rows(
    source: RowSource, branch: Branch, tree: TableTree, rows: int, numbers: Mapping[tuple[str, str], dict[str, int]]
) -> Index | None:
    """Return the row of the parent that each row belongs to; refuse a row that belongs to none."""
    if (child := branch.child) is None:
        return None
    known = numbers[child.parent, child.references]
    found = person_numbers(source, branch.schema[child.key].column, rows, dict(known))
    if (found >= len(known)).any():
        raise no_parent(child)
    return found


# -- where the tables are ------------------------------------------------------------------------------------


def table_sources(
    data: Any, tree: TableTree, engine: str | None = None, master: str | None = None, types: str | None = None
) -> dict[str, RowSource]:
    """Return the source of each table: a file of a folder, or a frame or path of a mapping."""
    if engine not in (None, "memory") or master is not None:
        raise UsageError(
            "tables with foreign keys are joined in memory, or by DuckDB or PostgreSQL where they are: name a folder "
            f"of files, or an address without a table. The engine {engine or 'spark'} does not join files: leave "
            "--engine and --master out, and load files that are larger than memory into DuckDB"
        )
    places = data_places(data, tree.schema)
    return {
        name: open_source(places[name], branch.schema.csv, types_of(types), names=branch.schema.columns)
        for name, branch in tree.branches.items()
    }


def table_warehouses(
    data: Any, tree: TableTree, engine: str | None, master: str | None
) -> dict[str, DuckDBRows | PostgreSQLRows] | None:
    """Return the tables of one database, in one snapshot; None where they are files or frames."""
    if not isinstance(data, Mapping) and scheme_of(data) is None:
        return None
    places = data_places(data, tree.schema)
    if not any(scheme_of(place) is not None for place in places.values()):
        return None
    if not all(scheme_of(place) is not None for place in places.values()):
        raise UsageError("tables that are joined are in one place: all of them in one database, or none of them")
    addresses = {name: address_of(place) for name, place in places.items()}
    for place in places.values():
        PrivateData(place, engine, master).engine_name()  # refuses an engine that does not read such an address
    if len({(address.engine, address.place) for address in addresses.values()}) > 1:
        raise UsageError("tables that are joined are in one database: the addresses name several")
    root = PrivateData(places[tree.schema.name]).warehouse()
    assert isinstance(root, DuckDBRows | PostgreSQLRows)
    return {name: root if name == tree.schema.name else root.beside(address) for name, address in addresses.items()}


def data_places(data: Any, schema: Schema) -> dict[str, Any]:
    """Return the file, frame or address of each table; refuse what has no tables, and tables that are absent."""
    files = {schema.name: schema.file} | {child.name: child.file for child in schema.tables}
    if isinstance(data, Mapping):
        for name in data:
            if name not in files:
                raise UsageError(f"there is no table {name!r} in the schema. {did_you_mean(str(name), list(files))}")
        if absent := [name for name in files if name not in data]:
            raise UsageError(f"the table {absent[0]!r} is not among the data: give all of {', '.join(files)}")
        return {name: data[name] for name in files}
    if scheme_of(data) is not None:
        return dict(table_addresses(data, files))
    if not isinstance(data, str | os.PathLike):
        raise UsageError(
            "a schema with [tables.NAME] is of several tables: name the folder of their files, or give a mapping of "
            "frames by the tables' names"
        )
    folder = Path(data)
    if not folder.is_dir():
        raise UsageError(
            f"{folder.name!r} is not a folder, and a schema with [tables.NAME] is of several tables: name the folder "
            "that has their files"
        )
    return {name: _file(folder, name, file) for name, file in files.items()}


def _file(folder: Path, name: str, file: str | None) -> Path:
    """Return the file of a table: the one that the schema names, or the only one that is called after it."""
    if file is not None:
        if not (folder / file).is_file():
            raise UsageError(f"there is no file {file!r} in the folder, which the schema names for {name!r}")
        return folder / file
    found = sorted(path for path in folder.iterdir() if path.is_file() and _called(path, name))
    if len(found) == 1:
        return found[0]
    said = "no file" if not found else "more than one file"
    raise UsageError(
        f"the folder has {said} for the table {name!r}: call one {name}.csv (or .tsv, .parquet), or write `file` in "
        "the schema"
    )


def _called(path: Path, name: str) -> bool:
    own, lower = path.name.removesuffix(".gz"), path.name.lower()
    read = is_delimited(lower) or lower.endswith((".parquet", ".pq")) or path.suffix.lower() in OTHER_SUFFIXES
    return read and own.rpartition(".")[0] == name
