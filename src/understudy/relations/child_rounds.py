"""Rounds for a child table: its columns alone, then the pairs that a model of it gets most wrong, as in AIM.

A pair has a column of the table itself and another one, or a view of what is known of the rows above. How the rows
above are distributed costs nothing: it is counted in rows that are drawn from their model. What is kept of the model in
the end is each column given what it depends on.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.methods.toolkit.budget_split import weight
from understudy.models.bayesian_network import Conditional
from understudy.models.estimation import TOLERANCE, Fitted, fitted
from understudy.models.graph import Graph
from understudy.models.junction_tree import JunctionTree
from understudy.models.model import Rows
from understudy.models.pair_marginals import pair_marginals
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import exact
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.schema import Axes, Axis, Schema

Floats = NDArray[np.float64]
Edge = frozenset[str]
Parts = list[tuple[str, tuple[str, ...]]]  # a target and what it depends on
MOST: dict[type[Noise], int] = {Laplace: 2, Gaussian: 4}  # rounds for each target
THETA = 6.0  # rows in a cell of the middle pair over the noise in it: as many rounds as keep this
LEAST = 5.0  # the same for a round for each target: below it there are none
SINGLE = 0.4  # of the cost, for columns alone, at least
SELECT = 0.15  # of a round, for its choice
KAPPA = 1.0  # of the noise of a table, what choosing it must earn
CELLS = 60_000  # of all conditionals together
MODEL_CELLS = 150_000  # of the model that rounds choose by
ROUGHLY = 1e-2  # how well it fits its tables while more are to come
MOSTLY_NOISE = 1.25  # a table no further from the model than so many times the noise expected on it
KNOWN = 1 / 16  # of the variance of a column's noise: that of tables of the rows above


@dataclass(frozen=True)
class RoundsPlan:
    """What follows from public facts: how the cost is split, and how many rounds there are about."""

    schema: Schema
    given: tuple[str, ...]
    targets: tuple[str, ...]
    rows: int
    single_cost: Fraction
    rounds_cost: Fraction
    rounds: int

    @property
    def choosing_cost(self) -> Fraction:
        """Return what choices cost, of all that rounds do."""
        return self.rounds_cost * exact(SELECT)

    @property
    def largest(self) -> int:
        """Return the cells of the largest pair that may be measured."""
        return max(_sizes(self.schema, self.given, self.targets))

    @staticmethod
    def of(
        schema: Schema,
        given: Sequence[str],
        targets: Sequence[str],
        rows: int,
        accounting: Accounting,
        cost: Fraction,
    ) -> RoundsPlan:
        """Plan from the number of rows, declared or bought, and the cost of it all."""
        sizes = _sizes(schema, given, targets)
        rounds = _affordable(schema, len(targets), sizes, rows, accounting, cost) if sizes else 0
        share = Fraction(1)
        if rounds:
            ones = sum(weight(schema[target].size, accounting) for target in targets)
            pairs = rounds * weight(statistics.median_low(sizes), accounting)
            share = max(exact(SINGLE), Fraction(ones, ones + pairs))
        return RoundsPlan(schema, tuple(given), tuple(targets), rows, cost * share, cost * (1 - share), rounds)


def _sizes(schema: Schema, given: Sequence[str], targets: Sequence[str]) -> list[int]:
    """Return the cells of the pairs that may be measured."""
    sizes = map(schema.cells, pairs_of(schema, given, targets, views=False))
    return [size for size in sizes if size <= CELLS]


def _affordable(
    schema: Schema, targets: int, sizes: Sequence[int], rows: int, accounting: Accounting, cost: Fraction
) -> int:
    """Return as many rounds as leave the middle pair useful, at least one for each target; none where even those are
    too many."""
    tables = cost * (1 - exact(SINGLE)) * (1 - exact(SELECT))
    alone = rows / (statistics.median_low(sizes) * table_noise(schema, accounting, tables).mean_abs)
    useful = {bound: int((alone / bound) ** accounting.power) for bound in (THETA, LEAST)}
    return max(targets, min(MOST[accounting.noise] * targets, useful[THETA])) if useful[LEAST] >= targets else 0


def pairs_of(schema: Schema, given: Sequence[str], targets: Sequence[str], views: bool = True) -> list[Axes]:
    """Return the pairs that may be measured: every target with every view of what is given, and with every other."""
    found: list[Axes] = []
    for target in targets:
        for name in given:
            axes = [Axis(name, level) for level in range(schema[name].levels if views else 1)]
            found += [(axis, Axis(target)) for axis in axes if schema.size(axis) > 1]
    return found + [(Axis(one), Axis(two)) for one, two in combinations(targets, 2)]


def parts_of_graph(edges: set[Edge], targets: Sequence[str], sizes: Mapping[str, int]) -> Parts:
    """Return each target with what it depends on, which comes before it: targets go one by one, the cheapest first, and
    leave their neighbours joined."""
    near: dict[str, set[str]] = {name: set() for name in sizes}
    for one, two in map(tuple, edges):
        near[one].add(two)
        near[two].add(one)
    left, found = list(targets), []
    while left:
        target = min(left, key=lambda name: (sizes[name] * math.prod(sizes[n] for n in near[name]), left.index(name)))
        beside = near.pop(target)
        found.append((target, tuple(name for name in sizes if name in beside)))
        for name in beside:
            near[name] = (near[name] | beside) - {name, target}
        left.remove(target)
    return found[::-1]


@dataclass(frozen=True, eq=False)
class RowsAbove:
    """What is known of the rows that a child's rows belong to, in drawn rows that stand for `total`."""

    schema: Schema
    drawn: Rows
    total: int
    noise: Noise

    def table(self, names: Sequence[str]) -> Measurement:
        """Return the table over these attributes."""
        axes = tuple(Axis(name) for name in names)
        sizes = self.schema.sizes(axes)
        at = np.ravel_multi_index(tuple(self.drawn[name].astype(np.int64) for name in names), sizes)
        counts = np.bincount(at, minlength=math.prod(sizes)).reshape(sizes)
        return Measurement(axes, np.rint(counts * (self.total / max(1, len(at)))).astype(np.int64), self.noise)


