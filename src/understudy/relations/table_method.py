"""The method for tables with foreign keys: the root by any method, each child by rounds given the rows above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.methods import Fit, Method, Plan, method_named
from understudy.methods.plan import Phase, tables_phase
from understudy.methods.toolkit.estimator import network_json
from understudy.methods.toolkit.usefulness import cell_noise
from understudy.models.model import Rows
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.random_source import seeded_generator
from understudy.privacy.scores import Pair
from understudy.relations.child_rounds import ChildRounds, RoundsPlan
from understudy.relations.linked_model import LinkedModel
from understudy.relations.method import DerivedTables
from understudy.relations.table_tree import Branch, TableTree, count_of
from understudy.schema import Schema

PLANNED_SHARE = 0.5  # of `at_most`: how many rows belong to a row on average, where a plan knows nothing
SIMULATED = 1 << 14  # rows of the root, from which the rows above another table are told
MAX_SIMULATED = 1 << 20  # rows of all tables that are drawn for it: fewer of the root, where many belong to one


@dataclass(frozen=True)
class TreeMethod:
    """Publish tables with foreign keys: `inner` is the method of the root."""

    tree: TableTree
    inner: Method

    @staticmethod
    def named(name: str, options: Mapping[str, Any], schema: Schema) -> TreeMethod:
        """Return the method for a schema with `[tables.NAME]`, with the method of this name for the root."""
        tree = TableTree.of(schema)
        return TreeMethod(tree, method_named(name, options, tree.root.derived))

    @property
    def name(self) -> str:
        return f"{self.inner.name}, then tables"

    @property
    def derived(self) -> dict[str, Schema]:
        """Return the schemas of the tables that are counted."""
        return {name: branch.derived for name, branch in self.tree.branches.items()}

    @property
    def shares(self) -> dict[str, Fraction]:
        """Return the share of the cost that each table gets: by how many attributes are drawn of it."""
        drawn = {name: len(branch.targets) for name, branch in self.tree.branches.items()}
        return {name: Fraction(many, sum(drawn.values())) for name, many in drawn.items()}

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        """Return what would be spent on so many rows of the root; how many belong to one is guessed from `at_most`."""
        count, accounting, whole = 1000 if rows is None else rows, accounting_of(budget), total_cost(budget)
        root = self.inner.plan(self.tree.root.derived, budget.shared(self.shares[self.tree.schema.name]), count)
        phases = [replace(p, name=f"{self.tree.schema.name}: {p.name}") for p in root.phases]
        notes, guessed = list(root.notes), {self.tree.schema.name: float(count)}
        for name, branch in self.tree.branches.items():
            if branch.child is not None:
                guessed[name] = guessed[branch.child.parent] * branch.child.at_most * PLANNED_SHARE
                plan = self._planned(branch, max(1, round(guessed[name])), accounting, whole)
                phases += _phases(name, plan, accounting)
                notes.append(_cost_of_rows(branch, plan, accounting))
        columns = sum(len(branch.derived.names) for branch in self.tree.branches.values())
        seconds = root.seconds + 1e-6 * sum(guessed.values()) * columns
        return replace(
            root, method=self.name, budget=budget, rows=count, phases=tuple(phases), seconds=seconds, notes=tuple(notes)
        )

    def _planned(self, branch: Branch, rows: int, accounting: Accounting, whole: Fraction) -> RoundsPlan:
        cost = whole * self.shares[branch.name]
        return RoundsPlan.of(branch.derived, branch.given, branch.targets, rows, accounting, cost)

    def fit(self, tables: DerivedTables) -> Fit:
        """Spend the cost on all tables; they draw on the same reservation."""
        root, whole = self.tree.schema.name, tables.total_cost
        found = self.inner.fit(tables.tables[root].with_total_cost(whole * self.shares[root]))
        model = LinkedModel(self.tree, found.model, {}, found.rows, {root: found.measurements})
        linked = []
        for name, branch in self.tree.branches.items():
            if branch.child is None:
                continue
            own = tables.tables[name]
            above, simulated = rows_above(model, branch)
            many = len(next(iter(above.values())))
            rows = max(1, round(model.rows * many / simulated))
            rounds = ChildRounds(own, self._planned(branch, rows, own.accounting, whole), above, name)
            network, measured = rounds.play(), tuple(rounds.measured)
            networks, kept = {**model.networks, name: network}, {**model.measured, name: measured}
            model = replace(model, networks=networks, measured=kept)
            chosen = tuple(Pair(c.child, c.parents) for c in network.conditionals)
            linked.append({"table": name, "network": network_json(chosen)})
        facts = {"options": found.facts.get("options", {}), "linked": linked}
        return Fit(model, (), found.rows, facts, (*found.notes, _promise(self.tree)))


def rows_above(model: LinkedModel, branch: Branch) -> tuple[Rows, int]:
    """Return what is known of the rows above, for each row that a table would have, and of how many root rows it is.

    Simulated from the released model. Few root rows are drawn first where the most that may belong to one is large, and
    then as many as the model's own numbers of rows leave room for.
    """
    assert branch.child is not None
    name, parent = branch.child.name, branch.child.parent
    drawn_tables = [model.tree.branches[table] for table in model.networks]
    most = max(b.derived.rows_per_person for b in (*drawn_tables, branch))
    simulated = max(1, min(SIMULATED, MAX_SIMULATED // most))
    while True:
        drawn = model.sample_tables(simulated, seeded_generator(1))
        rows = sum(table.rows for table in drawn.values()) + int(
            drawn[parent].columns[count_of(name)].sum(dtype=np.int64)
        )
        room = min(SIMULATED, simulated * MAX_SIMULATED // max(1, rows))
        if room < 2 * simulated:
            return model.given_rows(name, drawn), simulated
        simulated = room


def _phases(name: str, plan: RoundsPlan, accounting: Accounting) -> list[Phase]:
    many, widest = len(plan.targets), max(plan.schema[target].size for target in plan.targets)
    alone = "each attribute alone" + ("" if plan.rounds else ": pairs would be noise")
    found = [
        tables_phase(f"{name}: one-way", plan.schema, accounting, plan.single_cost, many, widest, plan.rows, alone)
    ]
    if not plan.rounds:
        return found
    said = "choices by score D, among its own attributes and those of the rows above, at most"
    found.append(Phase(f"{name}: structure", plan.choosing_cost, plan.rounds, detail=said))
    detail = "the pair that the model gets most wrong, round by round, at most"
    cost = plan.rounds_cost - plan.choosing_cost
    tables = tables_phase(
        f"{name}: tables", plan.schema, accounting, cost, plan.rounds, plan.largest, plan.rows, detail
    )
    return [*found, tables]


def _cost_of_rows(branch: Branch, plan: RoundsPlan, accounting: Accounting) -> str:
    assert branch.child is not None
    rows = branch.derived.rows_per_person
    noise = cell_noise(plan.schema, accounting, plan.single_cost, len(plan.targets))
    return (
        f"{branch.name}: one row of the root counts for up to {rows:,} here, which costs noise of about "
        f"{noise:,.0f} rows in a cell. Rows beyond at_most = {branch.child.at_most} of one "
        f"{branch.child.parent!r} are not used: `understudy check` says how many those are"
    )


def _promise(tree: TableTree) -> str:
    cut = ", ".join(f"{c.at_most} of {c.name!r} for a row of {c.parent!r}" for c in tree.schema.tables)
    return (
        f"one row of {tree.schema.name!r} is protected with all rows of other tables that belong to it, however many "
        f"there are; at most {cut} are used"
    )
