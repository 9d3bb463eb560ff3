"""Shrinkage: how far each noisy table is drawn towards independence of its attributes (empirical Bayes).

The base of every model is the product of its columns, as their own tables have them. Beside it stands one number for
each larger table, T: how many rows of that product are as far from it as the table is. A cell of share q then differs
from it with variance q / T, and the noisy cell with variance q / T + (σ/n)², so the T that explains a table best is
read off the table itself. Where its attributes have little to do with each other T is large and noise does not become
dependence; where they depend on each other it is small and the table stands as it was measured.

Dependence sits in few cells, which a normal law does not foresee: so half of that T is the weight of the entropy term.
Post-processing, deterministic, a part of `refit`. Measured in docs/decisions/0044-shrinkage.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from understudy.models.nearest_counts import nearest_counts
from understudy.privacy.measurement import Measurement
from understudy.schema import Axis, Floats, Schema

ROUNDING = 1 / 12  # the variance of a rounded count: no table is known better than this
TAKEN = 0.5  # of the weight that explains a table best
WEIGHTS = 16  # that are tried, evenly spaced as logarithms
FEWEST, MOST = 0.3, 4.0  # rows, and times all rows: the smallest and the largest of them
TINY = 1e-12  # a share that is nothing
SEEN = 0.1  # standard deviations of a column's cell, at least: what noise cut off at zero may hold rows


def shares_of(m: Measurement, total: float) -> Floats:
    """Return the shares of a noisy table's cells among so many rows, which add up to one.

    Every distribution has that total, so the surplus of a noisy table says nothing about its cells.
    """
    counts = m.values.ravel().astype(np.float64)
    return np.asarray((counts + (total - counts.sum()) / len(counts)) / total)


def variance_of(m: Measurement) -> float:
    """Return the variance of the noise of a count, that of rounding at least."""
    return max(m.variance, ROUNDING)


def column_shares(measurements: Sequence[Measurement], schema: Schema, total: float) -> dict[Axis, Floats]:
    """Return the shares of each attribute's values, by its own tables; by larger ones where it has none.

    Several are averaged by their variances, brought to shares that are not negative, and none is quite zero.
    """
    found: dict[Axis, tuple[Floats, float]] = {}
    for alone in (True, False):
        seen: dict[Axis, tuple[Floats, float]] = {}
        for m in measurements:
            if (len(m.axes) == 1) == alone:
                for dimension, axis in enumerate(m.axes):
                    if axis.base and axis not in found:
                        _add_column(seen, m, dimension, schema)
        found |= seen
    return {axis: _positive(*column, total) for axis, column in found.items()}


def _add_column(seen: dict[Axis, tuple[Floats, float]], m: Measurement, dimension: int, schema: Schema) -> None:
    """Add one column of a table to what is known of its attribute: counts by precision, and precision."""
    shape = schema.sizes(m.axes)
    table = m.values.reshape(shape).astype(np.float64)
    counts = table.sum(axis=tuple(i for i in range(len(shape)) if i != dimension))
    precision = len(counts) / (variance_of(m) * table.size)
    before, known = seen.get(m.axes[dimension], (np.zeros(len(counts)), 0.0))
    seen[m.axes[dimension]] = before + counts * precision, known + precision


def _positive(weighed: Floats, precision: float, total: float) -> Floats:
    counts = weighed / precision
    counts = nearest_counts(counts + (total - counts.sum()) / len(counts), total)
    counts = np.maximum(counts, SEEN / math.sqrt(precision))
    return np.asarray(counts / counts.sum())


def entropy_weight(shares: Floats, expected: Floats, variance: float, total: float) -> float:
    """Return the weight of the entropy term for one noisy table of shares, in rows of the product of its columns.

    >>> even = np.full(4, 0.25)
    >>> entropy_weight(even, even, 1e-4, 1000) > 1000  # as independence has it
    True
    >>> entropy_weight(np.array([0.5, 0, 0, 0.5]), even, 1e-4, 1000) < 5
    True
    """
    expected, off = np.maximum(expected, TINY), (shares - expected) ** 2
    weights = np.geomspace(FEWEST, MOST * max(total, 1.0), WEIGHTS)
    logs = np.empty(WEIGHTS)
    for i, weight in enumerate(weights):
        spread = variance + expected / weight
        logs[i] = -0.5 * (np.log(spread) + off / spread).sum()
    best = int(np.argmax(logs))
    step = math.log(weights[1] / weights[0])
    between = _vertex(*logs[best - 1 : best + 2]) if 0 < best < WEIGHTS - 1 else 0.0
    return TAKEN * float(weights[best]) * math.exp(step * between)


def _vertex(before: float, top: float, after: float) -> float:
    """Return where the parabola through three values at -1, 0 and 1, the middle one largest, has its top."""
    bend = before - 2 * top + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0
