"""Heaps: round numbers that people prefer; a value's rounding class is the roundest of them it is a multiple of."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.steps import MAX_INDEX, Steps

MAX_HEAPS = 20
CALENDAR = ("first days of years", "first days of months", "others")


def checked_heaps(value: Any) -> tuple[float, ...]:
    """Return `heaps` of a schema file: the roundest first, each a multiple of the next."""
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_HEAPS or not all(map(_is_size, value)):
        raise SchemaError("`heaps` is a list of numbers above 0 that values are rounded to, such as [1000, 500, 100]")
    heaps = tuple(map(float, value))
    for large, small in pairwise(heaps):
        if large <= small or not is_multiple(np.asarray([large]), small)[0]:
            raise SchemaError("`heaps` come in falling order, each a multiple of the next: [1000, 500, 100, 50, 10, 5]")
    return heaps


def _is_size(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 1e-6 <= value <= MAX_INDEX


def is_multiple(values: NDArray[np.float64], heap: float) -> NDArray[np.bool_]:
    """Return which values are multiples of a heap, both taken as they are written."""
    steps = Steps.of(heap)
    return np.asarray(steps.value(steps.at_least(values)) == values)


def rounding_classes(values: NDArray[np.float64], heaps: tuple[float, ...]) -> NDArray[np.int64]:
    """Return for each value the place of the first heap that it is a multiple of; one more for none.

    >>> rounding_classes(np.array([0.0, 70.0, 75.0, 71.0]), (100, 10, 5)).tolist()
    [0, 1, 2, 3]
    """
    classes = np.full(len(values), len(heaps), dtype=np.int64)
    for place in range(len(heaps) - 1, -1, -1):
        classes[is_multiple(values, heaps[place])] = place
    return classes


def calendar_classes(roundness: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of each day among `CALENDAR`, given of how many of day, month and year it is the first."""
    return np.asarray(len(CALENDAR) - np.clip(roundness, 1, len(CALENDAR)), dtype=np.int64)


def class_names(heaps: tuple[float, ...]) -> tuple[str, ...]:
    """Return a public name for each rounding class."""
    return (*(f"multiples of {heap:g}" for heap in heaps), "others")
