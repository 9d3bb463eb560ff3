"""Any method on ranges without bins: a noisy tree of each such attribute is bought first, bins and the shape inside
them follow from it, and the method models the bins with the rest of the budget.

Which levels a tree has, what they cost and how many bins there are is a public rule of lengths, rows and budget
(docs/decisions/0017-noisy-tree.md). A table with too few rows for a tree has bins of equal prior mass, for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from understudy.errors import TooLarge
from understudy.methods.looks import SPIKES, look_price, looked_cost, spike_notes, with_looks
from understudy.methods.method import Fit, MethodAround
from understudy.methods.plan import Phase, Plan, short_list
from understudy.methods.toolkit.row_count import planned_rows
from understudy.models.noisy_tree import NoisyTree, grid_of, tree_counts
from understudy.models.row_total import pooled_total
from understudy.models.tree_counts import wanted_bins
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.table import PrivateTable
from understudy.schema import Attribute, Axes, Axis, Schema
from understudy.schema.attribute import rounding_name
from understudy.schema.predicates import constants_in
from understudy.schema.tree_grid import Index

TREES_SHARE = Fraction(1, 10)  # of the budget, for the trees of all attributes if each had one, where rows are many
LINEAR_TREES_SHARE = Fraction(1, 5)  # the same where the noise of levels adds up: pure epsilon
MAX_TREES_SHARE = Fraction(2, 5)  # where they are few: columns are then most of what can be known
MANY_ROWS = 512.0  # standard deviations of a count: so many are bought, if the share for it is not too large
COUNT_SHARE = Fraction(1, 8)  # of the least that trees cost, for a row count that says how deep they go
HEAPS_SHARE = Fraction(1, 100)  # of the budget, for the rounding classes of an attribute with `heaps`
MAX_HEAPS_SHARE = Fraction(1, 20)  # for those of all attributes
ROUNDING_SHARE = Fraction(1, 200)  # of the budget, for the rounding classes of a number without `heaps`
MAX_ROUNDING_SHARE = Fraction(1, 50)  # for those of all numbers
DECAY = Fraction(7, 10)  # how much less a level costs for each level that it is away from the dearest
DEAREST = 64  # nodes
MIN_NODES = 16  # of the last level
FEWER_NODES = 4  # times fewer (and rows to aim at) where noise grows with the number of levels: pure epsilon
MIN_ROWS = 12.0  # standard deviations of a count that the rows must be for a tree
FEW_ROWS = 64.0  # below so many of them one level alone, there
MIN_SEEN = 8.0  # standard deviations of a count of rounding classes that the rows must be for them to be bought
MIN_BINS = 4
MAX_CURVES = 256  # attributes without trees that have a curve inside their bins: so many a file can have
MAX_RULE_CELLS = 50_000  # of the tables of all rules: fewer bins before more
PURPOSE = "bins"
HEAPS = "heaps"
ROUNDING = "rounding"


@dataclass(frozen=True)
class Trees:
    """What is bought before bins are known, from public facts: which levels of each attribute's tree, at what cost."""

    schema: Schema
    accounting: Accounting
    whole: Fraction  # the budget of the run
    attributes: tuple[Attribute, ...]
    rows: float  # declared, bought, or said by whoever plans
    coarser: int = 1  # times fewer bins than wanted, so that the tables of rules stay small

    @property
    def cost(self) -> Fraction:
        """Return what the trees cost together; nothing where there are too few rows."""
        return self.each * len(self.attributes) if self.enough else Fraction(0)

    @property
    def least(self) -> Fraction:
        """Return what a tree costs where rows are many."""
        share = LINEAR_TREES_SHARE if self.costs_add_up else TREES_SHARE
        return self.whole * share / len(self.schema.modelled)

    @cached_property
    def each(self) -> Fraction:
        """Return what a tree costs: more the fewer rows there are, in whole hundredths of the least."""
        most = self.whole * MAX_TREES_SHARE / len(self.schema.modelled)
        aim = MANY_ROWS / (FEWER_NODES if self.costs_add_up else 1)
        short = aim * self._deviation(self.least) / max(self.rows, 1.0)
        times = min(float(most / self.least), max(1.0, short**self.accounting.power))
        return self.least * Fraction(round(100 * times), 100)

    @cached_property
    def deviation(self) -> float:
        """Return the standard deviation of a count, if a tree's price bought one table."""
        return self._deviation(self.each)

    def _deviation(self, cost: Fraction) -> float:
        return math.sqrt(table_noise(self.schema, self.accounting, cost).variance)

    @property
    def costs_add_up(self) -> bool:
        """Return whether so many levels have so many times the noise of one."""
        return self.accounting.power == 1

    @property
    def enough(self) -> bool:
        """Return whether the rows stand out from the noise of a tree."""
        return self.rows >= MIN_ROWS * self.deviation

    def sizes(self, attribute: Attribute) -> tuple[int, ...]:
        """Return the sizes of the levels that are measured, from the root down."""
        wanted = self.rows / self.deviation / (FEWER_NODES if self.costs_add_up else 1)
        found = grid_of(attribute).sizes
        if self.costs_add_up and self.rows < FEW_ROWS * self.deviation:
            return found[1:2]
        last = next((i for i, size in enumerate(found) if size >= max(MIN_NODES, wanted)), len(found) - 1)
        return found[: last + 1]

    @cached_property
    def workload(self) -> list[tuple[Axis]]:
        """Return a table for each level of each tree."""
        return [(Axis(a.name, grid_of(a).level_of(size)),) for a in self.attributes for size in self.sizes(a)]

    @cached_property
    def shares(self) -> list[Fraction]:
        """Return each level's share of what all trees cost."""
        found = []
        for attribute in self.attributes:
            weights = [DECAY ** abs(round(math.log(size / DEAREST, 4))) for size in self.sizes(attribute)]
            found += [weight / sum(weights) / len(self.attributes) for weight in weights]
        return found

    @cached_property
    def heaps(self) -> list[tuple[Axis]]:
        """Return a table of rounding classes for each attribute with `heaps`."""
        return [(Axis(a.name, grid_of(a).heap_level),) for a in self.attributes if grid_of(a).heaps]

    @property
    def heaps_cost(self) -> Fraction:
        """Return what these tables cost together: every row is in one class, so they are tables like any other."""
        share = min(HEAPS_SHARE * len(self.heaps), MAX_HEAPS_SHARE)
        return self.whole * share if self.enough else Fraction(0)

    @cached_property
    def rounding(self) -> list[tuple[Axis]]:
        """Return a table of rounding classes for each number, time and date; where the rows would not stand out from
        the noise of so many, for those whose decimals nobody declared."""
        seen = [(a, axis) for a in self.attributes if (axis := self._rounding_axis(a)) is not None]
        guessed = [(a, axis) for a, axis in seen if grid_of(a).guesses_decimals]
        wanted = next((found for found in (seen, guessed) if found and self._seen(len(found))), [])
        return [(axis,) for _, axis in wanted] if self.enough else []

    def _rounding_axis(self, attribute: Attribute) -> Axis | None:
        if grid_of(attribute).calendar:
            return Axis(attribute.name, grid_of(attribute).heap_level)
        seen = attribute.rounding_seen
        return None if seen is None or seen.name in self.schema.names else Axis(seen.name)

    def _seen(self, tables: int) -> bool:
        noise = table_noise(self.schema, self.accounting, self._rounding_price(tables) / tables)
        return self.rows >= MIN_SEEN * math.sqrt(noise.variance)

    @property
    def rounding_cost(self) -> Fraction:
        """Return what these tables cost together: every row is in one class of each."""
        return self._rounding_price(len(self.rounding))

    def _rounding_price(self, tables: int) -> Fraction:
        return self.whole * min(ROUNDING_SHARE * tables, MAX_ROUNDING_SHARE)

    @cached_property
    def look_price(self) -> Fraction:
        """Return what a look at what stands out in a tree costs."""
        return look_price(self.attributes, self.whole)

    @property
    def looks(self) -> int:
        """Return how many looks there are at most."""
        return sum(1 + (a.endings_seen is not None) for a in self.attributes) if self.enough else 0

    @property
    def written_cost(self) -> Fraction:
        """Return what is spent on how values are written."""
        return self.heaps_cost + self.rounding_cost

    def wanted(self, attribute: Attribute) -> int:
        """Return how many bins an attribute should have: fewer where rules over it would have too large tables."""
        wanted = wanted_bins(self.rows, self.deviation)
        return max(min(MIN_BINS, wanted), wanted // self.coarser) if attribute.name in self._ruled else wanted

    @cached_property
    def _ruled(self) -> frozenset[str]:
        return frozenset(name for constraint in self.schema.constraints for name in constraint.names)

    @property
    def coarsest(self) -> bool:
        """Return whether rules can have no fewer bins."""
        return wanted_bins(self.rows, self.deviation) // self.coarser <= MIN_BINS

    def public_bins(self, attribute: Attribute) -> Index:
        """Return bins of equal prior mass: what is taken without a tree, and what a plan reckons with."""
        return self._cut(attribute, grid_of(attribute).public_bins(self.wanted(attribute)))

    def bins(self, attribute: Attribute, tree: NoisyTree) -> Index:
        """Return bins of equal mass by the tree's counts."""
        wanted, grid = self.wanted(attribute), grid_of(attribute)
        return self._cut(attribute, grid.equal_bins(tree.masses, wanted, self.deviation, tree.spiked))

    def _cut(self, attribute: Attribute, first: Index) -> Index:
        """Return the bins cut where a rule compares the attribute with a number, so that they can decide it."""
        numbers = [
            n for c in self.schema.constraints for name, n in constants_in(c.predicate) if name == attribute.name
        ]
        if not numbers:
            return first
        starts, single = grid_of(attribute).starts, grid_of(attribute).single
        at = np.searchsorted(starts, numbers)
        at = at[(at < len(starts)) & np.isin(numbers, starts)]
        after = at[single[at]] + 1
        return np.unique(np.concatenate([first, at, after[after < len(single)]])).astype(np.int64)


@dataclass(frozen=True)
class Binned(MethodAround):
    """A method, and the bins of attributes that have none; those of a prior's `known` trees where it has them."""

    known: tuple[NoisyTree, ...] = ()

    def _unbinned(self, schema: Schema) -> tuple[Attribute, ...]:
        names = self.covered(schema)
        return tuple(a for a in schema.unbinned if a.name in names)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        if self.known:
            plan = self.method.plan(schema.binned({t.attribute.name: t.first for t in self.known}), budget, rows)
            return replace(plan, notes=(*plan.notes, _known_note(self.known)))
        whole = total_cost(budget)
        trees = Trees(schema, accounting_of(budget), whole, self._unbinned(schema), planned_rows(schema, rows))
        trees, coarse = _small_enough(
            trees, lambda t: schema.binned({a.name: t.public_bins(a) for a in schema.unbinned})
        )
        spent = trees.cost + _count_cost(schema, trees)
        before = spent + trees.written_cost + trees.look_price * trees.looks
        plan = self.method.plan(coarse, budget.shared(1 - before / whole), rows)
        return replace(
            plan, budget=budget, phases=(*_phases(trees, spent), *plan.phases), notes=(*plan.notes, *_notes(trees)),
            bins=wanted_bins(trees.rows, trees.deviation),
        )  # fmt: skip

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        if self.known:
            return self._with_known(table)
        wanted = Trees(schema, table.accounting, table.total_cost, self._unbinned(schema), float(schema.rows or 0))
        trees, count, cost = _counted(table, wanted)
        bought = _bought(table, trees, count) if trees.enough else {}
        cost += trees.cost + trees.written_cost + looked_cost(bought.values(), trees.look_price)
        trees, coarse_schema = _small_enough(trees, lambda t: schema.binned(_bins(schema, t, bought)))
        bins = _bins(schema, trees, bought)
        bought = {name: replace(tree, first=bins[name]) for name, tree in bought.items()}
        homes = {name: schema[name].homes(first) for name, first in bins.items()}
        found = tuple(bought.values()) or _curves(trees, bins)
        coarse = table.regrouped(_with_found(coarse_schema, found), homes)
        fit = self.method.fit(coarse.with_total_cost(table.total_cost - cost))
        return replace(fit, trees=found, notes=(*fit.notes, *_notes(trees), *spike_notes(bought.values())))

    def _with_known(self, table: PrivateTable) -> Fit:
        """Fit on the bins of known trees: they are public already, so nothing is bought for them."""
        bins = {t.attribute.name: t.first for t in self.known}
        homes = {name: table.schema[name].homes(first) for name, first in bins.items()}
        coarse = table.regrouped(_with_found(table.schema.binned(bins), self.known), homes)
        fit = self.method.fit(coarse.with_total_cost(table.total_cost))
        return replace(fit, trees=self.known, notes=(*fit.notes, _known_note(self.known)))


def _with_found(schema: Schema, trees: Sequence[NoisyTree]) -> Schema:
    """Return the schema in which the columns of these trees may be drawn towards smooth shapes."""
    return schema.with_found_bins({tree.attribute.name for tree in trees if tree.smooth})


def _known_note(trees: Sequence[NoisyTree]) -> str:
    names = short_list([t.attribute.name for t in trees])
    return f"bins of {names}, and the shape inside them, are those of the prior: nothing is bought for them"


def _bins(schema: Schema, trees: Trees, bought: Mapping[str, NoisyTree]) -> dict[str, Index]:
    """Return the first unit of each bin: by the tree of an attribute that has one, else of equal prior mass."""
    return {
        a.name: trees.bins(a, bought[a.name]) if a.name in bought else trees.public_bins(a) for a in schema.unbinned
    }


def _curves(trees: Trees, bins: Mapping[str, Index]) -> tuple[NoisyTree, ...]:
    """Return the public bins, for the curve inside them: trees without levels, as many as a file may have."""
    return tuple(NoisyTree(a, (), bins[a.name], trees.rows) for a in trees.attributes[:MAX_CURVES])


def _small_enough(trees: Trees, binned: Callable[[Trees], Schema]) -> tuple[Trees, Schema]:
    """Return the bins with which the tables of rules are not too large: the wanted ones, or times fewer."""
    while True:
        found = binned(trees)
        try:
            if not found.constraints or sum(b.possible.size for b in found.blocks) <= MAX_RULE_CELLS:
                return trees, found
        except TooLarge:
            if trees.coarsest:
                raise
        if trees.coarsest:
            return trees, found
        trees = replace(trees, coarser=2 * trees.coarser)


def _count_cost(schema: Schema, trees: Trees) -> Fraction:
    return trees.least * len(trees.attributes) * COUNT_SHARE if schema.rows is None else Fraction(0)


def _counted(table: PrivateTable, trees: Trees) -> tuple[Trees, Measurement | None, Fraction]:
    """Buy a row count where it is private, since it decides how deep the trees go; what it cost."""
    cost = _count_cost(table.schema, trees)
    if not cost:
        return trees, None, cost
    (count,) = table.measure([()], cost, PURPOSE)
    return replace(trees, rows=max(1.0, float(count.values))), count, cost


def _bought(table: PrivateTable, trees: Trees, count: Measurement | None) -> Mapping[str, NoisyTree]:
    """Buy the trees, all in one question, and make bins of them."""
    table.progress(PURPOSE, 0, len(trees.attributes))
    levels = iter(table.measure(trees.workload, trees.cost, PURPOSE, trees.shares))
    found = {a.name: tuple(next(levels) for _ in trees.sizes(a)) for a in trees.attributes}
    rows = _pooled(trees, found, count)
    bought = {}
    for attribute in trees.attributes:
        counts = tree_counts(attribute, found[attribute.name])
        total = min(counts.total, rows) if attribute.has_missing else rows
        tree = NoisyTree(attribute, found[attribute.name], np.zeros(1, dtype=np.int64), total)
        bought[attribute.name] = tree
    for found_classes in table.measure(trees.heaps, trees.heaps_cost, HEAPS) if trees.heaps_cost else ():
        name = found_classes.axes[0].attribute
        bought[name] = replace(bought[name], heaps=found_classes)
    named = {rounding_name(name): name for name in bought}
    for found_classes in table.measure(trees.rounding, trees.rounding_cost, ROUNDING) if trees.rounding else ():
        name = found_classes.axes[0].attribute
        if name in bought:
            bought[name] = replace(bought[name], heaps=found_classes)
        else:
            bought[named[name]] = replace(bought[named[name]], rounding=found_classes)
    return with_looks(table, bought, trees.look_price)


def _pooled(trees: Trees, found: Mapping[str, tuple[Measurement, ...]], count: Measurement | None) -> float:
    """Return the row count: declared, or the average of what was bought and what each tree says, by their variances."""
    if count is None:
        return trees.rows
    totals = [(float(count.values), count.variance)]
    for attribute in trees.attributes:
        values, spreads = tree_counts(attribute, found[attribute.name]).estimates
        if not attribute.has_missing:
            totals.append((float(values[0].sum()), float(spreads[0].sum())))
    return max(1.0, pooled_total(totals))


def _phases(trees: Trees, spent: Fraction) -> list[Phase]:
    """Return what is bought before the bins are known: the trees or a row count, and how values are written."""
    found = []
    if trees.cost:
        names = short_list([a.name for a in trees.attributes])
        noisiest = trees.cost * min(trees.shares)
        found.append(_phase(trees, PURPOSE, trees.workload, spent, noisiest, f"noisy trees of {names}"))
    elif spent:
        found.append(_phase(trees, PURPOSE, [()], spent, spent, "a row count"))
    for purpose, workload, cost, what in (
        (HEAPS, trees.heaps, trees.heaps_cost, "rounding classes of"),
        (ROUNDING, trees.rounding, trees.rounding_cost, "how round values are:"),
    ):
        if cost:
            names = short_list([trees.schema[axes[0].attribute].column for axes in workload])
            found.append(_phase(trees, purpose, workload, cost, cost / len(workload), f"{what} {names}"))
    if trees.looks:
        scale = table_noise(trees.schema, trees.accounting, trees.look_price).scale
        what = "values that many rows share, in columns whose tree shows any, at most"
        found.append(Phase(SPIKES, trees.look_price * trees.looks, trees.looks, scale=scale, detail=what))
    return found


def _phase(trees: Trees, purpose: str, workload: Sequence[Axes], cost: Fraction, least: Fraction, detail: str) -> Phase:
    """Return the phase that measures these tables, of which `least` is what the noisiest costs."""
    scale = table_noise(trees.schema, trees.accounting, least).scale
    return Phase(purpose, cost, len(workload), max(map(trees.schema.cells, workload)), scale, None, detail)


def _notes(trees: Trees) -> tuple[str, ...]:
    names = short_list([a.name for a in trees.attributes])
    if not names:
        return ()
    if not trees.enough:
        return (
            f"bins of {names} are of equal prior mass, and values inside follow a smooth curve: with so few rows a "
            "tree would be lost in the noise",
        )
    share = float(100 * trees.cost / trees.whole)
    return (f"bins of {names}, and the shape inside them, from noisy trees for {share:.3g} % of the budget",)
