"""A noisy tree that was bought for one attribute, the bins that were made of it, and the shape inside them.

Without levels nothing was bought: the bins are a public guess, and inside them values follow a smooth curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from understudy.models.curves import curve_masses
from understudy.models.heaping import heaped
from understudy.models.spikes import Look, Spike, cells_of, looked_into, spikes_of, units_of, units_with_spikes
from understudy.models.tails import is_clear
from understudy.models.tree_counts import TreeCounts
from understudy.models.value_weights import shares_of, value_weights, with_spikes
from understudy.models.within_bins import Shape
from understudy.models.written_decimals import class_shares, few_decimals
from understudy.privacy.measurement import Measurement
from understudy.schema import Attribute, Floats, Integers, Mask
from understudy.schema.endings import Endings
from understudy.schema.rounded_units import RoundedUnits, SpikedUnits, class_sizes, first_classes
from understudy.schema.rounding_classes import RoundingClasses, decimal_rounding
from understudy.schema.tree_grid import TreeGrid
from understudy.schema.tree_levels import unit_classes


def grid_of(attribute: Attribute) -> TreeGrid:
    """Return the grid of an attribute that is known to have one: a range without declared bins."""
    assert attribute.grid is not None
    return attribute.grid


@dataclass(frozen=True, eq=False)
class NoisyTree:
    """The measured levels of an attribute's tree, from the root down; `first` has the first unit of each bin.

    No levels: the bins are of equal prior mass.
    """

    attribute: Attribute  # before it had bins
    levels: tuple[Measurement, ...]
    first: Integers
    total: float  # of the rows that are not missing
    heaps: Measurement | None = None  # rows of each rounding class
    decimals: Measurement | None = None  # rows of each decimal class
    rounding: Measurement | None = None  # rows of each rounding class
    smooth: bool = True  # whether the column's own table is drawn towards smooth shapes; not in earlier versions
    pooled: bool = True  # whether its far tails are empty by today's rule (`tails`); not in earlier versions
    look: Look | None = None  # at what stands out: values that many rows share

    @property
    def counts(self) -> TreeCounts:
        """Return the noisy counts without "missing", for estimates of what lies where."""
        return tree_counts(self.attribute, self.levels, self.pooled, self._weights)

    @cached_property
    def masses(self) -> Floats:
        """Return the rows of each unit."""
        return (
            self.counts.unit_masses(self.total)
            if self.look is None
            else looked_into(self.counts, self.total, self.look)
        )

    @cached_property
    def spiked(self) -> Mask:
        """Return which units hold values that many rows share, as far as was looked."""
        grid = grid_of(self.attribute)
        if self.look is None:
            return np.zeros(len(grid.prior), dtype=bool)
        return units_with_spikes(grid, self.last, self.look)

    @cached_property
    def spikes(self) -> tuple[Spike, ...]:
        """Return the values that many rows share, as far as was looked."""
        seen = self.attribute.endings_seen
        endings = seen.domain if seen is not None and isinstance(seen.domain, Endings) else None
        return () if self.look is None else spikes_of(grid_of(self.attribute), self.last, self.look, endings)

    @property
    def last(self) -> int:
        """Return the size of the last level."""
        grid = grid_of(self.attribute)
        return grid.sizes[len(grid.sizes) - self.levels[-1].axes[0].level]

    @cached_property
    def _weighted(self) -> tuple[Floats, Floats] | None:
        """Return the sizes and weights of units, class by class, where rounding classes were measured.

        Spikes weigh what they hold, and other values what is left of their class.
        """
        grid, rounding = grid_of(self.attribute), self.attribute.rounding
        if self.rounding is None or rounding is None:
            return None
        sizes, left = class_sizes(grid.domain, rounding), self.rounding.values.copy()
        values, rows = (np.asarray([getattr(s, key) for s in self.spikes]) for key in ("value", "rows"))
        classes = RoundingClasses.of(grid, rounding).encode_numbers(values)
        np.subtract.at(left, classes, np.rint(rows).astype(np.int64))
        weights = value_weights(sizes, 10.0**rounding.finer, replace(self.rounding, values=left))
        units = np.asarray([spike.unit for spike in self.spikes], dtype=np.int64)
        np.add.at(weights, (units, classes.astype(np.int64)), rows)
        return sizes, weights

    @property
    def _weights(self) -> Floats | None:
        return None if self._weighted is None else self._weighted[1].sum(axis=1)

    @cached_property
    def shape(self) -> TreeShape:
        """Return how values lie inside the bins."""
        return self._shaped(self.masses, self.levels[-1].variance)

    def _shaped(self, mass: Floats, variance: float) -> TreeShape:
        """Return the shape in which units share their bins by these masses, or by their widths where there are none."""
        attribute, grid = self.attribute, grid_of(self.attribute)
        home = grid.homes(self.first)
        whole = np.bincount(home, weights=mass, minlength=len(self.first))
        even = self.counts.even if self.levels else grid.widths
        width = np.bincount(home, weights=even, minlength=len(self.first))
        flat = np.where(width[home] > 0, even / np.maximum(width[home], 1e-300), 1 / np.bincount(home)[home])
        shares = np.where(whole[home] > 0, mass / np.maximum(whole[home], 1e-300), flat)
        shares = np.append(shares, [1.0] * attribute.has_missing)
        return TreeShape(attribute.binned(self.first), shares, variance, self)

    def _curved(self, counts: Floats) -> TreeShape:
        """Return the shape that a smooth curve through the model's counts has."""
        grid = grid_of(self.attribute)
        ends, size = np.append(grid.unit_starts, grid.end), np.diff(np.append(self.first, len(grid.prior)))
        alone = (size == 1) & grid.single[self.first]
        edges = ends[np.append(self.first, len(grid.prior))]
        found = self._shaped(curve_masses(edges, counts[: len(self.first)], alone, ends), 0.0)
        if not grid.guesses_decimals:
            return found
        units, sizes = len(grid.prior), class_sizes(grid.domain, decimal_rounding(grid.steps.digits))
        classes = few_decimals(found.shares[:units], grid.homes(self.first), sizes, grid.high - grid.low)
        return replace(found, shares=np.append(classes.sum(axis=1), found.shares[units:]), classes=classes)

    @property
    def calendar(self) -> bool:
        """Return whether first days of months and years were counted."""
        return self.heaps is not None and grid_of(self.attribute).calendar

    @property
    def written(self) -> bool:
        """Return whether the shape depends on the model's counts, or on how values are written."""
        classes = (self.heaps, self.decimals, self.rounding)
        return not self.levels or any(measured is not None for measured in classes)

    def written_shape(self, counts: Floats) -> TreeShape:
        """Return the shape drawn towards values as they are written, as far as rounding or decimal classes were
        measured; `counts` are the model's own for each code."""
        if not self.levels:
            return self._curved(counts)
        grid, plain = grid_of(self.attribute), self.shape
        units, bins, home = len(grid.prior), counts[: len(self.first)], grid.homes(self.first)
        before = plain.shares[:units]
        if self.heaps is not None:
            shares = heaped(before, bins, home, unit_classes(grid), self.heaps)
            return replace(plain, shares=np.append(shares, plain.shares[units:]))
        if self._weighted is not None:
            shares, rounding = shares_of(*reversed(self._weighted)), self.attribute.rounding
            if rounding is not None and rounding.finer:
                mass, noise = self.masses, math.sqrt(self.levels[-1].variance)
                shares = with_spikes(shares, mass, grid.single, first_classes(grid.domain, rounding), noise)
            return replace(plain, classes=before[:, None] * shares)
        if self.decimals is None:
            return plain
        sizes = class_sizes(grid.domain, decimal_rounding(grid.steps.digits))
        classes = class_shares(before, bins, home, self._alone, sizes, self.decimals)
        return replace(plain, shares=np.append(classes.sum(axis=1), plain.shares[units:]), classes=classes)

    @property
    def _alone(self) -> Mask:
        """Return which units are single values that are leaves of the tree."""
        grid = grid_of(self.attribute)
        starts = grid.first_units(self.counts.sizes[-1])
        lone = starts[np.diff(np.append(starts, len(grid.prior))) == 1]
        return np.isin(np.arange(len(grid.prior)), lone) & grid.single


