"""The undirected graph of a model: triangulation, maximal cliques, and the tree that joins them.

Structure search asks for the triangulated size of thousands of graphs, so the elimination is a compiled kernel.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled

Vertex = TypeVar("Vertex", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Graph(Generic[Vertex]):
    """Vertices with their domain sizes, and which of them are adjacent."""

    sizes: Mapping[Vertex, int]
    adjacent: NDArray[np.bool_]

    @staticmethod
    def of(cliques: Iterable[Iterable[Vertex]], sizes: Mapping[Vertex, int]) -> Graph[Vertex]:
        """Return the graph whose vertices are the keys of `sizes`; the members of each clique are joined."""
        empty = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
        return Graph(sizes, _joined(empty, *_members(cliques, sizes)))

    def add(self, clique: Iterable[Vertex]) -> Graph[Vertex]:
        return Graph(self.sizes, _joined(self.adjacent, *_members([clique], self.sizes)))

    def triangulated_cells(self, limit: int | None = None) -> int:
        """Return how many cells the maximal cliques have, once the graph is triangulated (exact below 2^53).

        Above `limit` the search stops early: the answer is then only known to be larger than the limit.
        """
        cells = self._triangulate(math.inf if limit is None else limit)[0]
        return int(min(cells, 2.0**1000))  # a float that overflowed has no integer

    def triangulated_cliques(self) -> list[tuple[Vertex, ...]]:
        """Return the maximal cliques of the triangulated graph; vertices in the order of `sizes`."""
        names = tuple(self.sizes)
        return [tuple(names[v] for v in np.flatnonzero(row)) for row in self._triangulate(math.inf)[1]]

    def _triangulate(self, limit: float) -> tuple[float, NDArray[np.bool_]]:
        """Return the better of min-fill and min-weight."""
        sizes = np.fromiter(self.sizes.values(), dtype=np.float64, count=len(self.sizes))
        first: tuple[float, NDArray[np.bool_]] = _eliminate(self.adjacent, sizes, float(limit), False)
        # The second heuristic only matters where it beats the first one, so that is its limit too.
        second: tuple[float, NDArray[np.bool_]] = _eliminate(self.adjacent, sizes, min(float(limit), first[0]), True)
        return second if second[0] < first[0] else first


@dataclass(frozen=True)
class CliqueTree(Generic[Vertex]):
    """Maximal cliques joined into a tree. Clique 0 is the root and a parent comes before its children.

    Unconnected parts are joined by empty separators, so that there is always one tree.
    """

    cliques: tuple[tuple[Vertex, ...], ...]
    parent: tuple[int, ...]  # -1 for the root

    def separator(self, child: int) -> tuple[Vertex, ...]:
        """Return what a clique shares with its parent, in the clique's own order."""
        if self.parent[child] < 0:
            return ()
        above = set(self.cliques[self.parent[child]])
        return tuple(v for v in self.cliques[child] if v in above)


def triangulated_cells(
    cliques: Iterable[Iterable[Vertex]], sizes: Mapping[Vertex, int], limit: int | None = None
) -> int:
    """Return the size of the triangulated model with these cliques; see `Graph.triangulated_cells`."""
    return Graph.of(cliques, sizes).triangulated_cells(limit)


def clique_tree(cliques: Iterable[Iterable[Vertex]], sizes: Mapping[Vertex, int]) -> CliqueTree[Vertex]:
    """Triangulate, and join the maximal cliques by a maximum spanning tree on the separators' sizes."""
    tree = _spanning_tree(Graph.of(cliques, sizes).triangulated_cliques(), sizes)
    if not has_running_intersection(tree):  # a theorem for chordal graphs; a wrong tree would give wrong answers
        raise AssertionError("the clique tree does not have the running intersection property")
    return tree


def has_running_intersection(tree: CliqueTree[Vertex]) -> bool:
    """Return whether the cliques that hold any one vertex form a connected part of the tree."""
    tops: dict[Vertex, int] = {}
    for i, clique in enumerate(tree.cliques):
        above = tree.cliques[tree.parent[i]] if tree.parent[i] >= 0 else ()
        for vertex in clique:
            if vertex not in above:  # a top of the vertex's part of the tree: there may be only one
                tops[vertex] = tops.get(vertex, 0) + 1
    return all(count == 1 for count in tops.values())


