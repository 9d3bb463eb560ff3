"""Uniform: every cell of every table the same. Reads nothing and costs nothing; whoever loses to it has lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rivals.rival import rival_plan
from understudy.methods.method import Fit
from understudy.methods.plan import Plan
from understudy.methods.toolkit.row_count import planned_rows
from understudy.models.junction_tree import JunctionTree
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema


@dataclass(frozen=True)
class Uniform:
    """No options."""

    name: ClassVar[str] = "uniform"

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        return rival_plan(self.name, schema, budget, planned_rows(schema, rows), {}, [])

    def fit(self, table: PrivateTable) -> Fit:
        """Nothing is bought, so a private row count stays unknown: the fit says 1."""
        return Fit(JunctionTree.of(table.schema, []), (), table.schema.rows or 1, {"options": {}})
