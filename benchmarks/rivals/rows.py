"""Rows of norm one: one-hot codes and a constant, scaled. A public map of each row by itself, as the proofs require."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.classification import Examples

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UnitRows:
    """`x` has rows of norm at most one (sparse or dense), `y` is −1 or +1; `groups` says which columns exclude each
    other (one of each group is set in a row), and `height` what a set column holds."""

    x: Any
    y: Floats
    groups: tuple[slice, ...] = ()
    height: float = 1.0

    @staticmethod
    def of(examples: Examples) -> UnitRows:
        from scipy.sparse import csr_matrix, hstack

        sizes = [examples.schema[name].size for name in examples.names] + [1]
        ends = np.cumsum([0, *sizes])
        height = 1 / np.sqrt(len(sizes))
        constant = csr_matrix(np.ones((len(examples.label), 1)))
        x = hstack([examples.one_hot, constant], format="csr") * height
        groups = tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))
        return UnitRows(x, np.where(examples.label > 0, 1.0, -1.0), groups, float(height))

    @property
    def rows(self) -> int:
        return len(self.y)

    @property
    def columns(self) -> int:
        return int(self.x.shape[1])

    def error(self, weights: Floats) -> float:
        """The share of rows on the wrong side; a tie counts as −1."""
        return float((np.where(self.x @ weights > 0, 1.0, -1.0) != self.y).mean())
