"""The undirected graph of a model: triangulation, maximal cliques, and the tree that joins them.

Structure search asks for the triangulated size of thousands of graphs, so the elimination is a compiled kernel.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from understudy.compiled import compiled
from understudy.schema import Floats, Mask

Vertex = TypeVar("Vertex", bound=Hashable)
Flags = tuple[Mask, Mask]


@dataclass(frozen=True, eq=False)
class Graph(Generic[Vertex]):
    """Vertices with their domain sizes, and which of them are adjacent."""

    sizes: Mapping[Vertex, int]
    adjacent: Mask

    @staticmethod
    def of(cliques: Iterable[Iterable[Vertex]], sizes: Mapping[Vertex, int]) -> Graph[Vertex]:
        """Return the graph whose vertices are the keys of `sizes`; the members of each clique are joined."""
        empty = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
        return Graph(sizes, _joined(empty, _members(cliques, sizes)))

    def add(self, clique: Iterable[Vertex]) -> Graph[Vertex]:
        return Graph(self.sizes, _joined(self.adjacent, _members([clique], self.sizes)))

    def triangulated_cells(self, limit: int | None = None) -> int:
        """Return how many cells the maximal cliques have, once the graph is triangulated (exact below 2^53).

        Above `limit` the search stops early: the answer is then only known to be larger than the limit.
        """
        cells = self._triangulate(math.inf if limit is None else limit)[0]
        return int(min(cells, 2.0**1000))  # a float that overflowed has no integer

    def fits(self, limit: int) -> bool:
        """Return whether the triangulated graph has at most so many cells."""
        sizes = np.fromiter(self.sizes.values(), dtype=np.float64, count=len(self.sizes))
        return any(
            _eliminated(self.adjacent, sizes, float(limit), by_weight)[0] <= limit for by_weight in (False, True)
        )

    def triangulated_cliques(self) -> list[tuple[Vertex, ...]]:
        """Return the maximal cliques of the triangulated graph; vertices in the order of `sizes`."""
        names = tuple(self.sizes)
        cliques, maximal = self._triangulate(math.inf)[1]
        return [tuple(names[v] for v in np.flatnonzero(row)) for row in cliques[maximal]]

    def _triangulate(self, limit: float) -> tuple[float, Flags]:
        """Return the better of min-fill and min-weight: cells, each vertex's clique, and which of them are maximal."""
        sizes = np.fromiter(self.sizes.values(), dtype=np.float64, count=len(self.sizes))
        first = _eliminated(self.adjacent, sizes, float(limit), False)
        # The second heuristic only matters where it beats the first one, so that is its limit too.
        second = _eliminated(self.adjacent, sizes, min(float(limit), first[0]), True)
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


def clique_tree(cliques: Iterable[Iterable[Vertex]], sizes: Mapping[Vertex, int]) -> CliqueTree[Vertex]:
    """Triangulate, and join the maximal cliques by a maximum spanning tree on the separators' sizes."""
    tree = _spanning_tree(Graph.of(cliques, sizes).triangulated_cliques(), sizes)
    if not has_running_intersection(tree):  # a theorem for chordal graphs; a wrong tree would give wrong answers
        raise AssertionError("the clique tree does not have the running intersection property")
    return tree


def has_running_intersection(tree: CliqueTree[Vertex]) -> bool:
    """Return whether the cliques that hold any one vertex form a connected part of the tree."""
    # a clique that does not share a vertex with its parent is a top of the vertex's part: there may be only one
    tops = [v for i, clique in enumerate(tree.cliques) for v in set(clique).difference(tree.separator(i))]
    return len(set(tops)) == len(tops)


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


def _members(cliques: Iterable[Iterable[Vertex]], sizes: Mapping[Vertex, int]) -> list[list[int]]:
    """Return the cliques' members by their places in `sizes`."""
    index = {vertex: i for i, vertex in enumerate(sizes)}
    return [[index[vertex] for vertex in clique] for clique in cliques]


def _joined(adjacent: Mask, cliques: Iterable[Sequence[int]]) -> Mask:
    """Return a copy in which the members of each clique see each other."""
    adjacent = adjacent.copy()
    for clique in cliques:
        if len(clique) == 2:
            a, b = clique
            adjacent[a, b] = adjacent[b, a] = a != b
        elif len(clique) > 2:
            members = np.array(clique)
            adjacent[members[:, None], members] = True
            adjacent[members, members] = False
    return adjacent


def _eliminated(adjacent: Mask, sizes: Floats, limit: float, by_weight: bool) -> tuple[float, Flags]:
    """Eliminate all vertices; return the cells of the maximal cliques, each vertex's clique, and which are maximal.

    Above `limit` the elimination stops early.
    """
    d = len(sizes)
    flags = np.zeros((2 * d + 4, d), dtype=np.bool_)
    flags[:d] = adjacent
    cells: float = _eliminate(flags, np.empty((d + 3, d), dtype=np.int64), sizes, np.empty(d), limit, by_weight)
    return cells, (flags[d : 2 * d], flags[2 * d])


@compiled
def _eliminate(flags: Any, room: Any, sizes: Any, weight: Any, limit: float, by_weight: bool) -> Any:
    """Eliminate vertices, cheapest first; their neighbours become a clique. Return the cells of all.

    An elimination clique is not maximal exactly if it is an earlier one without its eliminated vertex, and then it
    is the first clique to hold the next vertex of that one. A clique once kept stays maximal, so `cells` only grows.
    The lines of `flags`: who sees whom; the cliques; which are maximal; then three that are for this loop alone.
    """
    d = len(sizes)
    clique, maximal = flags[d:], flags[2 * d]
    fresh, gone, waiting = flags[2 * d + 1], flags[2 * d + 2], flags[2 * d + 3]
    degree, fill, width = room[d], room[d + 1], room[d + 2]  # and above them, the neighbours of each vertex
    cells = 0.0
    for _ in range(d):
        chosen = -1
        for v in range(d):
            if gone[v]:
                continue
            if not fresh[v]:
                near = room[v]
                count = 0
                cost = sizes[v]
                for u in range(d):
                    if flags[v, u]:
                        near[count] = u
                        count += 1
                        cost *= sizes[u]
                lacking = 0
                for i in range(count):
                    for j in range(i):
                        if not flags[near[i], near[j]]:
                            lacking += 1
                degree[v], weight[v], fill[v] = count, cost, lacking
                fresh[v] = True
            if chosen < 0:
                chosen = v
            elif (fill[v] == 0) != (fill[chosen] == 0):  # a simplicial vertex goes first: that is always optimal
                chosen = v if fill[v] == 0 else chosen
            elif by_weight or fill[v] == fill[chosen]:
                chosen = v if weight[v] < weight[chosen] else chosen
            elif fill[v] < fill[chosen]:
                chosen = v
        gone[chosen] = True
        count = degree[chosen]
        width[chosen] = count + 1
        clique[chosen, chosen] = True
        for i in range(count):
            u = room[chosen, i]
            clique[chosen, u] = True
            flags[u, chosen] = False
            fresh[u] = False
        if fill[chosen]:
            for i in range(count):
                for j in range(count):
                    u, w = room[chosen, i], room[chosen, j]
                    if u != w and not flags[u, w]:
                        flags[u, w] = True
                        for x in range(d):  # a new edge changes the fill of those who see both its ends
                            if flags[x, u] and flags[x, w]:
                                fresh[x] = False
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
    return cells
