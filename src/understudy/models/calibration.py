"""Calibration: message passing over a clique tree, in log space, on one flat array.

Each clique is laid out with its separator's axes first. A clique's cells then fall into consecutive blocks, one for
each configuration of the separator, and only the parent's side of a message needs an index. Messages up leave the
conditional distribution of each block behind; messages down multiply it by the separator's marginal.

A table over some of a clique's axes keeps them in the clique's order. The clique's cells then fall into stretches along
which the table runs too or stands still, so that the index is short and the loops are over consecutive numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled, compiled_with
from understudy.models.factor import Factor, check_cells
from understudy.models.graph import CliqueTree, clique_tree
from understudy.schema import Axes, Axis, Floats, Integers
from understudy.schema.row_major import coarse_index

Index = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Projections:
    """Tables over some axes of cliques, one after the other in a flat array, and the cliques' cells in another one."""

    rows: Integers  # the clique's and the table's first cell; a stretch: its length, 1 if along; first, last
    index: Index  # for each stretch, the table's cell where it begins

    @staticmethod
    def of(tables: Sequence[tuple[int, Axes, int, Axes]], sizes: Mapping[Axis, int]) -> Projections:
        """Return the projections of tables, each given by the clique's first cell and axes and its own."""
        rows, indexes, stretches = [], [np.empty(0, dtype=np.int32)], 0
        for cell, clique, own, kept in tables:
            along = not clique or clique[-1] in kept
            head = clique
            while head and (head[-1] in kept) == along:
                head = head[:-1]
            length = math.prod(sizes[a] for a in clique[len(head) :])
            index = cell_index(head, [sizes[a] for a in head], [a for a in head if a in kept], sizes)
            indexes.append(index * np.int32(length) if along else index)
            rows.append((cell, own, length, along, stretches, stretches + len(index)))
            stretches += len(index)
        return Projections(np.array(rows, dtype=np.int64).reshape(-1, 6), np.concatenate(indexes))

    def spread(self, values: Floats, cells: Floats) -> None:
        """Add each table's value to all cells of its clique that fall on it."""
        _spread(values, cells, self.rows, 0, len(self.rows), self.index)

    def gather(self, cells: Floats, values: Floats) -> None:
        """Add all cells of a clique to the table's value on which they fall."""
        _gather(cells, values, self.rows, 0, len(self.rows), self.index)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each cell of each clique of a tree lies in the flat array."""

    axes: tuple[Axes, ...]  # of each clique, its separator's first
    shapes: tuple[tuple[int, ...], ...]
    parent: Integers
    separators: tuple[Axes, ...]  # what each clique shares with its parent; the root's is empty
    start: Integers  # clique i has the cells start[i] … start[i + 1]
    separator: Integers  # separator i has the cells separator[i] … separator[i + 1]; the root's has one
    above: Projections  # separator i as a table of clique i's parent; the root's has no stretch

    @property
    def cells(self) -> int:
        return int(self.start[-1])

    def block(self, i: int) -> int:
        """Return how many cells of clique i share one configuration of its separator."""
        return int((self.start[i + 1] - self.start[i]) // (self.separator[i + 1] - self.separator[i]))

    def table(self, flat: Floats, i: int) -> Floats:
        """Return a view of one clique's cells with a dimension for each axis."""
        return flat[self.start[i] : self.start[i + 1]].reshape(self.shapes[i])

    def holding(self, axes: Sequence[Axis]) -> int | None:
        """Return the smallest clique with all of these axes."""
        wanted = set(axes)
        found = [i for i, clique in enumerate(self._members) if wanted <= clique]
        return min(found, key=lambda i: self.start[i + 1] - self.start[i], default=None)

    @cached_property
    def _members(self) -> tuple[frozenset[Axis], ...]:
        return tuple(frozenset(clique) for clique in self.axes)

    def summed(self, logs: Iterable[Factor]) -> Floats:
        """Return the sum of log tables over all cells: each is added to the smallest clique that holds its axes."""
        flat = np.zeros(self.cells)
        for log in logs:
            home = self.holding(log.axes)
            assert home is not None
            self.table(flat, home)[...] += log.expand(self.axes[home])
        return flat

    def calibrate(self, logs: Floats) -> float:
        """Turn log potentials into the cliques' marginals, in place; return the log of the normalising constant.

        If no configuration has a positive weight the answer is -inf and all marginals are zero.
        """
        arrays = (self.start, self.separator, self.above.rows, self.above.index)
        return float(_calibrate(logs, np.empty(self.separator[-1]), *arrays))


