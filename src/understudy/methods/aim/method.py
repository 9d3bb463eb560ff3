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
from typing import Any, ClassVar

from understudy.errors import TooLarge
from understudy.methods.aim.costs import AimWishes, Costs, CostSplit
from understudy.methods.aim.model_size import NARROW, most_cells
from understudy.methods.aim.phases import phases, plan_notes
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.distance_rounds import KAPPA
from understudy.methods.toolkit.row_count import planned_rows
from understudy.methods.toolkit.wider_tables import WAYS
from understudy.models.prior import Prior
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

SELECT = 0.15  # of a round, for its choice
WIDEST = 256  # attributes that it takes where it is asked for, in minutes; every round looks at every pair


def suits(schema: Schema) -> bool:
    """Return whether this is the method for the table: not binary, nor so wide that rounds have to share a model."""
    return not schema.binary and 2 <= len(schema.modelled) <= NARROW


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
        return most_cells(schema) if self.cells is None else self.cells

    def split(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> CostSplit:
        """Return how this budget is split for so many rows."""
        wishes = AimWishes(
            self.rounds, self.single, self.select, bool(self.merge), bool(self.wider),
            self.max_cells(schema), self.prior is not None,
        )  # fmt: skip
        return CostSplit(wishes, schema, accounting, whole, rows)

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n, accounting = planned_rows(schema, rows), accounting_of(budget)
        self._check(schema)
        split = self.split(schema, accounting, total_cost(budget), n)
        named, settled = split.named(split.costs), self.settled(split, split.costs)
        notes = tuple(plan_notes(split, split.costs, named, self.prior))
        d = len(schema.modelled)
        seconds = 1.0 + n * d * 8e-8 + settled["rounds"] * (split.max_cells * 2e-7 + d * d * 3e-4)
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

    def settled(self, split: CostSplit, costs: Costs) -> dict[str, Any]:
        """Return the options with every default replaced by what it came to."""
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
        from understudy.methods.aim.run import AimRun

        self._check(table.schema)
        return AimRun(self, table).fit()
