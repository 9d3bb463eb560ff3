"""Correlation-aware search frontiers (Su et al. 2016, Section VI-B, Algorithm 1): a network and its likely parents.

Edges between strongly correlated attributes are added to a network, the strongest first, until no attribute has room
for another parent. A function of private outputs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from understudy.schema import Floats

Parents = tuple[frozenset[int], ...]


class Frontier:
    """A directed acyclic graph that grows; X ≤ Y where X is Y or there is a path from X to Y."""

    def __init__(self, parents: Sequence[frozenset[int]], correlation: Floats, most: int) -> None:
        self.parents = [set(own) for own in parents]
        self._correlation = correlation
        self._most = most
        self._before = np.eye(len(parents), dtype=bool)  # X ≤ Y at [X, Y]
        for child, own in enumerate(parents):
            for parent in own:
                self._order(parent, child)

    def before(self, x: int, y: int) -> bool:
        return bool(self._before[x, y])

    def has_room(self, x: int) -> bool:
        return len(self.parents[x]) < self._most

    def add(self, parent: int, child: int) -> None:
        assert not self.before(child, parent), "the edge would close a circle"
        self.parents[child].add(parent)
        self._order(parent, child)

    def _order(self, parent: int, child: int) -> None:
        self._before |= np.outer(self._before[:, parent], self._before[child])

    def sparsity(self, x: int) -> int:
        """Return how many parents there is still room for, at X and all before it (Definition 3)."""
        above = np.flatnonzero(self._before[:, x])
        return self._most * len(above) - sum(len(self.parents[a]) for a in above)

    def impact(self, x: int, y: int) -> float:
        """Return the correlations that an edge from X to Y decides besides its own (Definition 4)."""
        pairs = self._correlation[np.ix_(self._before[:, x], self._before[y])]
        return float(pairs.sum() - self._correlation[x, y])

    def direction(self, x: int, y: int) -> tuple[int, int] | None:
        """Return the edge between two attributes, parent first; None where there is no room (lines 6 to 22)."""
        if self.before(x, y):
            return (x, y) if self.has_room(y) else None
        if self.before(y, x):
            return (y, x) if self.has_room(x) else None
        if not self.has_room(x) or not self.has_room(y):
            return None
        second = self.sparsity(x) * self.impact(x, y) >= self.sparsity(y) * self.impact(y, x)
        return (y, x) if second else (x, y)


def search_frontier(parents: Sequence[frozenset[int]], correlation: Floats, most: int) -> Parents:
    """Return the network with up to `most` parents for each attribute, by correlation."""
    frontier = Frontier(parents, correlation, most)
    pairs = list(combinations(range(len(parents)), 2))
    for x, y in sorted(pairs, key=lambda pair: -correlation[pair]):
        if x not in frontier.parents[y] and y not in frontier.parents[x]:
            edge = frontier.direction(x, y)
            if edge is not None:
                frontier.add(*edge)
    return tuple(map(frozenset, frontier.parents))


def in_order(parents: Sequence[frozenset[int]]) -> list[int]:
    """Return the attributes, every one after its parents."""
    found: list[int] = []
    placed: set[int] = set()
    while len(found) < len(parents):
        ready = [x for x, own in enumerate(parents) if x not in placed and own <= placed]
        assert ready, "the graph has a circle"
        found += ready
        placed.update(ready)
    return found
