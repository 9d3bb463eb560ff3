"""Smooth columns: one-way tables of ordered attributes that noise has nearly drowned, drawn towards a smooth shape.

Where all rows that have a value are only a few standard deviations of a count, the cells of a one-way table say little
one by one, and a good deal together: columns are mostly one hump, even or on a logarithmic scale, sometimes with many
rows at 0 or at an end of the range. The average of many such shapes, each weighted by how well it explains the noisy
cells (Bayes), is what the table is drawn to, by James and Stein's factor: what the shapes cannot explain is kept as
far as noise does not explain it. Only where bins were found or guessed, or each value has a cell: bins that a person
gave say something themselves (each is about as full as the others), and humps would contradict it. Post-processing of
noisy tables, deterministic: a part of `refit`. The constants were found on generated columns:
docs/decisions/0017-noisy-tree.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from understudy.models.edition import Edition
from understudy.models.nearest_counts import nearest_counts
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.schema import Attribute, Axis, Floats, Intervals, Schema

FEW_ROWS = 24.0  # standard deviations of a count: with more rows that have a value the table stands for itself
MIN_CELLS, MAX_CELLS = 6, 64  # of a table that has a shape
PLACES = 25  # centres of humps over the range
WIDTHS = (0.02, 0.04, 0.07, 0.12, 0.2)  # their standard deviations, in ranges
FAR = 2.0  # how much rarer, as a logarithm, a hump at the far end of a range from 0 is than one at 0
MEDIANS = 20  # of logarithmic humps
SPREADS = (0.3, 0.5, 0.8, 1.2)  # their standard deviations, as logarithms
NEAREST = 3_000.0  # times less than the end of the range is the lowest median
LONG = 8.0  # times its low end that a range must reach to have logarithmic humps
EVEN = 0.2  # weight of an even column; all humps of a kind have 1
SPIKES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # shares of rows on one value
SPIKED = 0.05  # weight of each of these against none
SUREST = 0.05  # of a table's variance, the least that is left

_erf = np.frompyfunc(math.erf, 1, 1)


def smoothed(
    measurements: Sequence[Measurement], schema: Schema, total: float, edition: Edition = Edition.NEWEST
) -> list[Measurement]:
    """Return the tables, those of single attributes that nobody cut, with too much noise, drawn towards shapes.

    Several of one attribute become one.
    """
    single: dict[Axis, list[Measurement]] = {}
    for m in measurements:
        if len(m.axes) == 1 and m.axes[0].base and m.variance:
            single.setdefault(m.axes[0], []).append(m)
    drawn = {own[0]: _smoothed(own, schema, total, edition) for own in single.values()}
    left = {m for own in single.values() if drawn[own[0]] is not own[0] for m in own[1:]}
    return [drawn.get(m, m) for m in measurements if m not in left]


def _smoothed(own: list[Measurement], schema: Schema, total: float, edition: Edition) -> Measurement:
    """Return the tables of one attribute as one that is drawn towards shapes; the first as it is where none is."""
    attribute = schema[own[0].axes[0].attribute]
    if not _has_shape(attribute, edition):
        return own[0]
    certainty = np.asarray([1 / m.variance for m in own])
    variance = float(1 / certainty.sum())
    cells = variance * (certainty @ np.asarray([m.values for m in own], dtype=np.float64))
    heavy = len(own) == 1 and isinstance(own[0].noise, Laplace)
    missing = nearest_counts(cells, total)[attribute.ordered.size :]  # what has no order has no shape
    rows = max(total - float(missing.sum()), 0.0)
    if not 1.0 <= (rows if edition >= Edition.SPARSE else total) < FEW_ROWS * math.sqrt(variance):
        return own[0]
    found = smooth_counts(cells[: attribute.ordered.size], variance, rows, attribute.ordered, heavy)
    counts = np.rint(np.append(found.counts, missing)).astype(np.int64)
    return Measurement(own[0].axes, counts, Gaussian(math.sqrt(found.variance)))


def _has_shape(attribute: Attribute, edition: Edition) -> bool:
    """Return whether nobody said how its cells are cut: bins that a run found, or a cell for each value."""
    domain = attribute.intervals
    if domain is None or not MIN_CELLS <= domain.size <= MAX_CELLS:
        return False
    if attribute.found or edition < Edition.SPARSE:
        return attribute.found
    return all(low == high for low, high in map(domain.bounds, range(domain.size)))


@dataclass(frozen=True, eq=False)
class SmoothCounts:
    """Counts of the cells of one column, and the variance that is left in one of them, on average."""

    counts: Floats
    variance: float


def smooth_counts(cells: Floats, variance: float, rows: float, domain: Intervals, heavy: bool = False) -> SmoothCounts:
    """Return the noisy counts of a domain's cells drawn towards the shapes that explain them best.

    `heavy` says that the noise is Laplace's, else it is taken as normal.
    """
    shapes, weights = _shapes(domain)
    cells = cells + (rows - cells.sum()) / len(cells)
    off = rows * shapes - cells
    misfit = np.abs(off) * math.sqrt(2 / variance) if heavy else off**2 / (2 * variance)
    logs = weights - misfit.sum(axis=1)
    belief = np.exp(logs - logs.max())
    belief /= belief.sum()
    mean = rows * (belief @ shapes)
    spread = float((belief @ (rows * shapes - mean) ** 2).mean())
    unexplained = float(((cells - mean) ** 2).sum()) / variance
    kept = max(0.0, 1.0 - (len(cells) - 1) / max(unexplained, 1e-12))
    left = min(1.0, max(SUREST, spread / variance + kept))
    return SmoothCounts(mean + kept * (cells - mean), left * variance)


@lru_cache(maxsize=32)
def _shapes(domain: Intervals) -> tuple[Floats, Floats]:
    """Return the shares that each shape has in the cells of a domain, and the logarithms of the shapes' weights."""
    smooth, weights = _smooth_shapes(domain)
    tables, logs = [smooth], [weights]
    for code in _spikes(domain):
        for share in SPIKES:
            spiked = (1 - share) * smooth
            spiked[:, code] += share
            tables.append(spiked)
            logs.append(weights + math.log(SPIKED))
    return np.concatenate(tables), np.concatenate(logs)


