"""PrivBayes as a method: public decisions first, then structure, then tables, then a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan, tables_phase
from understudy.methods.privbayes.conditionals import measured_pairs, nested_dropped, paper_conditionals
from understudy.methods.privbayes.decision import Decision, Settings, bounded, decide
from understudy.methods.privbayes.effort import effort
from understudy.methods.privbayes.links import greedy_tree
from understudy.methods.privbayes.structure import Candidates, FixedDegree, MaximalSets, PlainSets, either, greedy_bayes
from understudy.methods.row_count import planned_rows, pooled_rows, row_count
from understudy.methods.size import SizeLimit
from understudy.models.bayesian_network import BayesianNetwork, without_unused_codes
from understudy.models.model import Model
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, MUTUAL_INFORMATION, Pair, score_named
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema

MODEL_CELLS = 150_000  # the triangulated model; seconds of estimation
OFFERED = (MUTUAL_INFORMATION, MAXIMUM_JOINT, INDEPENDENCE)


@dataclass(frozen=True)
class PrivBayes:
    """The options of PrivBayes. What is None follows from public facts (`decision`)."""

    name: ClassVar[str] = "privbayes"

    score: str = option("auto", choices=("auto", *(score.name for score in OFFERED)))
    encoding: str = option("auto", choices=("auto", "binary", "gray", "vanilla", "hierarchical"))
    estimate: str = option("ml", choices=("ml", "paper"))
    theta: float | None = option(None, low=0.01, high=1e6)
    beta: float | None = option(None, low=0.01, high=0.99)
    single: float | None = option(None, low=0.0, high=0.9)
    pairs: float | None = option(None, low=0.0, high=0.9)
    kappa: float | None = option(None, low=0.0, high=10.0)
    degree: int | None = option(None, whole=True, low=0, high=64)
    cells: int = option(MODEL_CELLS, whole=True, low=1, high=10**8)

    def decide(self, schema: Schema, accounting: Any, whole: Fraction, rows: int) -> Decision:
        ml = self.estimate == "ml"
        single, pairs, kappa = (self.single, self.pairs, self.kappa) if ml else (0.0, 0.0, 0.0)
        score = None if self.score == "auto" else score_named(self.score)
        settings = Settings(score, self.encoding, self.theta, self.beta, single, pairs, kappa, self.degree, ml)
        return bounded(decide(settings, schema, accounting, whole, rows), schema)

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n = planned_rows(schema, rows)
        accounting, whole = accounting_of(budget), total_cost(budget)
        decision = self.decide(schema, accounting, whole, n)
        seconds, memory = effort(schema, decision, n, _largest(schema, decision))
        return Plan(
            self.name, budget, accounting, n, self._settled(schema, decision), decision.degree,
            tuple(_phases(schema, decision, budget, n)), memory, seconds,
            self._notes(schema, decision),
        )  # fmt: skip

    def _settled(self, schema: Schema, decision: Decision) -> dict[str, Any]:
        """The options with every open one replaced by what it came to."""
        constants = decision.constants
        said: dict[str, Any] = {
            "estimate": self.estimate,
            "score": decision.score.name,
            "encoding": decision.encoding,
            "theta": constants.theta,
            "beta": constants.beta if decision.structure_cost else 0,
            "degree": decision.degree,
        }
        if self.estimate == "ml":
            single = constants.single if decision.single_cost else 0
            said |= {"single": single, "pairs": constants.pairs, "kappa": constants.kappa, "cells": self.cells}
        return said

    def _notes(self, schema: Schema, decision: Decision) -> tuple[str, ...]:
        notes = []
        if decision.independent and len(decision.variables) > 1:
            notes.append("no pair of attributes would be useful at this budget: columns are published independently")
        largest = max(schema.modelled, key=lambda a: a.size)
        if decision.rule != "fixed degree" and largest.size > max(1, decision.cells):
            notes.append(
                f"{largest.name} alone has {largest.size:,} values, more than this budget can measure well: "
                "use fewer bins, a coarser list of values, or a larger epsilon"
            )
        if self.estimate == "ml" and not decision.independent:
            notes.append(f"parents that would bring the model over {self.cells:,} cells are not offered (option cells)")
        return tuple(notes)

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        rows, count = row_count(table)
        decision = self.decide(schema, table.accounting, table.total_cost, rows)
        size = SizeLimit(schema, decision.variables, self.cells)
        ml = self.estimate == "ml" and size.fits
        singles = self._singles(table, decision)
        pairs = self._structure(table, decision, size if ml else None)
        table.progress("tables", 0, 1)
        if ml:
            asks = nested_dropped([pair.axes for pair in pairs])
            measurements = [*singles, *self._tables(table, decision, asks)]
            rows = pooled_rows(schema, [*count, *measurements])
            model = self._estimate(table, measurements, rows)
        else:
            measured = measured_pairs(pairs, decision.degree or 0) if decision.rule == "fixed degree" else pairs
            measurements = table.measure([pair.axes for pair in measured], decision.table_cost, "tables")
            rows = pooled_rows(schema, [*count, *measurements])
            conditionals = paper_conditionals(pairs, measurements)
            model = without_unused_codes(BayesianNetwork(schema, conditionals))
        notes = self._notes(schema, decision)
        if self.estimate == "ml" and not ml:
            notes += (f"the model would have more than {self.cells:,} cells at once: estimate=paper was used instead",)
        facts = {"options": self._settled(schema, decision), "network": [_pair_json(pair) for pair in pairs]}
        return Fit(model, (*count, *measurements), rows, facts, notes)

    def _singles(self, table: PrivateTable, decision: Decision) -> list[Measurement]:
        if not decision.single_cost:
            return []
        return table.measure([(axis,) for axis in decision.variables], decision.single_cost, "one-way")

    def _tables(self, table: PrivateTable, decision: Decision, asks: list[Axes]) -> list[Measurement]:
        """The chosen tables, and the two-way tables inside them: a sum over many noisy cells is known badly."""
        inside = {tuple(sorted(two)) for axes in asks if len(axes) > 2 for two in combinations(axes, 2)}
        twos = sorted(inside - {tuple(sorted(axes)) for axes in asks})
        share = exact(decision.constants.pairs) if twos else Fraction(0)
        small = table.measure(twos, decision.table_cost * share, "two-way") if share else []
        return [*small, *table.measure(asks, decision.table_cost * (1 - share), "tables")]

    def _structure(self, table: PrivateTable, decision: Decision, size: SizeLimit | None) -> tuple[Pair, ...]:
        if decision.independent:
            return tuple(Pair(axis) for axis in decision.variables)
        schema = table.schema
        cost, score = decision.structure_cost, decision.score
        # half the L1 noise of a table, in counts, times κ: what a larger parent set must earn
        penalty_per_cell = decision.constants.kappa * 0.5 * decision.noise * score.unit(schema)
        if decision.links:
            earned = int(penalty_per_cell) if decision.rule == "fined sets" else None
            limit = self.cells if size is not None else 1 << 62
            return greedy_tree(table, decision.variables, score, cost, decision.cells, earned, limit)
        if decision.rule == "fixed degree":
            assert decision.degree is not None
            return greedy_bayes(table, decision.variables, FixedDegree(decision.degree), score, cost, size)
        generalised = decision.encoding == "hierarchical"
        if decision.rule == "maximal sets":
            sets = MaximalSets(schema, decision.cells, generalised, decision.degree)
            return greedy_bayes(table, decision.variables, sets, score, cost, size)
        offer: Candidates = PlainSets(schema, decision.cells, decision.degree)
        if generalised:
            offer = either(offer, MaximalSets(schema, decision.cells // 4, True, decision.degree))
        return greedy_bayes(
            table,
            decision.variables,
            offer,
            score,
            cost,
            size,
            lambda pair: int(penalty_per_cell * schema.cells(pair.axes)),
        )

    def _estimate(self, table: PrivateTable, measurements: list[Measurement], rows: int) -> Model:
        from understudy.models.estimation import estimate

        table.progress("estimation", 0, 1)
        return estimate(measurements, table.schema, rows, limit=2 * self.cells)


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {"attribute": str(pair.child), "parents": [str(p) for p in pair.parents]}


def _phases(schema: Schema, decision: Decision, budget: Budget, rows: int) -> list[Phase]:
    d = len(decision.variables)

    def measured(name: str, cost: Fraction, tables: int, cells: int, detail: str) -> Phase:
        return tables_phase(name, schema, accounting_of(budget), cost, tables, cells, rows, detail)

    phases = []
    if decision.count_cost:
        phases.append(measured("row count", decision.count_cost, 1, 1, "how many rows there are"))
    if decision.single_cost:
        most = max(schema.size(axis) for axis in decision.variables)
        phases.append(measured("one-way", decision.single_cost, d, most, "each attribute alone"))
    if decision.structure_cost:
        phases.append(
            Phase("structure", decision.structure_cost, d - 1, detail=f"choices by score {decision.score.name}")
        )
    largest = _largest(schema, decision)
    twos = Fraction(0)
    if decision.degree != 1 and decision.structure_cost:
        twos = exact(decision.constants.pairs) * decision.table_cost
    if twos:
        detail = "inside the larger tables; how many there are, the structure decides"
        phases.append(Phase("two-way", twos, detail=detail))
    cost = decision.table_cost - twos
    phases.append(measured("tables", cost, decision.tables, largest, "each attribute with its parents"))
    return phases


def _largest(schema: Schema, decision: Decision) -> int:
    sizes = sorted((schema.size(axis) for axis in decision.variables), reverse=True)
    if decision.rule == "fixed degree":
        return 1 << ((decision.degree or 0) + 1)
    if decision.degree == 0:
        return sizes[0]
    cap = math.prod(sizes if decision.degree is None else sizes[: decision.degree + 1])
    return int(max(sizes[0], min(decision.cells, cap)))
