"""The SQL engine: rows stay where they are; a batch of tables becomes one statement, and only counts come back.

A warehouse is a connection with one consistent snapshot; this file writes what it runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.engines.coding import Misfit, cell_misfits, row_misfits, structure_misfits
from understudy.engines.covering import check_cells, cover, holds, project
from understudy.engines.engine import Codes, Counts
from understudy.engines.fingerprint import RowFingerprint
from understudy.engines.inferred_sql import InferredWriter
from understudy.engines.sql_coding import UNREADABLE, Column, Writer
from understudy.engines.sql_dialects import tree
from understudy.engines.trust import Types, inferred_fault
from understudy.errors import DataError, UnderstudyError
from understudy.schema import Axes, Axis, Schema
from understudy.schema.domain import UNFIT
from understudy.schema.row_major import strides
from understudy.schema.scales.sql_syntax import Syntax
from understudy.schema.table_runs import table_runs
from understudy.undo import undone_on_error

Integers = NDArray[np.int64]
CACHE_CELLS = 32_000_000  # 256 MB of counts
SCAN_CELLS = 64_000_000
PAIRED = 64  # attributes of a table all of whose pairs are counted in the first pass
KEPT = "understudy_coded"  # what a private copy is called
FEW_CELLS, MANY_CELLS = 4096, 1_000_000  # of a table that serves several others


class Warehouse(Protocol):
    """A table in a database, in a snapshot that lasts until `close`. Its errors never show a cell or a password."""

    @property
    def name(self) -> str: ...

    @property
    def syntax(self) -> Syntax: ...

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def trust(self) -> Types:
        """Return whether the types were chosen before any row was seen."""
        ...

    @property
    def relation(self) -> str:
        """Return the table, as SQL."""
        ...

    def keep(self, coded: str, name: str = KEPT) -> str:
        """Return what is counted from: the coded rows, as SQL or as a private copy of this name."""
        ...

    def row(self, sql: str) -> tuple[int | None, ...]:
        """Return the only row of a statement that aggregates everything."""
        ...

    def counts(self, sql: str) -> tuple[Integers, Integers]:
        """Return keys and counts."""
        ...

    def texts(self, sql: str) -> list[tuple[str, int]]:
        """Return texts k and counts n: for the question of value lists."""
        ...

    def close(self) -> None: ...


@dataclass
class Passes:
    """How many statements went over the rows of one warehouse, whichever engine ran them."""

    made: int = 0


def coarser_code(code: str, home: Codes, syntax: Syntax) -> str:
    """Return the SQL of the coarser code of each code, given in order: a few comparisons.

    Where each code keeps a cell of its own (a look has thousands of them in a row) the new code is the old one less a
    constant; elsewhere it is a constant.
    """
    rises, starts, codes, at = np.append(np.diff(home), 0).tolist(), list[float](), list[str](), 0
    while at < len(home):
        start, rising = at, rises[at] == 1
        while at + 1 < len(home) and rises[at] == rising:
            at += 1
        starts.append(float(start))
        codes.append(f"({code} - {start - int(home[start])})" if rising else str(int(home[start])))
        at += 1
    return tree(code, starts[1:], codes, syntax)


class SqlEngine:
    """Counts by statements. `scans` says how many of them went over the rows, those of regrouped engines among them."""

    tables_at_once = 1_000_000  # a round of a method is one statement, so all its tables are wanted together

    def __init__(
        self,
        warehouse: Warehouse,
        schema: Schema,
        coded: str,
        rows: int,
        passes: Passes,
        fingerprints: Mapping[bytes, str] | None = None,
    ) -> None:
        self.name = warehouse.name
        self._passes = passes
        self._warehouse = warehouse
        self._schema = schema
        self._rows = rows
        self._coded = coded
        self._fingerprints = dict(fingerprints or {})
        self._place = {name: f"q{i}" for i, name in enumerate(schema.names)}
        self._foreseen: list[Axes] = []
        self._blocks: dict[Axes, Counts] = {}
        self._blocks_with: dict[str, set[Axes]] = {}

    @property
    def scans(self) -> int:
        return self._passes.made

    def rows(self) -> int:
        return self._rows

    def fingerprint(self, key: bytes) -> str:
        if key not in self._fingerprints:
            self._passes.made += 1
            self._fingerprints[key] = table_fit(self._warehouse, self._schema, self._coded, key)[2]
        return self._fingerprints[key]

    def marginals(self, workload: Sequence[Axes]) -> Iterator[Counts]:
        """Yield the marginals of a workload, with one pass over the rows for all that earlier passes do not answer."""
        check_cells(workload, self._schema)
        if fresh := self._unknown(workload):
            blocks = self._planned(fresh)
            sizes, most = [self._schema.cells(block) for block in blocks], self._warehouse.syntax.tables_at_once
            for run in table_runs(blocks, sizes, SCAN_CELLS, most):  # one statement, or a few where one is too long
                self._scan(run)
        for axes in workload:
            yield self._table(axes)
        self._shrink()

    def foresee(self, workload: Sequence[Axes]) -> None:
        self._foreseen += workload

    def regrouped(self, schema: Schema, homes: Mapping[str, Codes]) -> SqlEngine:
        """Return an engine of coarser codes."""
        syntax = self._warehouse.syntax
        columns: list[str] = []
        for name in schema.names:
            old, new = self._place[name], f"q{len(columns)}"
            if name in homes:
                old = coarser_code(old, homes[name], syntax)
            columns.append(f"{old} AS {new}")
        coded = f"(SELECT {', '.join(columns)} FROM {self._coded}{syntax.fence}) AS regrouped"
        return SqlEngine(self._warehouse, schema, coded, self._rows, self._passes)

    def viewed(self, schema: Schema) -> SqlEngine:
        grouped = SqlEngine(self._warehouse, schema, self._coded, self._rows, self._passes, self._fingerprints)
        grouped._foreseen = self._foreseen
        for axes, table in self._blocks.items():
            grouped._keep(axes, table)
        return grouped

    def close(self) -> None:
        self._blocks.clear()
        self._blocks_with.clear()
        self._warehouse.close()

    # -- passes over the rows --------------------------------------------------------------------------------

    def _planned(self, fresh: list[Axes]) -> list[Axes]:
        """Return the tables to count for a workload and for those that are foreseen, as far as the cache holds them."""
        limit = min(MANY_CELLS, max(FEW_CELLS, self._rows // 8))
        more = self._unknown([*([] if self._blocks else self._soon(fresh, limit)), *self._foreseen])
        self._foreseen = []
        room = CACHE_CELLS - sum(table.size for table in self._blocks.values())
        ends = itertools.accumulate(map(self._schema.cells, more))
        within = [axes for axes, end in zip(more, ends) if end <= room // 2]
        for wanted in ([*fresh, *within], fresh):
            for most in (limit, FEW_CELLS):  # a table that holds several has more cells than they have
                blocks = cover(wanted, self._schema, most)
                if sum(map(self._schema.cells, blocks)) <= room:
                    return blocks
        return blocks

    def _unknown(self, workload: Sequence[Axes]) -> list[Axes]:
        return [axes for axes in dict.fromkeys(workload) if axes and self._holding(axes) is None]

    def _soon(self, workload: list[Axes], limit: int) -> list[Axes]:
        """Return what methods ask for sooner or later: every attribute.

        And the pairs, where they begin with attributes; not where levels come first, from which bins will be made.
        """
        single: list[Axes] = [(Axis(name),) for name in self._schema.names]
        if len(single) > PAIRED or not all(len(axes) == 1 and axes[0].base for axes in workload):
            return single
        pairs = [(*a, *b) for a, b in itertools.combinations(single, 2)]
        return single + [pair for pair in pairs if self._schema.cells(pair) <= limit]

    def _scan(self, blocks: list[Axes]) -> None:
        ends = np.cumsum([self._schema.cells(block) for block in blocks])
        starts = [0, *(int(end) for end in ends)]
        keys = [self._key(block, start, starts[-1]) for block, start in zip(blocks, starts)]
        self._passes.made += 1
        found, counts = self._warehouse.counts(self._warehouse.syntax.keys(keys, self._coded))
        order = np.argsort(found, kind="stable")
        found, counts = found[order], counts[order]
        parts = np.searchsorted(found, starts)
        for block, start, begin, end in zip(blocks, starts, parts, parts[1:]):
            table = np.zeros(self._schema.cells(block), dtype=np.int64)
            table[found[begin:end] - start] = counts[begin:end]
            if table.sum() != self._rows:
                raise UnderstudyError(
                    f"the engine {self.name} counted another number of rows than before: the snapshot did not hold. "
                    "Nothing more was released; run the same command to go on"
                )
            self._keep(block, table.reshape(self._schema.sizes(block)))

    def _key(self, block: Axes, start: int, cells: int) -> str:
        """Return the number of a row's cell; tables follow one another."""
        syntax, terms = self._warehouse.syntax, [str(start)]
        for axis, stride in zip(block, strides(self._schema.sizes(block))):
            view = self._view(axis)
            view = syntax.as_integer(view) if cells >= 2**31 else view
            terms.append(f"{view} * {stride}" if stride > 1 else view)
        return " + ".join(terms)

    def _view(self, axis: Axis) -> str:
        place = self._place[axis.attribute]
        return place if axis.base else self._warehouse.syntax.pick(self._schema.view_map(axis).tolist(), place)

    # -- what is known already -------------------------------------------------------------------------------

    def _holding(self, axes: Axes) -> Axes | None:
        """Return the smallest counted table that holds the one over these axes."""
        found = set.intersection(*(self._blocks_with.get(axis.attribute, set()) for axis in axes)) if axes else set()
        return min((b for b in found if holds(b, axes)), key=lambda b: self._blocks[b].size, default=None)

    def _table(self, axes: Axes) -> Counts:
        if not axes:
            return np.array(self._rows, dtype=np.int64)
        block = self._holding(axes)
        assert block is not None
        return project(self._blocks[block], block, axes, self._schema)

    def _keep(self, block: Axes, table: Counts) -> None:
        self._blocks[block] = table
        for axis in block:
            self._blocks_with.setdefault(axis.attribute, set()).add(block)

    def _shrink(self) -> None:
        """Drop the largest tables until the rest fits; called between batches only."""
        while sum(table.size for table in self._blocks.values()) > CACHE_CELLS:
            block = max(self._blocks, key=lambda b: self._blocks[b].size)
            del self._blocks[block]
            for axis in block:
                self._blocks_with[axis.attribute].discard(block)


