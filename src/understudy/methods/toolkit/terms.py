"""Terms of a plan: what each phase of a method costs and how much noise that leaves, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from understudy.methods.plan import Phase, Plan, tables_phase
from understudy.methods.toolkit.row_count import planned_rows, table_megabytes
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.schema import Schema

BASE_SECONDS, BASE_MEGABYTES = 1.0, 200.0  # of any run
READING_SECONDS = 8e-8  # for a cell of the table: reading and coding it


@dataclass(frozen=True)
class Terms:
    """A table's public facts and a budget. Each phase is a list, empty where nothing is spent on it."""

    schema: Schema
    budget: Budget
    rows: int

    @staticmethod
    def of(schema: Schema, budget: Budget, rows: int | None) -> Terms:
        """Return the terms for the declared row count, or for `rows` where it is private."""
        return Terms(schema, budget, planned_rows(schema, rows))

    @cached_property
    def accounting(self) -> Accounting:
        return accounting_of(self.budget)

    @cached_property
    def total_cost(self) -> Fraction:
        return total_cost(self.budget)

    def row_count(self, cost: Fraction) -> list[Phase]:
        """Return the phase that buys the row count; none where it is declared."""
        return self.tables("row count", cost, 1, 1, "how many rows there are")

    def choices(self, cost: Fraction, choices: int, detail: str) -> list[Phase]:
        """Return the phase of so many private choices."""
        return [Phase("structure", cost, choices, detail=detail)] if cost else []

    def tables(self, name: str, cost: Fraction, tables: int, cells: int, detail: str) -> list[Phase]:
        """Return the phase that measures so many tables of at most so many cells, with equal shares of the cost."""
        if not cost:
            return []
        return [tables_phase(name, self.schema, self.accounting, cost, tables, cells, self.rows, detail)]

    def plan(
        self,
        method: str,
        options: Mapping[str, Any],
        phases: Sequence[Phase],
        seconds: float,
        megabytes: float,
        degree: int | None = None,
        notes: Sequence[str] = (),
    ) -> Plan:
        """Return the plan of a method; `seconds` and `megabytes` are on top of those of reading the rows."""
        reading = BASE_SECONDS + self.rows * len(self.schema.modelled) * READING_SECONDS
        coded = BASE_MEGABYTES + table_megabytes(self.schema, self.rows)
        return Plan(
            method, self.budget, self.accounting, self.rows, dict(options), degree, tuple(phases), coded + megabytes,
            reading + seconds, tuple(notes),
        )  # fmt: skip
