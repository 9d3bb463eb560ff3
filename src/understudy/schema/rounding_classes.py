"""Rounding classes: the roundest of some units that a number is a multiple of, as the codes of one more domain.

People write 45, 1,500 and 99.95, and hardly 1,487.23. A number has one class, so a histogram of classes is a table of
counts like any other. The class is a function of the number and not of its text: 45, 45.0 and a cell of floats that
holds 45 are one class in every source.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.domain import UNFIT, Codes, Floats
from understudy.schema.intervals import Intervals
from understudy.schema.steps import MAX_INDEX

if TYPE_CHECKING:
    from understudy.schema.tree_grid import TreeGrid

FINER = 2  # decimals that are looked for beyond those that a guess writes
LEAST_MULTIPLES = 8  # that a range must hold of a unit


@dataclass(frozen=True)
class Rounding:
    """Units that values may be multiples of, the roundest first.

    Parameters
    ----------
    divisors
        The units in multiples of the last one, which is 1; each is a multiple of the next.
    finer
        How many decimals more than the values' own step the last unit has.
    apart
        Whether 0 and the ends of the range have a class of their own, before all others: they may be codes.
    """

    divisors: tuple[int, ...]
    finer: int = 0
    apart: bool = False

    @property
    def size(self) -> int:
        """Return how many classes there are."""
        return len(self.divisors) + self.apart


def decimal_rounding(digits: int) -> Rounding:
    """Return the classes of numbers by how many decimals they need, from whole numbers to so many.

    >>> decimal_rounding(2).divisors
    (100, 10, 1)
    """
    return Rounding(tuple(10**places for places in range(digits, -1, -1)))


def rounding_of(grid: TreeGrid) -> Rounding | None:
    """Return the classes of a range's values: 1, 5, 10, 50 … steps, of times minutes, hours, days; None for dates, and
    where a step or heaps are declared."""
    if grid.short or grid.every is not None or grid.heaps:
        return None
    if not grid.logarithmic:
        units = [unit for unit in grid.scale.heaps if unit * LEAST_MULTIPLES <= grid.high - grid.low]
        return Rounding((*units, 1), apart=True) if units else None
    reach, digits = max(abs(grid.low), abs(grid.high)), grid.steps.digits
    finer = FINER if grid.guesses_decimals else 0
    while finer and reach * 10.0 ** (digits + finer) > MAX_INDEX:
        finer -= 1
    most = (grid.high - grid.low) * 10.0 ** (digits + finer) / LEAST_MULTIPLES
    tens = [10**power for power in range(19)]
    units = tens + [5 * ten for ten in tens[finer:]]
    return Rounding(tuple(sorted((unit for unit in units if unit == 1 or unit <= most), reverse=True)), finer, True)


@dataclass(frozen=True)
class RoundingClasses(Intervals):
    """A domain whose first code is for 0 and the ends of the range (of numbers), and each next one for multiples of a
    unit that are no multiples of those before; the last code is for all other numbers.

    A number outside the range is clamped to its nearer end first.
    """

    units: tuple[Fraction, ...] = ()  # whole numbers, or one over a whole number; the roundest first

    def __post_init__(self) -> None:
        assert len(self.edges) == 2 and all(min(unit.numerator, unit.denominator) == 1 for unit in self.units)

    @staticmethod
    def of(grid: TreeGrid, rounding: Rounding) -> RoundingClasses:
        """Return the classes of numbers in the range of a grid."""
        finest = 10 ** (grid.steps.digits + rounding.finer)
        units = tuple(Fraction(divisor, finest) for divisor in rounding.divisors[:-1])
        return RoundingClasses(grid.kind, (grid.low, grid.high), units=units)

    @property
    def size(self) -> int:
        return len(self.units) + 2

    @property
    def labels(self) -> tuple[str, ...]:
        return ("0 or an end of the range", *(f"multiples of {float(unit):g}" for unit in self.units), "others")

    @property
    def special(self) -> tuple[float, ...]:
        """Return the values of the first code; times have none."""
        return tuple(sorted({0.0, *self.edges})) if self.scale.arithmetic else ()

    @property
    def most_decimals(self) -> int:
        """Return how many decimals a multiple of a unit has at most."""
        return next(places for places in range(20) if all(10**places % unit.denominator == 0 for unit in self.units))

    def encode_numbers(self, values: Floats) -> Codes:
        fit = np.isfinite(values)
        if self.integral:
            fit &= values == np.floor(values)
        inside = np.clip(np.where(fit, values, 0.0), self.edges[0], self.edges[1])
        codes, round_ones = np.full(len(values), self.size - 1, dtype=np.int32), np.arange(len(values))
        for code, unit in reversed(list(enumerate(self.units, 1))):
            up, down, numbers = float(unit.denominator), float(unit.numerator), inside[round_ones]
            round_ones = round_ones[np.floor(numbers * up / down + 0.5) * down / up == numbers]
            codes[round_ones] = code
        codes[np.isin(inside, self.special)] = 0
        codes[~fit] = UNFIT
        return codes