# -- opening -----------------------------------------------------------------------------------------------------


def open_sql(warehouse: Warehouse, schema: Schema, key: bytes | None = None) -> tuple[SqlEngine, tuple[str, ...]]:
    """Return an engine over a table that fits and the order of its columns, or raise the first misfit and close all.

    With a key, the pass that finds misfits finds the table's fingerprint too.
    """
    with undone_on_error(warehouse.close):
        names = tuple(column.name for column in warehouse.columns)
        for misfit in structure_misfits(names, schema):
            raise misfit.error()
        coded = warehouse.keep(coded_rows(warehouse, schema))
        rows, found, fingerprint = table_fit(warehouse, schema, coded, key)
        for misfit in found:
            raise misfit.error()
        known = {} if key is None else {key: fingerprint}
        return SqlEngine(warehouse, schema, coded, rows, Passes(1), known), names


def sql_misfits(warehouse: Warehouse, schema: Schema) -> list[Misfit]:
    """Return every reason why `open_sql` would refuse."""
    with closing(warehouse):
        found = structure_misfits([column.name for column in warehouse.columns], schema)
        part, wrong = readable(warehouse, schema)
        if part is None:
            return found + wrong
        return found + wrong + table_fit(warehouse, part, warehouse.keep(coded_rows(warehouse, part)))[1]