def lay_out(cliques: Sequence[Axes], sizes: Mapping[Axis, int], limit: int) -> Layout:
    """Triangulate, join and lay out; refused before anything is allocated if a clique or the sum passes the limit."""
    tree = clique_tree(cliques, sizes)
    counts = [math.prod(sizes[a] for a in clique) for clique in tree.cliques]
    for clique, cells in zip(tree.cliques, counts):
        check_cells(cells, clique, limit)
    check_cells(sum(counts), tuple(sizes), limit)
    axes = _separators_first(tree, sizes)
    start = _starts(counts)
    separators = tuple(tuple(a for a in axes[i] if p >= 0 and a in axes[p]) for i, p in enumerate(tree.parent))
    separator = _starts([math.prod(sizes[a] for a in shared) for shared in separators])
    children = [(int(start[p]), axes[p], int(separator[i]), separators[i]) for i, p in enumerate(tree.parent) if p >= 0]
    above = Projections.of(children, sizes)
    return Layout(
        axes=axes,
        shapes=tuple(tuple(sizes[a] for a in clique) for clique in axes),
        parent=np.array(tree.parent, dtype=np.int64),
        separators=separators,
        start=start,
        separator=separator,
        above=Projections(np.concatenate([np.zeros((1, 6), dtype=np.int64), above.rows]), above.index),
    )


def cell_index(axes: Axes, shape: Sequence[int], kept: Sequence[Axis], sizes: Mapping[Axis, int]) -> Index:
    """Return, for each cell of a table over `axes`, the cell of its projection on `kept`."""
    sides = [sizes[axis] for axis in kept]
    index = coarse_index(shape, [axes.index(axis) for axis in kept], [np.arange(side) for side in sides], sides)
    return index.astype(np.int32)


def _separators_first(tree: CliqueTree[Axis], sizes: Mapping[Axis, int]) -> tuple[Axes, ...]:
    """Return each clique's axes: those of its parent in the parent's order, then the others, largest last."""
    laid: list[Axes] = []
    for clique, parent in zip(tree.cliques, tree.parent):
        shared = tuple(a for a in laid[parent] if a in clique) if parent >= 0 else ()
        laid.append(shared + tuple(sorted((a for a in clique if a not in shared), key=lambda a: sizes[a])))
    return tuple(laid)


def _starts(counts: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


# Numba takes a tenth of a second for every allocation, unpacked row, array expression or `max` inside a kernel, at the
# first use after installation: the loops below have none.


@compiled
def _calibrate(logs: Any, message: Any, start: Any, separator: Any, rows: Any, index: Any) -> Any:
    cliques = len(rows)
    for i in range(cliques - 1, -1, -1):  # up: children come after their parents
        block = (start[i + 1] - start[i]) // (separator[i + 1] - separator[i])
        first = start[i]
        for s in range(separator[i], separator[i + 1]):
            message[s] = _condition(logs[first : first + block])
            first += block
        _spread(message, logs, rows, i, i + 1, index)
    logarithm = message[0]
    message[0] = 1.0 if logarithm > -np.inf else 0.0
    for i in range(cliques):  # down
        if i > 0:
            for s in range(separator[i], separator[i + 1]):
                message[s] = 0.0
            _gather(logs, message, rows, i, i + 1, index)
        block = (start[i + 1] - start[i]) // (separator[i + 1] - separator[i])
        first = start[i]
        for s in range(separator[i], separator[i + 1]):
            cells = logs[first : first + block]
            for c in range(block):
                cells[c] *= message[s]
            first += block
    return logarithm


@compiled
def _spread(values: Any, cells: Any, rows: Any, start: int, stop: int, index: Any) -> None:
    """Add the tables start … stop to the cells of their cliques."""
    for t in range(start, stop):
        cell, own, length, along = rows[t, 0], rows[t, 1], rows[t, 2], rows[t, 3]
        for s in range(rows[t, 4], rows[t, 5]):
            stretch = cells[cell : cell + length]
            if along:
                part = values[own + index[s] : own + index[s] + length]
                for c in range(length):
                    stretch[c] += part[c]
            else:
                value = values[own + index[s]]
                for c in range(length):
                    stretch[c] += value
            cell += length


@compiled_with(fastmath={"reassoc"})
def _gather(cells: Any, values: Any, rows: Any, start: int, stop: int, index: Any) -> None:
    """Add the cells of their cliques to the tables start … stop."""
    for t in range(start, stop):
        cell, own, length, along = rows[t, 0], rows[t, 1], rows[t, 2], rows[t, 3]
        for s in range(rows[t, 4], rows[t, 5]):
            stretch = cells[cell : cell + length]
            if along:
                part = values[own + index[s] : own + index[s] + length]
                for c in range(length):
                    part[c] += stretch[c]
            else:
                total = 0.0
                for c in range(length):
                    total += stretch[c]
                values[own + index[s]] += total
            cell += length


@compiled
def _condition(cells: Any) -> float:
    """Turn logs into a distribution, in place; return the logarithm of their sum. A block without weight stays zero.

    Each block has its own maximum, so a configuration of the separator that is unlikely here keeps its conditional.
    """
    largest = -np.inf
    for c in range(len(cells)):
        if cells[c] > largest:
            largest = cells[c]
    if largest == -np.inf:
        for c in range(len(cells)):
            cells[c] = 0.0
        return -np.inf
    total = 0.0
    for c in range(len(cells)):
        shifted = cells[c] - largest
        cells[c] = math.exp(shifted) if shifted > -700.0 else 0.0
        total += cells[c]
    for c in range(len(cells)):
        cells[c] /= total
    return largest + math.log(total)
