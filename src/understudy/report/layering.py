"""Layering: places for the boxes of an acyclic graph, in rows from top to bottom, parents above children.

Sugiyama's four steps: rows of bounded width, stand-ins where a line crosses a row, an order with few crossings
(sweeps by the mean place of the neighbours), and places that pull neighbours together without overlap.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

ACROSS, BETWEEN = 18.0, 46.0  # free space between boxes, and between rows
ASIDE = 8.0  # free space beside a line
SWEEPS = 12


@dataclass
class Box:
    """Something that takes space; `name` is None for a stand-in, where a line passes through a row."""

    name: str | None
    width: float
    height: float
    x: float = 0.0  # of its middle
    y: float = 0.0  # of its top
    above: list[Box] = field(default_factory=list, repr=False)
    below: list[Box] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class Placed:
    """Every box with its place, and the boxes each edge runs through."""

    boxes: dict[str, Box]
    routes: dict[tuple[str, str], list[Box]]
    width: float
    height: float


def place(
    sizes: dict[str, tuple[float, float]], edges: Sequence[tuple[str, str]], widest: float, margin: float = 4.0
) -> Placed:
    """Place boxes in rows. `sizes` names them, parents first; `widest` bounds the boxes of a row."""
    boxes = {name: Box(name, width, height) for name, (width, height) in sizes.items()}
    level = _levels(sizes, edges, widest)
    rows: list[list[Box]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for name, box in boxes.items():
        rows[level[name]].append(box)
    routes = {(a, b): _route(boxes[a], boxes[b], level[a], level[b], rows) for a, b in edges}
    _order(rows)
    width = max((_offsets(row)[-1] + (row[0].width + row[-1].width) / 2 for row in rows), default=0.0)
    _spread(rows, width)
    height = _stack(rows, margin)
    for box in (b for row in rows for b in row):
        box.x += margin
    return Placed(boxes, routes, width + 2 * margin, height)


def _levels(sizes: dict[str, tuple[float, float]], edges: Sequence[tuple[str, str]], widest: float) -> dict[str, int]:
    """Return the row of each box: below every parent, the first that has room."""
    parents: dict[str, list[str]] = {name: [] for name in sizes}
    for a, b in edges:
        parents[b].append(a)
    level: dict[str, int] = {}
    used: dict[int, float] = {}
    for name, (width, _) in sizes.items():
        row = max((level[p] + 1 for p in parents[name]), default=0)
        while used.get(row, 0.0) and used[row] + width + ACROSS > widest:
            row += 1
        level[name] = row
        used[row] = used.get(row, 0.0) + width + ACROSS
    return level


def _route(start: Box, end: Box, top: int, bottom: int, rows: list[list[Box]]) -> list[Box]:
    route = [start]
    for row in rows[top + 1 : bottom]:
        bend = Box(None, 2.0, 0.0)
        row.append(bend)
        route.append(bend)
    route.append(end)
    for a, b in pairwise(route):
        a.below.append(b)
        b.above.append(a)
    return route


# -- order -------------------------------------------------------------------------------------------------------


def _order(rows: list[list[Box]]) -> None:
    """Sweep down and up, and keep the order with the fewest crossings."""
    best, fewest = [list(row) for row in rows], crossings(rows)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for number in range(len(rows)) if down else reversed(range(len(rows))):
            row = rows[number]
            near = rows[max(number - 1, 0) : number + 2]  # where all its neighbours are
            at = {id(b): i for other in near for i, b in enumerate(other)}
            row.sort(key=lambda b: _mean([at[id(n)] for n in (b.above if down else b.below)], at[id(b)]))
        if (now := crossings(rows)) < fewest:
            best, fewest = [list(row) for row in rows], now
    rows[:] = best


def crossings(rows: Sequence[Sequence[Box]]) -> int:
    """Return how many pairs of lines between neighbouring rows cross."""
    total = 0
    for upper, lower in pairwise(rows):
        at = {id(b): i for i, b in enumerate(lower)}
        ends: list[int] = []
        for box in upper:
            own = [at[id(n)] for n in box.below]
            total += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return total


def _mean(places: Sequence[float], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise


# -- places ------------------------------------------------------------------------------------------------------


def _spread(rows: list[list[Box]], width: float) -> None:
    """Move each box from rows packed around the middle toward the mean of its neighbours, as far as there is room."""
    for row in rows:
        offsets = _offsets(row)
        first = (width - offsets[-1]) / 2
        for box, offset in zip(row, offsets):
            box.x = first + offset
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean([n.x for n in (b.above + b.below)], b.x) for b in row]
            for box, x in zip(row, _nearest(row, wanted, width)):
                box.x = x


def _nearest(row: Sequence[Box], wanted: Sequence[float], width: float) -> list[float]:
    """Return the places nearest to the wanted ones (least squares) that keep order and distances: pooled neighbours."""
    offsets = _offsets(row)
    pools: list[tuple[float, int]] = []
    for goal in (w - o for w, o in zip(wanted, offsets)):
        mean, many = goal, 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean, many = (before * size + mean * many) / (size + many), size + many
        pools.append((mean, many))
    low, high = row[0].width / 2, width - row[-1].width / 2 - offsets[-1]
    flat = [min(max(mean, low), high) for mean, many in pools for _ in range(many)]
    return [x + o for x, o in zip(flat, offsets)]


def _offsets(row: Sequence[Box]) -> list[float]:
    """Return how far the middle of each box is from the first one's when they stand close."""
    offsets = [0.0]
    for a, b in pairwise(row):
        free = ACROSS if a.name is not None and b.name is not None else ASIDE
        offsets.append(offsets[-1] + (a.width + b.width) / 2 + free)
    return offsets


def _stack(rows: list[list[Box]], margin: float) -> float:
    """Stack rows from top to bottom and return their height; boxes of a row share its middle line."""
    at = margin
    for row in rows:
        tall = max(b.height for b in row)
        for box in row:
            box.height = box.height if box.name is not None else tall  # a line goes straight past the boxes of a row
            box.y = at + (tall - box.height) / 2
        at += tall + BETWEEN
    return max(at - BETWEEN, 0.0) + margin
