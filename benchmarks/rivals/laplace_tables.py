"""Laplace: all α-way tables with noise on every cell (Dwork et al. 2006), as in Zhang et al. 2017, Section 6.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rivals.released_tables import ReleasedTables, by_attributes
from rivals.rival import (
    bought_rows,
    consistent,
    rival_budget,
    rival_plan,
    tables_of,
    tables_phase,
)
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.row_count import planned_rows
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema


@dataclass(frozen=True)
class LaplaceTables:
    """`alpha` attributes in each table; one measurement of all of them (Gaussian noise under zCDP)."""

    name: ClassVar[str] = "laplace"

    alpha: int = option(2, whole=True, low=1, high=8)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n, workload = planned_rows(schema, rows), tables_of(schema, self.alpha)
        phase = tables_phase(schema, rival_budget(schema, budget), workload, n)
        return rival_plan(self.name, schema, budget, n, {"alpha": self.alpha}, [phase])

    def fit(self, table: PrivateTable) -> Fit:
        workload = tables_of(table.schema, self.alpha)
        rows, count, rest = bought_rows(table)
        measured = table.measure(workload, rest, "tables")
        factors = [consistent(m.axes, m.values) for m in measured]
        model = ReleasedTables(table.schema, by_attributes(factors), self.name)
        return Fit(model, (*count, *measured), rows, {"options": {"alpha": self.alpha}, "tables": len(workload)})
