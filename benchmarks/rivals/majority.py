"""Majority: a classifier that says of every row what most rows are, by noisy counts (Zhang et al. 2017, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rivals.released_tables import ReleasedTables, by_attributes
from rivals.rival import bought_rows, consistent, rival_budget, rival_plan, tables_phase
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.row_count import planned_rows
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema


@dataclass(frozen=True)
class Majority:
    """`targets`: the attributes to predict, separated by commas; all of them without it. The budget is split evenly."""

    name: ClassVar[str] = "majority"

    targets: str = option("", text=True)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n = planned_rows(schema, rows)
        phase = tables_phase(schema, rival_budget(schema, budget), self._asks(schema), n)
        return rival_plan(self.name, schema, budget, n, {"targets": self.targets}, [phase])

    def fit(self, table: PrivateTable) -> Fit:
        workload = self._asks(table.schema)
        rows, count, rest = bought_rows(table)
        measured = table.measure(workload, rest, "tables")
        model = ReleasedTables(table.schema, by_attributes([consistent(m.axes, m.values) for m in measured]), self.name)
        facts = {"options": {"targets": self.targets}, "majority": _winners(model)}
        return Fit(model, (*count, *measured), rows, facts)

    def _asks(self, schema: Schema) -> list[Axes]:
        """One one-way table for each target."""
        names = [name.strip() for name in self.targets.split(",") if name.strip()] or list(schema.names)
        return [(Axis(schema[name].name),) for name in dict.fromkeys(names)]  # raises with "did you mean"


def majority_class(model: ReleasedTables, attribute: str, label: NDArray[np.int64]) -> int:
    """The class with the largest noisy count, where `label` gives the class of each code; the first among equals."""
    return int(np.bincount(label, weights=model.project([attribute]).table).argmax())


def _winners(model: ReleasedTables) -> dict[str, str]:
    schema = model.schema
    return {
        name: str(schema[name].labels[int(model.project([name]).table.argmax())])
        for names in model.tables
        for name in names
    }
