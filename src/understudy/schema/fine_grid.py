"""The fine grid: every bin of an ordered domain halved, and each half again, down to single values or a set depth.

A bin of whole numbers or other steps is halved by how many of its own values lie on each side (the left half has the
odd one, a declared point is in no half); a bin of numbers, by its length. A grid of less depth is made of whole cells
of a deeper one, so values that were coded on a deep grid can be counted on any above it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.domain import MAX_CODES
from understudy.schema.intervals import Intervals

Index = NDArray[np.int64]
DEEPEST = 12  # halvings of a bin where the schema names no number of cells


@dataclass(frozen=True)
class FineGrid:
    """The cells of `domain` when its bins are halved `depth` times."""

    domain: Intervals
    depth: int

    @cached_property
    def _units(self) -> Index:
        """Return how many values a bin has that a cell could hold.

        A bin of numbers without steps has one for each cell.
        """
        if self.domain.steps is not None:
            return self.domain.own_values
        return np.full(self.domain.bins, 1 << self.depth, dtype=np.int64)

    @cached_property
    def _tree(self) -> tuple[Index, list[tuple[Index, Index, Index]]]:
        """Return the first unit of each cell, and the nodes that are halved, level by level.

        Of each node: its first unit, that of its right half, and that of what comes after it. Units are numbered
        through all bins.
        """
        size = self._units
        first = np.cumsum(size) - size
        levels = []
        for _ in range(self.depth):
            halved = size > 1
            middle = first + (size + 1) // 2
            levels.append((first[halved], middle[halved], (first + size)[halved]))
            right = (size // 2)[halved]
            order = np.argsort(np.concatenate([first, middle[halved]]), kind="stable")
            first = np.concatenate([first, middle[halved]])[order]
            size = np.concatenate([np.where(halved, (size + 1) // 2, size), right])[order]
        return first, levels

    @cached_property
    def levels(self) -> tuple[tuple[Index, Index, Index], ...]:
        """Return the nodes that are halved, level by level from the bins down.

        Of each node: its first cell, that of its right half, and the cell after its last. Cells are numbered through
        all bins, points left out.
        """
        starts, levels = self._tree
        return tuple(
            (np.searchsorted(starts, a), np.searchsorted(starts, m), np.searchsorted(starts, b)) for a, m, b in levels
        )

    @property
    def coefficients(self) -> int:
        """Return how many nodes are halved."""
        return sum(len(first) for first, _, _ in self.levels)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Return how many values each cell holds; a cell of numbers counts as one."""
        starts, _ = self._tree
        return np.diff(starts, append=self._units.sum()).astype(np.float64)

    @cached_property
    def bin(self) -> Index:
        """Return the bin that each cell lies in."""
        ends = np.cumsum(self._units)
        return np.searchsorted(ends, self._tree[0], side="right")

    @cached_property
    def fine(self) -> Intervals:
        """Return the domain whose bins are the cells."""
        own = self._tree[0] - (np.cumsum(self._units) - self._units)[self.bin]
        if (steps := self.domain.steps) is not None:
            # the last bin is closed: its last value may be alone
            inner = self.domain.own_value(self.bin, own) - steps.size / 2
        else:
            low, high = np.asarray(self.domain.edges[:-1]), np.asarray(self.domain.edges[1:])
            inner = low[self.bin] + (high - low)[self.bin] * (own / (1 << self.depth))  # in this order: no overflow
        edges = np.where(own == 0, np.asarray(self.domain.edges[:-1])[self.bin], inner)
        return replace(self.domain, edges=(*edges.tolist(), self.domain.edges[-1]))


def cells_of(domain: Intervals, depth: int) -> int:
    """Return how many cells the grid has, points included."""
    if domain.steps is None:
        return domain.bins * (1 << depth) + len(domain.points)
    return int(np.minimum(domain.own_values, 1 << depth).sum()) + len(domain.points)


def finest(domain: Intervals, cells: int | None) -> int:
    """Return the depth of the finest grid: of `cells` in a bin where declared, else as deep as two bytes allow."""
    most = int(domain.own_values.max()) if domain.steps is not None else 2**DEEPEST
    if most < 2:
        raise SchemaError("every bin holds one value: there is nothing finer, leave `fine` out")
    needed = (most - 1).bit_length()
    if cells is not None:
        depth = min(cells.bit_length() - 1, needed)
        if (total := cells_of(domain, depth)) > MAX_CODES:
            raise SchemaError(f"`fine_cells` makes {total:,} cells, more than {MAX_CODES:,}: take fewer, or fewer bins")
        return depth
    depth = min(DEEPEST, needed)
    while depth and cells_of(domain, depth) > MAX_CODES:
        depth -= 1
    if not depth:
        raise SchemaError(f"{domain.bins:,} bins cannot be halved within {MAX_CODES:,} cells: leave `fine` out")
    return depth
