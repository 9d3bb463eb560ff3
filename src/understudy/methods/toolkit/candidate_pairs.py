"""The pairs that a round may choose from: those whose table keeps the model small, from earlier outputs alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from understudy.models.graph import Graph
from understudy.models.structural_zeros import rule_cliques
from understudy.schema import Axes, Axis, Schema


class CandidatePairs:
    """Tables over two attributes. One that would bring the triangulated model over the limit never comes back."""

    def __init__(self, schema: Schema, variables: Sequence[Axis], limit: int) -> None:
        self._limit = limit
        self._graph = Graph.of(rule_cliques(schema, variables), {axis: schema.size(axis) for axis in variables})
        self._open: list[Axes] = [pair for pair in combinations(variables, 2) if schema.cells(pair) <= limit]

    def add(self, axes: Axes) -> None:
        """Note that this table was measured: its axes are a clique of the model from now on."""
        self._graph = self._graph.add(axes)

    def __call__(self) -> list[Axes]:
        joined = {frozenset(p) for c in self._graph.triangulated_cliques() for p in combinations(c, 2)}
        self._open = [pair for pair in self._open if frozenset(pair) in joined or self._fits(pair)]
        return self._open

    def _fits(self, pair: Axes) -> bool:
        return self._graph.add(pair).triangulated_cells(self._limit) <= self._limit
