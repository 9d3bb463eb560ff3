"""A model of tables with foreign keys: the root from one model, each child row from a network given its parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.models.factor import Factor
from understudy.models.model import Evidence, Model, Rows
from understudy.privacy.measurement import Measurement
from understudy.relations.changes import smallest
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.relations.table_tree import TableTree, count_of, given_name
from understudy.schema import Schema

DRAWN = 1 << 16  # rows of a child that are drawn at a time


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """Synthetic rows of one table in codes, and the row of the parent that each belongs to, ascending."""

    columns: Rows
    rows: int
    parent: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class LinkedModel:
    """A distribution of rows of the root with all that belongs to them. As a `Model` it is that of the root's rows."""

    tree: TableTree
    root: Model
    networks: dict[str, ConditionalNetwork]  # by child, parents before children
    rows: int  # of the root, about
    measured: dict[str, tuple[Measurement, ...]]  # by table

    @property
    def schema(self) -> Schema:
        """Return the schema of the root's rows."""
        return self.tree.schema

    def project(self, names: Sequence[str]) -> Factor:
        """Return the table over these attributes of the root."""
        return self.root.project(names)

    def condition(self, evidence: Evidence) -> LinkedModel:
        """Return the model of rows of the root that meet this, with what belongs to them."""
        return replace(self, root=self.root.condition(evidence))

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        """Draw rows of the root."""
        drawn = self.root.sample(rows, generator)
        return {name: drawn[name] for name in self.schema.names}

    def sample_tables(self, rows: int, generator: np.random.Generator) -> dict[str, DrawnTable]:
        """Draw so many rows of the root, and all rows that belong to them."""
        found = {self.schema.name: DrawnTable(self.root.sample(rows, generator), rows)}
        for name, network in self.networks.items():
            found[name] = self._children(name, network, found, generator)
        return found

    def _children(
        self, name: str, network: ConditionalNetwork, drawn: dict[str, DrawnTable], generator: np.random.Generator
    ) -> DrawnTable:
        parent = self._parents(name, drawn)
        parts = []
        for start in range(0, max(1, len(parent)), DRAWN):
            given = self._given(name, parent[start : start + DRAWN], drawn)
            parts.append(network.draw(given, {}, generator))
        schema = network.schema
        columns = {n: smallest(np.concatenate([part[n] for part in parts]), schema[n].size) for n in parts[0]}
        return DrawnTable(columns, len(parent), parent)

    def given_rows(self, name: str, drawn: dict[str, DrawnTable]) -> Rows:
        """Return what is known of the rows above, for each row that a table would have."""
        return self._given(name, self._parents(name, drawn), drawn)

    def _parents(self, name: str, drawn: dict[str, DrawnTable]) -> NDArray[np.int64]:
        child = self.tree.branches[name].child
        assert child is not None
        above = drawn[child.parent]
        return np.repeat(np.arange(above.rows), above.columns[count_of(name)].astype(np.int64))

    def _given(self, name: str, at: NDArray[np.int64], drawn: dict[str, DrawnTable]) -> Rows:
        """Return what is known of the rows that these belong to."""
        found: Rows = {}
        for table in self.tree.ancestors(name):
            found |= {given_name(n, table): codes[at] for n, codes in drawn[table].columns.items()}
            further = drawn[table].parent
            at = at if further is None else further[at]
        return found
