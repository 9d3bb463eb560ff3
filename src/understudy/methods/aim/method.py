"""AIM as a method: one-way tables, then rounds of choosing the table that the model gets most wrong, measuring it and
estimating again.

A choice is by score D, the L1 distance between the real table and the model's, less a public penalty for the noise that
measuring the table would put on it. A round that saw little but noise makes the next rounds cost twice as much: what is
left to learn is small and needs a closer look. Both read released tables only (PROOF.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from understudy.errors import TooLarge
from understudy.methods.aim.costs import Costs
from understudy.methods.aim.named_tables import (
    ALONE_SHARE,
    NAMED_PRICE,
    NAMED_SHARE,
    OFFERED_SHARE,
    NamedTables,
    named_tables,
    uses_note,
)
from understudy.methods.aim.prior_use import (
    PRIOR_SHARE,
    planned_note,
    prior_facts,
    prior_notes,
    prior_phase,
    used_prior,
)
from understudy.methods.aim.worth import (
    DEPENDENCE,
    NEVER,
    SURELY,
    WORTH_SHARE,
    Floats,
    asked_axes,
    chance_dependence,
    column_error,
    even_shares,
    learnable,
    needed_dependence,
    worth_phase,
)
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan, tables_phase
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.budget_split import middle_pair, weight
from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.methods.toolkit.merged_groups import cells_left
from understudy.methods.toolkit.row_count import count_cost, planned_rows, row_count
from understudy.models.prior import Prior
from understudy.models.row_total import pooled_rows
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import table_noise
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

MODEL_CELLS = 150_000  # the triangulated model; a tenth of a second for each estimation
WIDE_CELLS = 50_000  # the same for more than `NARROW` attributes, which have more rounds
NARROW = 64
ROUNDS: dict[type[Noise], tuple[int, int]] = {
    Laplace: (1, 2),
    Gaussian: (2, 4),
}  # for each attribute: at least and at most
THETA = 6.0  # rows in a cell of the middle pair over the noise in it: as many rounds as keep this
LOST = 2.0  # where epsilons add up: fewer rounds than the least, if this would not be kept
ROUGHLY = 1e-2  # how well a model fits its tables while more are to come
SINGLE = 0.2  # of the budget, for one-way tables; more where there are few rounds
MOST_SINGLE = 0.35  # of the budget, for them at most, by the floor
SELECT = 0.15  # of a round, for its choice
KAPPA = 0.5
PER_FIT = 65  # attributes for each further round by the same model
MAX_ATTRIBUTES = 100  # every round looks at every pair: up to here in a minute or so
WIDEST = 256  # and up to here in minutes
HIDDEN = 0.25  # power of the part of a pair's cells that merging leaves: so much of the dependence is still seen
USES = "uses"
ALONE = "pairs of attributes are not worth their noise at this budget: columns are published independently"


def suits(schema: Schema) -> bool:
    """Return whether this is the method for the table: not binary, nor so wide that rounds take minutes."""
    fits = len(schema.modelled) <= NARROW or sum(a.size for a in schema.modelled) <= WIDE_CELLS
    return not schema.binary and 2 <= len(schema.modelled) <= MAX_ATTRIBUTES and fits


@dataclass(frozen=True)
class Aim:
    """The options of AIM. Rounds that are not given follow from the number of attributes."""

    name: ClassVar[str] = "aim"

    rounds: int | None = option(None, whole=True, low=1, high=10_000)
    single: float | None = option(None, low=0.01, high=0.99)
    select: float = option(SELECT, low=0.01, high=0.9)
    kappa: float = option(KAPPA, low=0.0, high=10.0)
    cells: int | None = option(None, whole=True, low=4, high=10**7)
    merge: int = option(1, whole=True, low=0, high=1)
    prior: Prior | None = field(default=None, metadata={"given": True})

    def with_prior(self, prior: Prior) -> Aim:
        """Return the method that starts from what is known before."""
        return replace(self, prior=prior)

    def max_cells(self, schema: Schema) -> int:
        """Return how many cells the model may have: fewer for a wide table, unless `cells` is given."""
        if self.cells is not None:
            return self.cells
        return MODEL_CELLS if len(schema.modelled) <= NARROW else WIDE_CELLS

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n = planned_rows(schema, rows)
        self._check(schema)
        accounting = accounting_of(budget)
        costs = self._costs(schema, accounting, total_cost(budget), n)
        variables = _variables(schema)
        phases = []
        if costs.count:
            phases.append(
                tables_phase("row count", schema, accounting, costs.count, 1, 1, n, "how many rows there are")
            )
        if costs.worth:
            phases.append(worth_phase(schema, accounting, costs.worth))
        if costs.prior:
            phases.append(prior_phase(schema, accounting, costs.prior))
        largest = max(map(schema.size, variables))
        phases.append(
            tables_phase(
                "one-way", schema, accounting, costs.single, len(variables), largest, n, "each attribute alone"
            )
        )
        named = self._named(schema, accounting, costs, n)
        if costs.named:
            cells = max(map(schema.cells, named.measured))
            detail = "the tables that uses name"
            phases.append(tables_phase(USES, schema, accounting, costs.named, len(named.measured), cells, n, detail))
        if in_rounds := costs.rounds + costs.offered:
            rounds = max(1, round(in_rounds / (costs.each or costs.offered)))
            choosing = in_rounds * exact(self.select)
            phases.append(Phase("structure", choosing, rounds, detail="choices by score D, at most"))
            sizes = map(schema.cells, combinations(variables, 2))
            cells = max((size for size in sizes if size <= self.max_cells(schema)), default=1)
            detail = "the pair that the model gets most wrong, round by round, at most"
            phases.append(tables_phase("tables", schema, accounting, in_rounds - choosing, rounds, cells, n, detail))
        notes = []
        if costs.worth:
            notes.append("whether pairs are worth their noise is bought first; if not, columns are published alone")
        if self.prior is not None:
            notes.append(planned_note(self.prior))
        if schema.uses:
            notes.append(uses_note(named))
        if len(variables) > 1:
            notes.append(
                f"pairs that would bring the model over {self.max_cells(schema):,} cells are not offered (option cells)"
                if costs.rounds or costs.offered or self.prior is not None
                else ALONE
            )
        d, settled = len(variables), self._settled(schema, costs)
        seconds = 1.0 + n * d * 8e-8 + settled["rounds"] * (0.1 + d * d * 3e-4)
        memory = 200 + n * d * 30 / 1e6 + self.max_cells(schema) * 400 / 1e6
        return Plan(
            self.name, budget, accounting, n, settled, None, tuple(phases), memory, seconds, tuple(notes),
            foreseen=not schema.uses,
        )  # fmt: skip

    def _check(self, schema: Schema) -> None:
        if (d := len(schema.modelled)) > WIDEST:
            raise TooLarge(
                f"AIM looks at every pair of attributes in every round, so it takes up to {WIDEST} of them, and this "
                f"table has {d:,}: use --method privabn, or publish fewer attributes"
            )
        if (alone := sum(a.size for a in schema.modelled)) > self.max_cells(schema):
            largest = max(schema.modelled, key=lambda a: a.size)
            raise TooLarge(
                f"the one-way tables alone have {alone:,} cells, the limit is {self.max_cells(schema):,}, and "
                f"{largest.name} has {largest.size:,} of them: use fewer bins or values, "
                "or raise the limit with --set cells=N",
                attribute=largest.name,
            )

    def _costs(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Costs:
        count = count_cost(schema, whole)
        rest = whole - count
        if len(schema.modelled) == 1:
            return Costs(count, rest, Fraction(0), Fraction(0))
        rounds = self.rounds or self._affordable(schema, accounting, rest, rows)
        costs = self._decided(schema, accounting, count, rest, rounds, rows)
        return self._with_uses(schema, accounting, costs, rows) if schema.uses else costs

    def _decided(
        self, schema: Schema, accounting: Accounting, count: Fraction, rest: Fraction, rounds: int, rows: int
    ) -> Costs:
        """Return how all but the row count is split: without rounds where public facts speak against them."""
        costs = self._split(schema, accounting, count, rest, rounds)
        if len(asked_axes(schema)) < 2 or (self._sure and self.prior is None):
            return costs
        needed = self._needed(schema, accounting, costs, rows, even_shares(schema))
        never = needed > NEVER and not self._sure
        prior = rest * exact(PRIOR_SHARE) if self.prior is not None else Fraction(0)
        worth = rest * exact(WORTH_SHARE) if prior or SURELY < needed <= NEVER else Fraction(0)
        split = self._split(schema, accounting, count, rest - worth - prior, rounds)
        split = replace(split, worth=worth, prior=prior, surely=self._sure or needed <= SURELY)
        return split.without_rounds() if never else split

    @property
    def _sure(self) -> bool:
        """Whether somebody asked for rounds."""
        return self.rounds is not None or self.single is not None

    def _with_uses(self, schema: Schema, accounting: Accounting, costs: Costs, rows: int) -> Costs:
        """Return the costs with a part of what rounds cost, or else of what one-way tables cost, for the uses."""
        whole = costs.rounds or costs.single
        each = costs.each or whole / (2 * len(schema.modelled))
        named = self._named(schema, accounting, costs, rows)
        direct = min(whole * NAMED_SHARE, NAMED_PRICE * each * len(named.measured))
        share = OFFERED_SHARE if costs.rounds else ALONE_SHARE
        offered = min((whole - direct) * share, each * named.rounds)
        taken = direct + offered
        left = replace(costs, named=direct, offered=offered)
        return (
            replace(left, rounds=costs.rounds - taken) if costs.rounds else replace(left, single=costs.single - taken)
        )

    def _named(self, schema: Schema, accounting: Accounting, costs: Costs, rows: int) -> NamedTables:
        """Return what uses ask for, as far as tables at the price of a round are not drowned in noise."""
        if not schema.uses:
            return NamedTables()
        each = costs.each or (costs.single + costs.named + costs.offered) / (2 * len(schema.modelled))
        noise = table_noise(schema, accounting, each).mean_abs
        power = accounting.power  # three times the price is a third of the noise, or the root of that
        return named_tables(
            schema, self.max_cells(schema), lambda cells, price: cells * noise / (2 * rows * price ** (1 / power))
        )

    def _split(self, schema: Schema, accounting: Accounting, count: Fraction, rest: Fraction, rounds: int) -> Costs:
        single = rest * self._single(schema, accounting, rounds)
        return Costs(count, single, rest - single, (rest - single) / rounds)

    def _needed(
        self, schema: Schema, accounting: Accounting, costs: Costs, rows: int, shares: Sequence[Floats]
    ) -> float:
        """Return how dependent pairs must be on average for rounds to be worth their price."""
        d = len(schema.modelled)
        with_rounds, alone = (
            column_error(shares, rows, table_noise(schema, accounting, cost / d).mean_abs)
            for cost in (costs.single, costs.single + costs.rounds)
        )
        noise = table_noise(schema, accounting, costs.each * (1 - exact(self.select))).mean_abs
        cells = middle_pair(schema)
        kept = cells_left(cells, rows, noise) if self.merge and self.prior is None else 1.0
        pair_error = kept * cells * noise / (2 * rows)
        rounds = float(costs.rounds / costs.each)
        needed = needed_dependence(with_rounds - alone, pair_error, rounds, d, accounting.noise)
        return needed / math.pow(kept, HIDDEN)

    def _affordable(self, schema: Schema, accounting: Accounting, cost: Fraction, rows: int) -> int:
        """Return as many rounds as leave the middle pair useful, within bounds for each attribute.

        The noise of one of k tables grows with k under pure epsilon, and only with its root under zCDP.
        """
        d = len(schema.modelled)
        least, most = ROUNDS[accounting.noise]
        tables = cost * (1 - exact(SINGLE)) * (1 - exact(self.select))
        noise = table_noise(schema, accounting, tables).mean_abs
        alone = rows / (middle_pair(schema) * noise)  # rows over noise in a cell, if one pair had it all
        if accounting.power > 1:
            return max(least * d, min(most * d, int((alone / THETA) ** accounting.power)))
        return max(1, min(int(alone / LOST), max(least * d, min(most * d, int(alone / THETA)))))

    def _single(self, schema: Schema, accounting: Accounting, rounds: int) -> Fraction:
        """Return the part for one-way tables: what makes the sum of all tables' errors least, but not too little."""
        if self.single is not None:
            return exact(self.single)
        ones = sum(weight(a.size, accounting) for a in schema.modelled)
        pairs = rounds * weight(middle_pair(schema), accounting)
        return max(self._least_single(schema, accounting, rounds), Fraction(ones, ones + pairs))

    def _least_single(self, schema: Schema, accounting: Accounting, rounds: int) -> Fraction:
        """A fifth, or up to `MOST_SINGLE` where Gaussian noise leaves room for no more than the least rounds: there the
        noise of columns is most of every pair's error."""
        if accounting.power == 1:
            return exact(SINGLE)
        d = len(schema.modelled)
        least, most = (bound * d for bound in ROUNDS[accounting.noise])
        short = min(Fraction(1), max(Fraction(0), Fraction(most - rounds, most - least)))
        return exact(SINGLE) + (exact(MOST_SINGLE) - exact(SINGLE)) * short

    def _settled(self, schema: Schema, costs: Costs) -> dict[str, Any]:
        rounds = round(costs.rounds / costs.each) if costs.each else 0
        single = round(float(costs.single / (costs.single + costs.rounds)), 4)
        return {
            "rounds": rounds, "single": single, "select": self.select, "kappa": self.kappa,
            "cells": self.max_cells(schema), "estimate": "ml",
        }  # fmt: skip

    def widest_table(self, schema: Schema) -> float:
        """Return how many attributes a measured table has at most: two, unless uses name wider ones."""
        return math.inf if schema.uses else 2

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        from understudy.models.refit import Design, refit

        schema, variables = table.schema, _variables(table.schema)
        self._check(schema)
        table.foresee([axes for axes in combinations(variables, 2) if schema.cells(axes) <= self.max_cells(schema)])
        rows, bought = row_count(table)
        costs = self._costs(schema, table.accounting, table.total_cost, rows)
        named = self._named(schema, table.accounting, costs, rows)
        seen_rows = table.measure_dependence(asked_axes(schema), costs.worth, DEPENDENCE) if costs.worth else 0.0
        room, prior = self.max_cells(schema), self.prior
        if prior is not None:
            prior = used_prior(table, prior, costs.prior, rows, seen_rows, room)
            room, seen_rows = room * 3 // 2, seen_rows if prior.distance is None else prior.distance * rows
        if table.accounting.power == 1:  # where a table measured twice is worse than one at twice the price
            costs = self._worthwhile(schema, table.accounting, costs, seen_rows, rows, even_shares(schema))
        known = [m for m in table.known if m.axes[0] in variables] if len(variables) > 1 else []
        asked = [(axis,) for axis in variables if axis not in {m.axes[0] for m in known}]
        fresh = costs.single * len(asked) / len(variables)  # what is known already is paid for: that part is for rounds
        measured = known + (table.measure(asked, fresh, "one-way") if asked else [])
        costs = replace(costs, rounds=costs.rounds + costs.single - fresh) if known else costs
        rounds = AdaptiveRounds(
            table, variables, measured, room, lambda seen: pooled_rows(schema, [*bought, *seen]),
            ROUGHLY, 1 + len(variables) // PER_FIT, prior,
        )  # fmt: skip
        if table.accounting.power > 1:
            shares = [rounds.best.tree.project([axis]).table for axis in variables]
            decided = self._worthwhile(schema, table.accounting, costs, seen_rows, rounds.rows, shares)
            if decided is not costs:
                more = decided.single - costs.single
                measured += table.measure([(axis,) for axis in variables], more, "one-way")
                costs = decided
        if costs.named:
            prices = [weight(schema.cells(axes), table.accounting) for axes in named.measured]
            rounds.measure(named.measured, costs.named, USES, [Fraction(p, sum(prices)) for p in prices])
        if costs.each and self.merge and prior is None:
            rounds.merge(self._round_noise(table, costs.each))
        left = costs.rounds
        if costs.offered:
            spoken_of = CandidatePairs(schema, variables, room, named.offered, rounds.joined)
            price = costs.each or costs.offered / named.rounds
            left += self._play(rounds, spoken_of, costs.offered, price)
        if costs.each:
            left = self._play(rounds, rounds.candidates, left, costs.each)
        if left:  # nothing is left to offer: the one-way tables once more
            measured += table.measure([(axis,) for axis in variables], left, "one-way")
        facts = {"options": self._settled(schema, costs), "tables": rounds.tables, **prior_facts(prior)}
        refitted = refit([*bought, *measured], Design(rounds.schema, 2 * room, prior))
        alone = () if rounds.joined or costs.rounds or len(variables) == 1 else (ALONE,)
        notes = (*alone, *prior_notes(prior))
        return Fit(refitted.model, (*bought, *measured), refitted.rows, facts, notes, prior=prior)

    def _play(self, rounds: AdaptiveRounds, candidates: CandidatePairs, whole: Fraction, each: Fraction) -> Fraction:
        """Choose among the candidates until `whole` is spent; return what is left if none can be offered."""
        left = whole
        while left and (options := candidates()):
            rounds.private.progress("tables", int(100 * (1 - left / whole)), 100)
            each = left if left < each * 3 / 2 else each
            left -= each
            each = each if self._round(rounds, options, each) else 2 * each
            if candidates is not rounds.candidates:
                candidates.add(rounds.chosen[-1])
        return left

    def _round(self, rounds: AdaptiveRounds, options: list[Axes], price: Fraction) -> bool:
        """Choose and measure one table; return whether it says more than its noise would."""
        table = rounds.private
        cost, noise = price * (1 - exact(self.select)), self._round_noise(table, price)

        def choose(pairs: Sequence[Pair], expected: Sequence[Floats]) -> Pair:
            whole = [np.rint(counts).astype(np.int64) for counts in expected]
            rows = self.kappa / 2 * noise  # a row in the wrong cell is 2 of an L1 distance
            penalties = [REFERENCE_DISTANCE.penalty(rows, table.schema, counts.size) for counts in expected]
            return table.choose(pairs, REFERENCE_DISTANCE, price - cost, "structure", penalties, whole)

        return rounds.round(options, choose, cost, noise)

    def _round_noise(self, table: PrivateTable, price: Fraction) -> float:
        """Return the mean absolute noise in a cell of the table that a round at this price measures."""
        return table_noise(table.schema, table.accounting, price * (1 - exact(self.select))).mean_abs

    def _worthwhile(
        self, schema: Schema, accounting: Accounting, costs: Costs, seen_rows: float, rows: int, shares: list[Floats]
    ) -> Costs:
        """Return the costs as they are, or without rounds where what was bought says that they are not worth it."""
        if not costs.worth or not costs.rounds or costs.surely:
            return costs
        found = learnable(seen_rows / rows, chance_dependence(shares, rows))
        worth_it = found >= self._needed(schema, accounting, costs, rows, shares)
        return costs if worth_it else costs.without_rounds()


def _variables(schema: Schema) -> Axes:
    return tuple(Axis(a.name) for a in schema.modelled)
