"""Fitting a conditional network: parents by private choices, or public ones, then a noisy table for each target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from understudy.methods.toolkit.usefulness import cell_noise, useful_cells
from understudy.models.bayesian_network import Conditional
from understudy.privacy.accounting import Accounting
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import INDEPENDENCE, Pair, Penalty
from understudy.privacy.table import PrivateTable
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.schema import Axis, Schema

Floats = NDArray[np.float64]
SINGLE = Fraction(3, 10)  # of the cost, for attributes alone
STRUCTURE = Fraction(1, 5)  # of the cost, for choices of parents, where they can tell
THETA = 0.5  # rows of an average cell of a table, in units of its noise
KAPPA = 0.3  # of the noise of a table, what more parents must earn
MORE_PARENTS = 2  # beside the attribute that a target is about
MAX_OPTIONS = 20_000  # offered to one choice
TELLING = 0.02  # a choice is made where the scale of its noise is below this share of the rows


@dataclass(frozen=True)
class ConditionalPlan:
    """What follows from public facts: how the cost is split, and how large a table may be."""

    schema: Schema
    given: tuple[str, ...]
    targets: tuple[str, ...]
    rows: int
    single_cost: Fraction
    structure_cost: Fraction  # 0: parents are public
    table_cost: Fraction
    noise: float  # expected, in a cell of a table
    homes: Mapping[str, str | None]  # of each target, the given attribute that it is about, if any

    @staticmethod
    def of(
        schema: Schema,
        given: Sequence[str],
        homes: Mapping[str, str | None],
        rows: int,
        accounting: Accounting,
        cost: Fraction,
    ) -> ConditionalPlan:
        """Plan from the number of rows, declared or bought, and the cost of it all."""
        targets = tuple(homes)
        structure = cost * STRUCTURE
        if not telling(schema, rows, accounting, structure / len(targets)):
            structure = Fraction(0)
        single = cost * SINGLE if len(schema.names) > len(given) + len(targets) else Fraction(0)
        tables = cost - structure - single
        noise = cell_noise(schema, accounting, tables, len(targets))
        return ConditionalPlan(schema, tuple(given), targets, rows, single, structure, tables, noise, homes)

    @property
    def alone(self) -> tuple[str, ...]:
        """Return the attributes that are measured alone: those that are neither given nor targets."""
        return tuple(name for name in self.schema.names if name not in (*self.given, *self.targets))

    @property
    def cells(self) -> int:
        """Return the most cells of a table."""
        return max(1, useful_cells(self.rows, self.noise, THETA))

    def public_pairs(self) -> tuple[Pair, ...]:
        """Return each target with the attribute it is about, as finely as the cells allow."""
        return tuple(Pair(Axis(target), self._home(target)) for target in self.targets)

    def _home(self, target: str) -> tuple[Axis, ...]:
        home = self.homes.get(target)
        if home is None:
            return ()
        views = [Axis(home, level) for level in range(self.schema[home].levels)]
        size = self.schema.size(Axis(target))
        return next(((view,) for view in views if self.schema.size(view) * size <= self.cells), ())

    def options(self, placed: Sequence[str], left: Sequence[str]) -> list[Pair]:
        """Return every target left with its home and every set of a few placed attributes that its table has room for,
        each as finely as fits; smaller sets first, and no more than a choice may be offered."""
        found = [Pair(Axis(target), self._home(target)) for target in left]
        for many in range(1, MORE_PARENTS + 1):
            more = [pair for target in left for pair in self._with_more(target, placed, many)]
            if len(found) + len(more) > MAX_OPTIONS:
                break
            found += more
        return found

    def _with_more(self, target: str, placed: Sequence[str], many: int) -> Iterator[Pair]:
        home = self._home(target)
        room = self.cells // self.schema.cells((*home, Axis(target)))
        others = [name for name in placed if name != self.homes.get(target)]
        for names in combinations(others, many):
            for parents in self._views(names, room):
                yield Pair(Axis(target), (*home, *parents))

    def _views(self, names: Sequence[str], room: int) -> list[tuple[Axis, ...]]:
        """Return these attributes at the levels that fit into so many cells and could not all be finer."""
        if math.prod(min(self._sizes(name)) for name in names) > room:
            return []
        fit = [
            views
            for views in product(*([Axis(n, level) for level in range(self.schema[n].levels)] for n in names))
            if self.schema.cells(views) <= room and all(self.schema.size(view) > 1 for view in views)
        ]
        return [v for v in fit if not any(_finer(other, v) for other in fit)]

    def _sizes(self, name: str) -> list[int]:
        return [self.schema.size(Axis(name, level)) for level in range(self.schema[name].levels)]

    def penalty(self, pair: Pair) -> Penalty:
        """Return what the noise of the pair's table costs, on the scale of the score."""
        return INDEPENDENCE.penalty(KAPPA * 0.5 * self.noise, self.schema, self.schema.cells(pair.axes))