@dataclass(frozen=True, eq=False)
class TreeShape(Shape):
    """The shape inside bins, by the units of the tree's grid."""

    tree: NoisyTree
    classes: Floats | None = None  # the shares of units, decimal class by decimal class

    @cached_property
    def fine(self) -> Attribute:
        """Return the attribute on the units of its grid; with classes, its values are written with their decimals, and
        with spikes, these have their rows."""
        attribute, look = self.tree.attribute, self.tree.look
        spikes = tuple(
            (s.unit, s.value, s.share) for s in self.tree.spikes if look is not None and s.unit in look.units
        )
        if self.classes is None and not spikes:
            return attribute
        classes = np.ones((len(grid_of(attribute).prior), 1)) if self.classes is None else self.classes
        decimal = decimal_rounding(classes.shape[1] - 1)
        rounding = decimal if self.tree.rounding is None else attribute.rounding or decimal
        given = shares_of(classes, class_sizes(attribute.ordered, rounding))
        units = RoundedUnits.of(attribute.ordered, rounding, given)
        return replace(attribute, domain=SpikedUnits.with_spikes(units, spikes) if spikes else units)

    @property
    def measured(self) -> bool:
        return bool(self.tree.levels)

    @cached_property
    def home(self) -> Integers:
        return self.fine.homes(self.tree.first)

    @cached_property
    def doubt(self) -> Floats:
        """Return how little the shares of each bin are to be believed: a tree empties stretches that hold less than its
        noise, so of a bin with few rows in the tree it does not know where they are."""
        tree, grid = self.tree, grid_of(self.tree.attribute)
        if not self.measured:
            return np.append(np.ones(len(tree.first)), [0.0] * self.attribute.has_missing)
        seen = np.bincount(grid.homes(tree.first), tree.masses, len(tree.first))
        noise = math.sqrt(self.variance)
        return np.append(noise / (seen + noise), [0.0] * self.attribute.has_missing)

    def adjoint(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return per bin the mean weight, and the squared length of what its leaves' noise adds to the sum."""
        size = self.attribute.size
        mean: Floats = np.bincount(self.home, weights=weights * self.shares, minlength=size).astype(np.float64)
        if not self.measured:
            return mean, np.zeros(size)
        leaves = self._leaves
        held = np.bincount(leaves, weights=self.shares)[leaves]
        part = np.divide(self.shares, held, out=np.zeros_like(self.shares), where=held > 0)
        away = np.bincount(leaves, weights=part * (weights - mean[self.home]))
        squares = np.zeros(size)
        np.add.at(squares, self.home[np.unique(leaves, return_index=True)[1]], away**2)
        return mean, squares

    @cached_property
    def _leaves(self) -> Integers:
        """Return the leaf of each fine code, cut where a bin begins inside it; "missing" is one of its own."""
        grid, sizes = grid_of(self.fine), self.tree.counts.sizes
        starts = np.union1d(grid.first_units(sizes[-1]), self.tree.first)
        if self.tree.look is not None:
            coarse = grid_of(self.tree.attribute)
            starts = np.union1d(starts, cells_of(coarse, units_of(coarse, sizes[-1], self.tree.look.leaves)))
        ends = np.append(starts, [len(grid.prior)] * self.fine.has_missing)
        return np.searchsorted(ends, np.arange(self.fine.size), side="right") - 1


def tree_counts(
    attribute: Attribute, levels: tuple[Measurement, ...], pooled: bool = True, weights: Floats | None = None
) -> TreeCounts:
    """Return the noisy counts of an attribute's measured levels without "missing"."""
    grid = grid_of(attribute)
    sizes = tuple(grid.sizes[len(grid.sizes) - m.axes[0].level] for m in levels)
    noisy = tuple(m.values[: len(m.values) - attribute.has_missing].astype(np.float64) for m in levels)
    pooled = pooled and all(is_clear(m, float(m.values.sum())) for m in levels[:2])
    return TreeCounts(grid, sizes, noisy, tuple(m.variance for m in levels), pooled, weights)
