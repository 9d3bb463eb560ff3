"""How large AIM's model may become, by how far a table of a pair stands out from its noise: a public rule.

Where noise is most of the error a larger model learns noise. Where it is little, what the model has no room for is
most of the error, and more cells are worth their time. The figures: docs/decisions/0043-large-budgets.md.
"""

from __future__ import annotations

from understudy.schema import Schema

MODEL_CELLS = 150_000  # the triangulated model; a tenth of a second for each estimation
WIDE_CELLS = 50_000  # the same for more than `NARROW` attributes, which have more rounds
NARROW = 64
CLEAR = 12.0  # rows in a cell of the middle pair over its noise: from here on the model grows in proportion
LARGEST = 8 / 3  # times as many cells, at most
LEAST_PART = 0.1  # of the model's cells that the first rounds may fill: large pairs would leave no room for many others


def least_cells(schema: Schema) -> int:
    """Return how many cells the model may have at any budget: fewer for a wide table."""
    return MODEL_CELLS if len(schema.modelled) <= NARROW else WIDE_CELLS


def grown(cells: int, clear: float) -> int:
    """Return how many cells the model may have where `clear` times as many rows as noise are in a cell of a pair.

    >>> [grown(150_000, clear) for clear in (3, 24, 1_000)]
    [150000, 300000, 400000]
    """
    return 1_000 * round(cells * min(LARGEST, max(1.0, clear / CLEAR)) / 1_000)


def part_by(spent: float) -> float:
    """Return which part of its cells the model may have when this part of what rounds cost is spent."""
    return min(1.0, max(LEAST_PART, spent))
