"""Linking: coded rows of several tables, and which row of its parent each belongs to, become the counted tables.

What one row of the root adds to any table is a function of that row and of all that belongs to it alone: of the rows
that belong to one row, the first `at_most` are used, in the order of a public digest of their codes, of the codes of
the rows above with the root's id, and of what belongs to them. Nobody else's rows move anything (relations/PROOF.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataError
from understudy.relations.changes import Codes, smallest
from understudy.relations.derivation import places_and_counts
from understudy.relations.table_tree import TableTree, count_of, given_name
from understudy.schema.children import ChildTable

Index = NDArray[np.int64]
Mask = NDArray[np.bool_]
Digests = NDArray[np.bytes_]  # of rows, in hexadecimal; empty where none is needed
Columns = dict[str, Codes]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The rows of one table in codes of its schema, and the row of the parent that each belongs to.

    Of the root there is no parent, but the id of each row.
    """

    columns: Mapping[str, Codes]
    rows: int
    parent: Index | None = None
    ids: Sequence[str] = ()


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
    """Return the place of each row among those of its parent: by its digest where there are more than are used."""
    ranked, digests = _ranked(tree, coded), _from_above(tree, coded)
    places: dict[str, Index] = {}
    for name in reversed(tree.branches):
        rows, branch = coded[name], tree.branches[name]
        if tree.children(name):
            digests[name] = _with_children(tree, name, coded, digests, places, ranked)
        if branch.child is not None and rows.parent is not None:
            places[name] = place_within(rows.parent, digests[name])
    return places


def _ranked(tree: TableTree, coded: Mapping[str, CodedRows]) -> dict[str, Mask]:
    """Return the rows whose digest matters: their parent has more than are used, or theirs has, and so on up."""
    found: dict[str, Mask] = {}
    for name, branch in tree.branches.items():
        parent = coded[name].parent
        if branch.child is None or parent is None:
            found[name] = np.zeros(coded[name].rows, dtype=bool)
        else:
            many = np.bincount(parent, minlength=coded[branch.child.parent].rows)
            found[name] = (many[parent] > branch.child.at_most) | found[branch.child.parent][parent]
    return found


def _from_above(tree: TableTree, coded: Mapping[str, CodedRows]) -> dict[str, Digests]:
    """Return a digest of each row's codes and of those of the rows that it belongs to, where one matters.

    The root's id is in it: otherwise the same values would be left out of every row of the root with the same codes.
    """
    wanted = _ranked(tree, coded)
    for name in reversed(tree.branches):
        branch, parent = tree.branches[name], coded[name].parent
        if branch.child is not None and parent is not None:
            wanted[branch.child.parent][parent[wanted[name]]] = True
    found: dict[str, Digests] = {}
    for name, branch in tree.branches.items():
        rows, at = coded[name], np.flatnonzero(wanted[name])
        above = [rows.ids[i].encode() if rows.ids else b"" for i in at.tolist()]
        if branch.child is not None and rows.parent is not None:
            above = found[branch.child.parent][rows.parent[at]].tolist()
        codes = zip(*(rows.columns[attribute][at].tolist() for attribute in branch.schema.names))
        texts = (start + b"," + ",".join(map(str, own)).encode() for start, own in zip(above, codes))
        found[name] = _placed(rows.rows, at, texts)
    return found


def _with_children(
    tree: TableTree,
    name: str,
    coded: Mapping[str, CodedRows],
    digests: Mapping[str, Digests],
    places: Mapping[str, Index],
    ranked: Mapping[str, Mask],
) -> Digests:
    """Return the digests of a table's rows with those of the rows that are used of what belongs to them, in order."""
    at = np.flatnonzero(ranked[name])
    texts = digests[name][at].tolist()
    for child in tree.children(name):
        parent = coded[child.name].parent
        assert parent is not None
        used = np.flatnonzero((places[child.name] < child.at_most) & ranked[name][parent])
        used = used[np.lexsort((digests[child.name][used], parent[used]))]
        ends = np.searchsorted(parent[used], at, side="right")
        begins = np.searchsorted(parent[used], at, side="left")
        own = digests[child.name][used].tolist()
        texts = [text + b"|" + b"".join(own[b:e]) for text, b, e in zip(texts, begins, ends)]
    return _placed(len(ranked[name]), at, texts)


def _placed(rows: int, at: Index, texts: Iterable[bytes]) -> Digests:
    """Return the digests of these texts at their places, and nothing elsewhere."""
    found = np.zeros(rows, dtype="S32")
    found[at] = [digest(text) for text in texts]
    return found


def digest(text: bytes) -> bytes:
    """Return the digest that decides which rows are used: MD5 in hexadecimal, which databases have too."""
    return md5(text, usedforsecurity=False).hexdigest().encode()


def place_within(parent: Index, digests: Digests) -> Index:
    """Return the place of each row among those with the same parent, in the order of their digests."""
    by = np.lexsort((digests, parent))
    places = np.empty(len(by), dtype=np.int64)
    places[by] = places_and_counts(parent[by])[0]
    return places


# -- rows that do not hang together: names and rules, never a value or a count -----------------------------------


def of_table(name: str, error: DataError) -> DataError:
    """Return a refusal that says of which table it is."""
    return DataError(f"table {name!r}: {error.message}", attribute=error.attribute)


def twice(column: str) -> DataError:
    """Return the refusal of an id that two rows have."""
    return DataError(
        f"two rows have the same {column!r}, so nobody knows which of them the rows of other tables belong to: give "
        "every row an id of its own",
        attribute=column,
    )


def no_parent(child: ChildTable) -> DataError:
    """Return the refusal of rows that belong to no row."""
    return DataError(
        f"some rows have a {child.key!r} that no row of {child.parent!r} has: take them out, or add the rows of "
        f"{child.parent!r} that they belong to",
        attribute=child.key,
    )