def readable(warehouse: Warehouse, schema: Schema) -> tuple[Schema | None, list[Misfit]]:
    """Return the attributes whose columns are there and of types that can be read (None where none is to publish), and
    what is wrong with the types of others."""
    names = {column.name for column in warehouse.columns}
    present = [a.name for a in schema.attributes if a.column in names]
    if not any(schema[name].modelled for name in present):
        return None, []
    wrong = _wrong_types(warehouse, schema.project(present))
    left = [name for name in present if name not in {misfit.attribute for misfit in wrong}]
    return schema.project(left) if any(schema[name].modelled for name in left) else None, wrong


def _wrong_types(warehouse: Warehouse, schema: Schema) -> list[Misfit]:
    found = []
    for attribute in schema.modelled:
        if warehouse.trust == "inferred" and (fault := inferred_fault(attribute, schema.csv.decimal)) is not None:
            found.append(Misfit("types", attribute.name, fault))
            continue
        try:
            coded_rows(warehouse, schema.project([attribute.name]))
        except DataError as error:
            found.append(Misfit("file", attribute.name, error.message))
    return found


def table_fit(
    warehouse: Warehouse, schema: Schema, coded: str, key: bytes | None = None
) -> tuple[int, list[Misfit], str]:
    """Return how many rows there are, what does not fit, and the fingerprint under a key, in one pass."""
    names = [f"q{i}" for i in range(len(schema.names))]
    flags = [f"max(CASE WHEN {n} = {wrong} THEN 1 ELSE 0 END)" for wrong in (UNFIT, UNREADABLE) for n in names]
    keyed = None if key is None else RowFingerprint(key, schema)
    if keyed is not None:
        syntax = warehouse.syntax
        coded = f"(SELECT {', '.join(names)}, {keyed.row_sql(names, syntax)} AS u FROM {coded}{syntax.fence}) AS keyed"
        flags.append(keyed.sum_sql("u", syntax))
    rows, *bad = warehouse.row(f"SELECT count(*), {', '.join(flags)} FROM {coded}")
    assert rows is not None
    fingerprint = "" if keyed is None else keyed.text(rows, int(bad[-1] or 0))
    unfit = {name for name, flag in zip(schema.names, bad) if flag}
    unreadable = [name for name, flag in zip(schema.names, bad[len(names) : 2 * len(names)]) if flag]
    found = cell_misfits(schema, unfit | set(unreadable), warehouse.trust)
    found = [Misfit("cells", m.attribute, _unreadable(m)) if m.attribute in unreadable else m for m in found]
    return rows, found + row_misfits(schema, rows), fingerprint


