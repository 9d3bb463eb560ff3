"""Fitting the steps of histories: a noisy table for each change given the value before, and for each value alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.methods.toolkit.budget_split import weight
from understudy.methods.toolkit.usefulness import cell_noise, useful_cells
from understudy.models.bayesian_network import Conditional
from understudy.privacy.accounting import Accounting
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.relations.panel import Panel
from understudy.relations.tie_pairs import affordable_ties
from understudy.schema import Axis, Schema

Floats = NDArray[np.float64]
SINGLE = Fraction(9, 20)  # of the cost, for attributes alone
TIES = Fraction(3, 10)  # of the cost, for pairs of values in one row, where there are rounds enough
THETA = 0.5  # rows of an average cell of a table, in units of its noise


@dataclass(frozen=True)
class StepsPlan:
    """What follows from public facts: how the cost of STEPS is split, and how large a table may be."""

    panel: Panel
    rows: int
    single_cost: Fraction
    table_cost: Fraction
    tie_cost: Fraction  # 0: pairs would be noise
    rounds: int  # of ties, about
    noise: float  # expected, in a cell of a table

    @staticmethod
    def of(panel: Panel, rows: int, accounting: Accounting, cost: Fraction) -> StepsPlan:
        """Plan from the number of steps, guessed or bought, and the cost of it all."""
        rounds = affordable_ties(panel, rows, accounting, cost * TIES)
        enough = rounds >= len(panel.varying) > 0
        ties = cost * TIES if enough else Fraction(0)
        single = (cost - ties) * SINGLE
        tables = cost - ties - single
        noise = cell_noise(panel.steps, accounting, tables, len(panel.changes))
        return StepsPlan(panel, rows, single, tables, ties, rounds if enough else 0, noise)

    @property
    def schema(self) -> Schema:
        return self.panel.steps

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the changes, which are drawn."""
        return tuple(self.panel.changes)

    @property
    def alone(self) -> tuple[str, ...]:
        """Return the attributes that are measured alone: the values after a step."""
        return tuple(name for name in self.schema.names if name not in (*self.panel.given, *self.targets))

    @property
    def cells(self) -> int:
        """Return the most cells of a table."""
        return max(1, useful_cells(self.rows, self.noise, THETA))

    def pairs(self) -> tuple[Pair, ...]:
        """Return each change with the value before, as finely as the cells allow."""
        return tuple(Pair(Axis(target), self._home(home, target)) for target, home in self.panel.homes.items())

    def _home(self, home: str, target: str) -> tuple[Axis, ...]:
        views = [Axis(home, level) for level in range(self.schema[home].levels)]
        size = self.schema.size(Axis(target))
        return next(((view,) for view in views if self.schema.size(view) * size <= self.cells), ())


def fit_steps(table: PrivateTable, plan: StepsPlan) -> tuple[ConditionalNetwork, tuple[Measurement, ...]]:
    """Spend all but the cost of ties; a value alone has a share by its number of cells."""
    alone = [(Axis(attribute),) for attribute in plan.alone]
    prices = [weight(plan.schema.cells(axes), table.accounting) for axes in alone]
    shares = [Fraction(price, sum(prices)) for price in prices]
    singles = table.measure(alone, plan.single_cost, "steps: one-way", shares)
    pairs = plan.pairs()
    tables = table.measure([pair.axes for pair in pairs], plan.table_cost, "steps: tables")
    conditionals = [conditional(pair, joint, plan.schema) for pair, joint in zip(pairs, tables)]
    return ConditionalNetwork(plan.schema, plan.panel.given, tuple(conditionals)), (*singles, *tables)


def conditional(pair: Pair, joint: Measurement, schema: Schema) -> Conditional:
    """Return the child given its parent, from coarse to fine: the child alone, given ever finer views of the parent.
    Each distribution is drawn to the coarser one as far as its noise asks."""
    if not pair.parents:
        return Conditional(pair.child, (), _alone(joint.values.astype(np.float64), joint))
    return Conditional(pair.child, pair.parents, given_first(pair, joint, schema))


def given_first(pair: Pair, joint: Measurement, schema: Schema) -> Floats:
    """Return the child given the first of its parents alone, a row for each code of that parent's view; releases of
    earlier versions have tables with more parents."""
    counts = joint.values.astype(np.float64)
    first = counts.reshape(counts.shape[0], -1, counts.shape[-1])
    of_first, merged = first.sum(axis=1), first.shape[1]
    estimate, group = _alone(counts, joint)[None, :], np.zeros(len(of_first), dtype=np.int64)
    for finer in _groups(pair.parents[0], schema):
        sums, cells = _summed(of_first, finer), np.bincount(finer)[:, None] * merged
        coarse = np.zeros(len(sums), dtype=np.int64)
        coarse[finer] = group
        estimate, group = drawn_to(sums, estimate[coarse], np.asarray(cells * joint.noise.variance, np.float64)), finer
    return estimate[group]


def _groups(parent: Axis, schema: Schema) -> list[NDArray[np.int64]]:
    """Return the group that each code of the parent's view falls in, from the coarsest level to the view itself."""
    own = schema.view_map(parent)
    found = []
    for level in range(schema[parent.attribute].levels - 1, parent.level, -1):
        group = np.zeros(schema.size(parent), dtype=np.int64)
        group[own] = schema.view_map(Axis(parent.attribute, level))
        found.append(group)
    return [*found, np.arange(schema.size(parent))]


def _summed(counts: Floats, group: NDArray[np.int64]) -> Floats:
    out = np.zeros((int(group.max()) + 1, counts.shape[1]))
    np.add.at(out, group, counts)
    return out


def drawn_to(counts: Floats, prior: Floats, variance: Floats) -> Floats:
    """Return a distribution for each row of noisy counts, drawn to that of `prior` by James and Stein's rule (positive
    part). A row whose total is lost in its noise has that of `prior`."""
    total = counts.sum(axis=1, keepdims=True)
    values = counts.shape[1]
    away = counts - total * prior
    kept = np.maximum(0.0, 1 - (values - 1) * variance / np.maximum((away * away).sum(axis=1, keepdims=True), 1e-300))
    known = total > 2 * np.sqrt(values * variance)
    shares = np.where(known, prior + kept * away / np.where(known, total, 1), prior)
    return np.apply_along_axis(on_simplex, 1, shares)


def _alone(counts: Floats, joint: Measurement) -> Floats:
    """Return the child's own distribution, without what is lost in the noise."""
    summed = counts.reshape(-1, counts.shape[-1])
    own, noise = summed.sum(axis=0), math.sqrt(len(summed) * joint.noise.variance)
    seen = np.where(own > noise, own, 0)
    return on_simplex(seen / seen.sum()) if seen.sum() > 0 else np.full(len(own), 1 / len(own))


def on_simplex(shares: Floats) -> Floats:
    """Return the distribution nearest to these shares (projection onto the simplex)."""
    down = np.sort(shares)[::-1]
    excess = (np.cumsum(down) - 1) / np.arange(1, len(down) + 1)
    found = np.maximum(shares - excess[np.flatnonzero(down > excess)[-1]], 0)
    return np.asarray(found / found.sum())
