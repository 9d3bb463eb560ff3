"""A Bayesian network as a method: public decisions first, then structure by private choices, tables, and a model.

PrivBayes is this with its own options; PrivABN's full search and the owners of DP-SUBN who choose in turn are it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from understudy.methods.method import Fit
from understudy.methods.plan import Phase, Plan
from understudy.methods.toolkit.estimator import (
    Estimator,
    MaximumLikelihood,
    NetworkConditionals,
    estimated,
    measured_pairs,
    nested_dropped,
    network_json,
)
from understudy.methods.toolkit.greedy_network import greedy_bayes, greedy_tree
from understudy.methods.toolkit.merging import measured_together
from understudy.methods.toolkit.network_decision import Decision, Settings, bounded, decide
from understudy.methods.toolkit.network_effort import effort
from understudy.methods.toolkit.parent_candidates import Candidates, FixedDegree, MaximalSets, PlainSets, either
from understudy.methods.toolkit.row_count import row_count
from understudy.methods.toolkit.size_limit import SizeLimit
from understudy.methods.toolkit.terms import Terms
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair, Penalty
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema

MODEL_CELLS = 150_000  # the triangulated model; seconds of estimation

Decide = Callable[[Schema, Accounting, Fraction, int], Decision]  # schema, accounting, total cost, rows


@dataclass(frozen=True)
class NetworkMethod:
    """One-way tables, a network by private choices, a table for each attribute with its parents, a model of them.

    `decide` says all that follows from public facts, `cells` limits the model. Where `together` is set, small tables
    are measured in clusters if that lowers their noise.
    """

    name: str
    decide: Decide
    ml: bool = True
    cells: int = MODEL_CELLS
    together: bool = False

    @staticmethod
    def of(name: str, settings: Settings, cells: int) -> NetworkMethod:
        """Return the method with these settings, of which None is decided by public facts."""

        def decided(schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Decision:
            return bounded(decide(settings, schema, accounting, whole, rows), schema)

        return NetworkMethod(name, decided, settings.ml, cells)

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        terms = Terms.of(schema, budget, rows)
        decision = self.decide(schema, terms.accounting, terms.total_cost, terms.rows)
        seconds, megabytes = effort(schema, decision, terms.rows, largest_table(schema, decision))
        return terms.plan(
            self.name, self.settled(decision), network_phases(terms, decision), seconds, megabytes,
            decision.degree, self._notes(schema, decision),
        )  # fmt: skip

    def settled(self, decision: Decision) -> dict[str, Any]:
        """Return the options with every open one replaced by what it came to."""
        constants = decision.constants
        said: dict[str, Any] = {
            "estimate": "ml" if self.ml else "paper",
            "score": decision.score.name,
            "encoding": decision.encoding,
            "theta": constants.theta,
            "beta": constants.beta if decision.structure_cost else 0,
            "degree": decision.degree,
        }
        if self.ml:
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
        if self.ml and not decision.independent:
            notes.append(f"parents that would bring the model over {self.cells:,} cells are not offered (option cells)")
        return tuple(notes)

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        rows, count = row_count(table)
        decision = self.decide(schema, table.accounting, table.total_cost, rows)
        size = SizeLimit(schema, decision.variables, self.cells)
        ml = self.ml and size.fits
        singles = one_way_tables(table, decision)
        limited = ml or bool(schema.constraints)  # a network with rules becomes a tree
        pairs = self._structure(table, decision, size if limited else None)
        table.progress("tables", 0, 1)
        if ml:
            measured = [*singles, *self._tables(table, decision, nested_dropped([pair.axes for pair in pairs]))]
            estimator: Estimator = MaximumLikelihood(2 * self.cells)
        else:
            kept = measured_pairs(pairs, decision.degree or 0) if decision.rule == "fixed degree" else pairs
            measured = table.measure([pair.axes for pair in kept], decision.table_cost, "tables")
            estimator = NetworkConditionals(pairs)
        found = estimated(table, estimator, [*count, *measured])
        notes = self._notes(schema, decision)
        if self.ml and not ml:
            notes += (f"the model would have more than {self.cells:,} cells at once: estimate=paper was used instead",)
        facts = {"options": self.settled(decision), "network": network_json(pairs)}
        return Fit(found.model, (*count, *measured), found.rows, facts, notes)

    def _structure(self, table: PrivateTable, decision: Decision, size: SizeLimit | None) -> tuple[Pair, ...]:
        if decision.independent:
            return tuple(Pair(axis) for axis in decision.variables)
        schema, variables = table.schema, decision.variables
        cost, score = decision.structure_cost, decision.score
        # half the L1 noise of a table, in counts, times κ: what a larger parent set must earn
        rows_per_cell = decision.constants.kappa * 0.5 * decision.noise
        if decision.links:
            earned = score.penalty(rows_per_cell, schema) if decision.rule == "fined sets" else None
            limit = self.cells if size is not None else 1 << 62
            return greedy_tree(table, variables, score, cost, decision.cells, earned, limit)
        candidates, fined = parent_candidates(schema, decision), decision.rule == "fined sets"

        def penalty(pair: Pair) -> Penalty:
            return score.penalty(rows_per_cell, schema, schema.cells(pair.axes))

        return greedy_bayes(table, variables, candidates, score, cost, size, penalty if fined else None)

    def _tables(self, table: PrivateTable, decision: Decision, workload: list[Axes]) -> list[Measurement]:
        """Measure the chosen tables, and two-way tables inside them: a sum over many noisy cells is known badly."""
        if self.together and table.accounting.power == 1:
            clusters = measured_together(workload, table.schema, table.accounting, decision.table_cost, self.cells)
            return table.measure(clusters, decision.table_cost, "tables")
        inside = {tuple(sorted(two)) for axes in workload if len(axes) > 2 for two in combinations(axes, 2)}
        twos = sorted(inside - {tuple(sorted(axes)) for axes in workload})
        share = exact(decision.constants.pairs) if twos else Fraction(0)
        small = table.measure(twos, decision.table_cost * share, "two-way") if share else []
        return [*small, *table.measure(workload, decision.table_cost * (1 - share), "tables")]


def one_way_tables(table: PrivateTable, decision: Decision) -> list[Measurement]:
    """Measure each attribute alone, where the decision has something for it."""
    if not decision.single_cost:
        return []
    return table.measure([(axis,) for axis in decision.variables], decision.single_cost, "one-way")


def parent_candidates(schema: Schema, decision: Decision) -> Candidates:
    """Return the rule that says which parents a round may choose from."""
    generalised = decision.encoding == "hierarchical"
    if decision.rule == "fixed degree":
        assert decision.degree is not None
        return FixedDegree(decision.degree)
    if decision.rule == "maximal sets":
        return MaximalSets(schema, decision.cells, generalised, decision.degree)
    plain = PlainSets(schema, decision.cells, decision.degree)
    return either(plain, MaximalSets(schema, decision.cells // 4, True, decision.degree)) if generalised else plain


def network_phases(terms: Terms, decision: Decision) -> list[Phase]:
    """Return the phases of a network's plan."""
    d, schema = len(decision.variables), terms.schema
    widest = max(schema.size(axis) for axis in decision.variables)
    twos = Fraction(0)
    if decision.degree != 1 and decision.structure_cost:
        twos = exact(decision.constants.pairs) * decision.table_cost
    inside = "inside the larger tables; how many there are, the structure decides"
    return [
        *terms.row_count(decision.count_cost),
        *terms.tables("one-way", decision.single_cost, d, widest, "each attribute alone"),
        *terms.choices(decision.structure_cost, d - 1, f"choices by score {decision.score.name}"),
        *([Phase("two-way", twos, detail=inside)] if twos else []),
        *terms.tables(
            "tables", decision.table_cost - twos, decision.tables, largest_table(schema, decision),
            "each attribute with its parents",
        ),
    ]  # fmt: skip


def largest_table(schema: Schema, decision: Decision) -> int:
    """Return the most cells that a table of the network may have."""
    sizes = sorted((schema.size(axis) for axis in decision.variables), reverse=True)
    if decision.rule == "fixed degree":
        return 1 << ((decision.degree or 0) + 1)
    if decision.degree == 0:
        return sizes[0]
    cap = math.prod(sizes if decision.degree is None else sizes[: decision.degree + 1])
    return int(max(sizes[0], min(decision.cells, cap)))
