"""Score D: how far a table is from a public table of integers r. Σ|c(x,π) − r(x,π)|.

It moves no further than the table itself: by 2 where a row is replaced, by 1 where one comes or goes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.errors import UsageError
from understudy.privacy.scores.score import Pair, Score, Table
from understudy.schema import Integers, Schema


class ReferenceDistance(Score):
    """The L1 distance to a public table of counts: twice a total variation distance in rows."""

    name = "D"
    has_references = True

    def value(self, table: Table, rows: int, schema: Schema) -> int:
        raise UsageError("score D needs public reference tables")

    def sensitivity(self, pair: Pair, schema: Schema) -> int:
        return 2 if schema.neighbours == "replace-one" else 1

    def unit(self, schema: Schema) -> int:
        return 2


def deviation(table: Integers, reference: Integers) -> int:
    """Return Σ|c − r|. By the triangle inequality it moves by at most ‖c − c'‖₁, whatever the public r is."""
    return int(np.abs(table - reference).sum())


def reference_refusal(
    score: Score, options: Sequence[Pair], references: Sequence[Integers] | None, schema: Schema
) -> str | None:
    """Return why these public tables cannot be compared with, or None."""
    if score.has_references != (references is not None):
        return "score D compares with public reference tables, and no other score does"
    if references is not None and len(references) != len(options):
        return "score D needs one reference table for each option"
    for pair, table in zip(options, references or ()):
        if table.dtype != np.int64 or table.shape != schema.sizes(pair.axes) or is_huge(table):
            return f"the reference table of {pair} must hold a whole number for each cell, 2^60 at most in all"
    return None


def is_huge(table: Integers) -> bool:
    """Return whether Σ|r| is above 2^60: added up as floats and so that what they round off does not matter."""
    return float(np.abs(table.astype(np.float64)).sum()) > 2.0**60 * (1 - 2.0**-20)
