"""Reading tables with foreign keys: the files of a folder, or frames by name, become counted tables, in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.engines.addresses import scheme_of
from understudy.engines.coding import encode_table
from understudy.engines.file_guard import unchanged
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import Opened, engine_for
from understudy.engines.other_programs import SUFFIXES as OTHER_SUFFIXES
from understudy.engines.sources import Source, open_source
from understudy.engines.trust import types_of
from understudy.errors import DataError, UsageError, did_you_mean
from understudy.privacy.custodian import CustodianFigures
from understudy.relations.linking import CodedRows, Columns, Index, linked_tables, used_rows
from understudy.relations.persons import person_numbers
from understudy.relations.table_tree import Branch, TableTree
from understudy.schema import Schema
from understudy.schema.delimited_names import is_delimited


@dataclass(frozen=True, eq=False)
class TreeEngine:
    """The engines over the counted tables, by name; their counts never leave the kernel."""

    tables: dict[str, MemoryEngine]
    name: str = "memory"

    def fingerprint(self, key: bytes) -> str:
        """Return what tells these rows from any others to whoever has the key."""
        all_of_them = "".join(engine.fingerprint(key) for engine in self.tables.values())
        return hashlib.sha256(all_of_them.encode()).hexdigest()

    def close(self) -> None:
        for engine in self.tables.values():
            engine.close()


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


def opened_tables(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> Opened:
    """Return the engines over the tables of a folder, or of frames by name, as what a publication opens."""
    tree = TableTree.of(schema)
    coded, order = coded_tables(data, tree, engine, master, types)
    columns = linked_tables(tree, coded)
    engines = {name: _engine(tree.branches[name], columns[name]) for name in tree.branches}
    return Opened(TreeEngine(engines), order)  # type: ignore[arg-type]


def _engine(branch: Branch, columns: Columns) -> MemoryEngine:
    rows = len(next(iter(columns.values())))
    return MemoryEngine(columns, rows, branch.derived)


def tables_fit(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> list[TableFit]:
    """Return the exact figures of all tables, for the custodian alone; refuse rows that do not hang together."""
    tree = TableTree.of(schema)
    coded, _ = coded_tables(data, tree, engine, master, types)
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
                table = encode_table(sources[name], branch.schema)
                order = table.order if branch.child is None else order
                parent = _parent_rows(sources[name], branch, tree, table.rows, numbers)
                for column in dict.fromkeys(child.references for child in tree.children(name)):
                    numbers[name, column] = _numbers(sources[name], branch, column, table.rows)
            except DataError as error:
                raise DataError(f"table {name!r}: {error.message}", attribute=error.attribute) from None
            found[name] = CodedRows(table.columns, table.rows, parent)
    return found, order


def _numbers(source: Source, branch: Branch, column: str, rows: int) -> dict[str, int]:
    """Return the number of each row by its id; refuse an id that two rows have."""
    known: dict[str, int] = {}
    person_numbers(source, branch.schema[column].column, rows, known)
    if len(known) < rows:
        raise DataError(
            f"two rows have the same {column!r}, so nobody knows which of them the rows of other tables belong to: "
            "give every row an id of its own",
            attribute=column,
        )
    return known


def _parent_rows(
    source: Source, branch: Branch, tree: TableTree, rows: int, numbers: Mapping[tuple[str, str], dict[str, int]]
) -> Index | None:
    """Return the row of the parent that each row belongs to; refuse a row that belongs to none."""
    if (child := branch.child) is None:
        return None
    known = numbers[child.parent, child.references]
    found = person_numbers(source, branch.schema[child.key].column, rows, dict(known))
    if (found >= len(known)).any():
        raise DataError(
            f"some rows have a {child.key!r} that no row of {child.parent!r} has: take them out, or add the rows of "
            f"{child.parent!r} that they belong to",
            attribute=child.key,
        )
    return found


# -- where the tables are ------------------------------------------------------------------------------------


def table_sources(
    data: Any, tree: TableTree, engine: str | None = None, master: str | None = None, types: str | None = None
) -> dict[str, Source]:
    """Return the source of each table: a file of a folder, or a frame or path of a mapping."""
    if not isinstance(data, Mapping) and engine_for(data, engine, master) not in (None, "memory"):
        raise UsageError(
            "tables with foreign keys are joined in memory: name a folder of files, or give frames by name; export the "
            "tables of a database to one. Other engines do not join them yet"
        )
    places = data_places(data, tree.schema)
    return {
        name: open_source(places[name], branch.schema.csv, types_of(types), names=branch.schema.columns)
        for name, branch in tree.branches.items()
    }


def data_places(data: Any, schema: Schema) -> dict[str, Any]:
    """Return the file or frame of each table; refuse what is no folder and no mapping, and tables that are absent."""
    files = {schema.name: schema.file} | {child.name: child.file for child in schema.tables}
    if isinstance(data, Mapping):
        for name in data:
            if name not in files:
                raise UsageError(f"there is no table {name!r} in the schema. {did_you_mean(str(name), list(files))}")
        if absent := [name for name in files if name not in data]:
            raise UsageError(f"the table {absent[0]!r} is not among the data: give all of {', '.join(files)}")
        return {name: data[name] for name in files}
    if not isinstance(data, str | os.PathLike) or scheme_of(data) is not None:
        raise UsageError(
            "a schema with [tables.NAME] is of several tables: name the folder of their files, or give a mapping of "
            "frames by the tables' names"
        )
    folder = Path(data)
    if not folder.is_dir():
        raise UsageError(f"{folder.name!r} is not a folder: the tables of this schema are files of one")
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