def _unreadable(misfit: Misfit) -> str:
    return (
        f"attribute {misfit.attribute!r}: some cells are written in a way that only the embedded engines read, such as "
        "digits of another script, a date without hyphens or a time zone. Write them plainly in a view, or publish an "
        "exported file"
    )


def coded_rows(warehouse: Warehouse, schema: Schema, also: Mapping[str, str] | None = None) -> str:
    """Return the codes q0, q1, … of every row, as a subquery; `also` names SQL over the source's columns to keep."""
    by_name = {column.name: column for column in warehouse.columns}
    syntax, decimal = warehouse.syntax, schema.csv.decimal
    writer = InferredWriter if warehouse.trust == "inferred" else Writer
    parts = [writer(a, by_name[a.column], i, syntax, decimal).expression() for i, a in enumerate(schema.modelled)]
    inner = warehouse.relation
    names: list[str] = []
    for stage in range(max(len(part.stages) for part in parts)):
        written = (part.stages[stage] for part in parts if stage < len(part.stages))
        fresh = {name: sql for own in written for name, sql in own.items()}
        fresh |= dict(also or {}) if stage == 0 else {}
        if fresh:
            selected = names + [f"{sql} AS {name}" for name, sql in fresh.items()]
            inner = f"(SELECT {', '.join(selected)} FROM {inner}{syntax.fence}) AS s{stage}"
            names += list(fresh)
    codes = [f"CAST({part.code} AS INTEGER) AS q{i}" for i, part in enumerate(parts)]
    joins = "".join(f" {part.join}" for part in parts if part.join)
    return f"(SELECT {', '.join([*codes, *(also or {})])} FROM {inner}{joins}{syntax.fence}) AS coded"
