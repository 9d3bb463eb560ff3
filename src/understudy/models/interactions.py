"""Interactions: tables of three and more attributes are drawn towards what their pairs say (empirical Bayes).

All noisy tables are brought to agree; their columns and pairs, which have less noise, are fitted by themselves. That
model foresees each larger table without any interaction of three attributes or more. Beside it stands one number for
each table, T: how many rows of what is foreseen are as far from it as the table is. A cell of share r is then r with
variance r / T, and was seen with variance (σ/n)²: what both say together is what the final model is fitted to. Only the
part of a table that its pairs leave free tells of T. Where there are no such interactions T is large, and noise does
not become one; a cell in which nearly no rows are foreseen is hardly moved by its noise.

Post-processing, deterministic, a part of `refit`. Measured in docs/decisions/0044-shrinkage.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from understudy.models.consistency import Agreement
from understudy.models.junction_tree import JunctionTree
from understudy.models.shrinkage import entropy_weight, shares_of, variance_of
from understudy.privacy.measurement import Measurement
from understudy.schema import Axes, Floats, Schema

PAIR = 2  # attributes whose tables have little enough noise to say what larger ones are like


def pair_tables(measurements: Sequence[Measurement], schema: Schema, total: float) -> list[Measurement]:
    """Return a table of each attribute and of each pair that is in some table, with the noise that all tables together
    leave on it; nothing where no table has an interaction of more attributes.

    Args:
        measurements: the noisy tables, none of them over no attribute.
        schema: of their attributes.
        total: the number of rows.
    """
    if not any(free_cells(schema.sizes(m.axes)) for m in measurements):
        return []
    total = max(1.0, float(total))
    shares: dict[Axes, Floats] = {}
    precision: dict[Axes, float] = {}
    law = type(measurements[-1].noise)  # the same for all, but for a prior's; tails are judged by it
    for m, agreed in zip(measurements, _agreed(measurements, schema, total)):
        for axes in (kept for ways in range(1, PAIR + 1) for kept in combinations(sorted(m.axes), ways)):
            if axes not in shares:
                shares[axes] = _projected(agreed, m.axes, axes)
            several = agreed.size / shares[axes].size
            precision[axes] = precision.get(axes, 0.0) + 1 / (several * variance_of(m))
    return [
        Measurement(axes, np.rint(own * total).astype(np.int64), law.of_variance(1 / precision[axes]))
        for axes, own in shares.items()
    ]


def drawn_to_pairs(shares: Floats, axes: Axes, pairs: JunctionTree, variance: float, total: float) -> Floats:
    """Return the shares of one table as they and the model of pairs say together; of up to two attributes, as they are.

    Args:
        shares: of the table, made to agree with all others.
        axes: of the table.
        pairs: the model of `pair_tables`.
        variance: of the noise of a share.
        total: the number of rows.
    """
    free = free_cells(pairs.schema.sizes(axes))
    if not free:
        return shares
    expected = pairs.project(axes).table.ravel()
    off = shares - expected
    wider = off * math.sqrt(len(off) / free)  # as far as all cells would be off, were they free
    foreseen = expected / entropy_weight(expected + wider, expected, variance, total)
    return np.asarray(expected + off * foreseen / (foreseen + variance))


def free_cells(sizes: Sequence[int]) -> int:
    """Return how many cells of a table its pairs leave free.

    >>> free_cells([2, 2]), free_cells([2, 2, 2]), free_cells([3, 3, 3])
    (0, 1, 8)
    """
    terms = (math.prod(size - 1 for size in own) for ways in range(PAIR + 1) for own in combinations(sizes, ways))
    return math.prod(sizes) - sum(terms) if len(sizes) > PAIR else 0


def _agreed(measurements: Sequence[Measurement], schema: Schema, total: float) -> list[Floats]:
    """Return the shares of all tables, brought to agree on what they share."""
    tables, shares = [m.axes for m in measurements], [shares_of(m, total) for m in measurements]
    agreed = Agreement.of(tables, [variance_of(m) for m in measurements], schema).nearest(np.concatenate(shares))
    parts = np.split(agreed, np.cumsum([len(own) for own in shares])[:-1])
    return [own.reshape(schema.sizes(axes)) for axes, own in zip(tables, parts)]


def _projected(table: Floats, axes: Axes, kept: Axes) -> Floats:
    """Return the table over some of its axes, in their order."""
    order = [axes.index(axis) for axis in kept]
    lost = [i for i in range(len(axes)) if i not in order]
    return np.asarray(table.transpose(*order, *lost).reshape(*(table.shape[i] for i in order), -1).sum(axis=-1))
