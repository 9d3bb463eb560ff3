"""Units of a noisy tree's grid whose numbers are as round as the table's own numbers are.

Given its unit, a number has a rounding class (whole numbers, one decimal …; or multiples of 1,000, 500, 100 …) by
shares that are known for each unit, and is any value of that class with equal chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.domain import Codes, Floats
from understudy.schema.intervals import Intervals
from understudy.schema.rounding_classes import Rounding
from understudy.schema.steps import Steps

Index = NDArray[np.int64]
Spikes = tuple[tuple[int, float, float], ...]  # a unit, a value in it, and the share of its rows that have it


@dataclass(frozen=True)
class RoundedUnits(Intervals):
    """The units, and for each the shares of its rounding classes: `shares` has a row for each code."""

    rounding: Rounding = field(default_factory=lambda: Rounding((1,)), compare=False, repr=False)
    shares: Floats = field(default_factory=lambda: np.ones((1, 1)), compare=False, repr=False)

    @staticmethod
    def of(units: Intervals, rounding: Rounding, shares: Floats) -> RoundedUnits:
        """Return these units with shares of classes."""
        return RoundedUnits(
            units.kind, units.edges, units.points, units.format, units.step, units.places, rounding, shares
        )  # fmt: skip

    @cached_property
    def _sums(self) -> Floats:
        return np.cumsum(self.shares, axis=1)

    def decode(self, codes: Codes, generator: np.random.Generator) -> NDArray[Any]:
        """Return a value for each code: one of a class that is drawn by the unit's shares."""
        uniform, sums = generator.random(len(codes)), self._sums[codes]
        chosen = np.minimum((uniform[:, None] >= sums).sum(axis=1), sums.shape[1] - 1)
        chosen = np.where(self.shares[codes, chosen] > 0, chosen, self.shares[codes].argmax(axis=1))
        share = self.shares[codes, chosen]
        inside = np.clip((uniform - sums[np.arange(len(codes)), chosen] + share) / share, 0.0, 1.0)
        first, last = (ends[codes] for ends in _fine_ends(self, self.rounding))
        assert self.steps is not None
        divisors = np.asarray(self.rounding.divisors, dtype=np.int64)
        place = np.maximum(chosen - self.rounding.apart, 0)
        ratio = np.append(0, divisors[:-1] // divisors[1:])[place]
        index = _member(first, last, divisors[place], ratio, inside)
        if self.rounding.apart:
            index = np.where(chosen == 0, first, index)
        values = Steps(self.steps.numerator, self.steps.digits + self.rounding.finer).value(index.astype(np.float64))
        return np.asarray(values.astype(np.int64) if self.integral else values)


@dataclass(frozen=True)
class SpikedUnits(RoundedUnits):
    """Units of which some have values that many of their rows share."""

    spikes: Spikes = field(default=(), compare=False, repr=False)

    @staticmethod
    def with_spikes(units: RoundedUnits, spikes: Spikes) -> SpikedUnits:
        """Return these units with spikes."""
        return SpikedUnits(
            units.kind, units.edges, units.points, units.format, units.step, units.places, units.rounding, units.shares,
            spikes,
        )  # fmt: skip

    def decode(self, codes: Codes, generator: np.random.Generator) -> NDArray[Any]:
        """Return a value for each code: one of its spikes by their shares, or one as the unit has others."""
        values, uniform, below = super().decode(codes, generator), generator.random(len(codes)), dict[int, float]()
        for unit, value, share in self.spikes:
            first = below.get(unit, 0.0)
            values[(codes == unit) & (uniform >= first) & (uniform < first + share)] = value
            below[unit] = first + share
        return values


def unit_ends(units: Intervals) -> tuple[Index, Index]:
    """Return for each unit the index of its first and of its last step; a point at the end of the range is one."""
    first, last = (ends.astype(np.int64) for ends in units.step_range)
    if units.points:
        last[-1] -= 1
        first, last = np.append(first, last[-1] + 1), np.append(last, last[-1] + 1)
    return first, last


def _fine_ends(units: Intervals, rounding: Rounding) -> tuple[Index, Index]:
    """Return the ends of units in the finest unit of the classes: a step holds all values up to the next one."""
    first, last = unit_ends(units)
    scale = 10**rounding.finer
    return first * scale, last * scale + scale - 1


def class_sizes(units: Intervals, rounding: Rounding) -> Floats:
    """Return for each unit how many values of each rounding class it holds."""
    first, last = _fine_ends(units, rounding)
    divisors = np.asarray(rounding.divisors, dtype=np.int64)
    held = np.diff(last[:, None] // divisors - (first[:, None] - 1) // divisors, axis=1, prepend=0)
    if not rounding.apart:
        return held.astype(np.float64)
    first, last = unit_ends(units)
    special = (first == last) & ((first == first[0]) | (last == last[-1]) | (first == 0)) & units.scale.arithmetic
    return np.column_stack([special, np.where(special[:, None], 0, held)]).astype(np.float64)


def first_classes(units: Intervals, rounding: Rounding) -> Index:
    """Return the class of the first value of each unit, among those of `class_sizes`."""
    first = _fine_ends(units, rounding)[0]
    multiple = first[:, None] % np.asarray(rounding.divisors, dtype=np.int64) == 0
    return np.asarray(multiple.argmax(axis=1) + rounding.apart)


def _member(first: Index, last: Index, divisor: Index, ratio: Index, at: Floats) -> Index:
    """Return the index of a value between two others that has exactly this class, at a place from 0 to 1 among them.

    The class has the multiples of a divisor that are no multiples of `ratio` times as much, or all of them where that
    is 0. Among multiples of d that are none of r·d the q-th is d·(r·⌊(q − 1)/(r − 1)⌋ + (q − 1) mod (r − 1) + 1).
    """
    low, high, every = -(-first // divisor), last // divisor, ratio == 0
    ratio = np.where(every, 2, ratio)
    before = np.where(every, low - 1, low - 1 - (low - 1) // ratio)
    count = np.where(every, high, high - high // ratio) - before
    rank = before + np.minimum((at * count).astype(np.int64), np.maximum(count - 1, 0)) + 1
    inner = ratio * ((rank - 1) // (ratio - 1)) + (rank - 1) % (ratio - 1) + 1
    return np.asarray(np.where(every, rank, inner) * divisor)
