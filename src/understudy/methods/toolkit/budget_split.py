"""How a budget is split among tables of different sizes, from the schema alone."""

from __future__ import annotations

import math
import statistics
from itertools import combinations

from understudy.privacy.accounting import Accounting
from understudy.schema import Axis, Schema


def weight(cells: int, accounting: Accounting) -> int:
    """Return a table's part of the budget, in thousandths.

    The L1 error of a table is in proportion to m/ε, or m/√ρ. Given their sum the least of Σ m/ε is at ε in proportion
    to √m, and of Σ m/√ρ at ρ in proportion to m^(2/3).
    """
    return round(1000 * math.pow(cells, accounting.power / (accounting.power + 1)))


def middle_pair(schema: Schema) -> int:
    """Return the cells of the middle one of all pairs of attributes."""
    pairs = combinations((Axis(a.name) for a in schema.modelled), 2)
    return statistics.median_low(schema.cells(pair) for pair in pairs)
