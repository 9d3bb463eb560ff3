"""AIM as a method: one-way tables, then rounds of choosing the table that the model gets most wrong, measuring it and
estimating again.

A choice is by score D, the L1 distance between the real table and the model's, less a public penalty for the noise that
measuring the table would put on it. A round that saw little but noise makes the next rounds cost twice as much: what is
left to learn is small and needs a closer look. Both read released tables only (PROOF.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

from understudy.errors import TooLarge
from understudy.methods.aim.costs import AimWishes, Costs, CostSplit
from understudy.methods.aim.model_size import NARROW, WIDE_CELLS, least_cells
from understudy.methods.aim.phases import ALONE, UNLINKED, USES, phases, plan_notes
from understudy.methods.aim.prior_use import prior_facts, prior_notes, used_prior
from understudy.methods.aim.rounds import AimRounds
from understudy.methods.aim.wider_tables import WAYS
from understudy.methods.aim.worth import DEPENDENCE, asked_axes
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.methods.toolkit.merged_groups import merged_notes
from understudy.methods.toolkit.row_count import planned_rows, row_count
from understudy.models.prior import Prior
from understudy.models.row_total import pooled_rows
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis, Schema

ROUGHLY = 1e-2  # how well a model fits its tables while more are to come
SELECT = 0.15  # of a round, for its choice
KAPPA = 0.5
PER_FIT = 65  # attributes for each further round by the same model
WIDE, PER_WIDE_FIT = 100, 15  # the same above so many attributes
MAX_ATTRIBUTES = 100  # every round looks at every pair: up to here in a minute or so
WIDEST = 256  # and up to here in minutes


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
    wider: int = option(1, whole=True, low=0, high=1)
    prior: Prior | None = field(default=None, metadata={"given": True})

    def with_prior(self, prior: Prior) -> Aim:
        """Return the method that starts from what is known before."""
        return replace(self, prior=prior)

    def max_cells(self, schema: Schema) -> int:
        """Return how many cells the model may have at any budget, or `cells` where it is given."""
        return least_cells(schema) if self.cells is None else self.cells

    def split(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> CostSplit:
        """Return how this budget is split for so many rows."""
        wishes = AimWishes(
            self.rounds, self.single, self.select, bool(self.merge), bool(self.wider), self.cells,
            self.prior is not None,
        )  # fmt: skip
        return CostSplit(wishes, schema, accounting, whole, rows)

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n, accounting = planned_rows(schema, rows), accounting_of(budget)
        self._check(schema)
        split = self.split(schema, accounting, total_cost(budget), n)
        named, settled = split.named(split.costs), self._settled(split, split.costs)
        notes = tuple(plan_notes(split, split.costs, named, self.prior))
        d = len(schema.modelled)
        seconds = 1.0 + n * d * 8e-8 + settled["rounds"] * (split.max_cells * 7e-7 + d * d * 3e-4)
        memory = 200 + n * d * 30 / 1e6 + split.max_cells * 400 / 1e6
        return Plan(
            self.name, budget, accounting, n, settled, None, tuple(phases(split, split.costs, named)), memory, seconds,
            notes, foreseen=not schema.uses,
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

    def _settled(self, split: CostSplit, costs: Costs) -> dict[str, Any]:
        rounds = round((costs.rounds + costs.wider) / costs.each) if costs.each else 0
        single = round(float(costs.single / (costs.single + costs.rounds)), 4)
        return {
            "rounds": rounds, "single": single, "select": self.select, "kappa": self.kappa,
            "cells": split.max_cells, "estimate": "ml",
        }  # fmt: skip

    def widest_table(self, schema: Schema) -> float:
        """Return how many attributes a measured table has at most: two, unless uses or rounds may name wider ones."""
        return math.inf if schema.uses else max(2, WAYS[-1] * self.wider)

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        from understudy.models.refit import Design, refit

        schema = table.schema
        self._check(schema)
        prior, pairs = self.prior, combinations((a.name for a in schema.modelled), 2)
        table.foresee([tuple(map(Axis, pair)) for pair in pairs if schema.cells(pair) <= self.max_cells(schema)])
        rows, bought = row_count(table)
        split = self.split(schema, table.accounting, table.total_cost, rows)
        variables, costs, room = split.variables, split.costs, split.max_cells
        table.foresee(split.wider)
        named = split.named(costs)
        seen_rows = table.measure_dependence(asked_axes(schema), costs.worth, DEPENDENCE) if costs.worth else 0.0
        if prior is not None:
            prior = used_prior(table, prior, costs.prior, rows, seen_rows, room)
            room, seen_rows = room * 3 // 2, seen_rows if prior.distance is None else prior.distance * rows
        if table.accounting.power == 1:  # where a table measured twice is worse than one at twice the price
            costs = split.worthwhile(costs, seen_rows, rows)
        costs, measured = _one_way(table, split, costs)
        rounds = AdaptiveRounds(
            table, variables, measured, room, lambda seen: pooled_rows(schema, [*bought, *seen]),
            ROUGHLY, _rounds_a_fit(len(variables)), prior,
        )  # fmt: skip
        if table.accounting.power > 1:
            shares = [rounds.best.tree.project([axis]).table for axis in variables]
            decided = split.worthwhile(costs, seen_rows, rounds.rows, shares)
            if decided is not costs:
                measured += _again(table, split, decided.single - costs.single)
                costs = decided
        if costs.named:
            rounds.measure(named.measured, costs.named, USES, split.shares(named.measured))
        if costs.each and self.merge and prior is None:
            rounds.merge(split.round_noise(costs.each))
        left, aim = costs.rounds, AimRounds(rounds, split, self.kappa, costs.each)
        if costs.offered:
            spoken_of = CandidatePairs(schema, variables, room, named.offered, rounds.joined)
            left += replace(aim, each=costs.each or costs.offered / named.rounds).play(spoken_of, costs.offered)
        if costs.each:
            left = aim.play(rounds.candidates, left)
        if costs.wider:
            left += aim.play_wider(split.wider, costs.wider, room)
        if costs.each and left:
            left = aim.play(rounds.candidates, left)
        if left:  # nothing is left to offer: the one-way tables once more
            measured += _again(table, split, left)
        facts = {"options": self._settled(split, costs), "tables": rounds.tables, **prior_facts(prior)}
        refitted = refit([*bought, *measured], Design(rounds.schema, 2 * room, prior))
        alone = () if rounds.joined or costs.rounds or len(variables) == 1 else (ALONE,)
        unlinked = (UNLINKED,) if aim.unlinked else ()
        notes = (*alone, *unlinked, *merged_notes(rounds.schema, measured), *prior_notes(prior))
        return Fit(refitted.model, (*bought, *measured), refitted.rows, facts, notes, prior=prior)


def _rounds_a_fit(attributes: int) -> int:
    """Return how many rounds choose by the same model: one where there are few attributes."""
    return 1 + attributes // (PER_FIT if attributes <= WIDE else PER_WIDE_FIT)


def _one_way(table: PrivateTable, split: CostSplit, costs: Costs) -> tuple[Costs, list[Measurement]]:
    """Measure each attribute alone, but for those that are known already: what they would cost is for rounds."""
    several = len(split.variables) > 1
    known = [m for m in table.known if m.axes[0] in split.variables] if several else []
    asked = [ask for ask in split.one_way if ask[0] not in {m.axes[0] for m in known}]
    fresh = costs.single * len(asked) / len(split.variables)
    measured = table.measure(asked, fresh, "one-way", split.shares(asked)) if asked else []
    return replace(costs, rounds=costs.rounds + costs.single - fresh) if known else costs, known + measured


def _again(table: PrivateTable, split: CostSplit, cost: Fraction) -> list[Measurement]:
    """Measure each attribute alone once more."""
    return table.measure(split.one_way, cost, "one-way", split.shares(split.one_way))
