"""GreedyBayes (Zhang et al. 2017, Algorithms 2 and 4): a network found by private choices, one attribute at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from understudy.methods.toolkit.parent_candidates import Candidates
from understudy.methods.toolkit.size_limit import SizeLimit
from understudy.privacy.scores import Pair, Penalty, Score
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis


class GrowingNetwork:
    """A network that grows by one attribute at a time: what is placed, what is left, and the pairs so far."""

    def __init__(self, table: PrivateTable, variables: Sequence[Axis]) -> None:
        """Place the first attribute, drawn at random in public."""
        self.left = list(variables)
        self.placed = [self.left.pop(table.public_random_index(len(self.left), "first attribute"))]
        self.pairs = [Pair(self.placed[0])]
        self.rounds = len(self.left)

    def add(self, pair: Pair) -> None:
        """Place the child of a pair that was chosen."""
        self.pairs.append(pair)
        self.placed.append(pair.child)
        self.left.remove(pair.child)


def greedy_bayes(
    table: PrivateTable,
    variables: Sequence[Axis],
    candidates: Candidates,
    score: Score,
    cost: Fraction,
    size: SizeLimit | None = None,
    penalty: Callable[[Pair], Penalty] | None = None,
) -> tuple[Pair, ...]:
    """Choose the first attribute at random, then d−1 pairs at cost/(d−1) each, among what the model's size allows."""
    size = size or SizeLimit(table.schema, variables, 1 << 62)
    found = GrowingNetwork(table, variables)
    each, rounds = cost / max(1, found.rounds), found.rounds
    while found.left:
        table.progress("structure", len(found.pairs), rounds + 1)
        size.add(found.pairs[-1].axes)
        options = allowed(candidates(found.placed, found.left), found.placed, found.left, size)
        penalties = [penalty(pair) for pair in options] if penalty is not None else None
        found.add(table.choose(options, score, each, "structure", penalties, of=rounds))
    return tuple(found.pairs)


def allowed(options: list[Pair], placed: Sequence[Axis], left: Sequence[Axis], size: SizeLimit) -> list[Pair]:
    """Return the options that keep the model small; where an attribute has none left, single parents, or no parent."""
    kept = [pair for pair in options if size.allows(pair.child, pair.parents)]
    served = {pair.child for pair in kept}
    for child in left:  # in order: what is offered is journalled, and a resumed run must offer the same
        if child not in served:
            single = [Pair(child, (parent,)) for parent in placed if size.allows(child, (parent,))]
            kept += single or [Pair(child)]
    return kept


def greedy_tree(
    table: PrivateTable,
    variables: Sequence[Axis],
    score: Score,
    cost: Fraction,
    cells: int,
    penalty_per_cell: Penalty | None,
    limit: int,
) -> tuple[Pair, ...]:
    """Choose the first attribute at random, then d−1 links at cost/(d−1) each, of at most `cells` cells.

    A tree needs no triangulation: its model has the cells of its tables, and stays under `limit`. With a
    penalty for each cell, no parent is always an option.
    """
    found = GrowingNetwork(table, variables)
    each, rounds = cost / max(1, found.rounds), found.rounds
    room = limit - sum(table.schema.sizes(tuple(variables)))
    while found.left:
        table.progress("structure", len(found.pairs), rounds + 1)
        most = max(0, min(cells, limit // 8, room))
        pair = table.choose_edge(
            tuple(found.left), tuple(found.placed), score, each, "structure",
            cells=most, penalty_per_cell=penalty_per_cell, allow_no_parent=penalty_per_cell is not None, of=rounds,
        )  # fmt: skip
        room -= table.schema.cells(pair.axes) if pair.parents else 0
        found.add(pair)
    return tuple(found.pairs)
