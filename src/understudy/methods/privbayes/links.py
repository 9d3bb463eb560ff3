"""Trees for wide tables: GreedyBayes with one parent, whose candidates are never listed (`choose_edge`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from understudy.privacy.scores import Pair, Score
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis


def greedy_tree(
    table: PrivateTable,
    variables: Sequence[Axis],
    score: Score,
    cost: Fraction,
    cells: int,
    penalty_per_cell: int | None,
    limit: int,
) -> tuple[Pair, ...]:
    """The first attribute at random, then d−1 choices at cost/(d−1) each among all links of at most `cells` cells.

    A tree needs no triangulation: its model has the cells of its tables, and stays under `limit`. With a
    penalty for each cell, no parent is always an option.
    """
    left = list(variables)
    placed = [left.pop(table.public_random_index(len(left), "first attribute"))]
    pairs, rounds = [Pair(placed[0])], len(left)
    room = limit - sum(table.schema.sizes(tuple(variables)))
    while left:
        table.progress("structure", len(pairs), rounds + 1)
        most = max(0, min(cells, limit // 8, room))
        pair = table.choose_edge(
            tuple(left), tuple(placed), score, cost / rounds, "structure",
            cells=most, penalty_per_cell=penalty_per_cell or 0, allow_no_parent=penalty_per_cell is not None, of=rounds,
        )  # fmt: skip
        room -= table.schema.cells(pair.axes) if pair.parents else 0
        pairs.append(pair)
        placed.append(pair.child)
        left.remove(pair.child)
    return tuple(pairs)
