"""Consistency: noisy tables that share attributes, brought to agree on what they share.

The nearest agreeing tables, each cell weighted by its inverse variance, have a closed form (Qardaji, Yang, Li 2014;
Chen et al. 2015, section 4.3): for each set of shared axes, smaller sets first, every table that holds the set moves to
the weighted mean of their projections, the change spread evenly. Noise is even over a table's cells, so a table's parts
of different axis sets are orthogonal and no step undoes an earlier one.

Merged groups are sums over an attribute's values, and a table by values has to agree with one by groups. Groups have
different numbers of values, so each has weights of its own; what such a step would do to the total is taken back from
each group by its variance. Totals are known where there are groups (shares add up to one, and directions to zero).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled
from understudy.schema import Axes, Axis, Floats, Integers, Schema
from understudy.schema.axis import MERGED
from understudy.schema.row_major import coarse_index


@dataclass(frozen=True, eq=False)
class Agreement:
    """The steps of the closed form over tables that lie one after the other in a flat array."""

    steps: Integers  # of each shared set: its cells, its first turn, the end of its turns, its first return
    turns: Integers  # of each table in a step: its first cell, its number of cells, its first index and weight
    weights: Floats  # of each turn, for each cell of the shared set: the table's weight in the mean
    spread: Floats  # and by how much its cells there move when their sum moves by one
    returned: Floats  # of each step, for each cell: its part of what has to be taken back from the total
    index: NDArray[np.int32]
    even: Floats | None = None  # shares if all values were equally frequent, where values and groups have to agree

    @staticmethod
    def of(tables: Sequence[Axes], variances: Sequence[float], schema: Schema) -> Agreement:
        """Prepare the averaging of what tables share; views of one attribute other than groups are different axes."""
        cells = [schema.cells(axes) for axes in tables]
        first = np.concatenate([[0], np.cumsum(cells)])
        mixed = _values_and_groups(tables)
        steps: list[tuple[int, ...]] = []
        turns: list[tuple[int, ...]] = []
        places = width = backs = 0
        indexes, weights, spread, returned = [np.empty(0, np.int32)], [np.empty(0)], [np.empty(0)], [np.empty(0)]
        for step in _steps(tables, schema, mixed):
            size, begin = len(step.counts[0]), len(turns)
            # A projection's variance grows with the number of cells that fall together.
            precision = np.array([1 / (variances[i] * (own * size)) for i, own in zip(step.holders, step.counts)])
            both = np.ascontiguousarray(precision.T).sum(axis=1)
            weights.append((precision / both).ravel())
            spread.append(np.concatenate([1 / own for own in step.counts]))
            taken = 1 / both
            returned.append(taken / taken.sum() if step.known_total else np.zeros(size))
            for i, index in zip(step.holders, step.indexes):
                indexes.append(index)
                turns.append((int(first[i]), cells[i], places, width))
                places, width = places + cells[i], width + size
            steps.append((size, begin, len(turns), backs))
            backs += size
        return Agreement(
            np.array(steps, dtype=np.int64).reshape(-1, 4), np.array(turns, dtype=np.int64).reshape(-1, 4),
            np.concatenate(weights), np.concatenate(spread), np.concatenate(returned), np.concatenate(indexes),
            np.concatenate([_even(axes, schema) for axes in tables]) if mixed else None,
        )  # fmt: skip

    def nearest(self, shares: Floats) -> Floats:
        """Return the nearest tables of shares that agree; each table adds up to one."""
        return self.project(shares) if self.even is None else self.even + self.project(shares - self.even)

    def project(self, values: Floats) -> Floats:
        """Return the nearest values that agree; of total zero where values and groups have to agree."""
        agreed = values.copy()
        _agree(agreed, self.steps, self.turns, self.weights, self.spread, self.returned, self.index, *self._room)
        return agreed

    @cached_property
    def _room(self) -> tuple[Floats, Floats]:
        """Return room for the mean of the largest shared set, and for the sums of the largest step."""
        cells, turns = self.steps[:, 0], self.steps[:, 2] - self.steps[:, 1]
        return np.empty(cells.max(initial=0)), np.empty((cells * turns).max(initial=0))


@dataclass(frozen=True, eq=False)
class _Step:
    """The tables that hold a shared set: which of its cells each of theirs falls on, and how many fall on each."""

    holders: list[int]
    indexes: list[NDArray[np.int32]]
    counts: list[Floats]
    known_total: bool


def _steps(tables: Sequence[Axes], schema: Schema, mixed: set[str]) -> Iterator[_Step]:
    shared = _shared_sets(tables)
    if mixed:
        yield _step(tables, frozenset(), schema, known_total=True)
        for name in sorted(mixed):
            yield _step(tables, frozenset([Axis(name, MERGED)]), schema, known_total=True)
    for axes in shared:
        if axes or not mixed:
            yield _step(tables, axes, schema, known_total=False)


def _step(tables: Sequence[Axes], shared: frozenset[Axis], schema: Schema, known_total: bool) -> _Step:
    """Return a step; with a known total, tables by values hold the groups too."""
    order = sorted(shared)
    follows = [_places(axes, order, known_total) for axes in tables]
    holders = [i for i, places in enumerate(follows) if places is not None]
    indexes = [_index(tables[i], order, follows[i] or [], schema) for i in holders]
    counts = [np.bincount(index, minlength=schema.cells(order)).astype(np.float64) for index in indexes]
    return _Step(holders, indexes, counts, known_total)


def _places(axes: Axes, shared: Sequence[Axis], by_values: bool) -> list[int] | None:
    """Return where a table has each of the shared axes, or the values of the shared groups; None if it has not."""
    found = [
        axis if axis in axes else Axis(axis.attribute) for axis in shared if axis in axes or (by_values and axis.merged)
    ]
    return [axes.index(axis) for axis in found] if len(found) == len(shared) and set(found) <= set(axes) else None


def _index(axes: Axes, shared: Sequence[Axis], follows: Sequence[int], schema: Schema) -> NDArray[np.int32]:
    codes = [
        np.arange(schema.size(axis)) if axes[at] == axis else schema.view_map(axis) for axis, at in zip(shared, follows)
    ]
    return coarse_index(schema.sizes(axes), follows, codes, schema.sizes(shared)).astype(np.int32)


def _values_and_groups(tables: Sequence[Axes]) -> set[str]:
    """Return the attributes that some tables have by values and others by groups."""
    axes = {axis for table in tables for axis in table}
    return {axis.attribute for axis in axes if axis.merged and Axis(axis.attribute) in axes}


def _even(axes: Axes, schema: Schema) -> Floats:
    """Return the shares of a table if all values of its attributes were equally frequent and independent."""
    table = np.ones(())
    for axis in axes:
        size = schema.size(axis)
        held = np.bincount(schema.view_map(axis), minlength=size) if axis.merged else np.ones(size)
        table = np.multiply.outer(table, held / held.sum())
    return np.asarray(table).ravel()


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
def _agree(
    values: Any, steps: Any, turns: Any, weights: Any, spread: Any, returned: Any, index: Any, mean: Any, sums: Any
) -> None:
    for step in range(len(steps)):
        cells, begin, end, back = steps[step, 0], steps[step, 1], steps[step, 2], steps[step, 3]
        for c in range(cells):
            mean[c] = 0.0
        for c in range(cells * (end - begin)):
            sums[c] = 0.0
        for t in range(begin, end):
            first, count, place, own = turns[t, 0], turns[t, 1], turns[t, 2], cells * (t - begin)
            for c in range(count):
                sums[own + index[place + c]] += values[first + c]
            for c in range(cells):
                mean[c] += weights[turns[t, 3] + c] * sums[own + c]
        total = 0.0
        for c in range(cells):
            total += mean[c]
        for c in range(cells):
            mean[c] -= returned[back + c] * total
        for t in range(begin, end):
            first, count, place, own = turns[t, 0], turns[t, 1], turns[t, 2], cells * (t - begin)
            for c in range(cells):
                sums[own + c] = (mean[c] - sums[own + c]) * spread[turns[t, 3] + c]
            for c in range(count):
                values[first + c] += sums[own + index[place + c]]