def _smooth_shapes(domain: Intervals) -> tuple[Floats, Floats]:
    edges = np.asarray(domain.edges, dtype=np.float64)
    low, high = edges[0], edges[-1]
    from_zero = domain.scale.arithmetic and low >= -0.5  # whole numbers begin half a step before
    place, width = (part.ravel() for part in np.meshgrid(np.linspace(0, 1, PLACES), WIDTHS, indexing="ij"))
    kinds = [(_normal((edges - low) / (high - low), place, width), -FAR * place if from_zero else 0 * place)]
    kinds.append((((edges - low) / (high - low))[None, :], np.asarray([0.0])))
    shares = [1.0, EVEN]
    if from_zero and high >= LONG * max(low, 0.0):
        medians = np.geomspace(max(low, high / NEAREST), high, MEDIANS)
        median, spread = (part.ravel() for part in np.meshgrid(np.log(medians), SPREADS, indexing="ij"))
        kinds.append((_normal(np.log(np.maximum(edges, high * 1e-9)), median, spread), 0 * median))
        shares.append(1.0)
    rows, logs = [], []
    for share, (heights, log) in zip(shares, kinds):
        inside = heights[:, -1] - heights[:, 0] > 1e-6
        rows.append(np.diff(heights[inside], axis=1) / (heights[inside, -1:] - heights[inside, :1]))
        logs.append(log[inside] + math.log(share) - math.log(np.exp(log[inside]).sum()))
    table = np.zeros((sum(map(len, rows)), domain.size))
    table[:, domain.bin_codes] = np.concatenate(rows)
    return table, np.concatenate(logs)


def _normal(at: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Return distribution functions of normal laws, a row for each, at these places."""
    away = (at[None, :] - mean[:, None]) / (deviation[:, None] * math.sqrt(2))
    return 0.5 + 0.5 * np.asarray(_erf(away), dtype=np.float64)


def _spikes(domain: Intervals) -> list[int]:
    """Return the codes of 0, of the ends of the range and of points that are values by themselves."""
    ends = [domain.bounds(code) for code in range(domain.size)]
    special = {0.0, ends[0][0], ends[-1][1], *domain.points}
    return [code for code, (first, last) in enumerate(ends) if first == last and first in special][:4]
