"""The pairs that a round may choose from: those whose table keeps the model small, from earlier outputs alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from understudy.models.graph import Graph
from understudy.models.structural_zeros import rule_cliques
from understudy.schema import Axes, Axis, Schema


class CandidatePairs:
    """Tables over two attributes, or `tables`. One that would bring the triangulated model over the limit never comes
    back; `chosen` are tables that the model has already."""

    def __init__(
        self,
        schema: Schema,
        variables: Sequence[Axis],
        limit: int,
        tables: Iterable[Axes] | None = None,
        chosen: Iterable[Axes] = (),
    ) -> None:
        self._limit = limit
        sizes = {axis: schema.size(axis) for axis in variables}
        self._graph = Graph.of([*rule_cliques(schema, variables), *chosen], sizes)
        offered = combinations(variables, 2) if tables is None else tables
        self._open: list[Axes] = [axes for axes in offered if schema.cells(axes) <= limit]

    def add(self, axes: Axes) -> None:
        """Note that this table was measured: its axes are a clique of the model from now on."""
        self._graph = self._graph.add(axes)

    def __call__(self) -> list[Axes]:
        joined = {frozenset(p) for c in self._graph.triangulated_cliques() for p in combinations(c, 2)}
        self._open = [axes for axes in self._open if self._inside(axes, joined) or self._fits(axes)]
        return self._open

    def _inside(self, axes: Axes, joined: set[frozenset[Axis]]) -> bool:
        """A set whose pairs are all joined is in a clique of a triangulated graph."""
        return all(frozenset(pair) in joined for pair in combinations(axes, 2))

    def _fits(self, axes: Axes) -> bool:
        return self._graph.add(axes).triangulated_cells(self._limit) <= self._limit
