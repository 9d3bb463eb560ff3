"""The tables that tell most of a public table: one-way tables, then pairs that the model so far gets most wrong.

What AIM does, without noise and without a price: the rows are public, so any number of exact tables may be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.models.prior import Prior
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.schema import Axes, Axis, Floats, Schema

Count = Callable[[Sequence[Axes]], Iterable[NDArray[Any]]]

ROUNDS = 3  # pairs for each attribute, at most
MODEL_CELLS = 50_000  # of the model: room is left for what the private rows say otherwise
ROUGHLY = 1e-2  # how well the model fits between rounds
CHANCE = 1.5  # a pair no further from the model than so many times what chance explains is left out
MAX_TABLE_CELLS = 10_000  # of a pair


def public_prior(schema: Schema, count: Count, rows: int, hash: str) -> Prior:
    """Return the prior of a public table of so many rows; `count` has its exact tables."""
    from understudy.models.estimation import fitted
    from understudy.models.pair_marginals import pair_marginals

    variables = [Axis(a.name) for a in schema.modelled]
    found = [_table(axes, counts) for axes, counts in _counted(count, [(axis,) for axis in variables])]
    candidates = CandidatePairs(schema, variables, MODEL_CELLS)
    best = fitted(found, schema, rows)
    known: dict[Axes, NDArray[Any]] = {}
    for _ in range(ROUNDS * len(variables) if len(variables) > 1 else 0):
        options = [axes for axes in candidates() if schema.cells(axes) <= MAX_TABLE_CELLS]
        known |= dict(_counted(count, [axes for axes in options if axes not in known]))
        measured = {m.axes for m in found}
        model = pair_marginals(best.tree, options)
        surprise = {axes: _beyond_chance(known[axes], rows * model[axes]) for axes in options if axes not in measured}
        chosen = max(surprise, key=lambda axes: surprise[axes], default=None)
        if chosen is None or surprise[chosen] <= 0:
            break
        found.append(_table(chosen, known[chosen]))
        candidates.add(chosen)
        best = fitted(found, schema, rows, start=best.theta, tolerance=ROUGHLY)
    return Prior("public", hash, rows, tuple(found))


def _counted(count: Count, workload: Sequence[Axes]) -> list[tuple[Axes, NDArray[Any]]]:
    return list(zip(workload, count(workload), strict=True)) if workload else []


def _table(axes: Axes, counts: NDArray[Any]) -> Measurement:
    """Return an exact table with what chance would have made of it as its noise."""
    chance = math.sqrt(max(1.0, float(counts.sum())) / counts.size)
    return Measurement(axes, np.asarray(counts, dtype=np.int64), Gaussian(chance))


def _beyond_chance(counts: NDArray[Any], expected: Floats) -> float:
    """Return how far a table is from the model's, in rows, less what chance explains."""
    chance = np.minimum(2 * expected, np.sqrt(2 / math.pi * expected)).sum()
    return float(np.abs(counts - expected).sum() - CHANCE * chance)
