"""Empty tails: cells at the ends of an ordered attribute in which nothing but noise was seen.

A declared range is often far longer than the rows need. Noise in its empty cells, cut off at zero, would become rows
far from all others, and multiply standard deviations. A tail is taken to be empty if none of its cells stands out and
it holds no more than the noise explains, where a flat distribution would have been seen. Post-processing of noisy
one-way tables, deterministic; it is a term of the estimate, which then has structural zeros there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from understudy.models.factor import Factor
from understudy.privacy.measurement import Measurement
from understudy.schema import Axis, Floats, Schema

STANDS_OUT = 2.0  # standard deviations from which on one cell is not empty
EXPLAINED = 1.5  # standard deviations of its sum that a tail may hold
SEEN = 3.0  # standard deviations that the tail of a flat distribution must hold, or nothing can be said


def empty_tails(measurements: Sequence[Measurement], schema: Schema, total: float) -> Iterator[Factor]:
    """Yield a log table for each ordered attribute with an empty tail: minus infinity in its cells."""
    for axis, (values, variance) in _one_way(measurements).items():
        attribute = schema[axis.attribute]
        if attribute.intervals is None:
            continue
        cells = values[: len(values) - attribute.has_missing]
        empty = np.zeros(len(values), dtype=bool)
        low, high = tails(cells, math.sqrt(variance), total * max(0.0, 1 - _missing(values, len(cells), total)))
        empty[:low], empty[len(cells) - high : len(cells)] = True, True
        if empty.any():
            yield Factor((axis,), np.where(empty, -np.inf, 0.0))


def tails(cells: Floats, deviation: float, rows: float) -> tuple[int, int]:
    """Return how many cells are empty at the low and at the high end."""
    mode = int(np.argmax(cells))
    return _tail(cells[:mode], len(cells), deviation, rows), _tail(cells[:mode:-1], len(cells), deviation, rows)


def _tail(outer: Floats, cells: int, deviation: float, rows: float) -> int:
    """Return how many of these cells, from the end inwards, are empty."""
    stop = np.flatnonzero(outer >= STANDS_OUT * deviation)
    outer = outer[: stop[0]] if len(stop) else outer
    count = np.arange(1, len(outer) + 1)
    noise = deviation * np.sqrt(count)
    found = np.flatnonzero((np.cumsum(outer) <= EXPLAINED * noise) & (rows * count / cells >= SEEN * noise))
    return int(found[-1]) + 1 if len(found) else 0


def _missing(values: Floats, cells: int, total: float) -> float:
    """Return the share of rows whose cell is missing."""
    return float(min(1.0, max(0.0, values[cells:].sum() / max(total, 1.0))))


def _one_way(measurements: Sequence[Measurement]) -> dict[Axis, tuple[Floats, float]]:
    """Return the noisy one-way tables by attribute, several averaged by their variances, and the variance left."""
    found: dict[Axis, tuple[Floats, float]] = {}
    for m in measurements:
        if len(m.axes) != 1 or not m.axes[0].base or not m.variance:
            continue
        values, variance = m.values.astype(np.float64), m.variance
        if m.axes[0] in found:
            other, before = found[m.axes[0]]
            values = (values / variance + other / before) / (1 / variance + 1 / before)
            variance = 1 / (1 / variance + 1 / before)
        found[m.axes[0]] = values, variance
    return found
