"""θ-usefulness: how large a noisy table may be before noise drowns it (Zhang et al. 2017, Sections 4.5 and 5.2).

From public facts only: the row count (declared or bought), the budget, the number and sizes of attributes.
"""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.privacy.accounting import Accounting
from understudy.privacy.measurement import table_noise
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.schema import Axis, Schema


def cell_noise(schema: Schema, accounting: Accounting, cost: Fraction, tables: int) -> float:
    """Return the expected absolute noise in one cell when `tables` tables share this cost."""
    return table_noise(schema, accounting, cost / tables).mean_abs


def choice_noise(schema: Schema, accounting: Accounting, cost: Fraction, rows: int) -> float:
    """Return the scale of the noise in one choice by score R, in units of R, which goes from 0 to 1."""
    scale = accounting.selection_scale(pair_sensitivity(schema), cost)
    return scale / (INDEPENDENCE.unit(schema) * rows)


def pair_sensitivity(schema: Schema) -> int:
    """Return how far one person can move score R of the two widest attributes: no other pair's moves further."""
    widest = sorted(schema.modelled, key=lambda a: -a.size)[:2]
    pair = Pair(Axis(widest[0].name), tuple(Axis(a.name) for a in widest[1:]))
    return schema.rows_per_person * INDEPENDENCE.sensitivity(pair, schema)


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
