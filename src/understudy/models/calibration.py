"""Calibration: message passing over a clique tree, in log space, on one flat array.

Each clique is laid out with its separator's axes first. A clique's cells then fall into consecutive blocks, one for
each configuration of the separator, and only the parent's side of a message needs an index. Messages up leave the
conditional distribution of each block behind; messages down multiply it by the separator's marginal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.models.factor import check_cells
from understudy.models.graph import CliqueTree, clique_tree
from understudy.schema import Axes, Axis

Floats = NDArray[np.float64]
Index = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each cell of each clique of a tree lies in the flat array."""

    axes: tuple[Axes, ...]  # of each clique, its separator's first
    shapes: tuple[tuple[int, ...], ...]
    parent: NDArray[np.int64]
    start: NDArray[np.int64]  # clique i has the cells start[i] … start[i + 1]
    separator: NDArray[np.int64]  # separator i has the cells separator[i] … separator[i + 1]; the root's has one
    above: Index  # for the cells of clique i's parent in turn, from climb[i] on: the cell of separator i
    climb: NDArray[np.int64]

    @property
    def cells(self) -> int:
        return int(self.start[-1])

    def block(self, i: int) -> int:
        """How many cells of clique i share one configuration of its separator."""
        return int((self.start[i + 1] - self.start[i]) // (self.separator[i + 1] - self.separator[i]))

    @cached_property
    def separators(self) -> tuple[Axes, ...]:
        """What each clique shares with its parent; the root's is empty."""
        above = [set(self.axes[p]) if p >= 0 else set() for p in self.parent.tolist()]
        return tuple(tuple(a for a in axes if a in shared) for axes, shared in zip(self.axes, above))

    def table(self, flat: Floats, i: int) -> Floats:
        """A view of one clique's cells with a dimension for each axis."""
        return flat[self.start[i] : self.start[i + 1]].reshape(self.shapes[i])

    def holding(self, axes: Sequence[Axis]) -> int | None:
        """The smallest clique with all of these axes."""
        wanted = set(axes)
        found = [i for i, clique in enumerate(self._members) if wanted <= clique]
        return min(found, key=lambda i: self.start[i + 1] - self.start[i], default=None)

    @cached_property
    def _members(self) -> tuple[frozenset[Axis], ...]:
        return tuple(frozenset(clique) for clique in self.axes)

    def calibrate(self, logs: Floats) -> float:
        """Turn log potentials into the cliques' marginals, in place; the logarithm of the normalising constant.

        If no configuration has a positive weight the answer is -inf and all marginals are zero.
        """
        arrays = (self.parent, self.start, self.separator, self.above, self.climb)
        return float(_calibrate(logs, np.empty(self.separator[-1]), *arrays))


def lay_out(cliques: Sequence[Axes], sizes: Mapping[Axis, int], limit: int) -> Layout:
    """Triangulate, join and lay out; refused before anything is allocated if a clique or the sum passes the limit."""
    tree = clique_tree(cliques, sizes)
    counts = [math.prod(sizes[a] for a in clique) for clique in tree.cliques]
    for clique, cells in zip(tree.cliques, counts):
        check_cells(cells, clique, limit)
    check_cells(sum(counts), tuple(sizes), limit)
    axes = tuple(_separator_first(tree, i) for i in range(len(tree.cliques)))
    shapes = tuple(tuple(sizes[a] for a in clique) for clique in axes)
    above = [
        cell_index(axes[parent], shapes[parent], tree.separator(i), sizes) if parent >= 0 else np.empty(0, np.int32)
        for i, parent in enumerate(tree.parent)
    ]
    return Layout(
        axes=axes,
        shapes=shapes,
        parent=np.array(tree.parent, dtype=np.int64),
        start=_starts(counts),
        separator=_starts([math.prod(sizes[a] for a in tree.separator(i)) for i in range(len(axes))]),
        above=np.concatenate(above),
        climb=_starts([len(index) for index in above]),
    )


def cell_index(axes: Axes, shape: Sequence[int], kept: Sequence[Axis], sizes: Mapping[Axis, int]) -> Index:
    """For each cell of a table over `axes`, the cell of its projection on `kept`."""
    index = np.zeros(shape, dtype=np.int32)
    step = 1
    for axis in reversed(kept):
        codes = np.arange(sizes[axis], dtype=np.int32) * np.int32(step)
        index += codes.reshape([-1 if a == axis else 1 for a in axes])
        step *= sizes[axis]
    return index.ravel()


def _separator_first(tree: CliqueTree[Axis], i: int) -> Axes:
    separator = tree.separator(i)
    return separator + tuple(a for a in tree.cliques[i] if a not in separator)


def _starts(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _calibrate(logs: Any, message: Any, parent: Any, start: Any, separator: Any, above: Any, climb: Any) -> Any:
    cliques = len(parent)
    for i in range(cliques - 1, -1, -1):  # up: children come after their parents
        block = (start[i + 1] - start[i]) // (separator[i + 1] - separator[i])
        for s in range(separator[i + 1] - separator[i]):
            first = start[i] + s * block
            message[separator[i] + s] = _condition(logs[first : first + block])
        if parent[i] >= 0:
            incoming = message[separator[i] : separator[i + 1]]
            index = above[climb[i] : climb[i + 1]]
            cells = logs[start[parent[i]] : start[parent[i] + 1]]
            for c in range(len(cells)):
                cells[c] += incoming[index[c]]
    logarithm = message[0]
    message[0] = 1.0 if logarithm > -np.inf else 0.0
    for i in range(cliques):  # down
        outgoing = message[separator[i] : separator[i + 1]]
        if parent[i] >= 0:
            index = above[climb[i] : climb[i + 1]]
            cells = logs[start[parent[i]] : start[parent[i] + 1]]
            outgoing[:] = 0.0
            for c in range(len(cells)):
                outgoing[index[c]] += cells[c]
        block = (start[i + 1] - start[i]) // len(outgoing)
        for s in range(len(outgoing)):
            first = start[i] + s * block
            for c in range(first, first + block):
                logs[c] *= outgoing[s]
    return logarithm


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _condition(cells: Any) -> float:
    """Logs to a distribution, in place; the logarithm of their sum. A block without weight stays all zero.

    Each block has its own maximum, so a configuration of the separator that is unlikely here keeps its conditional.
    """
    largest = -np.inf
    for value in cells:
        largest = max(largest, value)
    if largest == -np.inf:
        cells[:] = 0.0
        return -np.inf
    total = 0.0
    for c in range(len(cells)):
        shifted = cells[c] - largest
        cells[c] = math.exp(shifted) if shifted > -700.0 else 0.0
        total += cells[c]
    for c in range(len(cells)):
        cells[c] /= total
    return largest + math.log(total)
