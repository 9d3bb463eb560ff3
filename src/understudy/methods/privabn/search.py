"""Growth: a network for wide tables, attribute by attribute and parent by parent, every step a private choice.

Replaces Algorithms 2 and 3 of the paper, whose candidates depend on the rows (PROOF.md). What is offered in a step
depends on the schema, the budget and earlier choices alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.methods.toolkit.greedy_network import GrowingNetwork
from understudy.methods.toolkit.model_room import Room
from understudy.privacy.scores import INDEPENDENCE, Pair, Penalty
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis


@dataclass(frozen=True)
class Network:
    """Attribute–parent pairs, parents first, and what an early stop has left of the cost."""

    pairs: tuple[Pair, ...]
    left: Fraction = Fraction(0)


def grow(
    table: PrivateTable, variables: Sequence[Axis], room: Room, degree: int, cost: Fraction, penalty_per_cell: Penalty
) -> Network:
    """Grow a network by at most (d − 1)(degree + 1) choices of equal cost: an attribute's link, then its parents."""
    found = GrowingNetwork(table, variables)
    steps = max(1, found.rounds * (degree + 1))
    each = cost / steps
    while found.left:
        table.progress("structure", len(found.pairs), len(variables))
        room.add(found.pairs[-1].axes)
        child, left, placed = found.left[0], tuple(found.left), tuple(found.placed)
        if len(left) > 1:
            child = table.choose_child(left, placed, each, "structure", penalty_per_cell, of=steps)
            cost -= each
        pair, taken = _with_parents(table, child, placed, room, degree, each, penalty_per_cell, steps)
        cost -= taken * each
        found.add(pair)
    return Network(tuple(found.pairs), cost)


def _with_parents(
    table: PrivateTable,
    child: Axis,
    placed: Sequence[Axis],
    room: Room,
    degree: int,
    each: Fraction,
    penalty_per_cell: Penalty,
    of: int,
) -> tuple[Pair, int]:
    """Add one parent at a time until "stop" is chosen, the degree is reached, or nothing more may be offered."""
    pair = Pair(child)
    for step in range(degree):
        options = extensions(pair, placed, room)
        if len(options) == 1:
            return pair, step
        penalties = [penalty_per_cell.for_cells(table.schema.cells(option.axes)) for option in options]
        chosen = table.choose(options, INDEPENDENCE, each, "structure", penalties, of=of)
        if chosen == pair:
            return pair, step + 1
        pair = chosen
    return pair, degree


def extensions(pair: Pair, placed: Sequence[Axis], room: Room) -> list[Pair]:
    """Return the pair as it is, which means "stop", and with one more parent each."""
    wider: list[Axes] = [(*pair.parents, axis) for axis in placed if axis not in pair.parents]
    return [pair, *(Pair(pair.child, parents) for parents in wider if room.allows(pair.child, parents))]
