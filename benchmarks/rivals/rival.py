"""What the rivals share: a public row count, a plan from public facts, and the papers' two consistency steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TooLarge, UsageError
from understudy.methods.plan import Phase, Plan
from understudy.methods.toolkit.row_count import count_cost, row_count, table_megabytes
from understudy.models.factor import Factor
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

MAX_TABLES = 200_000
SECONDS_A_CELL = 1.2e-5


@dataclass(frozen=True)
class RivalBudget:
    """The budget of a run: what the row count costs, and what is left for the rival."""

    accounting: Accounting
    count: Fraction
    rest: Fraction

    @staticmethod
    def of(schema: Schema, accounting: Accounting, whole: Fraction) -> RivalBudget:
        count = count_cost(schema, whole)
        return RivalBudget(accounting, count, whole - count)


def bought_rows(table: PrivateTable) -> tuple[int, tuple[Measurement, ...], Fraction]:
    """The row count, declared or bought; the measurement that bought it; and the budget that is left."""
    rows, count = row_count(table)
    return rows, tuple(count), table.total_cost - count_cost(table.schema, table.total_cost)


# -- tables ------------------------------------------------------------------------------------------------------


def tables_of(schema: Schema, alpha: int) -> list[Axes]:
    """All α-way tables; all attributes together where there are fewer than α."""
    names = [attribute.name for attribute in schema.modelled]
    width = min(alpha, len(names))
    if (count := math.comb(len(names), width)) > MAX_TABLES:
        raise TooLarge(f"there are {count:,} {width}-way tables, the limit is {MAX_TABLES:,}: lower alpha")
    return [tuple(map(Axis, chosen)) for chosen in itertools.combinations(names, width)]


def check_binary(schema: Schema, what: str) -> None:
    for attribute in schema.modelled:
        if attribute.size > 2:
            raise UsageError(
                f"{what} is for binary tables, and {attribute.name} has {attribute.size} values",
                attribute=attribute.name,
            )


def consistent(axes: Axes, values: NDArray[Any]) -> Factor:
    """Non-negativity, then normalisation (Zhang et al. 2017, Section 6.1): the boost given to every baseline."""
    return Factor(axes, np.maximum(values, 0).astype(np.float64)).normalised()


# -- plans -------------------------------------------------------------------------------------------------------


def rival_budget(schema: Schema, budget: Budget) -> RivalBudget:
    return RivalBudget.of(schema, accounting_of(budget), total_cost(budget))


def tables_phase(
    schema: Schema, own: RivalBudget, workload: Sequence[Axes], rows: int, cost: Fraction | None = None
) -> Phase:
    """So many tables, measured at once with equal shares."""
    cost = own.rest if cost is None else cost
    cells = max(map(schema.cells, workload))
    noise = table_noise(schema, own.accounting, cost / len(workload))
    error = min(1.0, cells * noise.mean_abs / (2 * rows))
    return Phase("tables", cost, len(workload), cells, noise.scale, error, "noisy counts")


def rival_plan(
    name: str, schema: Schema, budget: Budget, rows: int, options: dict[str, Any], phases: Sequence[Phase]
) -> Plan:
    """The plan with these phases, after the row count where that is bought."""
    own = rival_budget(schema, budget)
    first: tuple[Phase, ...] = ()
    if own.count and phases:
        scale = table_noise(schema, own.accounting, own.count).scale
        first = (Phase("row count", own.count, 1, 1, scale, detail="how many rows there are"),)
    cells = sum(phase.tables * phase.cells for phase in phases)
    seconds = 0.5 + rows * len(schema.modelled) * 4e-8 + cells * SECONDS_A_CELL
    memory = 150 + table_megabytes(schema, rows) + cells * 32 / 1e6
    return Plan(name, budget, own.accounting, rows, options, None, (*first, *phases), memory, seconds)
