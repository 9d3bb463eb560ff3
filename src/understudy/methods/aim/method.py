"""AIM as a method: one-way tables, then rounds of choosing the table that the model gets most wrong, measuring it and
estimating again.

A choice is by score D, the L1 distance between the real table and the model's, less a public penalty for the noise that
measuring the table would put on it. A round that saw little but noise makes the next rounds cost twice as much: what is
left to learn is small and needs a closer look. Both read released tables only (PROOF.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from understudy.errors import TooLarge
from understudy.methods.aim.candidate_pairs import CandidatePairs
from understudy.methods.aim.split import middle_pair, weight
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan, tables_phase
from understudy.methods.row_count import count_cost, planned_rows, pooled_rows, row_count
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import table_noise
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

MODEL_CELLS = 150_000  # the triangulated model; a tenth of a second for each estimation
ROUNDS: dict[type[Noise], tuple[int, int]] = {
    Laplace: (1, 2),
    Gaussian: (2, 4),
}  # for each attribute: at least and at most
THETA = 6.0  # rows in a cell of the middle pair over the noise in it: as many rounds as keep this
LOST = 2.0  # where epsilons add up: fewer rounds than the least, if this would not be kept
ROUGHLY = 1e-2  # how well a model fits its tables while more are to come
SINGLE = 0.2  # of the budget, for one-way tables; more where there are few rounds
SELECT = 0.15  # of a round, for its choice
KAPPA = 0.5
MOSTLY_NOISE = 1.25  # a table no further from the model than so many times the noise expected on it
MAX_ATTRIBUTES = 64  # every round looks at every pair: up to here in a minute or two
WIDEST = 100  # and up to here in minutes


def suits(schema: Schema) -> bool:
    """Whether this is the method for the table: not binary, and not so wide that rounds over all pairs take minutes."""
    return not schema.binary and 2 <= len(schema.modelled) <= MAX_ATTRIBUTES


@dataclass(frozen=True)
class Costs:
    """How the budget is split before a row is read."""

    count: Fraction
    single: Fraction
    rounds: Fraction  # all of them together
    each: Fraction  # the first ones


@dataclass(frozen=True)
class Aim:
    """The options of AIM. Rounds that are not given follow from the number of attributes."""

    name: ClassVar[str] = "aim"

    rounds: int | None = option(None, whole=True, low=1, high=10_000)
    single: float | None = option(None, low=0.01, high=0.99)
    select: float = option(SELECT, low=0.01, high=0.9)
    kappa: float = option(KAPPA, low=0.0, high=10.0)
    cells: int = option(MODEL_CELLS, whole=True, low=4, high=10**7)

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
        largest = max(map(schema.size, variables))
        phases.append(
            tables_phase(
                "one-way", schema, accounting, costs.single, len(variables), largest, n, "each attribute alone"
            )
        )
        if costs.rounds:
            rounds = round(costs.rounds / costs.each)
            choosing = costs.rounds * exact(self.select)
            phases.append(Phase("structure", choosing, rounds, detail="choices by score D, at most"))
            sizes = map(schema.cells, combinations(variables, 2))
            cells = max((size for size in sizes if size <= self.cells), default=1)
            detail = "the pair that the model gets most wrong, round by round, at most"
            phases.append(tables_phase("tables", schema, accounting, costs.rounds - choosing, rounds, cells, n, detail))
        d, settled = len(variables), self._settled(costs)
        seconds = 1.0 + n * d * 8e-8 + settled["rounds"] * (0.1 + d * d * 3e-4)
        memory = 200 + n * d * 30 / 1e6 + self.cells * 400 / 1e6
        note = f"pairs that would bring the model over {self.cells:,} cells are not offered (option cells)"
        return Plan(
            self.name, budget, accounting, n, settled, None, tuple(phases), memory,
            seconds, (note,) if d > 1 else (),
        )  # fmt: skip

    def _check(self, schema: Schema) -> None:
        if (d := len(schema.modelled)) > WIDEST:
            raise TooLarge(
                f"AIM looks at every pair of attributes in every round, so it takes up to {WIDEST} of them, and this "
                f"table has {d:,}: use --method privabn, or publish fewer attributes"
            )
        if (alone := sum(a.size for a in schema.modelled)) > self.cells:
            largest = max(schema.modelled, key=lambda a: a.size)
            raise TooLarge(
                f"the one-way tables alone have {alone:,} cells, the limit is {self.cells:,}, and {largest.name} has "
                f"{largest.size:,} of them: use fewer bins or values, or raise the limit with --set cells=N",
                attribute=largest.name,
            )

    def _costs(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Costs:
        count = count_cost(schema, whole)
        rest = whole - count
        if len(schema.modelled) == 1:
            return Costs(count, rest, Fraction(0), Fraction(0))
        rounds = self.rounds or self._affordable(schema, accounting, rest, rows)
        single = rest * self._single(schema, accounting, rounds)
        return Costs(count, single, rest - single, (rest - single) / rounds)

    def _affordable(self, schema: Schema, accounting: Accounting, cost: Fraction, rows: int) -> int:
        """As many rounds as leave the middle pair useful, within bounds for each attribute.

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
        """The part for one-way tables: what makes the sum of all tables' errors least, but not too little."""
        if self.single is not None:
            return exact(self.single)
        ones = sum(weight(a.size, accounting) for a in schema.modelled)
        pairs = rounds * weight(middle_pair(schema), accounting)
        return max(exact(SINGLE), Fraction(ones, ones + pairs))

    def _settled(self, costs: Costs) -> dict[str, Any]:
        rounds = round(costs.rounds / costs.each) if costs.each else 0
        single = round(float(costs.single / (costs.single + costs.rounds)), 4)
        return {
            "rounds": rounds, "single": single, "select": self.select, "kappa": self.kappa, "cells": self.cells,
            "estimate": "ml",
        }  # fmt: skip

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        from understudy.models.estimation import TOLERANCE, fitted

        schema, variables = table.schema, _variables(table.schema)
        self._check(schema)
        rows, bought = row_count(table)
        costs = self._costs(schema, table.accounting, table.total_cost, rows)
        measured = table.measure([(axis,) for axis in variables], costs.single, "one-way")
        rows = pooled_rows(schema, [*bought, *measured])
        best = fitted(measured, schema, rows, limit=2 * self.cells)
        candidates = CandidatePairs(schema, variables, self.cells)
        left, each, chosen = costs.rounds, costs.each, []
        while left and (options := candidates()):
            table.progress("tables", int(100 * (1 - left / costs.rounds)), 100)
            each = left if left < each * 3 / 2 else each
            cost = each * (1 - exact(self.select))
            noise = table_noise(schema, table.accounting, cost).mean_abs
            expected = [best.tree.project(axes).table * rows for axes in options]
            whole = [np.rint(counts).astype(np.int64) for counts in expected]
            penalties = [int(self.kappa * noise * counts.size) for counts in expected]
            pairs = [Pair(axes[-1], axes[:-1]) for axes in options]
            pair = table.choose(pairs, REFERENCE_DISTANCE, each - cost, "structure", penalties, whole)
            seen = table.measure([pair.axes], cost, "tables")
            left -= each
            # not from the rounded table: where rounding flips, on another machine, the cost of a round would too
            surprise = np.abs(seen[0].values - expected[options.index(pair.axes)]).sum()
            if surprise < MOSTLY_NOISE * noise * seen[0].values.size:
                each *= 2
            measured += seen
            rows = pooled_rows(schema, [*bought, *measured])
            chosen.append(pair.axes)
            candidates.add(pair.axes)
            tolerance = ROUGHLY if left else TOLERANCE
            best = fitted(measured, schema, rows, limit=2 * self.cells, start=best.theta, tolerance=tolerance)
        if left:  # nothing is left to offer: the one-way tables once more
            again = table.measure([(axis,) for axis in variables], left, "one-way")
            measured += again
            rows = pooled_rows(schema, [*bought, *measured])
            best = fitted(measured, schema, rows, limit=2 * self.cells, start=best.theta)
        facts = {"options": self._settled(costs), "tables": [[str(axis) for axis in axes] for axes in chosen]}
        return Fit(best.tree, (*bought, *measured), rows, facts)


def _variables(schema: Schema) -> Axes:
    return tuple(Axis(a.name) for a in schema.modelled)
