"""Details of an attribute inside its bins: the third kind of linear map that can be measured (`fine = "wavelet"`).

Every bin is halved, and each half again, `depth` times (`schema.fine_grid`). Each node that is halved has one
coefficient: the rows of its left half less those of its right one, an integer. The bins' own totals are not among them:
a model has those from elsewhere. A row inside a bin is in one node of each level, so its column has at most L = depth
entries, all ±1; a row at a declared point, or with a missing value, has none.

Sensitivity. A row that comes or goes moves the coefficients by one column: L in L1 and in squared L2. A replaced row
moves them by the difference of two columns a and b. In different bins they share no coefficient: 2L in both. In one
bin, let the paths part at their j-th common node, j ≥ 1: they agree in j − 1 places and have opposite signs in one, so

    ‖a − b‖₁ = |a|₁ + |b|₁ − 2(j − 1) ≤ 2L        ‖a − b‖² = |a|₁ + |b|₁ − 2⟨a, b⟩,  ⟨a, b⟩ = j − 2 ≥ −1,  ≤ 2L + 2

and both are attained where two paths of full depth part at once. Note the L2: a row that moves across the middle of its
bin turns one coefficient by 2, whose square is 4. tests/unit/privacy/test_details.py compares with all pairs of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.errors import UsageError
from understudy.privacy.noise import Noise, as_integers
from understudy.privacy.questions.question import NoisyBlock, NoisyQuery
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axis, Integers, Schema
from understudy.schema.attribute import fine_name
from understudy.schema.fine_grid import FineGrid


@dataclass(frozen=True, eq=False)
class Details:
    """Noisy coefficients of one attribute, level by level from the bins down. Public, once it exists."""

    attribute: str
    depth: int
    values: Integers
    noise: Noise


def finest_grid(schema: Schema, attribute: str, depth: int) -> FineGrid:
    """Return the grid on which the engine counts this attribute; refuse one that has none, or one less deep."""
    grid = schema[attribute].finest_grid
    if grid is None:
        raise UsageError(f'{attribute} has no fine grid: declare fine = "wavelet"', attribute=attribute)
    if not 1 <= depth <= grid.depth:
        raise UsageError(f"the bins of {attribute} can be halved 1 to {grid.depth} times, not {depth}")
    return grid


def detail_sensitivity(depth: int, schema: Schema) -> Sensitivity:
    """Return how far one person can move the details of one attribute."""
    added = schema.neighbours == "add-remove"
    moved = Sensitivity(depth, depth) if added else Sensitivity(2 * depth, 2 * depth + 2)
    return moved.times(schema.rows_per_person)


def detailed(counts: Integers, grid: FineGrid, depth: int) -> Integers:
    """Return the coefficients of the upper `depth` levels, from counts of the grid's codes: exact integers."""
    below = np.concatenate([[0], np.cumsum(counts[grid.fine.bin_codes])])
    return np.concatenate([2 * below[middle] - below[first] - below[end] for first, middle, end in grid.levels[:depth]])


@dataclass(frozen=True, eq=False)
class FineDetails(NoisyQuery[Details]):
    """The shape of one attribute inside its bins, halved `depth` times: left less right, without the bins' totals."""

    kind: ClassVar[str] = "details"
    is_linear: ClassVar[bool] = True

    attribute: str
    depth: int

    def check(self, schema: Schema) -> None:
        finest_grid(schema, self.attribute, self.depth)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return detail_sensitivity(self.depth, schema)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        grid = finest_grid(schema, self.attribute, self.depth)
        return [(sum(len(first) for first, _, _ in grid.levels[: self.depth]), Fraction(1))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        grid = finest_grid(schema, self.attribute, self.depth)
        (counts,) = engine.marginals([(Axis(fine_name(self.attribute)),)])
        return detailed(as_integers(counts), grid, self.depth)

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> Details:
        return Details(self.attribute, self.depth, noisy[0].values, noisy[0].noise)

    def as_json(self) -> list[Any]:
        return [self.kind, self.attribute, self.depth]
