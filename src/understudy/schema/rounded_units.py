"""Units of a noisy tree's grid whose numbers are written with as many decimals as the table's own numbers have.

Where decimals are not declared, a number is a multiple of a small step. Given its unit, it has a decimal class (0:
whole numbers, 1: one decimal …) by shares that are known for each unit, and any value of that class with equal chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.domain import Codes, Floats
from understudy.schema.intervals import Intervals

Index = NDArray[np.int64]


@dataclass(frozen=True)
class RoundedUnits(Intervals):
    """The units, and for each the shares of its decimal classes: `shares` has a row for each code."""

    shares: Floats = field(default_factory=lambda: np.ones((1, 1)), compare=False, repr=False)

    @staticmethod
    def of(units: Intervals, shares: Floats) -> RoundedUnits:
        """Return these units with shares of classes."""
        return RoundedUnits(
            units.kind, units.edges, units.points, units.format, units.step, units.places, shares=shares
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
        first, last = (ends[codes] for ends in unit_ends(self))
        assert self.steps is not None
        places = sums.shape[1] - 1 - chosen
        index = _member(first, last, places, chosen == 0, inside)
        return np.asarray(self.steps.value(index.astype(np.float64)))


def unit_ends(units: Intervals) -> tuple[Index, Index]:
    """Return for each unit the index of its first and of its last step; a point at the end of the range is one."""
    first, last = (ends.astype(np.int64) for ends in units.step_range)
    if units.points:
        last[-1] -= 1
        first, last = np.append(first, last[-1] + 1), np.append(last, last[-1] + 1)
    return first, last


def class_sizes(units: Intervals, digits: int) -> Floats:
    """Return for each unit how many values of each decimal class it holds, from whole numbers to `digits` decimals."""
    first, last = unit_ends(units)
    powers = 10 ** np.arange(digits, -1, -1, dtype=np.int64)
    held = last[:, None] // powers - (first[:, None] - 1) // powers
    return np.diff(held, axis=1, prepend=0).astype(np.float64)


def _member(first: Index, last: Index, places: Index, whole: NDArray[np.bool_], at: Floats) -> Index:
    """Return the index of a value between two others that has exactly this class, at a place from 0 to 1 among them.

    `places` is how many of its last digits are 0. Among multiples of 10^places those are counted that are no multiples
    of ten times as much: the q-th of them is 10·⌊(q − 1)/9⌋ + (q − 1) mod 9 + 1.
    """
    power = 10**places
    low, high = -(-first // power), last // power
    before = np.where(whole, low - 1, low - 1 - (low - 1) // 10)
    count = np.where(whole, high, high - high // 10) - before
    rank = before + np.minimum((at * count).astype(np.int64), np.maximum(count - 1, 0)) + 1
    return np.asarray(np.where(whole, rank, 10 * ((rank - 1) // 9) + (rank - 1) % 9 + 1) * power)
