"""Linking: coded rows of several tables, and which row of its parent each belongs to, become the counted tables.

What one row of the root adds to any table is a function of that row and of all that belongs to it alone: of the rows
that belong to one row, the first `at_most` are used, in an order that a public hash of their codes gives, of the codes
of the rows above and of what belongs to them. Nobody else's rows move anything (relations/PROOF.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.relations.changes import Codes, smallest
from understudy.relations.table_tree import TableTree, count_of, given_name

Index = NDArray[np.int64]
Words = NDArray[np.uint64]
Columns = dict[str, Codes]
_STEP, _FIRST, _SECOND = (np.uint64(w) for w in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The rows of one table in codes of its schema, and the row of the parent that each belongs to (the root: none)."""

    columns: Mapping[str, Codes]
    rows: int
    parent: Index | None = None


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """The rows of one table that are used: their place among the coded ones, that of each's parent among its used."""

    rows: Index
    parent: Index | None


def linked_tables(tree: TableTree, coded: Mapping[str, CodedRows]) -> dict[str, Columns]:
    """Return the columns of each counted table, cut to what is used."""
    used = used_rows(tree, coded)
    own = {name: _own_columns(tree, name, coded[name], used) for name in tree.branches}
    found: dict[str, Columns] = {}
    for name, branch in tree.branches.items():
        columns = dict(own[name])
        at = used[name].parent
        for table in tree.ancestors(name):
            assert at is not None
            columns |= {given_name(n, table): codes[at] for n, codes in own[table].items()}
            further = used[table].parent
            at = at if further is None else further[at]
        found[name] = {n: smallest(columns[n], branch.derived[n].size) for n in branch.derived.names}
    return found


def _own_columns(tree: TableTree, name: str, coded: CodedRows, used: Mapping[str, LinkedRows]) -> Columns:
    """Return the attributes of a table's used rows, and how many used rows belong to each."""
    kept = used[name].rows
    columns: Columns = {n: codes[kept] for n, codes in coded.columns.items()}
    for child in tree.children(name):
        columns[count_of(child.name)] = np.bincount(_parents(used[child.name]), minlength=len(kept))
    return columns


def _parents(linked: LinkedRows) -> Index:
    assert linked.parent is not None
    return linked.parent


def used_rows(tree: TableTree, coded: Mapping[str, CodedRows]) -> dict[str, LinkedRows]:
    """Return the rows of each table that are used, parents before children."""
    places = _places(tree, coded)
    found = {tree.schema.name: LinkedRows(np.arange(coded[tree.schema.name].rows), None)}
    for name, branch in tree.branches.items():
        if branch.child is None:
            continue
        rows, above = coded[name], found[branch.child.parent]
        assert rows.parent is not None
        at = np.full(coded[branch.child.parent].rows, -1, dtype=np.int64)  # of a row that is not used, none
        at[above.rows] = np.arange(len(above.rows))
        kept = np.flatnonzero((places[name] < branch.child.at_most) & (at[rows.parent] >= 0))
        kept = kept[np.argsort(at[rows.parent[kept]], kind="stable")]
        found[name] = LinkedRows(kept, at[rows.parent[kept]])
    return found


def _places(tree: TableTree, coded: Mapping[str, CodedRows]) -> dict[str, Index]:
    """Return the place of each row among those of its parent: by its hash, from the lowest tables up."""
    hashes = _from_above(tree, coded)
    places: dict[str, Index] = {}
    for name in reversed(tree.branches):
        rows = coded[name]
        if rows.parent is None:
            continue
        places[name] = place_within(rows.parent, hashes[name])
        branch = tree.branches[name]
        assert branch.child is not None
        used = places[name] < branch.child.at_most
        above = hashes[branch.child.parent]
        np.add.at(above, rows.parent[used], mixed(hashes[name][used] ^ _word(name)))  # whatever their order
    return places


def _from_above(tree: TableTree, coded: Mapping[str, CodedRows]) -> dict[str, Words]:
    """Return a hash of each row's codes and of those of the rows that it belongs to."""
    found: dict[str, Words] = {}
    for name, branch in tree.branches.items():
        rows = coded[name]
        start = np.zeros(rows.rows, dtype=np.uint64)
        if rows.parent is not None and branch.child is not None:
            start = found[branch.child.parent][rows.parent]
        for attribute in branch.schema.names:
            start = mixed(start ^ rows.columns[attribute].astype(np.uint64))
        found[name] = start
    return found


def place_within(parent: Index, hashes: Words) -> Index:
    """Return the place of each row among those with the same parent, in the order of their hashes."""
    by = np.lexsort((hashes, parent))
    own = parent[by]
    starts = np.flatnonzero(np.append(True, own[1:] != own[:-1])) if len(own) else np.zeros(0, dtype=np.int64)
    sizes = np.diff(np.append(starts, len(own)))
    places = np.empty(len(own), dtype=np.int64)
    places[by] = np.arange(len(own)) - np.repeat(starts, sizes)
    return places


def mixed(words: Words) -> Words:
    """Return words whose bits all depend on all bits of these (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        words = words + _STEP
        words = (words ^ (words >> np.uint64(30))) * _FIRST
        words = (words ^ (words >> np.uint64(27))) * _SECOND
        return np.asarray(words ^ (words >> np.uint64(31)))


def _word(name: str) -> Any:
    return np.uint64(int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "little"))
