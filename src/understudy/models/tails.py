"""Empty tails: cells at the ends of an ordered attribute in which nothing but noise was seen.

A declared range is often far longer than the rows need. Noise in its empty cells, cut off at zero, would become rows
far from all others, and multiply standard deviations. So a column ends at the last cell that stands out by itself, and
beyond it as far as the cells together stand out: rows are where rows are, and noise that is far from them has to be
more than noise. Post-processing of noisy one-way tables, deterministic; it is a term of the estimate, which then has
structural zeros there. Measured in docs/decisions/0040-far-tails.md.

Where noise is large beside all rows, real tails look as empty as others; there, under Laplace noise, and in releases of
earlier versions, another rule holds (`earlier_tails`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from understudy.models.factor import Factor
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.schema import Axis, Floats, Intervals, Mask, Schema

CLEAR = 50.0  # standard deviations of a cell's noise that all rows must be, or the rule of earlier versions holds
ALONE = 3.0  # standard deviations from which on a cell is not empty, whatever is around it
TOGETHER = 2.0  # standard deviations of their sum from which on the cells next to it are not
CODE = 2.5  # the same for a single value at an end of the range: it may be a code, such as 999
STANDS_OUT = 2.0  # standard deviations from which on one cell is not empty
EXPLAINED = 1.5  # standard deviations of its sum that a tail may hold
SEEN = 3.0  # standard deviations that the tail of a flat distribution must hold, or nothing can be said


def empty_tails(
    measurements: Sequence[Measurement], schema: Schema, total: float, pooled: bool = True
) -> Iterator[Factor]:
    """Yield a log table for each ordered attribute with an empty tail: minus infinity in its cells.

    Without `pooled`, or where the noise is too large for it (`is_clear`), by the rule of earlier versions.
    """
    noisy = {m.axes[0] for m in measurements if len(m.axes) == 1 and not is_clear(m, total)}
    for axis, (values, variance) in _one_way(measurements).items():
        attribute = schema[axis.attribute]
        if attribute.intervals is None:
            continue
        cells = values[: len(values) - attribute.has_missing]
        empty = np.zeros(len(values), dtype=bool)
        if pooled and axis not in noisy:
            empty[: len(cells)] = beyond(cells, np.full(len(cells), variance), _codes(attribute.ordered))
        else:
            rows = total * max(0.0, 1 - _missing(values, len(cells), total))
            low, high = earlier_tails(cells, math.sqrt(variance), rows)
            empty[:low], empty[len(cells) - high : len(cells)] = True, True
        if empty.any():
            yield Factor((axis,), np.where(empty, -np.inf, 0.0))


def is_clear(measured: Measurement, rows: float) -> bool:
    """Return whether so many rows stand out from Gaussian noise far enough for its far tails to be cut by `beyond`.

    Where they do not, cells of few rows that are there look as empty as others.
    """
    return isinstance(measured.noise, Gaussian) and rows >= CLEAR * math.sqrt(measured.variance)


def beyond(cells: Floats, variance: Floats, codes: Mask) -> Mask:
    """Return which cells lie beyond the rows at either end; each single value in `codes` is judged by itself."""
    noise = np.sqrt(variance)
    mode = int(np.argmax(cells / noise))
    empty, inner = codes & (cells < CODE * noise), np.flatnonzero(~codes)
    for outward in (inner[inner < mode][::-1], inner[inner > mode]):
        empty[outward[_reach(cells[outward], variance[outward]) :]] = True
    empty[mode] = False
    return empty


def _reach(outward: Floats, variance: Floats) -> int:
    """Return how many of these cells, from the mode outwards, hold rows."""
    sure = np.flatnonzero(outward >= ALONE * np.sqrt(variance))
    last = int(sure[-1]) + 1 if len(sure) else 0
    if last == len(outward):
        return last
    together = np.cumsum(outward[last:]) / np.sqrt(np.cumsum(variance[last:]))
    best = int(np.argmax(together))
    return last + best + 1 if together[best] >= TOGETHER else last


def _codes(domain: Intervals) -> Mask:
    """Return which cells are single values at an end of the range where others are not."""
    ends = [domain.bounds(code) for code in range(domain.size)]
    single = np.asarray([low == high for low, high in ends])
    found = np.zeros(len(ends), dtype=bool)
    found[[0, -1]] = single[[0, -1]]
    return found & (not single.all())


def earlier_tails(cells: Floats, deviation: float, rows: float) -> tuple[int, int]:
    """Return how many cells were empty at the low and at the high end in earlier versions: none of them stands out,
    and they hold no more than the noise explains where a flat distribution would have been seen."""
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
