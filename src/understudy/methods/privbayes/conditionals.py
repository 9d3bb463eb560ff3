"""NoisyConditionals (Zhang et al. 2017, Algorithms 1 and 3): noisy tables, and conditionals from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.models.bayesian_network import Conditional
from understudy.models.factor import Factor
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.schema import Axes


def measured_pairs(pairs: Sequence[Pair], degree: int) -> tuple[Pair, ...]:
    """Algorithm 1 measures the pairs after the first k, since the (k+1)-th table holds the earlier ones."""
    return tuple(pairs[min(degree, len(pairs) - 1) :])


def paper_conditionals(pairs: Sequence[Pair], measurements: Sequence[Measurement]) -> tuple[Conditional, ...]:
    """The published rule: negative counts become zero, each table is normalised, and divided by its parents' table.

    A pair that was not measured itself is a part of the first table (Algorithm 1, lines 7 and 8).
    """
    tables = [Factor(m.axes, np.maximum(m.values, 0).astype(np.float64)).normalised() for m in measurements]
    by_axes = {m.axes: t for m, t in zip(measurements, tables)}
    return tuple(_conditional(pair, by_axes.get(pair.axes) or tables[0].project(pair.axes)) for pair in pairs)


def _conditional(pair: Pair, joint: Factor) -> Conditional:
    """A parent configuration without mass takes the child's own distribution."""
    total = joint.table.sum(axis=-1, keepdims=True)
    own = joint.project((pair.child,)).normalised().table
    table = np.where(total > 0, joint.table / np.where(total > 0, total, 1), own)
    return Conditional(pair.child, pair.parents, table)


def nested_dropped(asks: Sequence[Axes]) -> list[Axes]:
    """The asks that are inside no other (the same axes at the same levels): the inner ones come from the outer."""
    sets = [frozenset(axes) for axes in asks]
    kept = []
    for i, own in enumerate(sets):
        if not any(own < other or (own == other and j < i) for j, other in enumerate(sets) if j != i):
            kept.append(asks[i])
    return kept
