"""Estimators: from noisy tables to a model. Maximum likelihood, or the rule of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from understudy.models.bayesian_network import BayesianNetwork, Conditional, without_unused_codes
from understudy.models.factor import Factor, conditional
from understudy.models.model import Model
from understudy.models.row_total import pooled_rows
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema


class Estimator(Protocol):
    """A rule that makes a model and a row count of all that was measured. It reads nothing else."""

    def __call__(self, measurements: Sequence[Measurement], schema: Schema) -> Estimate: ...


@dataclass(frozen=True, eq=False)
class Estimate:
    """A model, and the number of rows that it stands for."""

    model: Model
    rows: int


@dataclass(frozen=True)
class MaximumLikelihood:
    """The graphical model that fits all tables best (`models.refit`); refused above `limit` cells when triangulated."""

    limit: int

    def __call__(self, measurements: Sequence[Measurement], schema: Schema) -> Estimate:
        from understudy.models.refit import Design, refit

        refitted = refit(measurements, Design(schema, self.limit))
        return Estimate(refitted.model, refitted.rows)


@dataclass(frozen=True)
class NetworkConditionals:
    """The rule of PrivBayes: a product of conditionals, each from its own noisy table (Algorithms 1 and 3)."""

    pairs: tuple[Pair, ...]

    def __call__(self, measurements: Sequence[Measurement], schema: Schema) -> Estimate:
        conditionals = paper_conditionals(self.pairs, [m for m in measurements if m.axes])
        model = without_unused_codes(BayesianNetwork(schema, conditionals))
        return Estimate(model, pooled_rows(schema, measurements))


def estimated(table: PrivateTable, estimator: Estimator, measurements: Sequence[Measurement]) -> Estimate:
    """Return the estimator's model of what was measured on this table; the progress line says so."""
    table.progress("estimation", 0, 1)
    return estimator(measurements, table.schema)


def paper_conditionals(pairs: Sequence[Pair], measurements: Sequence[Measurement]) -> tuple[Conditional, ...]:
    """Return conditionals by the published rule: negative counts become zero, each table is normalised, and divided by
    its parents' table.

    A pair that was not measured itself is a part of the first table (Algorithm 1, lines 7 and 8).
    """
    tables = [Factor(m.axes, np.maximum(m.values, 0).astype(np.float64)).normalised() for m in measurements]
    by_axes = {m.axes: t for m, t in zip(measurements, tables)}
    joint = {pair: by_axes.get(pair.axes) or tables[0].project(pair.axes) for pair in pairs}
    return tuple(Conditional(p.child, p.parents, conditional(joint[p].table, len(p.parents))) for p in pairs)


def measured_pairs(pairs: Sequence[Pair], degree: int) -> tuple[Pair, ...]:
    """Return the pairs after the first k, which Algorithm 1 measures: the (k+1)-th table holds the earlier ones."""
    return tuple(pairs[min(degree, len(pairs) - 1) :])


def nested_dropped(marginals: Sequence[Axes]) -> list[Axes]:
    """Return the marginals that are inside no other (same axes, same levels): an inner one comes from the outer."""
    sets = [frozenset(axes) for axes in marginals]
    kept = []
    for i, own in enumerate(sets):
        if not any(own < other or (own == other and j < i) for j, other in enumerate(sets) if j != i):
            kept.append(marginals[i])
    return kept


def network_json(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return a network as the facts of a release have it."""
    return [{"attribute": str(pair.child), "parents": [str(p) for p in pair.parents]} for pair in pairs]
