"""The dependency graph, edge by edge: a spanning tree first, then edges that keep the graph triangulated and useful.

Replaces Algorithm 1 of Chen et al. 2015, whose threshold mechanism does not have the privacy it claims (PROOF.md).
What may be chosen in a round depends on the schema, the budget and earlier choices, never on a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from understudy.models.graph import Graph
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis

Clique = frozenset[Axis]
Edge = tuple[Axis, Axis]  # in the order of the schema
Useful = Callable[[int], int]  # how many cells a table may have when so many tables share the budget


class ChordalGraph:
    """A graph that is triangulated at every moment, so that its cliques are those of its junction tree.

    An edge u–v leaves it triangulated exactly if the common neighbours S of u and v separate them. It makes one new
    clique, S ∪ {u, v}, which replaces S ∪ {u} and S ∪ {v} where these were maximal.
    """

    def __init__(self, sizes: Mapping[Axis, int]) -> None:
        self.sizes = sizes
        self.cliques: dict[Clique, int] = {frozenset([axis]): size for axis, size in sizes.items()}
        self.edges: list[Edge] = []
        self._order = {axis: i for i, axis in enumerate(sizes)}
        self._near: dict[Axis, set[Axis]] = {axis: set() for axis in sizes}
        self._part = dict(self._order)  # the connected part of each vertex

    def cells(self, clique: Clique) -> int:
        return math.prod(self.sizes[axis] for axis in clique)

    def connected(self, u: Axis, v: Axis) -> bool:
        return self._part[u] == self._part[v]

    def chords(self) -> Iterator[Edge]:
        """Yield the edges inside a connected part that leave the graph triangulated."""
        for u, v in self._two_apart():
            if self._separates(self._near[u] & self._near[v], u, v):
                yield u, v

    def _two_apart(self) -> list[Edge]:
        found = {
            (u, v)
            for near in self._near.values()
            for u, v in combinations(sorted(near, key=self._order.__getitem__), 2)
            if v not in self._near[u]
        }
        return sorted(found, key=lambda edge: (self._order[edge[0]], self._order[edge[1]]))

    def _separates(self, wall: set[Axis], u: Axis, v: Axis) -> bool:
        seen, front = {u}, {u}
        while front:
            front = set().union(*(self._near[x] for x in front)) - wall - seen
            if v in front:
                return False
            seen |= front
        return True

    def after(self, edge: Edge) -> tuple[Clique, list[Clique]]:
        """Return the clique that an edge makes, and the ones that it replaces."""
        u, v = edge
        shared = frozenset(self._near[u] & self._near[v])
        return shared | {u, v}, [old for old in (shared | {u}, shared | {v}) if old in self.cliques]

    def add(self, edge: Edge) -> None:
        clique, replaced = self.after(edge)
        for old in replaced:
            del self.cliques[old]
        self.cliques[clique] = self.cells(clique)
        u, v = edge
        self._near[u].add(v)
        self._near[v].add(u)
        self.edges.append(edge)
        kept, gone = self._part[u], self._part[v]
        if kept != gone:
            self._part = {axis: kept if part == gone else part for axis, part in self._part.items()}


class CandidateEdges:
    """Which edges a round may choose from: every clique stays θ-useful, and the model under its cell limit.

    A tree's edges are judged as if the tree were complete, so that a later edge never spoils an earlier one. Where
    rules join attributes, the model with these cliques must stay under the limit too.
    """

    def __init__(self, graph: ChordalGraph, useful: Useful, limit: int, rules: Sequence[Axes] = ()) -> None:
        self._rules = rules
        self._graph = graph
        self._useful = useful
        self._limit = limit
        most = useful(max(1, len(graph.sizes) - 1))
        self._bridges = [(u, v) for u, v in combinations(graph.sizes, 2) if graph.sizes[u] * graph.sizes[v] <= most]

    def __call__(self) -> list[Edge]:
        """Return edges that join unconnected parts, as long as there are any; then chords."""
        graph = self._graph
        room = self._limit - sum(graph.cliques.values())
        self._bridges = [(u, v) for u, v in self._bridges if not graph.connected(u, v)]
        bridges = [(u, v) for u, v in self._bridges if graph.sizes[u] * graph.sizes[v] <= room]
        bridges = [edge for edge in bridges if self._fits_with_rules(edge)]
        return bridges or [e for e in graph.chords() if self._fits(e, room) and self._fits_with_rules(e)]

    def _fits_with_rules(self, edge: Edge) -> bool:
        if not self._rules:
            return True
        cliques = [*self._graph.cliques, self._graph.after(edge)[0], *self._rules]
        return Graph.of(cliques, self._graph.sizes).triangulated_cells(self._limit) <= self._limit

    def _fits(self, edge: Edge, room: int) -> bool:
        clique, replaced = self._graph.after(edge)
        cells = self._graph.cells(clique)
        if cells - sum(self._graph.cliques[old] for old in replaced) > room:
            return False
        tables = len(self._graph.cliques) + 1 - len(replaced)
        others = (size for other, size in self._graph.cliques.items() if len(other) > 1)
        return max(cells, *others) <= self._useful(tables)


def choose_edges(
    table: PrivateTable, graph: ChordalGraph, candidates: CandidateEdges, rounds: int, cost: Fraction
) -> Fraction:
    """Grow the graph by at most so many private choices, `cost`/`rounds` each; what was not spent is returned."""
    each = cost / rounds
    for done in range(rounds):
        options = candidates()
        if not options:
            return cost - done * each
        table.progress("structure", done, rounds)
        pair = table.choose([Pair(v, (u,)) for u, v in options], INDEPENDENCE, each, "structure", of=rounds)
        graph.add((pair.parents[0], pair.child))
    return Fraction(0)


def tree_rounds(sizes: Mapping[Axis, int], useful: Useful) -> int:
    """Return how many edges a spanning forest of useful edges has: known before anything is read.

    An attribute has a useful edge only if the one to the smallest attribute is useful, so that star is a spanning one.
    """
    smallest, *others = sorted(sizes.values()) or [0]
    most = useful(max(1, len(others)))
    return sum(smallest * size <= most for size in others)


def room_for_chords(sizes: Mapping[Axis, int], useful: Useful) -> bool:
    """Return whether any three attributes together can be useful."""
    return len(sizes) > 2 and math.prod(sorted(sizes.values())[:3]) <= useful(len(sizes) - 2)
