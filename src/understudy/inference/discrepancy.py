"""The discrepancy law: how the true table of attributes that were not measured together may differ from the model's.

Write r for the model's table in rows. What the model leaves out is taken as r·η with a random η of three parts: a trend
(the product of one smooth or random number for each value of each attribute, as links between attributes mostly are),
a heavy-tailed number for each cell, and the chance of whole rows, √r a cell. η has no part in any table that was
measured: it is raked to zero there. The size of the first two together is drawn from a lognormal law, the same for all
tables of as many attributes, whose mean and spread are fitted to the figures that the release bought
(`methods.model_error`): the mean of Σ|c − r| over unmeasured pairs, the largest, and the mean over triples.

A law for *such* tables: intervals from it hold on average over questions about unmeasured tables, not for each one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.inference.refits import Refits, Released
from understudy.privacy.noise import NOISES
from understudy.schema import Schema

Floats = NDArray[np.float64]
TREND = 0.5  # of the squared size of η, the part of the product
TAIL = 3.0  # degrees of freedom of the cells' heavy-tailed numbers
SMOOTH = 0.7  # correlation of neighbouring values of an ordered attribute
MIN_SPREAD, MAX_SPREAD = 0.35, 1.2  # of the lognormal law
MAX_LOST = 1.0  # relative noise of the pairs' mean from which on it tells nothing
MIN_LEFT = 0.3  # of a bought mean, kept as model error whatever noise and chance explain
RAKES = 4
TABLES = 40  # of the compared ones that the noise part is worked out for
FAR = 0.5623  # P(the largest of q) sits near the quantile 1 − FAR/q


@dataclass(frozen=True)
class Size:
    """A lognormal law of Σ|c − r| over the rows, for tables of so many attributes, beyond noise and whole rows."""

    mean: float
    spread: float

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        return self.mean * np.exp(generator.normal(-0.5 * self.spread**2, self.spread, count))


@dataclass(frozen=True)
class DiscrepancyLaw:
    """Sizes for pairs and for triples, as shares of the rows; larger tables grow as triples grew from pairs."""

    pairs: Size
    triples: Size

    def size(self, ways: int) -> Size:
        if ways <= 2:
            return self.pairs
        growth = min(2.0, max(1.0, self.triples.mean / max(self.pairs.mean, 1e-9)))
        return Size(min(1.5, self.triples.mean * growth ** (ways - 3)), self.triples.spread)

    @staticmethod
    def of(release: Released, refits: Refits | None) -> DiscrepancyLaw | None:
        """Fit the law to what the release bought; None where it bought nothing, or nothing that stands out."""
        bought = release.model_error
        if not bought or _lost(bought):
            return None
        compared = bought["compared"]
        pairs = _beyond(release, refits, compared["pairs"], bought["pairs"])
        triples = _beyond(release, refits, compared["triples"], bought["triples"])
        spread = _spread(bought)
        noisy = _relative_noise(bought["pairs"])
        return DiscrepancyLaw(
            Size(pairs, math.hypot(spread, noisy)),
            Size(max(triples, pairs), math.hypot(0.8 * spread, _relative_noise(bought["triples"]))),
        )


def _lost(bought: dict[str, Any]) -> bool:
    return bool(_deviation(bought["pairs"]) > MAX_LOST * max(bought["pairs"]["rows"], 1e-9))


def _deviation(figure: dict[str, Any]) -> float:
    return math.sqrt(NOISES[figure["noise"]](figure["scale"]).variance)


def _relative_noise(figure: dict[str, Any]) -> float:
    return min(0.7, _deviation(figure) / max(float(figure["rows"]), 1e-9))


def _spread(bought: dict[str, Any]) -> float:
    """Solve mean and largest of q lognormal numbers for the spread: log(largest/mean) = z·s − s²/2."""
    q = max(2, bought["pairs"]["tables"])
    ratio = math.log(max(1.05, bought["largest"]["rows"] / max(bought["pairs"]["rows"], 1e-9)))
    z = NormalDist().inv_cdf(1 - FAR / q) if q > 1 else 1.0
    root = max(0.0, z * z - 2 * ratio)
    return min(MAX_SPREAD, max(MIN_SPREAD, z - math.sqrt(root)))


def _beyond(release: Released, refits: Refits | None, tables: Sequence[Sequence[str]], figure: dict[str, Any]) -> float:
    """Return the share of rows that is left of a bought mean once noise and whole rows are taken off."""
    step = max(1, len(tables) // TABLES)
    chosen = tables[::step]
    off = [known_distance(release, refits, names) for names in chosen]
    explained = float(np.mean(np.square(off))) if off else 0.0
    mean = max(figure["rows"], 0.5 * _deviation(figure))
    left = math.sqrt(max(mean**2 - explained, (MIN_LEFT * mean) ** 2))
    return left / release.rows


def known_distance(release: Released, refits: Refits | None, names: Sequence[str]) -> float:
    """Return Σ|c − r| as far as noise and the chance of whole rows explain it, in rows."""
    own = release.rows * release.model.project(names).table
    free = 1 - (1 + sum(size - 1 for size in own.shape)) / own.size
    chance = math.sqrt(free) * float(np.minimum(math.sqrt(2 / math.pi) * np.sqrt(own), 2 * own).sum())
    if refits is None:
        return chance
    noise = [np.abs(release.rows * table - own).sum() for table in refits.project(names)[:5]]
    return math.hypot(chance, float(np.mean(noise)))


# -- tables ------------------------------------------------------------------------------------------------------


def discrepancies(
    table: Floats,
    names: Sequence[str],
    release: Released,
    law: DiscrepancyLaw | None,
    generator: np.random.Generator,
    count: int,
) -> Floats:
    """Draw `count` differences between the true table over `names` and the model's `table`, both as shares."""
    measured = measured_parts(release, names)
    chance = np.sqrt(table / release.rows) * generator.standard_normal((count, *table.shape))
    relative = np.divide(chance, table, out=np.zeros_like(chance), where=table > 0)
    out: Floats = table * _rake(relative, table, measured)
    if law is None:
        return out
    sizes = law.size(len(names)).draw(generator, count)
    eta = _rake(_relative(table, names, release.schema, generator, count), table, measured)
    lengths = (table * np.abs(eta)).reshape(count, -1).sum(axis=1)
    scale = np.divide(sizes, lengths, out=np.zeros(count), where=lengths > 0)
    return np.asarray(out + table * eta * scale.reshape(-1, *[1] * table.ndim))


def measured_parts(release: Released, names: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the largest sets of these attributes, by position, that one measured table holds."""
    held = {frozenset(axis.attribute for axis in m.axes) & frozenset(names) for m in release.measurements}
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
    if getattr(schema[name].domain, "ordered", False):
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
