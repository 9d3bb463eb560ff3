"""Tables over three and four attributes that rounds may choose from, for what no pair shows: a value that is the sum of
two others, say, depends on neither of them alone.

Which are offered follows from the schema, the budget and the noisy number of rows: small tables alone, whose noise
leaves most of them visible, and only where a choice among so many can tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from understudy.privacy.accounting import Accounting
from understudy.privacy.measurement import table_noise
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.schema import Axes, Axis, Schema

WIDER_SHARE = Fraction(1, 8)  # of what rounds cost, at most: they end with the first one that shows nothing new
WIDER_ROUNDS = 8
CHOICE = Fraction(1, 2)  # of such a round, for its choice: there are many to choose from
WAYS = (3, 4)
MAX_TABLES = 2_000
MAX_VISITS = 200_000_000  # of rows, while all of them are counted
MAX_ERROR = 0.15  # expected total variation distance from noise of a table that is offered
MAX_REACH = 0.2  # total variation distance by which a choice may miss the best


def wider_tables(
    schema: Schema, accounting: Accounting, price: Fraction, rows: int, measured: Sequence[Axes] = ()
) -> tuple[Axes, ...]:
    """Return the tables that a round at this price chooses from, smaller ones first; none where it could not tell.

    Args:
        schema: of the table.
        accounting: pure epsilon or Gaussian DP.
        price: of one round, its choice among it.
        rows: the (noisy) number of rows.
        measured: tables that are measured in any case: none inside them is offered.
    """
    noise = table_noise(schema, accounting, price * (1 - CHOICE)).mean_abs
    cells = int(2 * rows * MAX_ERROR / noise)
    most = min(MAX_TABLES, MAX_VISITS // max(rows, 1))
    sets = [set(axes) for axes in measured]
    small = (axes for axes in _small_tables(schema, cells, most) if not any(own.issuperset(axes) for own in sets))
    found = sorted(small, key=schema.cells)[:most]
    if not found or _reach(schema, accounting, price * CHOICE, found) > MAX_REACH * rows:
        return ()
    return tuple(found)


def _reach(schema: Schema, accounting: Accounting, cost: Fraction, tables: list[Axes]) -> float:
    """Return by how many rows a choice among these tables may miss the best one."""
    pair = Pair(tables[0][-1], tables[0][:-1])
    scale = accounting.selection_scale(REFERENCE_DISTANCE.sensitivity(pair, schema) * schema.rows_per_person, cost)
    return scale * math.log(len(tables) + 1) / REFERENCE_DISTANCE.unit(schema)


def _small_tables(schema: Schema, cells: int, most: int) -> Iterator[Axes]:
    """Yield tables of at most so many cells, of as many of the smallest attributes as make about `most` tables."""
    axes = sorted((Axis(a.name) for a in schema.modelled), key=schema.size)
    place = {Axis(a.name): i for i, a in enumerate(schema.modelled)}
    for ways in WAYS:
        several = next((k for k in range(ways, len(axes)) if math.comb(k, ways) >= most), len(axes))
        for chosen in combinations(axes[:several], ways):
            if schema.cells(chosen) <= cells:
                yield tuple(sorted(chosen, key=place.__getitem__))
