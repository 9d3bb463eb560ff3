"""A conditional network: some attributes of a row drawn, one after the other, given others that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.models.bayesian_network import Conditional
from understudy.models.model import Rows
from understudy.relations.drawing import even_draw
from understudy.schema import Schema
from understudy.schema.row_major import strides

Weights = Mapping[str, NDArray[Any]]  # of a target: a weight for each code in each row; 0 where it cannot be


@dataclass(frozen=True, eq=False)
class ConditionalNetwork:
    """Conditionals of the targets in an order in which every parent is given, or comes before its children."""

    schema: Schema
    given: tuple[str, ...]
    conditionals: tuple[Conditional, ...]

    def draw(self, given: Rows, weights: Weights, generator: np.random.Generator) -> Rows:
        """Draw the targets of each row; a code is as likely as its conditional says, times its weight."""
        rows = dict(given)
        for conditional in self.conditionals:
            child = conditional.child.attribute
            rows[child] = self.draw_one(conditional, rows, weights.get(child), generator)
        return {c.child.attribute: rows[c.child.attribute] for c in self.conditionals}

    def draw_one(
        self,
        conditional: Conditional,
        rows: Rows,
        weights: NDArray[Any] | None,
        generator: np.random.Generator,
        beside: Sequence[NDArray[Any]] = (),
    ) -> NDArray[np.int64]:
        """Draw one target of rows that have its parents; evenly also by the columns `beside`."""
        cells = self._cells(conditional, rows)
        shares = conditional.table.reshape(-1, conditional.table.shape[-1])[cells]
        return even_draw(shares, weights, cells, generator, beside)

    def _cells(self, conditional: Conditional, rows: Rows) -> NDArray[np.int64]:
        """Return the cell of the parents that each row is in."""
        at = np.zeros(len(next(iter(rows.values()))), dtype=np.int64)
        for parent, stride in zip(conditional.parents, strides(conditional.table.shape[:-1])):
            at += self.schema.view_map(parent)[rows[parent.attribute]].astype(np.int64) * stride
        return at
