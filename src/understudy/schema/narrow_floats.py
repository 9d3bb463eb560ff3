"""Narrow floats: the float32 and the float16 nearest to a declared decimal, which stand for it in inferred columns.

A library that keeps numbers in fewer bytes has the float32 0.10000000149… for 0.1; one odd cell makes texts, objects or
doubles of its column, and the cell is 0.1 again, or that float32 as a double. So both are read as the declared decimal.
Whole numbers need no such thing, and a narrow float that is nearest to two declared decimals stands for neither.

Where all numbers of some decimals are told from others (`schema.rounding_classes`), a narrow float stands for the
shortest decimal that its type reads as it: what a text of it says.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WHOLE_FROM = {np.float32: 2.0**23, np.float16: 2.0**10}  # from here on all numbers of the type are whole


class NarrowFloats:
    """The narrow floats that stand for some of these numbers, as doubles; with `decimals`, for all of up to so many."""

    def __init__(self, numbers: Iterable[float], decimals: int = 0) -> None:
        found = np.unique(np.asarray(list(numbers), dtype=np.float64))
        self._declared = found[np.isfinite(found)]
        self.decimals = decimals

    @property
    def declared(self) -> list[float]:
        """Return the numbers that are themselves, whatever a narrow type makes of them."""
        return [float(number) for number in self._declared]

    @property
    def below(self) -> float:
        """Return the number below which decimals are looked for, in doubles and with all digits."""
        return min(max(_WHOLE_FROM.values()), 2.0**53 / 10.0**self.decimals)

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

    def widened(self, values: Floats) -> Floats:
        """Return the numbers, with the declared one in the place of each narrow float that stands for it."""
        twins, marks = self._pairs
        if len(twins):
            near = np.minimum(np.searchsorted(twins, values), len(twins) - 1)
            values = np.where(twins[near] == values, marks[near], values)
        return self._as_written(values) if self.decimals else values

    def _as_written(self, values: Floats) -> Floats:
        """Return the numbers, with its shortest decimal in the place of each that a narrow type has exactly.

        The narrowest such type decides. SQL has the same arithmetic (`engines.inferred_sql`).
        """
        found, left = values.copy(), _broken(values) & (np.abs(values) < self.below) & ~np.isin(values, self._declared)
        for narrow, whole in reversed(_WHOLE_FROM.items()):
            at = np.flatnonzero(left & (np.abs(values) < whole))
            at = at[values[at].astype(narrow) == values[at]]
            left[at] = False
            for power in (10.0**places for places in range(1, self.decimals + 1)):
                written = np.floor(values[at] * power + 0.5) / power
                is_it = written.astype(narrow) == values[at]
                found[at[is_it]] = written[is_it]
                at = at[~is_it]
        return found


def _broken(values: Floats) -> NDArray[np.bool_]:
    return np.asarray(values != np.floor(values))
