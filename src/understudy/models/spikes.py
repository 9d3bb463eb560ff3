"""Spikes: values that many rows share though they are not round, such as a mean written in for what was missing.

A tree finds such a value to the width of a leaf. So the leaves that hold far more rows than those beside them explain
are looked into: one more histogram has a cell for each of their units, and in it the units that stand out hold spikes.
Where a unit has several values, a table of the last digits of its numbers says which of them it is. What is looked at
is a public rule on noisy counts that are paid for, and so is what is made of the answers.
Measured in docs/decisions/0047-spikes.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.models.tree_counts import TreeCounts
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Laplace
from understudy.schema import Floats, Integers, Mask
from understudy.schema.endings import Endings
from understudy.schema.tree_grid import TreeGrid

CLEAR = 4.0  # standard deviations of a leaf, and of a unit looked at, that a leaf must hold more than is explained
TIMES = 1.5  # what is explained, that a leaf or a unit must hold
SEEN = 2.0  # standard deviations that the rows of a unit besides its spikes must be, to be there
CHANCE = 0.02  # that of all cells looked at one without a spike is taken for one


@dataclass(frozen=True, eq=False)
class Look:
    """What was bought to find the spikes of a column."""

    leaves: Integers  # of the last level, that were looked into
    inside: Measurement  # rows of each unit of these leaves, and between them
    units: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # whose endings were looked at
    endings: Measurement | None = None  # rows of each of these units, and between them, by their last digits


@dataclass(frozen=True)
class Spike:
    """A value that many rows share: its unit, the share of the unit's rows that have it, and how many these are."""

    unit: int
    value: float
    share: float
    rows: float


def standing_out(counts: TreeCounts, total: float, deviation: float) -> Integers:
    """Return the leaves of several units that hold far more rows than those beside them explain.

    Parameters
    ----------
    total
        The rows that are not missing.
    deviation
        The standard deviation of a count of a unit, were the leaf looked into.
    """
    rows, explained = counts.leaves(total), _explained(counts, total)
    noise = np.maximum(np.sqrt(counts.estimates[1][-1]), deviation)
    found = (rows - explained >= CLEAR * noise) & (rows >= TIMES * explained) & (_sizes(counts) > 1)
    return np.flatnonzero(found)


def _sizes(counts: TreeCounts) -> Integers:
    """Return how many units each leaf has."""
    return np.diff(np.append(counts.grid.first_units(counts.sizes[-1]), len(counts.even)))


def _explained(counts: TreeCounts, total: float) -> Floats:
    """Return the rows of each leaf that those beside it explain; all of a leaf of one unit, or of few leaves."""
    rows, wide = counts.leaves(total), np.flatnonzero(_sizes(counts) > 1)
    even = np.add.reduceat(counts.even, counts.grid.first_units(counts.sizes[-1]))[wide]
    density = np.divide(rows[wide], even, out=np.zeros(len(wide)), where=even > 0)
    explained = rows.copy()
    explained[wide] = even * _beside(density)
    return explained


def _beside(values: Floats) -> Floats:
    """Return the larger of what is at the two sides of each value: of a side, the smaller of its two nearest values, so
    that two that stand out side by side do not hide one another."""
    if len(values) < 3:
        return values[::-1] if len(values) == 2 else np.zeros(len(values))
    padded = np.pad(values, 2, mode="reflect")
    return np.maximum(np.minimum(padded[:-4], padded[1:-3]), np.minimum(padded[3:-1], padded[4:]))


def units_of(grid: TreeGrid, size: int, leaves: Integers) -> Integers:
    """Return the units of these leaves."""
    starts = np.append(grid.first_units(size), len(grid.prior))
    return np.concatenate([np.arange(starts[leaf], starts[leaf + 1]) for leaf in leaves], dtype=np.int64)


def cells_of(grid: TreeGrid, units: Integers) -> Integers:
    """Return the first unit of each cell of a histogram: each of these units has one, and what is between them."""
    found = np.unique(np.concatenate([[0], units, units + 1])).astype(np.int64)
    return np.asarray(found[found < len(grid.prior)])


