"""Steps: the multiples of a declared unit, such as 0.05 or 10, as exactly the doubles that their texts are read as."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.domain import MAX_CODES
from understudy.schema.scales import OrderedScale

Floats = NDArray[np.float64]
MAX_DECIMALS = 15  # a double has no more
MAX_INDEX = 2**53  # whole numbers beyond this are not all doubles


@dataclass(frozen=True)
class Steps:
    """The values k·numerator/10^digits for whole k; k is called the index of a value.

    Indices are doubles too: those of infinite values are infinite.
    """

    numerator: int = 1
    digits: int = 0

    @staticmethod
    def of(step: float) -> Steps:
        """Return the multiples of a number, taken as it is written: 0.05 is one twentieth.

        >>> Steps.of(0.05).value(np.array([3.0])).tolist()
        [0.15]
        """
        _, digits, exponent = Decimal(repr(step)).normalize().as_tuple()
        assert isinstance(exponent, int)
        whole = int("".join(map(str, digits)))
        return Steps(whole * 10 ** max(exponent, 0), max(-exponent, 0))

    @property
    def size(self) -> float:
        """Return the distance of two neighbours."""
        return float(self.numerator / 10**self.digits)

    def value(self, index: Any) -> Any:
        """Return the value at each index."""
        return index * float(self.numerator) / 10.0**self.digits

    def at_least(self, values: Any) -> Floats:
        """Return the index of the lowest multiple that is not below each value."""
        index = np.ceil(np.asarray(values, dtype=np.float64) / self.size)
        index = np.where(self.value(index - 1) >= values, index - 1, index)
        return np.where(self.value(index) < values, index + 1, index)

    def at_most(self, values: Any) -> Floats:
        """Return the index of the highest multiple that is not above each value."""
        index = self.at_least(values)
        return np.where(self.value(index) > values, index - 1, index)

    def indices(self, values: Sequence[float]) -> Floats:
        """Return the sorted indices of those values that are multiples."""
        places = np.asarray(sorted(values), dtype=np.float64)
        index = self.at_least(places)
        return np.asarray(index[self.value(index) == places])

    def between(self, low: float, high: float, most: int) -> tuple[float, ...]:
        """Return edges halfway between the multiples from `low` to `high`, so that each has a bin of its own."""
        first, last = float(self.at_least(low)), float(self.at_most(high))
        if last < first:
            raise SchemaError("no multiple of `step` lies in the range")
        if last - first >= most:
            raise SchemaError(f"the range holds more than {most:,} multiples of `step`: set `bins`")
        halves = 2 * np.arange(first, last + 2) - 1
        return tuple((halves * self.numerator / (2.0 * 10.0**self.digits)).tolist())


def steps_of(scale: OrderedScale, step: float | None, decimals: int | None, reach: float) -> Steps | None:
    """Return the values that an ordered domain is written in; None for numbers without any.

    Whole numbers, days and seconds are multiples of 1 where nothing else is declared; `decimals` are multiples of
    0.1, 0.01 and so on. `reach` is the largest magnitude of the range.
    """
    if step is None and decimals is None:
        return Steps() if scale.integral else None
    steps = Steps(1, decimals or 0) if step is None else Steps.of(step)
    if scale.integral and steps.digits:
        raise SchemaError(f"`step` of kind {scale.kind!r} must be a whole number")
    if decimals is not None and steps.digits > decimals:
        raise SchemaError(f"`step` has more than the {decimals} `decimals` that are written")
    if steps.digits > MAX_DECIMALS or not reach * 10.0 ** max(steps.digits, decimals or 0) <= MAX_INDEX:
        raise SchemaError("the range holds more steps than a double can tell apart: take a larger `step`")
    return steps


def equal_edges(scale: OrderedScale, low: float, high: float, bins: Any) -> tuple[float, ...]:
    """Return the edges of so many bins of equal width, or of one bin for each whole number."""
    if bins is None:
        if not scale.listable:
            raise SchemaError("needs `bins` (how many cells the range is cut into) or `edges`")
        if high - low >= MAX_CODES:
            raise SchemaError(f"the range holds more than {MAX_CODES:,} values: set `bins`")
        if low != math.floor(low) or high != math.floor(high):
            raise SchemaError("`range` of whole numbers must be whole")
        return tuple(v - 0.5 for v in range(int(low), int(high) + 2))
    if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= MAX_CODES:
        raise SchemaError(f"`bins` must be a whole number from 1 to {MAX_CODES:,}")
    return (*(low + (high - low) * i / bins for i in range(bins)), high)


def checked_step(value: Any) -> float | None:
    """Return a `step` of a schema file."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SchemaError("`step` is a number above 0: values are written as multiples of it")
    if not 10.0**-MAX_DECIMALS <= value <= MAX_INDEX or Steps.of(float(value)).digits > MAX_DECIMALS:
        raise SchemaError(f"`step` has at most {MAX_DECIMALS} decimals, and is at most 2^53")
    return float(value)


def checked_decimals(value: Any) -> int | None:
    """Return `decimals` of a schema file."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_DECIMALS:
        raise SchemaError(f"`decimals` is how many digits are written: a whole number up to {MAX_DECIMALS}")
    return value
