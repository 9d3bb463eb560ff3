"""DP-SUBN as in the paper: a first network by sequential choices, updated by tables of all owners' rows.

Views of all owners' rows show which variables are correlated, owners choose a first network in turn, and the tables of
a search frontier around it, summed once in each update round, correct it. Binary variables only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from understudy.errors import UsageError
from understudy.methods.dp_subn import binary
from understudy.methods.dp_subn.frontier import Parents, in_order, search_frontier
from understudy.methods.dp_subn.gathered import Gathered, dependence, pair_correlations
from understudy.methods.dp_subn.nocd import covering_views
from understudy.methods.method import Fit
from understudy.methods.plan import Phase, Plan
from understudy.methods.toolkit.estimator import estimated, nested_dropped, network_json
from understudy.methods.toolkit.greedy_network import greedy_bayes
from understudy.methods.toolkit.network_decision import affordable_degree
from understudy.methods.toolkit.parent_candidates import FixedDegree
from understudy.methods.toolkit.row_count import count_cost, row_count
from understudy.methods.toolkit.size_limit import SizeLimit
from understudy.methods.toolkit.terms import Terms
from understudy.methods.toolkit.usefulness import cell_noise, useful_cells, useful_degree
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Floats, Schema

FRONTIER_THETA = 2.0  # for the degree of the frontier, as in the paper
MAX_VARIABLES = 200  # of the frontier: up to here the designs are tested, and the views are few enough to count


@dataclass(frozen=True)
class UpdateDecision:
    """All that follows from public facts: degrees, views, and what each phase costs."""

    variables: Axes
    degree: int  # k; 0 where no pair of variables is useful
    frontier: int  # k′; k where there is no room for a frontier
    views: tuple[Axes, ...]
    count_cost: Fraction
    view_cost: Fraction
    structure_cost: Fraction
    update_cost: Fraction  # of all update rounds together
    table_cost: Fraction


@dataclass(frozen=True)
class SequentialUpdate:
    """`rounds` are those of updates; `cells` is the limit of the model."""

    rounds: int
    cells: int

    def decide(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> UpdateDecision:
        """Give a quarter of the budget to each phase, as in the paper; what has no use goes to the tables."""
        variables = binary.binary_variables(schema)
        d = len(variables)
        if d > MAX_VARIABLES:
            raise UsageError(
                f"the frontier of DP-SUBN is for up to {MAX_VARIABLES} binary variables and this table has {d:,}: "
                "use --set variant=sequential"
            )
        count = count_cost(schema, whole)
        quarter, nothing = (whole - count) / 4, Fraction(0)
        useful = useful_degree(schema, d, rows, accounting, quarter, binary.THETA)
        degree = min(useful, affordable_degree(d, exactly=True), d - 1)
        if not degree:
            alone = binary.whole_attributes(schema)
            return UpdateDecision(alone, 0, 0, (), count, nothing, nothing, nothing, whole - count)
        noise = cell_noise(schema, accounting, quarter / self.rounds, d - 1)
        room = useful_cells(rows, noise, FRONTIER_THETA)
        frontier = min(d - 1, room.bit_length() - 2)  # 2^(k′ + 1) ≤ room
        if frontier <= degree:
            return UpdateDecision(variables, degree, degree, (), count, nothing, quarter, nothing, 3 * quarter)
        power = 2 // accounting.power  # variances grow with this power of the number of views
        views = tuple(tuple(variables[i] for i in view) for view in covering_views(d, "pairs", power))
        return UpdateDecision(variables, degree, frontier, views, count, quarter, quarter, quarter, quarter)

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, name: str, schema: Schema, budget: Budget, rows: int | None) -> Plan:
        terms = Terms.of(schema, budget, rows)
        decision = self.decide(schema, terms.accounting, terms.total_cost, terms.rows)
        phases = self._phases(terms, decision)
        tables = sum(phase.tables for phase in phases)
        seconds, megabytes = binary.effort(terms.rows, tables, sum(phase.tables * phase.cells for phase in phases))
        return terms.plan(
            name, self._settled(decision), phases, seconds, megabytes, decision.degree, self._notes(decision)
        )

    def _phases(self, terms: Terms, decision: UpdateDecision) -> list[Phase]:
        d, k, schema = len(decision.variables), decision.degree, terms.schema
        wide = max(map(schema.cells, decision.views), default=1)
        updates = terms.tables(
            "update", decision.update_cost / self.rounds, d - 1, 2 ** (decision.frontier + 1),
            f"the search frontier, in each of {self.rounds} rounds",
        )  # fmt: skip
        tables, cells = (d - k, 2 ** (k + 1)) if k else (d, max(map(schema.size, decision.variables)))
        return [
            *terms.row_count(decision.count_cost),
            *terms.tables(
                "correlations", decision.view_cost, len(decision.views), wide, "views that cover every pair once"
            ),
            *terms.choices(decision.structure_cost, d - 1, "choices by score R, in turn"),
            *(replace(phase, cost=decision.update_cost) for phase in updates),
            *terms.tables("tables", decision.table_cost, tables, cells, "each variable with its parents"),
        ]

    def _settled(self, decision: UpdateDecision) -> dict[str, Any]:
        return {
            "variant": "frontier",
            "degree": decision.degree,
            "frontier": decision.frontier,
            "rounds": self.rounds if decision.update_cost else 0,
            "views": len(decision.views),
            "cells": self.cells,
        }

    def _notes(self, decision: UpdateDecision) -> tuple[str, ...]:
        if not decision.degree and len(decision.variables) > 1:
            return ("no pair of variables would be useful at this budget: columns are published independently",)
        if not decision.update_cost and decision.degree:
            return ("the budget leaves no room for a search frontier: the first network stands",)
        return ()

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        rows, count = row_count(table)
        decision = self.decide(table.schema, table.accounting, table.total_cost, rows)
        gathered = Gathered()
        if decision.views:
            table.progress("correlations", 0, 1)
            gathered.add(table.measure(decision.views, decision.view_cost, "correlations"))
        size = SizeLimit(table.schema, decision.variables, self.cells)
        pairs = self._first(table, decision, size)
        if decision.update_cost:
            correlation = pair_correlations(gathered, decision.variables, rows)
            for done in range(self.rounds):
                table.progress("update", done, self.rounds)
                pairs = self._updated(table, decision, pairs, correlation, gathered)
        measured = binary.chosen_tables(table, pairs, decision.table_cost, size.fits)
        if size.fits:
            measured = [*gathered.inside([m.axes for m in measured]), *measured]
        found = estimated(table, binary.estimator_of(pairs, size, self.cells), [*count, *measured])
        facts = {"options": self._settled(decision), "network": network_json(pairs)}
        return Fit(found.model, (*count, *measured), found.rows, facts, self._notes(decision))

    def _first(self, table: PrivateTable, decision: UpdateDecision, size: SizeLimit) -> tuple[Pair, ...]:
        """Choose d − 1 pairs, owners in turn (phase 2)."""
        if not decision.structure_cost:
            return tuple(Pair(axis) for axis in decision.variables)
        rule = FixedDegree(decision.degree)
        return greedy_bayes(
            table, decision.variables, rule, INDEPENDENCE, decision.structure_cost, size if size.fits else None
        )

    def _updated(
        self,
        table: PrivateTable,
        decision: UpdateDecision,
        pairs: tuple[Pair, ...],
        correlation: Floats,
        gathered: Gathered,
    ) -> tuple[Pair, ...]:
        """Measure the frontier's tables once, then take the best parents that they show (phase 3)."""
        variables = decision.variables
        number = {axis: i for i, axis in enumerate(variables)}
        own = {number[pair.child]: frozenset(number[p] for p in pair.parents) for pair in pairs}
        frontier = search_frontier([own[i] for i in range(len(own))], correlation, decision.frontier)
        families = [(*(variables[p] for p in sorted(above)), variables[x]) for x, above in enumerate(frontier)]
        workload = nested_dropped(families)
        gathered.add(table.measure(workload, decision.update_cost / self.rounds, "update"))
        return self._best(table.schema, decision, frontier, gathered)

    def _best(
        self, schema: Schema, decision: UpdateDecision, frontier: Parents, gathered: Gathered
    ) -> tuple[Pair, ...]:
        """Return, of each variable's parents in the frontier, the k with the highest score; any choice is acyclic."""
        size = SizeLimit(schema, decision.variables, self.cells)
        found: list[Pair] = []
        for x in in_order(frontier):
            child, above = decision.variables[x], sorted(frontier[x])
            options: list[tuple[float, Pair]] = []
            for degree in range(min(decision.degree, len(above)), 0, -1):
                for parents in combinations(above, degree):
                    pair = Pair(child, tuple(decision.variables[p] for p in parents))
                    about = gathered.about(pair.axes)
                    if about is not None and (not size.fits or size.allows(pair.child, pair.parents)):
                        options.append((dependence(about.values), pair))
                if options:
                    break
            found.append(max(options, key=lambda option: option[0])[1] if options else Pair(child))
            size.add(found[-1].axes)
        return tuple(found)
