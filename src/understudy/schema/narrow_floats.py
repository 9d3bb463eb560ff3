"""Narrow floats: the float32 and the float16 nearest to a declared decimal, which stand for it in inferred columns.

A library that keeps numbers in fewer bytes has the float32 0.10000000149… for 0.1; one odd cell makes texts, objects or
doubles of its column, and the cell is 0.1 again, or that float32 as a double. So both are read as the declared decimal.
Whole numbers need no such thing, and a narrow float that is nearest to two declared decimals stands for neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WHOLE_FROM = {np.float32: 2.0**23, np.float16: 2.0**10}  # from here on all numbers of the type are whole


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

    def widened(self, values: Floats) -> Floats:
        """Return the numbers, with the declared one in the place of each narrow float that stands for it."""
        twins, marks = self._pairs
        if not len(twins):
            return values
        near = np.minimum(np.searchsorted(twins, values), len(twins) - 1)
        return np.where(twins[near] == values, marks[near], values)


def _broken(values: Floats) -> NDArray[np.bool_]:
    return np.asarray(values != np.floor(values))
