"""Model size, kept in check before anything is measured: only what fits a public cell limit is ever offered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from understudy.models.bayesian_network import base_of
from understudy.models.graph import Graph
from understudy.models.structural_zeros import rule_cliques, valid_codes
from understudy.schema import Axes, Axis, Schema


class SizeLimit:
    """Says whether the triangulated model of the pairs chosen so far stays under the limit with one more.

    A function of earlier outputs and the schema alone, never of the rows.
    """

    def __init__(self, schema: Schema, variables: Sequence[Axis], limit: int) -> None:
        self._schema = schema
        self._limit = limit
        self._always = schema.cells(list(variables)) <= limit
        self._placed = 0
        sizes = {axis: schema.size(axis) for axis in variables}
        unused = [zero.axes for zero in valid_codes(schema, sizes)]  # bits that belong together
        self._graph = Graph.of([*unused, *rule_cliques(schema, variables)], sizes)
        self._look()
        self.fits = self._always or self._now <= limit

    def add(self, axes: Axes) -> None:
        """Note that a pair was chosen: its axes are a clique from now on."""
        self._placed += 1
        if not self._always:
            self._graph = self._graph.add(map(base_of, axes))
            self._look()

    def _look(self) -> None:
        """Triangulate once: parents that are joined in the result already cost nothing but their own table."""
        self._known: dict[Axes, tuple[int, int]] = {}
        self._now = 0 if self._always else self._graph.triangulated_cells(self._limit)
        self._joined: set[frozenset[Axis]] = set()
        if not self._always:
            for clique in self._graph.triangulated_cliques():
                self._joined.update(map(frozenset, combinations(clique, 2)))

    def allows(self, child: Axis, parents: Axes) -> bool:
        """Return whether a new attribute fits below placed ones: its parents are triangulated, and its table added."""
        if self._always:
            return True
        if parents not in self._known:
            self._known[parents] = self._cost(frozenset(map(base_of, parents)))
        own, others = self._known[parents]
        own *= self._graph.sizes[child]
        return own <= self._limit // 8 and others + own <= self._room

    @property
    def _room(self) -> int:
        """Return the room so far: it grows as attributes are placed, so that the first ones cannot take it all."""
        return self._limit * max(self._placed + 1, len(self._graph.sizes) // 3) // len(self._graph.sizes)

    def _cost(self, parents: frozenset[Axis]) -> tuple[int, int]:
        """Return the cells of the parents' own table, and of the model once they are a clique."""
        own = self._schema.cells(list(parents))
        if own > self._limit or all(frozenset(pair) in self._joined for pair in combinations(parents, 2)):
            return own, self._now
        return own, self._graph.add(parents).triangulated_cells(self._limit)
