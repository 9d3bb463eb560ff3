"""Counts of a tree's leaves from noisy counts of its levels, and what follows: the mass of each unit, and bins.

Everything here is post-processing of noisy counts. Going up, each node's count and the sum of its children are
averaged by their variances (with the way down, the least-squares solution). Going down, the rows of a node are split
among its children: on the scale of the declared range columns are sparse, so small children are emptied; on the scale
of where the rows are they are smooth, so a split is pulled towards the flat one (James and Stein). Measured in
docs/decisions/0017-noisy-tree.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from understudy.models.smooth_columns import smooth_counts
from understudy.models.tails import beyond, earlier_tails
from understudy.schema import Floats, Integers, Mask
from understudy.schema.tree_grid import TreeGrid

SPARSE_LEVELS = 2  # the upper levels are sparse, those below are smooth
MIN_DEVIATIONS = 1.5  # a child of fewer rows than so many standard deviations is empty, on a sparse level
FILLED = 0.75  # a level below one with more of its nodes filled than this is smooth, too
SURE = 3.0  # with fewer rows in all than so many standard deviations of a first node, no level is sparse
TAIL_LEVELS = 2  # upper levels whose far tails are emptied: below, tails are cut that are there
SHAPED = 16  # nodes of the level that is drawn towards smooth shapes
FEW_ROWS = 64.0  # standard deviations of a count of it: where rows are fewer
DOUBT = 0.7  # of the deviation that is then left in a node: what is below it, at an end of the range, is empty
MIN_BINS, MAX_BINS = 12, 32
BINS = 1.5  # times the third root of rows over noise


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """Noisy counts of the levels of one attribute's tree, "missing" left out, and the variance of a count of each."""

    grid: TreeGrid
    sizes: tuple[int, ...]
    noisy: tuple[Floats, ...]
    variances: tuple[float, ...]
    pooled: bool = True  # whether far tails are empty by today's rule (`tails`); not in earlier versions
    weights: Floats | None = None  # of the units: what their rows are in proportion to, where nothing else is known

    @cached_property
    def _starts(self) -> tuple[Integers, ...]:
        return tuple(self.grid.first_units(size) for size in self.sizes)

    @property
    def even(self) -> Floats:
        """Return what rows are in proportion to where nothing else is known: weights of units, else their widths."""
        return self.grid.widths if self.weights is None else self.weights

    @cached_property
    def _children(self) -> tuple[Integers, ...]:
        """Return, for each level but the last, where each node's children begin on the next one, and the end."""
        pairs = zip(self._starts, self._starts[1:])
        return tuple(np.append(np.searchsorted(below, above), len(below)) for above, below in pairs)

    @cached_property
    def estimates(self) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """Return each node's estimate from itself and all below it, level by level, and its variance."""
        values, spreads = [self.noisy[-1]], [np.full(len(self.noisy[-1]), self.variances[-1])]
        for level in reversed(range(len(self.sizes) - 1)):
            first = self._children[level][:-1]
            below, noise = np.add.reduceat(values[0], first), np.add.reduceat(spreads[0], first)
            own = 1 / self.variances[level]
            weight = own / (own + 1 / noise)
            values.insert(0, weight * self.noisy[level] + (1 - weight) * below)
            spreads.insert(0, 1 / (own + 1 / noise))
        return tuple(values), tuple(spreads)

    def leaves(self, total: float) -> Floats:
        """Return non-negative counts of the leaves that add up to `total`."""
        values, spreads = self.estimates
        parent, first = np.asarray([max(float(total), 0.0)]), np.asarray([0, len(self._starts[0])])
        sparse, done = total >= SURE * math.sqrt(float(spreads[0].mean())), -1
        trimmed = TAIL_LEVELS if sparse and self.pooled else 0
        if (shaped := self._shaped(total)) is not None:
            sparse, trimmed, (done, parent) = False, 0, shaped
            first = self._first_below(done)
        for level in range(done + 1, len(self._starts)):
            width = np.add.reduceat(self.even, self._starts[level])
            split = _Split(values[level], np.sqrt(spreads[level]), parent, first, width)
            if self.weights is not None:
                split = split.without(width <= 0)
            if level < trimmed:
                split = split.without(self._beyond(level, total))
            parent = split.sparse() if sparse and level < SPARSE_LEVELS else split.smooth()
            sparse = sparse and float((parent > 0).mean()) < FILLED
            first = self._first_below(level)
        return parent

    def _beyond(self, level: int, total: float) -> Mask:
        """Return which nodes of a level lie beyond the rows; none whose end of the range may be a code."""
        values, spreads = self.estimates
        parent, first, found = np.asarray([total]), np.asarray([0, len(self._starts[0])]), np.zeros(0, dtype=bool)
        for i in range(min(TAIL_LEVELS, len(self._starts))):
            parent = _Split(values[i], np.sqrt(spreads[i]), parent, first, values[i]).matched
            codes = self._codes(i)
            if i > level:
                kept = codes & ~beyond(parent, spreads[i], codes)
                return found & ~np.logical_or.reduceat(kept, first[:-1])
            found = beyond(parent, spreads[i], codes)
            first = self._first_below(i)
        return found

    def _codes(self, level: int) -> Mask:
        """Return which nodes of a level are single values at an end of the range."""
        starts, last = self._starts[level], len(self.grid.prior) - 1
        found = np.zeros(len(starts), dtype=bool)
        found[0] = self.grid.single[0] and len(starts) > 1 and starts[1] == 1
        found[-1] = self.grid.single[-1] and starts[-1] == last
        return found

    def _first_below(self, level: int) -> Integers:
        """Return where the children of each node begin on the next level, and the end; nothing below the last one."""
        return self._children[level] if level + 1 < len(self._starts) else np.zeros(1, dtype=np.int64)

    def _shaped(self, total: float) -> tuple[int, Floats] | None:
        """Return the level of few nodes and its counts drawn towards smooth shapes, without tails in which nothing was
        seen; None where the rows stand out from the noise."""
        if SHAPED not in self.sizes:
            return None
        level = self.sizes.index(SHAPED)
        value, variance = self.estimates[0][level], float(self.estimates[1][level].mean())
        if not 1.0 <= total < FEW_ROWS * math.sqrt(variance):
            return None
        found = smooth_counts(value, variance, total, self.grid.binned(self._starts[level]))
        counts = np.maximum(found.counts, 0.0)
        left = DOUBT * math.sqrt(found.variance)
        if self.pooled:
            counts[beyond(found.counts, np.full(len(counts), left**2), self._codes(level))] = 0.0
        else:
            low, high = earlier_tails(found.counts, left, total)
            counts[:low], counts[len(counts) - high :] = 0.0, 0.0
        return level, np.asarray(counts * (total / counts.sum()))

    def unit_masses(self, total: float) -> Floats:
        """Return the rows of each unit: a leaf's, spread evenly over the values it holds."""
        starts, width = self._starts[-1], self.even
        size = np.diff(np.append(starts, len(width)))
        owner = np.repeat(np.arange(len(starts)), size)
        whole = np.add.reduceat(width, starts)[owner]
        part = np.where(whole > 0, width / np.maximum(whole, 1e-300), 1 / size[owner])
        return np.asarray(self.leaves(total)[owner] * part)

    @cached_property
    def total(self) -> float:
        """Return the rows that are not missing, as the first level has them."""
        return max(0.0, float(self.estimates[0][0].sum()))


