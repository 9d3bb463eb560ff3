"""The discrepancy law: how the true table of attributes that were not measured together may differ from the model's.

Write r for the model's table in rows. What the model leaves out is taken as r·η with a random η of three parts: a trend
(the product of one smooth or random number for each value of each attribute, as links between attributes mostly are),
a heavy-tailed number for each cell, and the chance of whole rows, √r a cell. η has no part in any table that was
measured: it is raked to zero there. The size of the first two together is drawn from a law for all tables of as many
attributes, fitted to what the release bought (`size_law`).

A law for *such* tables: intervals from it hold on average over questions about unmeasured tables, not for each one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.inference.refits import Released
from understudy.inference.size_law import DiscrepancyLaw
from understudy.schema import Intervals, Schema

Floats = NDArray[np.float64]
TREND = 0.9  # of the squared size of η, the part of the product
TAIL = 3.0  # degrees of freedom of the cells' heavy-tailed numbers
SMOOTH = 0.85  # correlation of neighbouring values of an ordered attribute
RAKES = 4
LARGE = 0.1  # size from which on cutting at zero takes much of a change
MAX_RAISE = 3.0  # of a large change, for what is cut


def discrepancies(
    table: Floats,
    names: Sequence[str],
    release: Released,
    law: DiscrepancyLaw,
    generator: np.random.Generator,
    count: int,
) -> Floats:
    """Draw `count` differences between the true table over `names` and the model's `table`, both as shares.

    There are none where one measured table holds them all.
    """
    measured = measured_parts(release, names)
    if any(len(part) == table.ndim for part in measured):  # raked to zero but for rounding, which is not to be scaled
        return np.zeros((count, *table.shape))
    chance = np.sqrt(table / release.rows) * generator.standard_normal((count, *table.shape))
    relative = np.divide(chance, table, out=np.zeros_like(chance), where=table > 0)
    out: Floats = table * _rake(relative, table, measured)
    sizes = law.size(len(names)).draw(generator, count)
    eta = _rake(_relative(table, names, release.schema, generator, count), table, measured)
    lengths = (table * np.abs(eta)).reshape(count, -1).sum(axis=1)
    scale = np.divide(sizes, lengths, out=np.zeros(count), where=lengths > 0)
    return np.asarray(out + _kept_size(table, table * eta * _by_draw(scale, table.ndim), sizes))


def _kept_size(table: Floats, change: Floats, sizes: Floats) -> Floats:
    """Scale large changes up once, by what cutting the changed tables at zero takes of their size."""
    large = np.flatnonzero(sizes > LARGE)
    if not len(large):
        return change
    cut = np.maximum(table + change[large], 0.0)
    cut /= np.maximum(cut.sum(axis=tuple(range(1, cut.ndim)), keepdims=True), 1e-300)
    left = np.abs(cut - table).reshape(len(large), -1).sum(axis=1)
    more = np.clip(np.divide(sizes[large], left, out=np.ones(len(large)), where=left > 0), 1.0, MAX_RAISE)
    change[large] *= _by_draw(more, table.ndim)
    return change


def _by_draw(numbers: Floats, dimensions: int) -> Floats:
    """Return a number for each draw with an axis of one for every attribute."""
    return numbers.reshape(-1, *[1] * dimensions)


def measured_parts(release: Released, names: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the largest sets of these attributes, by position, that one measured table holds as they are."""
    held = {frozenset(axis.attribute for axis in m.axes if axis.base) & frozenset(names) for m in release.measurements}
    held |= {frozenset([name]) for name in names}
    largest = [part for part in held if part and not any(part < other for other in held)]
    return sorted(tuple(i for i, name in enumerate(names) if name in part) for part in largest)


def _relative(
    table: Floats, names: Sequence[str], schema: Schema, generator: np.random.Generator, count: int
) -> Floats:
    """Draw η before it is raked: products of numbers by value, for each pair of attributes, and a number by cell."""
    shape = table.shape
    trend = np.zeros((count, *shape))
    for i, j in combinations(range(len(shape)), 2):
        one = _by_value(schema, names[i], generator, count)
        other = _by_value(schema, names[j], generator, count) * generator.standard_normal((count, 1))
        product = one[:, :, None] * other[:, None, :]
        trend += product.reshape([count, *(n if k in (i, j) else 1 for k, n in enumerate(shape))])
    cells = generator.standard_t(TAIL, (count, *shape))
    return np.asarray(math.sqrt(TREND) * _unit(trend, table) + math.sqrt(1 - TREND) * _unit(cells, table))


def _by_value(schema: Schema, name: str, generator: np.random.Generator, count: int) -> Floats:
    """Draw a number for each value; neighbours on an ordered scale are alike."""
    steps = generator.standard_normal((count, schema[name].size))
    if isinstance(schema[name].domain, Intervals):
        for i in range(1, steps.shape[1]):
            steps[:, i] = SMOOTH * steps[:, i - 1] + math.sqrt(1 - SMOOTH**2) * steps[:, i]
    return steps


def _unit(eta: Floats, table: Floats) -> Floats:
    """Scale each draw to a mean square of one, weighted by the model."""
    axes = tuple(range(1, eta.ndim))
    scale = np.sqrt((table * eta**2).sum(axis=axes, keepdims=True))
    return np.asarray(np.divide(eta, scale, out=np.zeros_like(eta), where=scale > 0))


def _rake(eta: Floats, table: Floats, measured: Sequence[tuple[int, ...]]) -> Floats:
    """Take the mean of η within each cell of each measured table off, weighted by the model; more than once, since
    tables overlap."""
    for _ in range(RAKES if len(measured) > 1 else 1):
        for part in measured:
            others = tuple(i for i in range(table.ndim) if i not in part)
            mass = table.sum(axis=others, keepdims=True)
            total = (table * eta).sum(axis=tuple(i + 1 for i in others), keepdims=True)
            eta = eta - np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    return eta
