"""Consistency: noisy tables that share attributes, brought to agree on what they share.

The nearest agreeing tables, each cell weighted by its inverse variance, have a closed form (Qardaji, Yang, Li 2014;
Chen et al. 2015, section 4.3): for each set of shared axes, smaller sets first, every table that holds the set moves to
the weighted mean of their projections, the change spread evenly. Noise is even over a table's cells, so a table's parts
of different axis sets are orthogonal and no step undoes an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled
from understudy.models.calibration import cell_index
from understudy.schema import Axes, Axis, Floats, Integers, Schema


@dataclass(frozen=True, eq=False)
class Agreement:
    """The steps of the closed form over tables that lie one after the other in a flat array."""

    steps: Integers  # of each shared set: its cells, its first turn, the end of its turns
    turns: Integers  # of each table in a step: its first cell, its number of cells, its first index
    weights: Floats  # of each turn: the table's weight in the mean
    index: NDArray[np.int32]

    @staticmethod
    def of(tables: Sequence[Axes], variances: Sequence[float], schema: Schema) -> Agreement:
        """Prepare the averaging of what tables share; different views of one attribute are different axes."""
        cells = [schema.cells(axes) for axes in tables]
        first = np.concatenate([[0], np.cumsum(cells)])
        steps: list[tuple[int, int, int]] = []
        turns: list[tuple[int, int, int]] = []
        weights: list[float] = []
        indexes = [np.empty(0, dtype=np.int32)]
        places = 0
        for shared in _shared_sets(tables):
            holders = [i for i, axes in enumerate(tables) if shared <= set(axes)]
            order = sorted(shared)
            steps.append((schema.cells(order), len(turns), len(turns) + len(holders)))
            # A projection's variance grows with the number of cells that fall together.
            precision = np.array([1 / (variances[i] * cells[i]) for i in holders])
            weights.extend((precision / precision.sum()).tolist())
            for i in holders:
                shape = schema.sizes(tables[i])
                indexes.append(cell_index(tables[i], shape, order, dict(zip(tables[i], shape))))
                turns.append((int(first[i]), cells[i], places))
                places += cells[i]
        return Agreement(
            np.array(steps, dtype=np.int64).reshape(-1, 3), np.array(turns, dtype=np.int64).reshape(-1, 3),
            np.array(weights), np.concatenate(indexes),
        )  # fmt: skip

    def project(self, values: Floats) -> Floats:
        """Return the nearest values that agree."""
        agreed = values.copy()
        _agree(agreed, self.steps, self.turns, self.weights, self.index, *self._room)
        return agreed

    @property
    def _room(self) -> tuple[Floats, Floats]:
        """Return room for the mean of the largest shared set, and for the sums of the largest step."""
        cells, turns = self.steps[:, 0], self.steps[:, 2] - self.steps[:, 1]
        return np.empty(cells.max(initial=0)), np.empty((cells * turns).max(initial=0))


def _shared_sets(tables: Sequence[Axes]) -> list[frozenset[Axis]]:
    """Return the sets that two or more tables share, closed under intersection, smaller ones first."""
    members = [frozenset(axes) for axes in tables]
    found = {a & b for i, a in enumerate(members) for b in members[:i]}
    fresh = found
    while fresh:
        fresh = {a & b for a in fresh for b in found} - found
        found = found | fresh
    return sorted(found, key=lambda shared: (len(shared), sorted(shared)))


@compiled
def _agree(values: Any, steps: Any, turns: Any, weights: Any, index: Any, mean: Any, sums: Any) -> None:
    for step in range(len(steps)):
        cells, begin, end = steps[step, 0], steps[step, 1], steps[step, 2]
        for c in range(cells):
            mean[c] = 0.0
        for c in range(cells * (end - begin)):
            sums[c] = 0.0
        for t in range(begin, end):
            first, count, place, own = turns[t, 0], turns[t, 1], turns[t, 2], cells * (t - begin)
            for c in range(count):
                sums[own + index[place + c]] += values[first + c]
            for c in range(cells):
                mean[c] += weights[t] * sums[own + c]
        for t in range(begin, end):
            first, count, place, own = turns[t, 0], turns[t, 1], turns[t, 2], cells * (t - begin)
            share = cells / count
            for c in range(count):
                cell = index[place + c]
                values[first + c] += (mean[cell] - sums[own + cell]) * share
