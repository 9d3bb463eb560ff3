"""How far one person can move an answer of integers, in both norms that noise is calibrated to.

A table of counts moves by 2 in L1 and 2 in squared L2 when a row is replaced, by 1 and 1 when a row comes or goes.
A person with up to k rows moves it k times as far, and k² times in squared L2 (all k rows may fall in one cell).
"""

from __future__ import annotations

from typing import NamedTuple

from understudy.schema import Schema


class Sensitivity(NamedTuple):
    """The largest distance between the answers of two neighbouring tables: in L1, and in L2, squared."""

    l1: int
    l2_squared: int

    def times(self, rows: int) -> Sensitivity:
        """Return the sensitivity to a person with up to so many rows, from that to one row."""
        return Sensitivity(rows * self.l1, rows * rows * self.l2_squared)


def table_sensitivity(schema: Schema) -> Sensitivity:
    """Return how far one person can move one table of counts."""
    moved = 2 if schema.neighbours == "replace-one" else 1
    return Sensitivity(moved, moved).times(schema.rows_per_person)
