"""DP-SUBN, adaptive: one-way tables of all owners' rows, then rounds. In each an owner in turn chooses, on its own
rows, the pair of attributes that the model so far gets most wrong; its table is summed, and the model fitted again.

The rounds are those of AIM (`toolkit.adaptive_rounds`), with what several owners need. Owners differ, so "wrong" is
how much more dependent a pair is among an owner's rows than in the model, and not how far the owner's table is from
the model's. Choices are a fixed part of the budget in a fixed number of turns, so that every owner pays the same for
its own; only the price of tables doubles after a round that saw little but noise. And where a pair would be lost in
the noise there are few rounds or none, which public facts decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from understudy.errors import TooLarge
from understudy.methods.dp_subn.binary import effort, whole_attributes
from understudy.methods.dp_subn.turns import KAPPA, Turns
from understudy.methods.method import Fit
from understudy.methods.plan import Plan
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.budget_split import middle_pair, pair_cells, shares_by_size, weight
from understudy.methods.toolkit.estimator import MaximumLikelihood
from understudy.methods.toolkit.row_count import count_cost, row_count
from understudy.methods.toolkit.terms import Terms
from understudy.models.row_total import pooled_rows
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

# rows in a cell of the middle pair over the noise in it, if the rounds' tables had the whole budget
THETA: dict[type[Noise], float] = {Laplace: 6.0, Gaussian: 1.3}
ROUNDS = Fraction(3, 2)  # for each attribute, at most
SELECT = Fraction(3, 10)  # of what the rounds cost, for choices
MAX_ATTRIBUTES, WIDEST = 40, 100  # every choice looks at every pair: up to here in seconds, and in minutes
MAX_CELLS = 500_000  # of all pairs together: with every choice an owner is sent the model's tables of them


def suits(schema: Schema) -> bool:
    """Return whether this is the variant for the table; binary attributes are cheap to measure many at a time."""
    narrow = 2 <= len(schema.modelled) <= MAX_ATTRIBUTES
    return narrow and not schema.binary and pair_cells([a.size for a in schema.modelled]) <= MAX_CELLS


@dataclass(frozen=True)
class AdaptiveCosts:
    """How the budget is split, from public facts."""

    rounds: int
    count: Fraction
    single: Fraction
    structure: Fraction
    tables: Fraction


@dataclass(frozen=True)
class Adaptive:
    """`rounds` that are not given follow from rows, sizes and budget; `cells` is the limit of the model."""

    rounds: int | None
    cells: int

    def check(self, schema: Schema) -> None:
        sizes = [a.size for a in schema.modelled]
        d, pairs, alone = len(sizes), pair_cells(sizes), sum(sizes)
        if d > WIDEST or pairs > MAX_CELLS or alone > self.cells:
            raise TooLarge(
                f"the adaptive variant of DP-SUBN takes up to {WIDEST} attributes, pairs of up to {MAX_CELLS:,} "
                f"cells together and a model of up to {self.cells:,} cells. This table has {d:,}, {pairs:,}, and "
                f"{alone:,} without any pair: use --set variant=sequential"
            )

    def costs(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> AdaptiveCosts:
        """Return the parts of the budget that make the sum of all tables' expected errors least (`weight`)."""
        self.check(schema)
        count = count_cost(schema, whole)
        rest = whole - count
        rounds = self.affordable(schema, accounting, rest, rows) if self.rounds is None else self.rounds
        if not rounds or len(schema.modelled) == 1:
            return AdaptiveCosts(0, count, rest, Fraction(0), Fraction(0))
        single = sum(weight(a.size, accounting) for a in schema.modelled)
        pairs = rounds * weight(middle_pair(schema), accounting)
        left = rest * Fraction(pairs, single + pairs)
        return AdaptiveCosts(rounds, count, rest - left, left * SELECT, left * (1 - SELECT))

    def affordable(
        self, schema: Schema, accounting: Accounting, cost: Fraction, rows: int, noisier: float = 1.0
    ) -> int:
        """Return how many rounds keep the middle pair useful; at small budgets none.

        The noise of one of T tables grows with T under pure epsilon, and with its root under zCDP. `noisier` is what
        the shares of other owners add to the noise of one.
        """
        if len(schema.modelled) < 2:
            return 0
        alone = table_noise(schema, accounting, cost).mean_abs * noisier
        times = rows / (THETA[accounting.noise] * middle_pair(schema) * alone)
        return min(int(ROUNDS * len(schema.modelled)), int(times**accounting.power))

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, name: str, schema: Schema, budget: Budget, rows: int | None) -> Plan:
        """Plan as for one owner: several have more noise, and then fewer rounds."""
        terms = Terms.of(schema, budget, rows)
        costs = self.costs(schema, terms.accounting, terms.total_cost, terms.rows)
        d, largest = len(schema.modelled), max(a.size for a in schema.modelled)
        pairs = combinations(whole_attributes(schema), 2)
        cells = min(self.cells, max((schema.cells(pair) for pair in pairs), default=1))
        alone = "one-way" if costs.rounds else "tables"
        phases = [
            *terms.row_count(costs.count),
            *terms.tables(alone, costs.single, d, largest, "each attribute alone"),
            *terms.choices(costs.structure, costs.rounds, "choices by score R, in turn, at most"),
            *terms.tables(
                "tables", costs.tables, costs.rounds, cells,
                "the pair that the model gets most wrong, round by round, at most",
            ),
        ]  # fmt: skip
        seconds, megabytes = effort(terms.rows, d * costs.rounds * d // 2, costs.rounds * largest**2)
        seconds += 0.1 * costs.rounds
        return terms.plan(name, self._settled(costs), phases, seconds, megabytes, notes=self._notes(schema, costs))

    def _settled(self, costs: AdaptiveCosts) -> dict[str, Any]:
        return {
            "variant": "adaptive",
            "rounds": costs.rounds,
            "select": float(SELECT) if costs.rounds else 0,
            "kappa": KAPPA,
            "cells": self.cells,
            "estimate": "ml",
        }

    def _notes(self, schema: Schema, costs: AdaptiveCosts) -> tuple[str, ...]:
        if not costs.rounds and len(schema.modelled) > 1:
            return ("no pair of attributes would be useful at this budget: columns are published independently",)
        return (f"pairs that would bring the model over {self.cells:,} cells are not offered (option cells)",)

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        rows, count = row_count(table)
        costs = self.costs(schema, table.accounting, table.total_cost, rows)
        measured = self._singles(table, costs.single)
        rows = pooled_rows(schema, [*count, *measured])
        # how much the owners' shares add is on every table that they sum
        alone = table_noise(schema, table.accounting, costs.single * self._single_shares(table)[0]).scale
        noisier = measured[0].noise.scale / alone
        if costs.rounds and self.rounds is None:
            rest = table.total_cost - costs.count
            costs = replace(costs, rounds=self.affordable(schema, table.accounting, rest, rows, noisier))
        left = costs.structure + costs.tables
        rounds = AdaptiveRounds(table, whole_attributes(schema), measured, self.cells, lambda seen: rows)
        if costs.rounds:
            left = Turns(table, rounds, noisier).run(costs.rounds, costs.structure, costs.tables)
        if left:  # there is nothing to offer: the one-way tables once more
            measured += self._singles(table, left)
        facts = {"options": self._settled(costs), "tables": rounds.tables}
        found = MaximumLikelihood(2 * self.cells)([*count, *measured], schema)
        return Fit(found.model, (*count, *measured), found.rows, facts, self._notes(schema, costs))

    def _singles(self, table: PrivateTable, cost: Fraction) -> list[Measurement]:
        workload = [(axis,) for axis in whole_attributes(table.schema)]
        return table.measure(workload, cost, "one-way", self._single_shares(table))

    def _single_shares(self, table: PrivateTable) -> list[Fraction]:
        workload = [(axis,) for axis in whole_attributes(table.schema)]
        return shares_by_size(table.schema, workload, table.accounting)
