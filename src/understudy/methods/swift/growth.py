"""Growth: which tables to measure, grown greedily under a limit on the cells of the triangulated model.

Tables that share a budget B at prices in proportion to y = (weight × cells)^(p/(p+1)) have the least weighted sum of
errors, u·(Σy)^(1+1/p) for the noise u of one cell at the whole of B: p is 1 where epsilons add up and 2 for Gaussian
noise (⅔ is the published exponent). So a table is worth its price while its gain is above the part `kappa` of what it
adds to that sum. Everything here is public: gains are noisy scores, or what a model has left of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.methods.toolkit.candidate_pairs import with_table
from understudy.models.bayesian_network import base_of
from understudy.models.graph import Graph
from understudy.schema import Axes, Axis, Floats

REJECTED = 10  # tables for each attribute that the model had no room for, after which no more are tried
MIDDLING = 4  # tables for each attribute: prices are reckoned for no more of them


@dataclass(frozen=True, eq=False)
class Grown:
    """Tables to measure, by their numbers, and the graph of a model that has them."""

    chosen: tuple[int, ...]
    graph: Graph[Axis]


@dataclass(frozen=True, eq=False)
class Growth:
    """What there is to choose from, and what decides it.

    Args:
        tables: all that may be measured.
        prices: y of each.
        limit: cells of the triangulated model.
        kappa: how much of the expected noise of a table counts against it.
        power: p.
    """

    tables: Sequence[Axes]
    prices: Floats
    limit: int
    kappa: float
    power: int

    def within(self, part: float) -> Growth:
        """Return the same for a model that may have this part of its cells so far."""
        return replace(self, limit=int(self.limit * part))

    def grown(self, gains: Floats, noise: float, graph: Graph[Axis]) -> Grown:
        """Return the tables that are worth their noise, those of the largest net gain first.

        Args:
            gains: what each table teaches, in rows, times its weight.
            noise: u: the error of a table of one cell that had the whole budget, in the same unit.
            graph: of the model so far.
        """
        return self._grown(gains, noise, graph, forest=False)

    def forest(self, gains: Floats, noise: float, graph: Graph[Axis]) -> Grown:
        """Return the same without a cycle: what one table says of two columns, others need not say again."""
        return self._grown(gains, noise, graph, forest=True)

    def first(self, grown: Grown, count: int, graph: Graph[Axis]) -> Grown:
        """Return the first so many of what was grown on this graph."""
        for i in grown.chosen[:count]:
            graph = with_table(graph, self.tables[i])
        return Grown(grown.chosen[:count], graph)

    def _grown(self, gains: Floats, noise: float, graph: Graph[Axis], forest: bool) -> Grown:
        chosen: list[int] = []
        parts = _Parts(self.tables)
        total, rejected = 0.0, 0
        for i in self._order(gains, noise):
            if gains[i] <= self._added(noise, total, self.prices[i]) or (forest and not parts.apart(self.tables[i])):
                continue
            larger = with_table(graph, self.tables[i])
            if larger.fits(self.limit):
                graph = larger
                total += self.prices[i]
                chosen.append(int(i))
                parts.join(self.tables[i])
            elif (rejected := rejected + 1) > REJECTED * len(parts):
                break
        return Grown(tuple(chosen), graph)

    def _added(self, noise: float, total: float, price: float) -> float:
        """Return what a table adds to the weighted error of those that it shares the budget with."""
        power = 1 + 1 / self.power
        return float(self.kappa * noise * ((total + price) ** power - total**power))

    def _order(self, gains: Floats, noise: float) -> list[int]:
        """Return the tables by net gain, at the going rate for a unit of price; none that has no gain."""
        total, count = 0.0, len({axis.attribute for axes in self.tables for axis in axes})
        most = MIDDLING * count * float(np.median(self.prices)) if len(self.prices) else 0.0
        for i in np.argsort(-gains / self.prices, kind="stable"):
            if total >= most or gains[i] <= self._added(noise, total, self.prices[i]):
                break
            total += self.prices[i]
        rate = self.kappa * noise * (1 + 1 / self.power) * total ** (1 / self.power)
        order = np.argsort(rate * self.prices - gains, kind="stable")
        return [int(i) for i in order if gains[i] > 0]


class _Parts:
    """The connected parts of a growing graph of attributes."""

    def __init__(self, tables: Sequence[Axes]) -> None:
        self._above = {base_of(axis): base_of(axis) for axes in tables for axis in axes}

    def __len__(self) -> int:
        return len(self._above)

    def apart(self, axes: Axes) -> bool:
        """Return whether no two of these are in one part."""
        return len({self._top(base_of(axis)) for axis in axes}) == len(axes)

    def join(self, axes: Axes) -> None:
        """Make one part of all parts that these are in."""
        first, *others = (self._top(base_of(axis)) for axis in axes)
        for other in others:
            self._above[other] = first

    def _top(self, axis: Axis) -> Axis:
        while self._above[axis] != axis:
            axis = self._above[axis]
        return axis