class ChildRounds:
    """What was measured so far of a child table, and the model that fits it best."""

    def __init__(self, table: PrivateTable, plan: RoundsPlan, above: Rows, name: str) -> None:
        self._table, self._plan, self._name = table, plan, name
        self._sizes = {n: plan.schema[n].size for n in (*plan.given, *plan.targets)}
        noise = table_noise(plan.schema, table.accounting, plan.single_cost / len(plan.targets))
        known = type(noise).of_variance(max(1.0, KNOWN * noise.variance))
        self._above = RowsAbove(plan.schema, above, plan.rows, known)
        self.measured = table.measure([(Axis(t),) for t in plan.targets], plan.single_cost, f"{name}: one-way")
        self._tables = [*(self._above.table([given]) for given in plan.given), *self.measured]
        self._edges: set[Edge] = set()
        self._joined: set[Edge] = set()  # pairs of attributes above whose table the model has
        self._best: Fitted | None = None

    def play(self) -> ConditionalNetwork:
        """Spend the cost of the rounds; return each target given what it depends on."""
        left, plan = self._plan.rounds_cost, self._plan
        each = left / plan.rounds if plan.rounds else left
        while left and (options := self._options()):
            self._table.progress(f"{self._name}: tables", int(100 * (1 - left / plan.rounds_cost)), 100)
            each = left if left < each * 3 / 2 else each
            left -= each
            each = each if self._round(options, each) else 2 * each
        if left:
            again = [(Axis(target),) for target in plan.targets]
            self._add(self._table.measure(again, left, f"{self._name}: one-way"))
        return ConditionalNetwork(plan.schema, plan.given, tuple(self._conditionals(self._model(TOLERANCE))))

    def _options(self) -> list[Axes]:
        return [axes for axes in pairs_of(self._plan.schema, self._plan.given, self._plan.targets) if self._fits(axes)]

    def _fits(self, axes: Axes) -> bool:
        """Return whether the model and the conditionals stay small with this table."""
        edges = self._edges | {frozenset(axis.attribute for axis in axes)}
        if edges == self._edges:
            return True
        parts = parts_of_graph(edges, self._plan.targets, self._sizes)
        if sum(math.prod(self._sizes[name] for name in (target, *near)) for target, near in parts) > CELLS:
            return False
        return Graph.of([*edges, *self._pairs_above(parts)], self._sizes).fits(MODEL_CELLS)

    def _pairs_above(self, parts: Parts) -> list[Edge]:
        """Return the pairs of attributes above that something depends on together: their tables are known."""
        given = set(self._plan.given)
        pairs = (pair for _, near in parts for pair in combinations([n for n in near if n in given], 2))
        return [frozenset((one, two)) for one, two in pairs if self._sizes[one] * self._sizes[two] <= CELLS]

    def _add(self, seen: Sequence[Measurement]) -> None:
        self.measured += seen
        self._tables += seen

    def _model(self, tolerance: float) -> JunctionTree:
        """Return the model that fits all tables, started from the one before."""
        for pair in self._pairs_above(parts_of_graph(self._edges, self._plan.targets, self._sizes)):
            if pair not in self._joined:
                self._joined.add(pair)
                self._tables.append(self._above.table([name for name in self._sizes if name in pair]))
        start = None if self._best is None else self._best.theta
        self._best = fitted(
            self._tables, self._plan.schema, self._plan.rows, limit=4 * MODEL_CELLS, start=start, tolerance=tolerance
        )
        return self._best.tree

    def _round(self, options: list[Axes], price: Fraction) -> bool:
        """Choose and measure one table; return whether it says more than its noise would."""
        schema, cost = self._plan.schema, price * (1 - exact(SELECT))
        noise = table_noise(schema, self._table.accounting, cost).mean_abs
        tables = pair_marginals(self._model(ROUGHLY), options)
        expected = [tables[axes] * self._plan.rows for axes in options]
        pair = self._table.choose(
            [Pair(axes[-1], axes[:-1]) for axes in options], REFERENCE_DISTANCE, price - cost,
            f"{self._name}: structure",
            [REFERENCE_DISTANCE.penalty(KAPPA / 2 * noise, schema, counts.size) for counts in expected],
            [np.rint(counts).astype(np.int64) for counts in expected],
        )  # fmt: skip
        seen = self._table.measure([pair.axes], cost, f"{self._name}: tables")
        self._add(seen)
        self._edges.add(frozenset(axis.attribute for axis in pair.axes))
        surprise = np.abs(seen[0].values - expected[options.index(pair.axes)]).sum()
        return bool(surprise >= MOSTLY_NOISE * noise * seen[0].values.size)

    def _conditionals(self, tree: JunctionTree) -> list[Conditional]:
        found = []
        for target, near in parts_of_graph(self._edges, self._plan.targets, self._sizes):
            joint = tree.project([*near, target], 4 * MODEL_CELLS).table
            total = joint.sum(axis=-1, keepdims=True)
            own = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
            shares = np.where(total > 1e-12, joint / np.maximum(total, 1e-300), own)
            found.append(Conditional(Axis(target), tuple(map(Axis, near)), shares))
        return found