def _finer(one: tuple[Axis, ...], other: tuple[Axis, ...]) -> bool:
    return one != other and all(a.level <= b.level for a, b in zip(one, other))


def telling(schema: Schema, rows: int, accounting: Accounting, cost: Fraction) -> bool:
    """Return whether a choice at this cost tells dependence from noise, by its noise's scale in shares of the rows."""
    epsilon = accounting.selection_epsilon(float(cost))
    return 2 * 2 * schema.rows_per_person / epsilon < TELLING * rows


def fit_conditionals(
    table: PrivateTable, plan: ConditionalPlan, name: str
) -> tuple[ConditionalNetwork, tuple[Measurement, ...]]:
    """Spend the plan's costs on the table; `name` stands before the purpose of every charge."""
    alone = [(Axis(attribute),) for attribute in plan.alone]
    singles = table.measure(alone, plan.single_cost, f"{name}: one-way") if alone else []
    pairs = _chosen(table, plan, name) if plan.structure_cost else plan.public_pairs()
    tables = table.measure([pair.axes for pair in pairs], plan.table_cost, f"{name}: tables")
    conditionals = [conditional(pair, joint, plan.schema) for pair, joint in zip(pairs, tables)]
    return ConditionalNetwork(plan.schema, plan.given, tuple(conditionals)), (*singles, *tables)


def _chosen(table: PrivateTable, plan: ConditionalPlan, name: str) -> tuple[Pair, ...]:
    """Choose a target and its parents, one after the other; given attributes are placed already."""
    pairs: list[Pair] = []
    placed, left = list(plan.given), list(plan.targets)
    while left:
        table.progress("structure", len(pairs), len(plan.targets))
        options = plan.options(placed, left)
        pair = table.choose(
            options, INDEPENDENCE, plan.structure_cost / len(plan.targets), f"{name}: structure",
            [plan.penalty(option) for option in options], of=len(plan.targets),
        )  # fmt: skip
        pairs.append(pair)
        placed.append(pair.child.attribute)
        left.remove(pair.child.attribute)
    return tuple(pairs)


def conditional(pair: Pair, joint: Measurement, schema: Schema) -> Conditional:
    """Return the child given its parents, from coarse to fine: the child alone, given ever finer views of the first
    parent, given all. Each distribution is drawn to the coarser one as far as its noise asks."""
    counts = joint.values.astype(np.float64)
    if not pair.parents:
        return Conditional(pair.child, (), _alone(counts, joint))
    estimate = given_first(pair, joint, schema)
    if len(pair.parents) > 1:
        values = counts.shape[-1]
        wide = np.repeat(estimate, counts.size // estimate.size, axis=0)
        estimate = drawn_to(counts.reshape(-1, values), wide, np.full((len(wide), 1), joint.noise.variance))
    return Conditional(pair.child, pair.parents, estimate.reshape(counts.shape))


def given_first(pair: Pair, joint: Measurement, schema: Schema) -> Floats:
    """Return the child given the first of its parents alone: a row for each code of that parent's view."""
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
