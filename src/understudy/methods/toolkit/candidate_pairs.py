"""The pairs that a round may choose from: those whose table keeps the model small, from earlier outputs alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from understudy.models.bayesian_network import base_of
from understudy.models.graph import Graph
from understudy.models.structural_zeros import rule_cliques
from understudy.schema import Axes, Axis, Schema
from understudy.schema.axis import MERGED

MAX_OFFERED = 512  # pairs in a round; of more, each round has its turn


class CandidatePairs:
    """Tables over two attributes, or `tables`. One that would bring the triangulated model over the limit never comes
    back; `chosen` are tables that the model has already. Attributes with merged groups are offered by their groups too.

    Of very many tables a round is offered some, and the next round the next ones. A greedy search loses little by that,
    as long as all have many turns before it ends (Mirzasoleiman et al. 2015 draw them at random).
    """

    def __init__(
        self,
        schema: Schema,
        variables: Sequence[Axis],
        limit: int,
        tables: Iterable[Axes] | None = None,
        chosen: Iterable[Axes] = (),
        at_once: int = MAX_OFFERED,
    ) -> None:
        self._limit = limit
        self._at_once = at_once
        sizes = {axis: schema.size(axis) for axis in variables}
        groups = [Axis(axis.attribute, MERGED) for axis in variables if schema[axis.attribute].groups]
        sizes |= {axis: schema.size(axis) for axis in groups}
        self._graph = Graph.of(rule_cliques(schema, variables), sizes)
        for axes in chosen:
            self.add(axes)
        offered = list(combinations(variables, 2) if tables is None else tables)
        offered += [] if tables is not None else grouped_pairs(variables, groups)
        self._open: list[Axes] = [axes for axes in offered if schema.cells(axes) <= limit]
        if len(self._open) > at_once:  # so that any stretch of them has all attributes about equally often
            place = {axis: i for i, axis in enumerate(variables)}
            self._open.sort(key=lambda axes: place[base_of(axes[-1])] - place[base_of(axes[0])])

    def add(self, axes: Axes) -> None:
        """Note that this table was measured: its axes are a clique of the model from now on."""
        self._graph = with_table(self._graph, axes)

    def __call__(self, part: float = 1.0) -> list[Axes]:
        """Return what this round may choose from, where the model may have this part of its cells so far."""
        limit = int(self._limit * part)
        joined = {frozenset(p) for c in self._graph.triangulated_cliques() for p in combinations(c, 2)}
        offered: list[Axes] = []
        later: list[Axes] = []
        left = iter(self._open)
        for axes in left:
            if self._inside(axes, joined) or self._fits(axes, limit):
                offered.append(axes)
            elif limit < self._limit and self._fits(axes, self._limit):
                later.append(axes)
            if len(offered) == self._at_once:
                break
        self._open = [*left, *later, *offered]
        return offered if offered or not later else self()

    def _inside(self, axes: Axes, joined: set[frozenset[Axis]]) -> bool:
        """Return whether the set is in a clique: in a triangulated graph it is where all its pairs are joined."""
        return all(frozenset(pair) in joined for pair in combinations(axes, 2))

    def _fits(self, axes: Axes, limit: int) -> bool:
        return with_table(self._graph, axes).fits(limit)


def grouped_pairs(variables: Sequence[Axis], groups: Sequence[Axis]) -> Iterator[Axes]:
    """Yield each pair in which an attribute has merged groups, by the groups of those that have them."""
    coarse = {axis.attribute: axis for axis in groups}
    for pair in combinations(variables, 2):
        if any(axis.attribute in coarse for axis in pair):
            yield tuple(coarse.get(axis.attribute, axis) for axis in pair)


def with_table(graph: Graph[Axis], axes: Axes) -> Graph[Axis]:
    """Return the graph with a table as a clique; merged groups are joined to the attribute whose values decide them."""
    for axis in axes:
        if axis.merged:
            graph = graph.add((base_of(axis), axis))
    return graph.add(axes)
