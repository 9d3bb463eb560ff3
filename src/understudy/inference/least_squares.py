"""Least squares without constraints: what the noisy tables alone say of a weighted sum of cells, and its error.

A table over axes S is a sum of orthogonal components, one for each subset A of S: what A shows beyond its own subsets.
Noise is even over a table's cells, so the weighted least-squares estimate given all tables averages each component over
the tables that hold it, by their precision (`models.consistency` has the same closed form). The estimate of a weighted
sum is therefore linear in noise, unbiased, and of known variance:

    Var Σ w·x  =  Σ over A of |w_A|² / P_A,      P_A = Σ over tables t that hold A of cells(A) / (cells(t)·σ_t²)

with w_A the component of the weights: their mean over the axes outside A, centred along each axis of A. Where the row
count is public the component of the empty set has no error. Clipping at zero, as any model of probabilities does, would
bias the sum; this does not, which is why intervals of measured tables come from here.

Laplace noise has heavier tails than a normal law, but the estimate adds up noise of many cells and tables. Noise of a
cell of table t enters with U/(cells(t)·σ_t²), where U depends on the attributes I that t shares with the sum alone:
U_I = Σ over A ⊆ I of cells(A)·w_A/P_A. So fourth cumulants are added up as exactly as variances are, and the interval
is that of as many equal Laplace noises as have this kurtosis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Laplace
from understudy.schema import Axis, Schema

Floats = NDArray[np.float64]
Names = tuple[str, ...]
Weights = Sequence[Floats]  # of a sum: a vector for each attribute, multiplied
Terms = Sequence[tuple[float, Weights]]  # sums, each with a factor
MIN_VARIANCE = 1e-9  # a table without noise, in tests, must not divide by zero
NORMAL_FROM = 30  # Laplace noises of equal size whose sum is taken as normal
_DRAWS = 200_000  # of a sum of fewer of them


@dataclass(frozen=True, eq=False)
class Pooled:
    """The noisy tables over some attributes, pooled component by component.

    Examples
    --------
    `Pooled.of(release.measurements, release.schema, ("age", "sex"))` is None unless one measured table holds both.
    """

    shape: tuple[int, ...]
    names: Names
    means: Mapping[tuple[int, ...], Floats]  # by the positions of the axes: the pooled table over them
    precision: Mapping[tuple[int, ...], float]
    fourth: Mapping[tuple[int, ...], float]  # by what tables share with the sum: the fourth cumulant where U is 1

    @staticmethod
    def of(measurements: Sequence[Measurement], schema: Schema, names: Sequence[str]) -> Pooled | None:
        """Pool what is measured of these attributes, or return None where no table holds them all as they are."""
        wanted = tuple(names)
        held = [m for m in measurements if all(axis.base for axis in m.axes)]
        if not any(set(wanted) <= {axis.attribute for axis in m.axes} for m in held):
            return None
        means, precision = {}, {}
        for size in range(len(wanted) + 1):
            for part in combinations(range(len(wanted)), size):
                means[part], precision[part] = _component(held, schema, tuple(wanted[i] for i in part))
        shape = tuple(schema[name].size for name in wanted)
        return Pooled(shape, wanted, means, precision, _fourth_cumulants(held, schema, wanted))

    def covariance(self, one: Weights, other: Weights) -> float:
        """Return the covariance of two sums Σ weight × cell; weights are products, a vector for each attribute."""
        found = 0.0
        for part, precision in self.precision.items():
            product = 1.0 / precision
            for i, (v, w) in enumerate(zip(one, other, strict=True)):
                both = float(v.mean()) * float(w.mean())
                product *= float(v @ w) - len(v) * both if i in part else both
            found += product
        return found

    def value(self, weights: Weights) -> float:
        """Return the estimate of Σ weight × cell, in rows."""
        found = 0.0
        for part, mean in self.means.items():
            table, scale = mean, 1.0
            for i in reversed(range(len(weights))):
                if i in part:
                    table = np.tensordot(table, weights[i] - weights[i].mean(), axes=(part.index(i), 0))
                else:
                    scale *= float(weights[i].mean())
            found += scale * float(table)
        return found

    def combined(self, terms: Terms) -> tuple[float, float]:
        """Return the estimate of Σ factor × sum, and its standard deviation."""
        value = sum(factor * self.value(weights) for factor, weights in terms)
        variance = sum(f * g * self.covariance(v, w) for f, v in terms for g, w in terms)
        return value, math.sqrt(max(0.0, variance))

    def reach(self, terms: Terms, confidence: float) -> float:
        """Return how many standard deviations the interval of this confidence reaches to either side."""
        if not any(self.fourth.values()):
            return normal_reach(confidence)
        excess = self.kurtosis(terms)
        return laplace_reach(NORMAL_FROM if excess * NORMAL_FROM <= 3 else round(3 / excess), confidence)

    def kurtosis(self, terms: Terms) -> float:
        """Return the excess kurtosis of the estimate of Σ factor × sum: 3/k for k equal Laplace noises."""
        fourth = sum(scale * float((self._influence(part, terms) ** 4).sum()) for part, scale in self.fourth.items())
        return fourth / max(self.combined(terms)[1] ** 4, 1e-300)

    def _influence(self, shared: tuple[int, ...], terms: Terms) -> Floats:
        """Return U over the attributes that tables share with the sum."""
        found = np.zeros([self.shape[i] for i in shared])
        for part in (p for p in self.precision if set(p) <= set(shared)):
            cells = math.prod(self.shape[i] for i in part)
            for factor, weights in terms:
                own = np.asarray(factor * cells / self.precision[part])
                for i, w in enumerate(weights):
                    own = np.multiply.outer(own, w - w.mean()) if i in part else own * w.mean()
                found += own.reshape([self.shape[i] if i in part else 1 for i in shared])
        return found

    @cached_property
    def table(self) -> Floats:
        """Return the estimate of every cell: may be negative."""
        found = np.zeros(self.shape)
        for part, mean in self.means.items():
            centred = mean
            for i in range(mean.ndim):
                centred = centred - centred.mean(axis=i, keepdims=True)
            others = math.prod(size for i, size in enumerate(self.shape) if i not in part)
            found += centred.reshape([size if i in part else 1 for i, size in enumerate(self.shape)]) / others
        return found


def _component(measurements: Sequence[Measurement], schema: Schema, names: Names) -> tuple[Floats, float]:
    """Return the weighted mean of the tables over these attributes, and its precision in one cell."""
    cells = math.prod(schema[name].size for name in names)
    total, precision = np.zeros([schema[name].size for name in names]), 0.0
    for m in measurements:
        own = [axis.attribute for axis in m.axes]
        if not set(names) <= set(own):
            continue
        weight = cells / (max(1, m.values.size) * max(m.variance, MIN_VARIANCE))
        kept = m.values.reshape([schema.size(axis) for axis in m.axes]).astype(np.float64)
        kept = kept.sum(axis=tuple(i for i, name in enumerate(own) if name not in names))
        order = [name for name in own if name in names]
        total += weight * np.transpose(kept, [order.index(name) for name in names])
        precision += weight
    if not names and schema.rows is not None:
        return np.full((), float(schema.rows)), math.inf
    return total / precision, precision


def _fourth_cumulants(
    measurements: Sequence[Measurement], schema: Schema, names: Names
) -> dict[tuple[int, ...], float]:
    """Return, by the positions of the attributes that tables share with `names`, what their noise adds where U is 1."""
    found: dict[tuple[int, ...], float] = {}
    for m in measurements:
        own = {axis.attribute for axis in m.axes}
        shared = tuple(i for i, name in enumerate(names) if name in own)
        others = max(1, m.values.size) / math.prod(schema[names[i]].size for i in shared)
        own_fourth = 3.0 * m.variance**2 if isinstance(m.noise, Laplace) else 0.0
        entering = 1 / (max(1, m.values.size) * max(m.variance, MIN_VARIANCE))
        found[shared] = found.get(shared, 0.0) + others * own_fourth * entering**4
    return found


def measured_together(measurements: Sequence[Measurement], names: Sequence[str]) -> bool:
    """Return whether one measured table holds all these attributes as they are."""
    wanted = {Axis(name) for name in names}
    return any(wanted <= set(m.axes) for m in measurements)


def normal_reach(confidence: float) -> float:
    """Return half the width of the middle `confidence` of a standard normal distribution."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def laplace_reach(terms: int, confidence: float) -> float:
    """Return the same, in standard deviations, for a sum of so many equal Laplace noises; by simulation."""
    if terms >= NORMAL_FROM:
        return normal_reach(confidence)
    return float(np.quantile(_laplace_sums(max(1, terms)), confidence))


@cache
def _laplace_sums(terms: int) -> Floats:
    generator = np.random.default_rng(terms)
    sums = generator.gamma(terms, 1.0, _DRAWS) - generator.gamma(terms, 1.0, _DRAWS)
    return np.abs(np.asarray(sums, dtype=np.float64)) / math.sqrt(2 * terms)