def _spanning_tree(cliques: Sequence[tuple[Vertex, ...]], sizes: Mapping[Vertex, int]) -> CliqueTree[Vertex]:
    """Return a spanning tree by Prim's algorithm from the largest clique.

    Of equal separators the one with fewer cells.
    """
    if not cliques:
        return CliqueTree((), ())
    members = [frozenset(clique) for clique in cliques]
    root = max(range(len(members)), key=lambda i: math.prod(sizes[v] for v in members[i]))
    order, parent = [root], {root: -1}
    best: dict[int, tuple[tuple[int, int], int]] = {}
    waiting = [i for i in range(len(members)) if i != root]
    while waiting:
        newest = order[-1]
        for i in waiting:
            shared = members[i] & members[newest]
            key = (len(shared), -math.prod(sizes[v] for v in shared))
            if i not in best or key > best[i][0]:
                best[i] = (key, newest)
        chosen = max(waiting, key=lambda i: best[i][0])
        waiting.remove(chosen)
        parent[chosen] = best[chosen][1]
        order.append(chosen)
    place = {clique: i for i, clique in enumerate(order)}
    return CliqueTree(tuple(cliques[i] for i in order), tuple(place.get(parent[i], -1) for i in order))


def _members(
    cliques: Iterable[Iterable[Vertex]], sizes: Mapping[Vertex, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cliques' members one after the other, and where each clique ends."""
    index = {vertex: i for i, vertex in enumerate(sizes)}
    flat: list[int] = []
    ends: list[int] = []
    for clique in cliques:
        flat.extend([index[vertex] for vertex in clique])
        ends.append(len(flat))
    return np.array(flat, dtype=np.int64), np.array(ends, dtype=np.int64)


@compiled
def _joined(adjacent: Any, members: Any, ends: Any) -> Any:
    adjacent = adjacent.copy()
    start = 0
    for end in ends:
        for a in range(start, end):
            for b in range(start, end):
                if members[a] != members[b]:
                    adjacent[members[a], members[b]] = True
        start = end
    return adjacent


@compiled
def _eliminate(adjacent: Any, sizes: Any, limit: float, by_weight: bool) -> Any:
    """Eliminate vertices, cheapest first; their neighbours become a clique. Return (cells, maximal cliques).

    An elimination clique is not maximal exactly if it is an earlier one without its eliminated vertex, and then it
    is the first clique to hold the next vertex of that one. A clique once kept stays maximal, so `cells` only grows.
    """
    d = len(sizes)
    adjacent = adjacent.copy()
    near = np.empty((d, d), dtype=np.int64)
    degree = np.zeros(d, dtype=np.int64)
    weight = sizes.copy()
    fill = np.zeros(d, dtype=np.int64)
    stale = np.ones(d, dtype=np.bool_)
    left = np.ones(d, dtype=np.bool_)
    waiting = np.zeros(d, dtype=np.bool_)  # eliminated, and no vertex of its clique has left since
    clique = np.zeros((d, d), dtype=np.bool_)
    width = np.zeros(d, dtype=np.int64)
    maximal = np.zeros(d, dtype=np.bool_)
    cells = 0.0
    for _ in range(d):
        chosen = -1
        for v in range(d):
            if not left[v]:
                continue
            if stale[v]:
                degree[v] = 0
                weight[v] = sizes[v]
                for u in range(d):
                    if adjacent[v, u]:
                        near[v, degree[v]] = u
                        degree[v] += 1
                        weight[v] *= sizes[u]
                fill[v] = 0
                for i in range(degree[v]):
                    for j in range(i):
                        fill[v] += not adjacent[near[v, i], near[v, j]]
                stale[v] = False
            if chosen < 0:
                chosen = v
            elif (fill[v] == 0) != (fill[chosen] == 0):  # a simplicial vertex goes first: that is always optimal
                chosen = v if fill[v] == 0 else chosen
            elif by_weight or fill[v] == fill[chosen]:
                chosen = v if weight[v] < weight[chosen] else chosen
            elif fill[v] < fill[chosen]:
                chosen = v
        left[chosen] = False
        width[chosen] = degree[chosen] + 1
        clique[chosen, chosen] = True
        neighbours = near[chosen, : degree[chosen]]
        for u in neighbours:
            clique[chosen, u] = True
            adjacent[u, chosen] = False
            stale[u] = True
        if fill[chosen]:
            for u in neighbours:
                for w in neighbours:
                    if u != w and not adjacent[u, w]:
                        adjacent[u, w] = True
                        for x in range(d):  # a new edge changes the fill of those who see both its ends
                            if adjacent[x, u] and adjacent[x, w]:
                                stale[x] = True
        maximal[chosen] = True
        for u in range(d):
            if waiting[u] and clique[u, chosen]:
                waiting[u] = False
                if width[u] > width[chosen]:
                    maximal[chosen] = False
        waiting[chosen] = True
        if maximal[chosen]:
            cells += weight[chosen]
            if cells > limit:
                break
    return cells, clique[maximal]
