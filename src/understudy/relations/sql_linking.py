"""Linking in a database: the counted tables as queries over joined codes, with the integers that `linking` gives.

All tables are read in one snapshot. Rows are joined by keys that are compared byte by byte, after the same rule for
whole numbers as in memory, and cut in the order of the same public digest; only counts come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.engines.coding import NO_ROWS, structure_misfits
from understudy.engines.sql import Passes, SqlEngine, Warehouse, coded_rows, table_fit
from understudy.errors import DataError
from understudy.relations.linking import no_parent, of_table, twice
from understudy.relations.sql_persons import compared, fault, faults_found, id_text, refuse_faults
from understudy.relations.table_tree import Branch, TableTree, count_of, given_name
from understudy.schema import Schema


@dataclass(frozen=True)
class SqlTableTally:
    """How many rows a table has, the most of one row of its parent, and how many are used. Exact."""

    rows: int
    most: int
    used: int


class SqlTables:
    """Tables in one database that hang together; refused where they do not."""

    def __init__(self, warehouses: Mapping[str, Warehouse], tree: TableTree) -> None:
        self._warehouses = warehouses
        self._tree = tree
        self._number = {name: i for i, name in enumerate(tree.branches)}
        self._keeper = warehouses[tree.schema.name]
        self._syntax = self._keeper.syntax
        self._steps: list[str] = []  # of a database that keeps nothing: named queries that every statement begins with
        self.columns = tuple(column.name for column in self._keeper.columns)
        rows = {name: self._checked(branch) for name, branch in tree.branches.items()}
        for name in reversed(tree.branches):
            self._place(name)
        self.tallies = {name: self._tally(name, rows[name]) for name in tree.branches}

    def engines(self) -> dict[str, SqlEngine]:
        """Return the engine over each counted table; all hold the connection."""
        return {
            name: SqlEngine(self._keeper, branch.derived, self._derived(name), self.tallies[name].used, Passes(1))
            for name, branch in self._tree.branches.items()
        }

    # -- all rows, for the custodian's own figures -----------------------------------------------------------

    def joined(self, schema: Schema, both: Mapping[str, Sequence[str]]) -> SqlEngine:
        """Return the engine over all rows of two tables, joined: a table with one above it, or two of one parent.

        `schema` has these columns of both as its attributes, in this order.
        """
        one, two = both
        froms = [f"{self._called('a', two)} AS t{self._number[two]}"]
        if one in self._tree.ancestors(two):
            froms += self._up(two, one)
        else:
            parent = self._tree.ancestors(two)[0]
            froms += [*self._up(two, parent), self._join(one, parent, down=True)]
        codes = [
            f"t{self._number[table]}.q{self._tree.branches[table].schema.names.index(column)}"
            for table, columns in both.items()
            for column in columns
        ]
        listed = ", ".join(f"{code} AS q{i}" for i, code in enumerate(codes))
        relation = self._whole(f"SELECT {listed} FROM {' '.join(froms)}{self._syntax.fence}")
        (rows,) = self._row("count(*)", relation)
        return SqlEngine(self._keeper, schema, relation, int(rows or 0), Passes(1))

    def fan_out(self, name: str) -> NDArray[np.int64]:
        """Return how many rows of the parent have 0, 1, 2, … rows in this table."""
        parent = self._tree.ancestors(name)[0]
        at, above = f"t{self._number[name]}", f"t{self._number[parent]}"
        column = f"{above}.{self._joined_by(self._tree.branches[name])}"
        source = f"{self._called('a', parent)} AS {above} LEFT {self._join(name, parent, down=True)}"
        many = f"SELECT count({at}.k) AS k FROM {source} GROUP BY {column}"
        found, counts = self._keeper.counts(f"SELECT k, count(*) AS n FROM {self._whole(many)} GROUP BY k")
        return np.bincount(found, weights=counts).astype(np.int64)

    def _up(self, name: str, above: str) -> list[str]:
        """Return the joins from a table to the rows that it belongs to, up to those of another."""
        found = []
        while name != above:
            parent = self._tree.ancestors(name)[0]
            found.append(self._join(name, parent))
            name = parent
        return found

    def _join(self, name: str, parent: str, down: bool = False) -> str:
        """Return the join of a table that is there already with its parent, or of the parent with it."""
        at, above = f"t{self._number[name]}", f"t{self._number[parent]}"
        other, called = (name, at) if down else (parent, above)
        on = f"{at}.k = {above}.{self._joined_by(self._tree.branches[name])}"
        return f"JOIN {self._called('a', other)} AS {called} ON {on}"

    # -- what is read ----------------------------------------------------------------------------------------

    def _checked(self, branch: Branch) -> int:
        """Code the rows of a table and join them to those above; refuse what does not fit. The number of rows."""
        try:
            warehouse = self._warehouses[branch.name]
            for misfit in structure_misfits([c.name for c in warehouse.columns], branch.schema):
                raise misfit.error()
            base = self._kept(self._called("b", branch.name), self._coded(branch, warehouse))
            rows, found, _ = table_fit(self._keeper, branch.schema, self._whole(f"SELECT * FROM {base}"))
            for misfit in found:
                if branch.child is None or misfit != NO_ROWS:
                    raise misfit.error()
            self._check_ids(branch, base)
            above = self._kept(self._called("a", branch.name), self._above(branch, base))
            self._check_links(branch, above, rows)
            return rows
        except DataError as error:
            raise of_table(branch.name, error) from None

    def _ids(self, branch: Branch) -> dict[str, str]:
        """Return the columns that are compared: the key as `k`, what children refer to as `i0`, `i1`, …."""
        found = {} if branch.child is None else {"k": branch.child.key}
        return found | {f"i{i}": column for i, column in enumerate(self._referenced(branch.name))}

    def _referenced(self, name: str) -> list[str]:
        return list(dict.fromkeys(child.references for child in self._tree.children(name)))

    def _joined_by(self, branch: Branch) -> str:
        """Return what the column that a table refers to is called in its parent."""
        assert branch.child is not None
        return f"i{self._referenced(branch.child.parent).index(branch.child.references)}"

    def _coded(self, branch: Branch, warehouse: Warehouse) -> str:
        ids, syntax = self._ids(branch), self._syntax
        texts = {f"p{i}": id_text(warehouse, branch.schema[column].column) for i, column in enumerate(ids.values())}
        coded = coded_rows(warehouse, branch.schema, texts)
        found = _codes(branch)
        for text, name in zip(texts, ids):
            found += [f"{compared(text, syntax)} AS {name}", f"{fault(text, syntax)} AS f{name}"]
        return f"SELECT {', '.join(found)} FROM {coded}{syntax.fence}"

    def _above(self, branch: Branch, base: str) -> str:
        """Return the rows with a digest of their codes and of those of the rows that they belong to."""
        start, join = "own.i0 || ", ""  # the root's id
        if branch.child is not None:
            parent = self._called("a", branch.child.parent)
            start, join = "above.h || ", f" JOIN {parent} AS above ON own.k = above.{self._joined_by(branch)}"
        codes = " || ',' || ".join(self._syntax.as_text(f"own.{code}") for code in _codes(branch))
        own = [f"own.{name}" for name in (*_codes(branch), *self._ids(branch))]
        digest = self._syntax.whole_digest(f"{start}',' || {codes}")
        return f"SELECT {', '.join(own)}, {digest} AS h FROM {base} AS own{join}{self._syntax.fence}"

    # -- what does not hang together -------------------------------------------------------------------------

    def _check_ids(self, branch: Branch, base: str) -> None:
        for name, column in self._ids(branch).items():
            found = self._row(f"{', '.join(faults_found(f'f{name}'))}, count(*), count(DISTINCT {name})", base)
            refuse_faults(found[:2], branch.schema[column].column)
            if name != "k" and found[2] != found[3]:
                raise twice(column)

    def _check_links(self, branch: Branch, above: str, rows: int) -> None:
        if branch.child is not None and self._row("count(*)", above) != (rows,):
            raise no_parent(branch.child)

    def _tally(self, name: str, rows: int) -> SqlTableTally:
        if self._tree.branches[name].child is None:
            return SqlTableTally(rows, 0, rows)
        (most,), (used,) = self._row("max(many)", self._called("c", name)), self._row("count(*)", self._derived(name))
        return SqlTableTally(rows, int(most or 0), int(used or 0))

    # -- what is used ----------------------------------------------------------------------------------------

    def _place(self, name: str) -> None:
        """Number the rows of each parent in the order of their digests, with what is used of what belongs to them."""
        branch, fence = self._tree.branches[name], self._syntax.fence
        parts, joins, counts = [], [], []
        for at, child in enumerate(self._tree.children(name)):
            used = f"FROM {self._called('c', child.name)} WHERE place <= {child.at_most} GROUP BY k"
            listed = f"(SELECT k, string_agg(g, '' ORDER BY g) AS s, count(*) AS n {used}) AS u{at}"
            joins.append(f" LEFT JOIN {listed} ON own.{self._joined_by(self._tree.branches[child.name])} = u{at}.k")
            parts.append(f" || '|' || coalesce(u{at}.s, '')")
            counts.append(f"coalesce(u{at}.n, 0) AS n{at}")
        digest = self._syntax.whole_digest(f"own.h{''.join(parts)}") if parts else "own.h"
        own = [f"own.{column}" for column in (*_codes(branch), *self._ids(branch))]
        source = f"{self._called('a', name)} AS own{''.join(joins)}"
        rows = f"SELECT {', '.join([*own, *counts])}, {digest} AS g FROM {source}{fence}"
        if branch.child is not None:
            numbered = "row_number() OVER (PARTITION BY k ORDER BY g) AS place, count(*) OVER (PARTITION BY k) AS many"
            rows = f"SELECT placed.*, {numbered} FROM ({rows}) AS placed{fence}"
        self._kept(self._called("c", name), rows)

    def _derived(self, name: str) -> str:
        """Return the rows that are used, with the codes of all rows above, under the names that an engine counts by."""
        branch = self._tree.branches[name]
        found, froms, wheres, at = self._own(name, 0, None), [f"{self._called('c', name)} AS t0"], [], branch
        for level, table in enumerate(self._tree.ancestors(name), 1):
            assert at.child is not None
            on = f"t{level - 1}.k = t{level}.{self._joined_by(at)}"
            froms.append(f"JOIN {self._called('c', table)} AS t{level} ON {on}")
            wheres.append(f"t{level - 1}.place <= {at.child.at_most}")
            found |= self._own(table, level, table)
            at = self._tree.branches[table]
        listed = ", ".join(f"CAST({found[n]} AS INTEGER) AS q{i}" for i, n in enumerate(branch.derived.names))
        which = f" WHERE {' AND '.join(wheres)}" if wheres else ""
        return self._whole(f"SELECT {listed} FROM {' '.join(froms)}{which}{self._syntax.fence}")

    def _own(self, name: str, level: int, given: str | None) -> dict[str, str]:
        """Return the SQL of a table's attributes and counts, by the names that they are counted by."""
        branch = self._tree.branches[name]
        found = dict(zip(branch.schema.names, (f"t{level}.{code}" for code in _codes(branch))))
        found |= {count_of(c.name): f"t{level}.n{i}" for i, c in enumerate(self._tree.children(name))}
        return found if given is None else {given_name(n, given): sql for n, sql in found.items()}

    # -- statements ------------------------------------------------------------------------------------------

    def _called(self, letter: str, table: str) -> str:
        """Return the name of what is kept of a table: b its codes and ids, a joined to those above, c in order."""
        return f"understudy_{letter}{self._number[table]}"

    def _kept(self, name: str, query: str) -> str:
        """Keep the rows of a query under a name, or the query itself, where a database keeps nothing."""
        if self._keeper.keep(f"({query}) AS kept", name) != name:
            self._steps.append(f"{name} AS ({query})")
        return name

    def _whole(self, query: str) -> str:
        """Return a query over what was kept as something to select from."""
        steps = f"WITH {', '.join(self._steps)} " if self._steps else ""
        return f"({steps}{query}) AS linked"

    def _row(self, what: str, of: str) -> tuple[int | None, ...]:
        relation = of if of.startswith("(") else self._whole(f"SELECT * FROM {of}")
        return self._keeper.row(f"SELECT {what} FROM {relation}")


def _codes(branch: Branch) -> list[str]:
    return [f"q{i}" for i in range(len(branch.schema.names))]
