"""Noise at rare values: what refits do not show of codes whose count a model took as nearly nothing.

A model of probabilities cuts negative counts to zero, and refits to its tables find zero there again (a bootstrap is
inconsistent at a bound). The noisy counts themselves are not so sure: a code with a count of nearly nothing may have as
many rows as the noise of its one-way count hides. So every code whose modelled count is below two standard deviations
of the pooled noisy count is given as many rows as its noisy count and fresh noise say, cut at zero. Where the model has
emptied a code whose noisy count is above zero (`models.tails`), these rows are in the change. It is spread over the
other attributes as the model has them: by the code's own rows as far as there are any, by everybody's else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.inference.least_squares import Pooled
from understudy.inference.refits import Released

Floats = NDArray[np.float64]
RARE = 2.0  # standard deviations of its noisy count, up to which a code is rare


def rare_noise(
    table: Floats, names: Sequence[str], release: Released, generator: np.random.Generator, count: int
) -> Floats | None:
    """Draw `count` changes of the table over `names`, as shares, that the noise in rare codes may hide.

    None where no code is rare.
    """
    found: Floats | None = None
    for i, name in enumerate(names):
        noisy, deviation = _noisy_shares(release, name, table.shape[i])
        own = table.sum(axis=tuple(j for j in range(table.ndim) if j != i))
        rare = np.flatnonzero(own < RARE * deviation)
        if not len(rare):
            continue
        found = np.zeros((count, *table.shape)) if found is None else found
        drawn = np.maximum(noisy[rare], 0.0) + deviation * generator.standard_normal((count, len(rare)))
        drawn = np.maximum(drawn, 0.0) - own[rare]
        place = (slice(None),) * (i + 1) + (rare,)
        found[place] += _expanded(drawn, i, table.ndim) * _spread(table, i, rare, own, deviation)
    return found


def _noisy_shares(release: Released, name: str, size: int) -> tuple[Floats, float]:
    """Return the pooled noisy share of each code of an attribute and its standard deviation; 0 where not counted."""
    pooled = Pooled.of(release.measurements, release.schema, (name,)) if name in release.schema.names else None
    if pooled is None:
        return np.zeros(size), 0.0
    return pooled.table / release.rows, math.sqrt(1 / pooled.precision[0,]) / release.rows


def _expanded(drawn: Floats, axis: int, dimensions: int) -> Floats:
    """Return numbers by draw and code with an axis of one for every other attribute."""
    shape = [len(drawn), *[1] * dimensions]
    shape[axis + 1] = drawn.shape[1]
    return drawn.reshape(shape)


def _spread(table: Floats, axis: int, rare: NDArray[np.int64], own: Floats, deviation: float) -> Floats:
    """Return how rows of each rare code are spread over the other attributes."""
    everybody = table.sum(axis=axis, keepdims=True)
    everybody = everybody / max(float(everybody.sum()), 1e-300)
    shape = [1] * table.ndim
    shape[axis] = len(rare)
    seen = np.take(table, rare, axis=axis) + deviation * everybody
    return np.asarray(seen / (own[rare] + deviation).reshape(shape))
