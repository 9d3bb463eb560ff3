"""How large AIM's model may become: cells of the triangulated model, which decide its time. The figures:
docs/decisions/0043-large-budgets.md and 0044-shrinkage.md.
"""

from __future__ import annotations

from understudy.schema import Schema

MODEL_CELLS = 400_000  # less than half a second for each estimation
WIDE_CELLS = 50_000  # for more than `NARROW` attributes, which have more rounds
NARROW = 64
LEAST_PART = 0.1  # of the model's cells that the first rounds may fill: large pairs would leave no room for many others


def most_cells(schema: Schema) -> int:
    """Return how many cells the model may have: fewer for a wide table."""
    return MODEL_CELLS if len(schema.modelled) <= NARROW else WIDE_CELLS


def part_by(spent: float) -> float:
    """Return which part of its cells the model may have when this part of what rounds cost is spent."""
    return min(1.0, max(LEAST_PART, spent))
