"""Narrow floats: what the float32s and float16s of inferred columns are read as.

A library that keeps numbers in fewer bytes has the float32 0.10000000149… for 0.1; one odd cell makes texts, objects or
doubles of its column, and the cell is 0.1 again, or that float32 as a double. In a list, the narrow floats nearest to a
declared decimal stand for it (`NarrowFloats`); one that is nearest to two stands for neither. On a scale, a number that
a narrow type holds is what a text of it says (`WrittenDecimals`). Whole numbers need no such thing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WHOLE_FROM = {np.float32: 2.0**23, np.float16: 2.0**10}  # from here on all numbers of the type are whole
_MAX_DECIMALS = 15


class NarrowFloats:
    """The narrow floats that stand for some of these numbers, as doubles."""

    def __init__(self, numbers: Iterable[float]) -> None:
        found = np.unique(np.asarray(list(numbers), dtype=np.float64))
        self._declared = found[np.isfinite(found)]

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        """Return the narrow floats in order, and the declared number of each."""
        twins, marks = [], []
        for narrow, whole in _WHOLE_FROM.items():
            near = self._declared[(np.abs(self._declared) < whole) & _broken(self._declared)]
            twins.append(near.astype(narrow).astype(np.float64))
            marks.append(near)
        all_twins, all_marks = np.concatenate(twins), np.concatenate(marks)
        fresh = _broken(all_twins) & ~np.isin(all_twins, self._declared)
        pairs = np.unique(np.stack([all_twins[fresh], all_marks[fresh]], axis=1), axis=0)
        found, times = np.unique(pairs[:, 0], return_counts=True)
        once = np.isin(pairs[:, 0], found[times == 1])
        return pairs[once, 0], pairs[once, 1]

    @property
    def meanings(self) -> dict[float, float]:
        """Return the declared number that each narrow float stands for."""
        return dict(zip(*(column.tolist() for column in self._pairs)))


@dataclass(frozen=True)
class WrittenDecimals:
    """What a text says of a number that a narrow type holds: the decimal of fewest places that the type reads as it.

    Up to so many `places`, which tell all that a schema declares apart: a decimal of more is on the same side of each
    of these as the number. A float16 that is such a decimal itself (300.25, where a text of it may be 300.2) is that,
    and so is a number that is `kept`.
    """

    places: int
    kept: tuple[float, ...] = ()

    @staticmethod
    def telling(numbers: Iterable[float], least: int = 0, kept: Iterable[float] = ()) -> WrittenDecimals:
        """Return those that tell these numbers apart, and decimals of at least so many places."""
        kept = tuple(dict.fromkeys(number for number in kept if math.isfinite(number)))
        numbers = [*numbers, *kept]
        finite = [number for number in numbers if math.isfinite(number)]
        wanted = max([least, *(_places(number) for number in finite)])
        room = math.floor(math.log10(2.0**53 / max([1.0, *map(abs, finite)])))
        return WrittenDecimals(max(0, min(wanted, room, _MAX_DECIMALS)), kept)

    @property
    def below(self) -> float:
        """Return the number below which doubles have all these places, and narrow floats have fractions."""
        return min(max(_WHOLE_FROM.values()), 2.0**53 / 10.0**self.places)

    @property
    def powers(self) -> list[float]:
        """Return 10, 100, … up to the power of ten that makes whole numbers of all these decimals."""
        return [10.0**place for place in range(1, self.places + 1)]

    def read(self, values: Floats) -> Floats:
        """Return the numbers as they are meant. SQL has the same arithmetic (`engines.inferred_sql`)."""
        if not self.places:
            return values
        found, at = values.copy(), np.flatnonzero(_broken(values) & (np.abs(values) < self.below))
        at = at[values[at].astype(np.float32) == values[at]]  # as all float16s are
        at = at[~np.isin(values[at], self.kept)]
        numbers = np.where(np.abs(values[at]) < _WHOLE_FROM[np.float16], values[at], 0.0)
        half = (
            (numbers != 0) & (numbers.astype(np.float16) == numbers) & (_nearest(numbers, self.powers[-1]) != numbers)
        )
        for narrow, own in ((np.float16, at[half]), (np.float32, at[~half])):
            for power in self.powers:
                written = _nearest(values[own], power)
                is_it = written.astype(narrow) == values[own]
                found[own[is_it]] = written[is_it]
                own = own[~is_it]
        return found


def _places(number: float) -> int:
    """Return how many decimal places a number is written with."""
    exponent = Decimal(repr(float(number))).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _nearest(numbers: Floats, power: float) -> Floats:
    """Return the nearest decimals of as many places as the power of ten says."""
    return np.floor(numbers * power + 0.5) / power


def _broken(values: Floats) -> NDArray[np.bool_]:
    return np.asarray(values != np.floor(values))
