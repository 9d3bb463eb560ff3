"""PrivABN as a method: an adaptive network found by private choices, noisy joint counts, and a model from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from understudy.methods.method import Fit
from understudy.methods.plan import Phase, Plan
from understudy.methods.privabn.decision import ABNDecision, ABNOptions, blurred_note, decide, search_of
from understudy.methods.privabn.memory import Worth, remembered
from understudy.methods.privabn.search import Network, grow
from understudy.methods.toolkit import network_decision
from understudy.methods.toolkit.estimator import (
    Estimator,
    MaximumLikelihood,
    NetworkConditionals,
    estimated,
    nested_dropped,
    network_json,
)
from understudy.methods.toolkit.merging import WIDEST, measured_together
from understudy.methods.toolkit.model_room import TRIANGULATED, room_for
from understudy.methods.toolkit.network_effort import effort
from understudy.methods.toolkit.network_method import NetworkMethod, largest_table, network_phases, one_way_tables
from understudy.methods.toolkit.row_count import row_count
from understudy.methods.toolkit.terms import Terms
from understudy.models.row_total import pooled_rows
from understudy.privacy.accounting import PURE, Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import SMALL_DOMAIN, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema


@dataclass(frozen=True)
class PrivABN(ABNOptions):
    """PrivABN with its options."""

    name: ClassVar[str] = "privabn"

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        terms = Terms.of(schema, budget, rows)
        decision = decide(self, schema, terms.accounting, terms.total_cost, terms.rows)
        together = terms.accounting.power == 1 and self.ml(schema)
        seconds, megabytes = _effort(schema, decision, terms.rows, together)
        notes = self._notes(schema, decision, terms.accounting, terms.total_cost, terms.rows)
        return terms.plan(
            self.name, self._settled(schema, decision), _phases(terms, decision, together), seconds, megabytes,
            decision.degree, notes,
        )  # fmt: skip

    def _settled(self, schema: Schema, decision: ABNDecision) -> dict[str, Any]:
        """Return the options with every open one replaced by what it came to."""
        constants = decision.base.constants
        return {
            "search": decision.search,
            "estimate": "ml" if self.ml(schema) else "paper",
            "degree": decision.degree,
            "theta": self.theta,
            "kappa": self.kappa,
            "beta": constants.beta if decision.base.structure_cost else 0,
            "single": constants.single if decision.base.single_cost else 0,
            "cells": self.cells,
            "links": self.links,
        }

    def _notes(
        self, schema: Schema, decision: ABNDecision, accounting: Accounting, whole: Fraction, rows: int
    ) -> tuple[str, ...]:
        notes = [SEARCHES[decision.search]]
        if accounting == PURE and (note := blurred_note(decision, self, schema, whole, rows)) is not None:
            notes.append(note)
        if self.estimate == "ml" and not self.ml(schema):
            notes.append(f"the attributes alone have more than {self.cells:,} cells: estimate=paper is used instead")
        return tuple(notes)

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        schema, ml = table.schema, self.ml(table.schema)
        if search_of(self, len(schema.modelled), table.accounting) == "full":
            return self._fit_full(table)
        rows, count = row_count(table)
        decision = decide(self, schema, table.accounting, table.total_cost, rows)
        singles = one_way_tables(table, decision.base)
        network = self._network(table, decision)
        table.progress("tables", 0, 1)
        measured = [*singles, *self._tables(table, network, decision.base.table_cost + network.left, ml)]
        estimator: Estimator = MaximumLikelihood(2 * self.cells) if ml else NetworkConditionals(network.pairs)
        found = estimated(table, estimator, [*count, *measured])
        notes = self._notes(schema, decision, table.accounting, table.total_cost, found.rows)
        facts = {"options": self._settled(schema, decision), "network": network_json(network.pairs)}
        return Fit(found.model, (*count, *measured), found.rows, facts, notes)

    def _fit_full(self, table: PrivateTable) -> Fit:
        """Fit by the full public candidate set with a penalty for noise: the search that PrivBayes has too."""

        def base(schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> network_decision.Decision:
            return decide(self, schema, accounting, whole, rows).base

        fit = NetworkMethod(self.name, base, self.ml(table.schema), self.cells, together=True).fit(table)
        rows = pooled_rows(table.schema, [m for m in fit.measurements if not m.axes])  # what the search knew
        decision = decide(self, table.schema, table.accounting, table.total_cost, rows)
        notes = self._notes(table.schema, decision, table.accounting, table.total_cost, rows)
        facts = {**fit.facts, "options": self._settled(table.schema, decision)}
        return replace(fit, facts=facts, notes=tuple(dict.fromkeys((*notes, *fit.notes))))

    def _network(self, table: PrivateTable, decision: ABNDecision) -> Network:
        base, schema = decision.base, table.schema
        if decision.search == "none":
            return Network(tuple(Pair(axis) for axis in base.variables))
        room = room_for(schema, base.variables, self.cells, base.cells, self.ml(schema))
        if decision.search == "growth":
            return grow(table, base.variables, room, decision.degree, base.structure_cost, decision.penalty_per_cell)
        table.progress("structure", 0, 1)
        scores = table.measure_scores(base.variables, base.structure_cost, "structure")
        first = base.variables[table.public_random_index(len(base.variables), "first attribute")]
        return remembered(
            base.variables, first, Worth(scores, schema, decision.penalty_per_cell), room, decision.degree
        )

    def _tables(self, table: PrivateTable, network: Network, cost: Fraction, ml: bool) -> list[Measurement]:
        """Measure joint counts of every attribute with its parents; with maximum likelihood as clusters of them."""
        workload = [pair.axes for pair in network.pairs]
        if ml:
            workload = measured_together(nested_dropped(workload), table.schema, table.accounting, cost, self.cells)
        return table.measure(workload, cost, "tables")


SEARCHES = {
    "full": "full search: every parent set of up to the degree is a candidate in every round",
    "growth": "growth: too many parent sets to try all, so each attribute and each parent is one private choice",
    "released": "released: all pairwise scores are released once with noise, and the search reads those",
    "none": "no structure is worth its noise at this budget: columns are published independently",
}


def _phases(terms: Terms, decision: ABNDecision, together: bool) -> list[Phase]:
    """Return a network's phases, with what this search does for the structure. Tables together are less noisy."""
    words = {
        "full": "choices by score R less the noise of the table",
        "growth": "choices: an attribute by its best link, then its parents one by one or none",
        "released": "release of all pairwise scores R",
    }
    details = {"structure": words.get(decision.search, "")}
    if together:
        details["tables"] = "each attribute with its parents, several together where that lowers the noise"
    calls = {"structure": decision.calls}
    return [
        replace(p, tables=calls.get(p.name, p.tables), detail=details.get(p.name, p.detail))
        for p in network_phases(terms, decision.base)
    ]


def _effort(schema: Schema, decision: ABNDecision, rows: int, together: bool) -> tuple[float, float]:
    """Return seconds and megabytes, roughly, from public sizes."""
    merging = len(schema.modelled) ** 2 * 2e-5 if together and len(schema.modelled) <= WIDEST else 0.0
    if decision.search in ("full", "none"):
        seconds, megabytes = effort(schema, decision.base, rows, largest_table(schema, decision.base))
        return seconds + merging, megabytes
    d, columns = len(schema.modelled), sum(min(a.size, SMALL_DOMAIN) - 1 for a in schema.modelled)
    pairs = columns**2 / 2 * rows / 64 * 1.2e-9
    choices = decision.calls * (4e-3 + d * 8e-6)
    if decision.degree > 1 and d <= TRIANGULATED:
        choices += d**4 * 4e-8
    megabytes = 50 + (columns**2 + d**2) * 20 / 1e6
    return pairs + choices + d * 0.008 + merging, megabytes
