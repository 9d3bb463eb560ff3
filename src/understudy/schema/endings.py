"""Endings: the last digits of a number, as the codes of one more domain.

A long range has units of several values each. Which of them a row has is told by the unit and the number's last digits.
The ending is a function of the number and not of its text, fixed by the schema.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.domain import UNFIT, Codes, Floats
from understudy.schema.intervals import Intervals
from understudy.schema.rounded_units import unit_ends
from understudy.schema.rounding_classes import FINER
from understudy.schema.steps import MAX_INDEX, Steps

if TYPE_CHECKING:
    from understudy.schema.tree_grid import TreeGrid

MAX_DIGITS = 4


@dataclass(frozen=True)
class Endings(Intervals):
    """A domain with a code for each ending of so many digits: the last digits of the whole number that a number is,
    when it is counted in its last decimal.

    A number outside the range is clamped to its nearer end first. Below zero, endings count upwards, too.
    """

    precision: int = 0  # decimals that are looked at; a number of more is rounded to them
    digits: int = 1

    def __post_init__(self) -> None:
        assert len(self.edges) == 2 and 1 <= self.digits <= MAX_DIGITS

    @property
    def size(self) -> int:
        return int(10**self.digits)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{ending:0{self.digits}}" for ending in range(self.size))

    @property
    def most_decimals(self) -> int:
        """Return how many decimals of a number are looked at."""
        return self.precision

    def encode_numbers(self, values: Floats) -> Codes:
        fit = np.isfinite(values)
        if self.integral:
            fit &= values == np.floor(values)
        inside = np.clip(np.where(fit, values, 0.0), self.edges[0], self.edges[1])
        index = np.floor(inside * 10.0**self.precision + 0.5)
        codes = np.asarray(index - self.size * np.floor(index / self.size), dtype=np.int32)
        codes[~fit] = UNFIT
        return codes

    def count(self, unit: int, units: Intervals) -> int:
        """Return how many numbers of these decimals a unit has; 0 if more than there are endings."""
        first, end = self._indices(unit, units)
        return end - first if end - first <= self.size else 0

    def values(self, unit: int, units: Intervals) -> Floats:
        """Return these numbers in order."""
        first = self._indices(unit, units)[0]
        index = np.arange(first, first + self.count(unit, units), dtype=np.float64)
        return np.asarray(Steps(1, self.precision).value(index), dtype=np.float64)

    def _indices(self, unit: int, units: Intervals) -> tuple[int, int]:
        """Return the first of these numbers and the one after the last, counted in their last decimal: a unit holds
        all numbers up to the next one, but none beyond the range."""
        assert units.steps is not None
        first, last = (int(ends[unit]) for ends in unit_ends(units))
        scale = int(10 ** (self.precision - units.steps.digits))
        return first * scale, min((last + 1) * scale, int(Steps(1, self.precision).at_most(self.edges[1])) + 1)


def endings_of(grid: TreeGrid) -> Endings | None:
    """Return the endings that tell the values of a unit apart; None for times, with a step that is not a decimal's, and
    where each unit holds one value."""
    if grid.short or grid.every is not None or not grid.logarithmic:
        return None
    finer = FINER if grid.guesses_decimals else 0
    widest = float(grid.widths.max())
    while finer and widest * 10**finer > 10**MAX_DIGITS:
        finer -= 1
    precision = grid.steps.digits + finer
    if widest * 10**finer < 1.5 or max(abs(grid.low), abs(grid.high)) * 10.0 ** (precision + MAX_DIGITS) > MAX_INDEX:
        return None
    digits = len(str(math.ceil(min(widest * 10**finer, 10.0**MAX_DIGITS)) - 1))
    return Endings(grid.kind, (grid.low, grid.high), precision=precision, digits=digits)
