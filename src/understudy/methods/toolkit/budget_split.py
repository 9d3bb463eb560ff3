"""How a budget is split among tables of different sizes, from the schema alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from understudy.methods.plan import Phase, tables_phase
from understudy.privacy.accounting import Accounting
from understudy.schema import Axes, Axis, Schema


def weight(cells: int, accounting: Accounting) -> int:
    """Return a table's part of the budget, in thousandths.

    The L1 error of a table is in proportion to m/ε, or m/√ρ. Given their sum the least of Σ m/ε is at ε in proportion
    to √m, and of Σ m/√ρ at ρ in proportion to m^(2/3).
    """
    return round(1000 * math.pow(cells, accounting.power / (accounting.power + 1)))


def shares_by_size(schema: Schema, tables: Sequence[Axes], accounting: Accounting) -> list[Fraction]:
    """Return each table's part of the budget by its `weight`, so that the sum of their L1 errors is least."""
    weights = [weight(schema.cells(axes), accounting) for axes in tables]
    return [Fraction(own, sum(weights)) for own in weights]


def sized_phase(
    name: str, schema: Schema, accounting: Accounting, cost: Fraction, tables: Sequence[Axes], rows: int, detail: str
) -> Phase:
    """Return the phase that measures these tables with `shares_by_size` of the cost."""
    largest = max(range(len(tables)), key=lambda i: schema.cells(tables[i]))
    share = shares_by_size(schema, tables, accounting)[largest]
    one = tables_phase(name, schema, accounting, cost * share, 1, schema.cells(tables[largest]), rows, detail)
    return replace(one, cost=cost, tables=len(tables), by_size=True)


def pair_cells(sizes: Sequence[int]) -> int:
    """Return the cells of the tables of all pairs of attributes of these sizes together."""
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2


def middle_pair(schema: Schema) -> int:
    """Return the cells of the middle one of all pairs of attributes."""
    pairs = combinations((Axis(a.name) for a in schema.modelled), 2)
    return statistics.median_low(schema.cells(pair) for pair in pairs)
