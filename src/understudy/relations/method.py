"""The method for people with many rows: PEOPLE by any method, STEPS by a conditional network, one budget for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from understudy.methods import Fit, Method, Plan, method_named
from understudy.methods.aim import Aim
from understudy.methods.plan import Phase, tables_phase
from understudy.methods.toolkit.budget_split import sized_phase
from understudy.methods.toolkit.estimator import network_json
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.relations.calibration import fitted_moves, horizon_of
from understudy.relations.fitting import StepsPlan, fit_steps
from understudy.relations.history_model import HistoryModel, mean_rows
from understudy.relations.panel import PEOPLE, ROWS, STEPS, Panel
from understudy.relations.tie_pairs import SELECT, pair_axes, tie_pairs
from understudy.relations.tie_rounds import tied
from understudy.schema import Axis, Schema

STEPS_SHARE = Fraction(3, 5)  # of the budget
ROWS_SHARE = Fraction(1, 20)  # of it, for how many rows a person has, before PEOPLE
PLANNED_SHARE = 0.5  # of K: how many rows a person has on average, where a plan knows nothing


@dataclass(frozen=True, eq=False)
class DerivedTables:
    """The private tables that are derived from rows, by name, and what all of them together may spend."""

    tables: Mapping[str, PrivateTable]
    total_cost: Fraction = Fraction(0)

    def with_total_cost(self, total_cost: Fraction) -> DerivedTables:
        """Return the same tables for a method that may spend only this."""
        return replace(self, total_cost=total_cost)

    def knowing(self, known: Sequence[Measurement]) -> DerivedTables:
        """Return the same tables: nothing is bought before them."""
        assert not known
        return self


@dataclass(frozen=True)
class HistoryMethod:
    """Publish histories: `inner` is the method of PEOPLE."""

    panel: Panel
    inner: Method

    @staticmethod
    def named(name: str, options: Mapping[str, Any], schema: Schema) -> HistoryMethod:
        """Return the method for a schema with `[person]`, with the method of this name for PEOPLE."""
        panel = Panel.of(schema)
        return HistoryMethod(panel, method_named(name, options, panel.people))

    @property
    def name(self) -> str:
        return f"{self.inner.name}, then steps"

    @property
    def derived(self) -> dict[str, Schema]:
        """Return the schemas of the tables that are counted."""
        return {PEOPLE: self.panel.people, STEPS: self.panel.steps}

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        """Return what would be spent on `rows` rows in all; how many people these are is guessed from K."""
        at_most, count = self.panel.person.at_most, 1000 if rows is None else rows
        persons = max(1, round(count / max(1.0, at_most * PLANNED_SHARE)))
        people = self.inner.plan(self.panel.people, budget.shared(self._people_share), persons)
        steps = self._steps_plan(budget, max(1, count - persons))
        phases = self._rows_phase(budget, persons)
        phases += [replace(p, name=f"people: {p.name}") for p in people.phases] + _phases(steps, budget)
        seconds = people.seconds + 1e-6 * count * len(self.panel.steps.names)
        notes = (*people.notes, *self._cost_of_rows(budget, count))
        return replace(
            people, method=self.name, budget=budget, rows=count, phases=tuple(phases), seconds=seconds, notes=notes
        )

    @property
    def _rows_share(self) -> Fraction:
        """The part for the number of rows a person, where the method of PEOPLE takes what was bought before it."""
        return ROWS_SHARE if isinstance(self.inner, Aim) else Fraction(0)

    @property
    def _people_share(self) -> Fraction:
        return 1 - STEPS_SHARE - self._rows_share

    def _rows_phase(self, budget: Budget, persons: int) -> list[Phase]:
        if not self._rows_share:
            return []
        cost, cells = total_cost(budget) * self._rows_share, self.panel.person.at_most
        people, said = self.panel.people, "how many rows a person has"
        return [tables_phase("people: rows", people, accounting_of(budget), cost, 1, cells, persons, said)]

    def _fit_people(self, people: PrivateTable, cost: Fraction) -> Fit:
        """Spend all but the cost of STEPS: how many rows a person has weighs each of their rows, so it comes first."""
        rows = [(Axis(ROWS),)] if self._rows_share else []
        known = people.measure(rows, cost * self._rows_share, "people: rows") if rows else []
        return self.inner.fit(people.knowing(known).with_total_cost(cost * self._people_share))

    def _steps_plan(self, budget: Budget, rows: int) -> StepsPlan:
        return StepsPlan.of(self.panel, rows, accounting_of(budget), total_cost(budget) * STEPS_SHARE)

    def _cost_of_rows(self, budget: Budget, rows: int) -> list[str]:
        """Say what K costs: the noise of the tables of consecutive rows is K − 1 times that of one row a person."""
        at_most = self.panel.person.at_most
        own = self._steps_plan(budget, rows).noise
        others = []
        for fewer in sorted({max(2, at_most // 3), max(2, at_most // 2)} - {at_most}):
            person = replace(self.panel.person, at_most=fewer)
            panel = Panel(replace(self.panel.schema, person=person, rows_per_person=fewer, text=None))
            noise = HistoryMethod(panel, self.inner)._steps_plan(budget, rows).noise
            others.append(f"{noise:,.0f} with at_most = {fewer}")
        said = f"at_most = {at_most} costs noise of about {own:,.0f} rows in a cell of the tables of consecutive rows"
        said += f"; {', '.join(others)}" if others else ""
        return [f"{said}. Rows of a person beyond `at_most` are not used: `understudy check` says how many those are"]

    def fit(self, tables: DerivedTables) -> Fit:
        """Spend the cost on both tables; they draw on the same reservation."""
        people, steps, cost = tables.tables[PEOPLE], tables.tables[STEPS], tables.total_cost
        found = self._fit_people(people, cost)
        panel = self.panel
        pairs = max(1, round(found.rows * (mean_rows(found.model) - 1)))
        plan = StepsPlan.of(panel, pairs, steps.accounting, cost * STEPS_SHARE)
        network, measured = fit_steps(steps, plan)
        moves, wanted = fitted_moves(panel, found.model, measured)
        drafted = HistoryModel(panel, found.model, network, moves, found.rows, (found.measurements, measured),
                               horizon_of(panel, measured))  # fmt: skip
        model, seen = tied(steps, drafted, wanted, plan)
        model = replace(model, measured=(found.measurements, (*measured, *seen)))
        chosen = tuple(Pair(c.child, c.parents) for c in network.conditionals)
        ties = [[tie.attribute, tie.to] for tie in model.ties]
        facts = {"options": found.facts.get("options", {}), "persons": found.rows, "steps": network_json(chosen)}
        facts |= {"ties": ties} if ties else {}
        return Fit(model, (), model.rows, facts, (*found.notes, _promise(panel)))


def _phases(plan: StepsPlan, budget: Budget) -> list[Phase]:
    accounting, many = accounting_of(budget), len(plan.targets)
    widest = max(plan.schema[name].size for name in plan.targets)
    cells = max(widest, min(plan.cells, plan.rows))
    singles, said = [(Axis(name),) for name in plan.alone], "each value after a step alone, larger ones more closely"
    detail = "each change given the value before; drawn to coarser tables where noise is large: no error is foretold"

    def phase(name: str, cost: Fraction, many: int, cells: int, detail: str) -> Phase:
        return tables_phase(f"steps: {name}", plan.schema, accounting, cost, many, cells, plan.rows, detail)

    found = [sized_phase("steps: one-way", plan.schema, accounting, plan.single_cost, singles, plan.rows, said)]
    found.append(replace(phase("tables", plan.table_cost, many, cells, detail), error=None))
    if plan.rounds:
        choosing = plan.tie_cost * exact(SELECT)
        said = "choices by score D of the pair of values that simulated histories get most wrong, at most"
        found.append(Phase("steps: structure", choosing, plan.rounds, detail=said))
        largest = max(plan.schema.cells(pair_axes(plan.panel, key)) for key in tie_pairs(plan.panel))
        ties = "pairs of values in one row, round by round, at most"
        found.append(phase("ties", plan.tie_cost - choosing, plan.rounds, largest, ties))
    return found


def _promise(panel: Panel) -> str:
    return (
        f"a person is all rows of one {panel.person.id!r}: the first {panel.person.at_most} in the order of "
        f"{panel.person.order!r} are used, and the promise is for the person, however many rows there are"
    )
