"""θ-usefulness: how large a noisy table may be before noise drowns it (Zhang et al. 2017, Sections 4.5 and 5.2).

From public facts only: the row count (declared or bought), the budget, the number and sizes of attributes.
"""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.privacy.accounting import Accounting
from understudy.privacy.measurement import table_noise
from understudy.schema import Schema


def cell_noise(schema: Schema, accounting: Accounting, cost: Fraction, tables: int) -> float:
    """Return the expected absolute noise in one cell when `tables` tables share this cost."""
    return table_noise(schema, accounting, cost / tables).mean_abs


def useful_cells(rows: int, noise: float, theta: float) -> int:
    """Return the most cells m for which the average count n/m is at least θ times the noise."""
    return math.floor(rows / (theta * noise))


def useful_degree(
    schema: Schema, variables: int, rows: int, accounting: Accounting, cost: Fraction, theta: float
) -> int:
    """Return the largest k whose d−k binary tables of 2^(k+1) cells are θ-useful (Lemma 4.8), or 0."""
    most = useful_cells(rows, cell_noise(schema, accounting, cost, 1), theta)  # a single table has the least noise
    for k in range(min(variables - 1, most.bit_length()), 0, -1):
        if 2 ** (k + 1) <= useful_cells(rows, cell_noise(schema, accounting, cost, variables - k), theta):
            return k
    return 0