def units_with_spikes(grid: TreeGrid, size: int, look: Look) -> Mask:
    """Return which units of the leaves that were looked into stand out among those beside them."""
    starts, found = np.append(grid.first_units(size), len(grid.prior)), np.zeros(len(grid.prior), dtype=bool)
    rows = _rows_inside(grid, size, look)
    limit = _limit(look.inside, len(units_of(grid, size, look.leaves)))
    for first, end in zip(starts[look.leaves], starts[look.leaves + 1]):
        found[first:end] = _stands_out(rows[first:end], limit)
    return found


def _rows_inside(grid: TreeGrid, size: int, look: Look) -> Floats:
    """Return the noisy rows of each unit of the leaves that were looked into, and none of others."""
    rows, units = np.zeros(len(grid.prior)), units_of(grid, size, look.leaves)
    rows[units] = look.inside.values[np.searchsorted(cells_of(grid, units), units)]
    return rows


def looked_into(counts: TreeCounts, total: float, look: Look) -> Floats:
    """Return the rows of each unit with those of the leaves that were looked into.

    A leaf keeps its rows: the units with spikes have those that they were seen to hold, the others share what is left
    as before.
    """
    grid, size = counts.grid, counts.sizes[-1]
    starts, mass = np.append(grid.first_units(size), len(grid.prior)), counts.unit_masses(total)
    spikes = np.where(units_with_spikes(grid, size, look), _rows_inside(grid, size, look), 0.0)
    for first, end in zip(starts[look.leaves], starts[look.leaves + 1]):
        mass[first:end] = _shared(spikes[first:end], mass[first:end])
    return mass


def spikes_of(grid: TreeGrid, size: int, look: Look, endings: Endings | None) -> tuple[Spike, ...]:
    """Return the values that many rows share: of units of one value, and of those whose endings were looked at."""
    found, rows = list[Spike](), _rows_inside(grid, size, look)
    told = 0 if endings is None else sum(endings.count(int(unit), grid.domain) for unit in look.units)
    for unit in np.flatnonzero(units_with_spikes(grid, size, look)).tolist():
        if unit in look.units and look.endings is not None and endings is not None:
            apart = _told_apart(grid, unit, look.endings, endings, cells_of(grid, look.units), told)
            found += [replace(spike, rows=spike.share * rows[unit]) for spike in apart]
        elif grid.single[unit]:
            found.append(Spike(unit, float(grid.unit_starts[unit]), 1.0, float(rows[unit])))
    return tuple(found)


def _told_apart(
    grid: TreeGrid, unit: int, seen: Measurement, endings: Endings, cells: Integers, told: int
) -> Iterator[Spike]:
    """Yield the values of a unit that stand out among `told` by their endings, with their shares of its rows."""
    values = endings.values(unit, grid.domain)
    noisy = seen.values[np.searchsorted(cells, unit), endings.encode_numbers(values)].astype(np.float64)
    found = _stands_out(noisy, _limit(seen, told))
    spiked = float(noisy[found].sum())
    whole = max(float(noisy.sum()), spiked)
    whole = spiked if whole - spiked < SEEN * math.sqrt(seen.variance * len(noisy)) else whole
    for value, rows in zip(values[found].tolist(), noisy[found].tolist()):
        yield Spike(unit, value, rows / whole, 0.0)


def _stands_out(noisy: Floats, limit: float) -> Mask:
    explained = np.maximum(_beside(noisy), 0.0)
    return (noisy - explained >= limit) & (noisy >= TIMES * explained)


def _limit(seen: Measurement, cells: int) -> float:
    """Return the rows from which on a cell without any would stand out by chance `CHANCE` among so many."""
    deviation = math.sqrt(seen.variance)
    if isinstance(seen.noise, Laplace):
        return deviation / math.sqrt(2) * math.log(cells / (2 * CHANCE))
    return deviation * math.sqrt(2 * math.log(cells / CHANCE))


def _shared(spikes: Floats, before: Floats) -> Floats:
    """Return the rows of a leaf's units: they add up to what they were before."""
    whole, held, others = float(before.sum()), float(spikes.sum()), np.where(spikes > 0, 0.0, before)
    if not held:
        return before
    if held >= whole or not others.any():
        return np.asarray(spikes * (whole / held))
    return np.asarray(spikes + others * ((whole - held) / others.sum()))