@dataclass(frozen=True, eq=False)
class _Split:
    """The children of some nodes: estimates, their standard deviations, the nodes' rows, where children begin."""

    value: Floats
    noise: Floats
    parent: Floats
    first: Integers
    width: Floats
    empty: Mask | None = None  # which children have no rows

    def without(self, empty: Mask) -> _Split:
        """Return the split in which these children have no rows; of a parent that has no others, all may."""
        empty = empty if self.empty is None else empty | self.empty
        none_left = np.logical_and.reduceat(empty, self.first[:-1])
        empty = empty & ~none_left[self.owner]
        return replace(self, empty=empty, width=np.where(empty, 0.0, self.width))

    @cached_property
    def owner(self) -> Integers:
        return np.repeat(np.arange(len(self.parent)), np.diff(self.first))

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.first[:-1]))

    @cached_property
    def matched(self) -> Floats:
        """Return the estimates moved so as to add up to their parents, by their variances."""
        short = (self.parent - self._sum(self.value)) / self._sum(self.noise**2)
        return np.asarray(self.value + self.noise**2 * short[self.owner])

    def smooth(self) -> Floats:
        """Return the split pulled towards the flat one by what the noise explains."""
        whole = self._sum(self.width)[self.owner]
        even = np.where(whole > 0, self.width / np.maximum(whole, 1e-300), 1 / np.diff(self.first)[self.owner])
        flat = even * self.parent[self.owner]
        seen = self._sum(((self.matched - flat) / self.noise) ** 2)
        kept = np.maximum(0.0, 1.0 - (np.diff(self.first) - 1) / np.maximum(seen, 1e-12))
        return self._nearest(flat + kept[self.owner] * (self.matched - flat))

    def sparse(self) -> Floats:
        """Return the split with small children emptied and their rows given to the others in proportion."""
        split = self._nearest(self.matched)
        largest = np.maximum.reduceat(split, self.first[:-1])[self.owner]
        kept = np.where((split >= MIN_DEVIATIONS * self.noise) | (split >= largest), split, 0.0)
        whole = self._sum(kept)
        share = np.divide(self.parent, whole, out=np.zeros_like(self.parent), where=whole > 0)
        return np.asarray(kept * share[self.owner])

    def _nearest(self, value: Floats) -> Floats:
        """Return the nearest non-negative children that add up to their parents."""
        if self.empty is not None:
            value = np.where(self.empty, -np.inf, value)
        size, owner = np.diff(self.first), self.owner
        padded = np.full((len(size), int(size.max())), -np.inf)
        padded[owner, np.arange(len(value)) - self.first[:-1][owner]] = value
        ordered = -np.sort(-padded, axis=1)
        filled = np.where(np.isfinite(ordered), ordered, 0.0)
        over = (np.cumsum(filled, axis=1) - self.parent[:, None]) / np.arange(1, filled.shape[1] + 1)
        kept = np.isfinite(ordered) & (ordered > over)
        level = over[np.arange(len(size)), np.maximum(kept.sum(axis=1), 1) - 1]
        return np.asarray(np.maximum(value - level[owner], 0.0))


# -- bins ----------------------------------------------------------------------------------------------------


def wanted_bins(rows: float, deviation: float) -> int:
    """Return how many bins tables of pairs can bear, from rows over the standard deviation of a one-way count."""
    return int(min(MAX_BINS, max(MIN_BINS, math.ceil(BINS * (max(rows, 1.0) / deviation) ** (1 / 3)))))
