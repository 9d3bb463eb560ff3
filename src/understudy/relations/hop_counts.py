"""Counts over joined tables with foreign keys, exact and for the custodian alone: what queries over hops ask for.

Rows are joined in memory or where they are: of tables in a database only counts are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.relations.linking import CodedRows
from understudy.relations.sql_linking import SqlTables
from understudy.relations.table_reading import coded_tables, table_warehouses
from understudy.relations.table_tree import TableTree, given_name
from understudy.schema import Axis, Schema

WIDEST = 1024  # codes of an attribute that is looked at
Counts = NDArray[np.int64]


@contextmanager
def hop_counts(data: Any, tree: TableTree, types: str | None = None) -> Iterator[HopCounts]:
    """Count the tables of a folder, frames by name, or tables of a database, which stay there."""
    if (warehouses := table_warehouses(data, tree, None, None)) is None:
        yield MemoryHops(tree, coded_tables(data, tree, types=types)[0])
        return
    with closing(warehouses[tree.schema.name]):
        yield SqlHops(tree, SqlTables(warehouses, tree))


def looked_at(tree: TableTree, name: str) -> list[str]:
    """Return the attributes of a table that have few enough codes."""
    schema = tree.branches[name].schema
    return [column for column in schema.names if schema[column].size <= WIDEST]


@dataclass(frozen=True, eq=False)
class MemoryHops:
    """Coded rows in this process."""

    tree: TableTree
    coded: Mapping[str, CodedRows]

    @property
    def rows(self) -> Mapping[str, int]:
        """Return how many rows each table has."""
        return {name: self.coded[name].rows for name in self.tree.branches}

    def tables(self, one: str, two: str) -> Iterator[Counts]:
        """Yield the joint counts of every attribute of one table with every attribute of the other, laid out flat: of
        rows with those that they belong to, or of two rows that belong to the same one."""
        for a, b in product(looked_at(self.tree, one), looked_at(self.tree, two)):
            sizes = self.tree.branches[one].schema[a].size, self.tree.branches[two].schema[b].size
            first, second = (self.coded[t].columns[c].astype(np.int64) for t, c in ((one, a), (two, b)))
            if one in self.tree.ancestors(two):
                at = self._above(two, one)
                yield np.bincount(first[at] * sizes[1] + second, minlength=sizes[0] * sizes[1])
            else:
                yield (self._by_parent(one, first, sizes[0]).T @ self._by_parent(two, second, sizes[1])).ravel()

    def fan_out(self, name: str) -> Counts:
        """Return how many rows of the parent have 0, 1, 2, … rows in this table."""
        return np.bincount(self._by_parent(name, np.zeros(self.coded[name].rows, dtype=np.int64), 1).ravel())

    def _above(self, name: str, above: str) -> Counts:
        """Return the row of a table above that each row belongs to."""
        found = np.arange(self.coded[name].rows)
        while name != above:
            parent = self.coded[name].parent
            assert parent is not None
            found, name = parent[found], self.tree.ancestors(name)[0]
        return found

    def _by_parent(self, name: str, codes: Counts, size: int) -> Counts:
        """Return how many rows with each code belong to each row of the parent."""
        parent, rows = self.coded[name].parent, self.coded[self.tree.ancestors(name)[0]].rows
        assert parent is not None
        return np.bincount(parent * size + codes, minlength=rows * size).reshape(rows, size)


@dataclass(frozen=True, eq=False)
class SqlHops:
    """Tables of one database: rows are joined there, all of them, and only counts come back."""

    tree: TableTree
    linked: SqlTables

    @property
    def rows(self) -> Mapping[str, int]:
        return {name: self.linked.tallies[name].rows for name in self.tree.branches}

    def tables(self, one: str, two: str) -> Iterator[Counts]:
        both = {one: looked_at(self.tree, one), two: looked_at(self.tree, two)}
        engine = self.linked.joined(self._schema(both), both)
        workload = [(Axis(given_name(a, one)), Axis(given_name(b, two))) for a, b in product(both[one], both[two])]
        for counts in engine.marginals(workload):
            yield np.asarray(counts).ravel()

    def fan_out(self, name: str) -> Counts:
        return self.linked.fan_out(name)

    def _schema(self, both: Mapping[str, list[str]]) -> Schema:
        """Return the attributes of both tables as those of one."""
        found = [
            replace(self.tree.branches[table].schema[column], name=given_name(column, table), read_from=None)
            for table, columns in both.items()
            for column in columns
        ]
        return Schema(self.tree.schema.name, tuple(found), None, "add-remove")


HopCounts = MemoryHops | SqlHops  # the same questions, wherever the rows are
