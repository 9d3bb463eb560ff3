"""A noisy tree of counts on a public grid, and what follows from it: a density, cells for a graphical model, points.

Everything here is public: it sees a range, a price and noisy counts, never a row. The steps:

    prior_of      a public guess of where values lie: part linear, part logarithmic, some mass on round points
    tree_of       nested partitions of the range, level by level, into nodes of equal prior mass
    consistent    the least-squares estimate of all nodes from the noisy counts of all levels
    settled       non-negative counts of the leaves: what is within the noise goes back to where rows are
    cells_of      cells for a graphical model: points that stand out, and edges of about equal mass between them
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
Flat = Literal["width", "prior"]

MAX_LEAVES = 65_535
FANOUT = 4
ZERO_MASS = 0.05  # of the prior, on the value 0
END_MASS = 0.01  # on each end of the range
ROUND_MASS = 0.0005  # on each further round value
LINEAR = 0.5  # of the rest: linear, the other part logarithmic around 0
SMALLEST = 1e-5  # of the larger end: below this a number counts as near 0


# -- the public grid -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """The declared range of an ordered attribute; `step` is the distance of its values, 0 where it has none."""

    low: float
    high: float
    step: float = 0.0
    logarithmic: bool = True  # dates and datetimes have no natural zero

    @property
    def values(self) -> int | None:
        """Return how many values there are."""
        return round((self.high - self.low) / self.step) + 1 if self.step else None


@dataclass(frozen=True, eq=False)
class Units:
    """The smallest pieces of a range in order: cells [low, high) and single points, each with its prior mass.

    A point has low = high where there is no step, and high = low + step where there is one.
    """

    span: Range
    low: Floats
    high: Floats
    point: NDArray[np.bool_]
    prior: Floats

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def width(self) -> Floats:
        """Return how much of the range a unit holds: its length, or its number of values."""
        return (self.high - self.low) / (self.span.step or 1.0)

    def encode(self, values: Floats) -> Index:
        """Return the unit of each value; what lies outside the range is clamped."""
        inside = np.clip(values, self.span.low, self.span.high)
        if self.span.step:
            return np.searchsorted(self.low, inside, side="right") - 1
        cells, points = np.flatnonzero(~self.point), np.flatnonzero(self.point)
        codes = cells[np.clip(np.searchsorted(self.low[cells], inside, side="right") - 1, 0, None)]
        at = np.clip(np.searchsorted(self.low[points], inside), 0, max(0, len(points) - 1))
        return np.where(self.low[points][at] == inside, points[at], codes) if len(points) else codes


def round_points(span: Range) -> Floats:
    """Return values that people round to or use as codes: 0, the ends, 1-2-5 × 10^k and 9, 99, 999 …, of both signs."""
    largest = max(abs(span.low), abs(span.high))
    smallest = span.step or largest * 1e-4
    found = [0.0, span.low, span.high]
    for power in range(math.floor(math.log10(smallest)), math.floor(math.log10(largest)) + 1):
        found += [digit * 10.0**power for digit in (1, 2, 5)]
        if power >= 1:
            found.append(10.0**power - 1)
    values = np.unique(np.asarray([*found, *(-v for v in found)]))
    if span.step:
        values = values[np.isclose((values - span.low) / span.step % 1.0, 0.0)]
    return values[(values >= span.low) & (values <= span.high)]


def warp(span: Range, values: Floats, linear: float = LINEAR) -> Floats:
    """Return the public guess of the distribution function: part linear, part logarithmic around 0."""
    flat = (values - span.low) / (span.high - span.low)
    if not span.logarithmic or linear >= 1.0:
        return flat
    scale = span.step or max(abs(span.low), abs(span.high)) * SMALLEST

    def curve(x: Floats) -> Floats:
        return np.sign(x) * np.log1p(np.abs(x) / scale)

    low, high = curve(np.asarray([span.low]))[0], curve(np.asarray([span.high]))[0]
    return linear * flat + (1 - linear) * (curve(values) - low) / (high - low)


def units_of(
    span: Range, cells: int = 16_384, linear: float = LINEAR, zero: float = ZERO_MASS, end: float = END_MASS,
    other: float = ROUND_MASS, points: Floats | None = None,
) -> Units:  # fmt: skip
    """Return the units of a range: at most `cells` cells of equal prior mass, and its round points."""
    points = (round_points(span) if span.logarithmic else np.empty(0)) if points is None else points
    if span.values is not None and span.values <= cells:
        low = span.low + span.step * np.arange(span.values, dtype=np.float64)
        high, is_point = low + span.step, np.zeros(len(low), dtype=bool)
    else:
        low, high, is_point = _cut(span, cells, linear, points)
    edges = np.append(low, high[-1]) - (span.step / 2 if span.step else 0.0)
    mass = np.maximum(np.diff(warp(span, np.clip(edges, span.low, span.high), linear)), 0.0)
    single = is_point if not span.step else np.isclose(high - low, span.step)
    near = np.abs(low[:, None] - points[None, :]) <= (span.step or 1e-300) / 4
    is_point = single & near.any(axis=1)
    weights = np.where(points == 0, zero, np.where(np.isin(points, [span.low, span.high]), end, other))
    extra = np.where(is_point, near @ weights, 0.0)
    mass = mass / mass.sum() * (1 - extra.sum()) + extra
    return Units(span, low, high, is_point, mass)


def _cut(span: Range, cells: int, linear: float, points: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return cells with boundaries at equal prior mass, and a unit for each point."""
    probes = _probes(span)
    shares = np.arange(1, cells) / cells
    inner = np.interp(shares, warp(span, probes, linear), probes)
    if span.step:
        inner = span.low + np.round((inner - span.low) / span.step) * span.step
        edges = np.unique(np.concatenate([[span.low], inner, points, points + span.step, [span.high + span.step]]))
        edges = edges[(edges >= span.low) & (edges <= span.high + span.step)]
        return edges[:-1], edges[1:], np.zeros(len(edges) - 1, dtype=bool)
    edges = np.unique(np.concatenate([[span.low], inner, points, [span.high]]))
    low = np.concatenate([edges[:-1], points])
    high = np.concatenate([edges[1:], points])
    kind = np.concatenate([np.ones(len(edges) - 1), np.zeros(len(points))])
    order = np.lexsort([kind, low])  # a point comes just before the cell that begins at it
    return low[order], high[order], kind[order] == 0


def _probes(span: Range) -> Floats:
    """Return values dense enough near 0 and far from it to invert the warp."""
    largest = max(abs(span.low), abs(span.high))
    near = np.geomspace(largest * 1e-9, largest, 4_000)
    every = np.concatenate([np.linspace(span.low, span.high, 20_000), near, -near, [0.0]])
    return np.unique(every[(every >= span.low) & (every <= span.high)])


# -- the tree ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tree:
    """Nested partitions of the units. `starts[l]` has the first unit of every node of level l; the root is left out."""

    units: Units
    starts: tuple[Index, ...]

    @property
    def depth(self) -> int:
        return len(self.starts)

    @property
    def leaves(self) -> int:
        return len(self.starts[-1])

    @cached_property
    def children(self) -> tuple[Index, ...]:
        """Return for each level but the last where each node's children begin on the next one, and the end."""
        return tuple(
            np.append(np.searchsorted(below, above), len(below)) for above, below in zip(self.starts, self.starts[1:])
        )

    def counts(self, codes: Index) -> list[Floats]:
        """Return exact counts of all levels from the rows' units: in the product, the kernel's business."""
        leaves = np.bincount(codes, minlength=len(self.units)).astype(np.float64)
        return [np.add.reduceat(leaves, start) for start in self.starts]

    def gathered(self, weights: Floats, level: int = -1) -> Floats:
        """Return weights of units added up over the nodes of a level."""
        return np.add.reduceat(weights, self.starts[level])


def tree_of(units: Units, sizes: Sequence[int], alone: int = 256) -> Tree:
    """Return a level for each size, each a multiple of the one before: so many nodes of about equal prior mass.

    A boundary is the end of a unit nearest to a multiple of 1/size, so that levels are nested and a unit of much mass,
    such as 0, stands alone early. Where the last level has `alone` nodes or more, it has every point alone.
    """
    ends = np.concatenate([[0.0], np.cumsum(units.prior)])
    ends /= ends[-1]
    levels = []
    for size in sizes:
        wanted = np.arange(size) / size
        at = np.searchsorted(ends, wanted)
        left = np.clip(at - 1, 0, None)
        nearest = np.where(wanted - ends[left] < ends[at] - wanted, left, at)
        starts = np.unique(nearest[nearest < len(units)])
        if size == sizes[-1] >= alone:
            single = np.flatnonzero(units.point)
            starts = np.unique(np.concatenate([starts, single, single + 1]))
        levels.append(starts[starts < len(units)].astype(np.int64))
    return Tree(units, tuple(levels))


# -- estimates -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Estimates:
    """For every level the estimate of each node from itself and all below it, and its variance."""

    tree: Tree
    values: tuple[Floats, ...]
    variances: tuple[Floats, ...]


def gathered_upwards(tree: Tree, noisy: Sequence[Floats], variances: Sequence[float]) -> Estimates:
    """Return the first half of the least-squares solution: each node by its own count and its children's estimates."""
    values, spreads = [noisy[-1]], [np.full(tree.leaves, variances[-1])]
    for level in reversed(range(tree.depth - 1)):
        first = tree.children[level][:-1]
        below, noise = np.add.reduceat(values[0], first), np.add.reduceat(spreads[0], first)
        own = 1 / variances[level]
        weight = own / (own + 1 / noise)
        values.insert(0, weight * noisy[level] + (1 - weight) * below)
        spreads.insert(0, 1 / (own + 1 / noise))
    return Estimates(tree, tuple(values), tuple(spreads))


def consistent(estimates: Estimates, total: float) -> list[Floats]:
    """Return the least-squares solution for a known total: children are moved so as to add up to their parent."""
    tree, out = estimates.tree, []
    parent, first = np.asarray([total]), np.asarray([0, len(estimates.values[0])])
    for level in range(tree.depth):
        value, noise = estimates.values[level], estimates.variances[level]
        size = np.diff(first)
        short = parent - np.add.reduceat(value, first[:-1])
        whole = np.add.reduceat(noise, first[:-1])
        out.append(value + noise * np.repeat(short / whole, size))
        parent = out[-1]
        first = tree.children[level] if level + 1 < tree.depth else first
    return out


@dataclass(frozen=True)
class Settling:
    """How much of a noisy split is believed: constants of docs/decisions/0017-noisy-tree.md."""

    coarse: int = 2  # the upper levels are sparse, those below are smooth
    small: float = 1.5  # on a coarse level, a child of fewer rows than so many standard deviations is empty
    stein: float = 1.0  # on a finer one, how strongly a split is pulled towards the flat one (James and Stein)
    filled: float = 0.75  # a coarse level below one with more of its nodes filled than this is smooth, too
    sure: float = 3.0  # with fewer rows in all than so many standard deviations of a first node, no level is sparse
    flat: Flat = "width"  # what a flat split is proportional to


DEFAULT = Settling()


def settled(estimates: Estimates, total: float, settling: Settling = DEFAULT) -> Floats:
    """Return non-negative counts of the leaves that add up to the total, from the top down."""
    tree = estimates.tree
    measure = tree.units.width if settling.flat == "width" else tree.units.prior
    parent, first = np.asarray([max(float(total), 0.0)]), np.asarray([0, len(tree.starts[0])])
    sparse = total >= settling.sure * math.sqrt(float(estimates.variances[0].mean()))
    for level in range(tree.depth):
        weight = np.maximum(tree.gathered(measure, level), 0.0)
        parent = _split(estimates, level, parent, first, weight, settling, sparse and level < settling.coarse)
        sparse = sparse and float((parent > 0).mean()) < settling.filled
        if level + 1 < tree.depth:
            first = tree.children[level]
    return parent


def _split(
    estimates: Estimates, level: int, parent: Floats, first: Index, weight: Floats, settling: Settling,
    sparse: bool,
) -> Floats:  # fmt: skip
    """Return the counts of one level's nodes."""
    size = np.diff(first)
    owner = np.repeat(np.arange(len(size)), size)
    value, noise = estimates.values[level], np.sqrt(estimates.variances[level])
    flat = _flat_split(parent, weight, first, owner)
    short = (parent - np.add.reduceat(value, first[:-1])) / np.add.reduceat(noise**2, first[:-1])
    value = value + noise**2 * short[owner]
    if not sparse:
        value = flat + _believed(value - flat, noise, first, settling.stein)[owner] * (value - flat)
        return _onto_simplex(value, parent, first, owner)
    split = _onto_simplex(value, parent, first, owner)
    return _without_small(split, settling.small * noise, parent, first, owner)


def _flat_split(parent: Floats, weight: Floats, first: Index, owner: Index) -> Floats:
    whole = np.add.reduceat(weight, first[:-1])
    size = np.diff(first)
    even = np.where(whole[owner] > 0, weight / np.maximum(whole[owner], 1e-300), 1 / size[owner])
    return even * parent[owner]


def _believed(above: Floats, noise: Floats, first: Index, stein: float) -> Floats:
    """Return the believed part of each split's distance from the flat one: what is beyond the noise."""
    seen = np.add.reduceat((above / noise) ** 2, first[:-1])
    return np.maximum(0.0, 1.0 - stein * (np.diff(first) - 1) / np.maximum(seen, 1e-12))


def _onto_simplex(value: Floats, parent: Floats, first: Index, owner: Index) -> Floats:
    """Return the nearest non-negative children that add up to their parent."""
    size = np.diff(first)
    place = np.arange(len(value)) - first[:-1][owner]
    padded = np.full((len(size), int(size.max())), -np.inf)
    padded[owner, place] = value
    ordered = -np.sort(-padded, axis=1)
    filled = np.where(np.isfinite(ordered), ordered, 0.0)
    over = (np.cumsum(filled, axis=1) - parent[:, None]) / np.arange(1, filled.shape[1] + 1)
    kept = np.isfinite(ordered) & (ordered > over)
    count = np.maximum(kept.sum(axis=1), 1)
    level = over[np.arange(len(size)), count - 1]
    return np.maximum(value - level[owner], 0.0)


def nearest_counts(noisy: Floats, total: float) -> Floats:
    """Return the nearest non-negative counts with this total."""
    ends = np.asarray([0, len(noisy)])
    return _onto_simplex(noisy, np.asarray([float(total)]), ends, np.zeros(len(noisy), dtype=np.int64))


def _without_small(split: Floats, least: Floats, parent: Floats, first: Index, owner: Index) -> Floats:
    """Return the split with the rows of small children given to the others, or to the largest where all are small."""
    largest = np.maximum.reduceat(split, first[:-1])
    kept = np.where((split >= least) | (split >= largest[owner]), split, 0.0)
    whole = np.add.reduceat(kept, first[:-1])
    return kept * np.divide(parent, whole, out=np.zeros_like(parent), where=whole > 0)[owner]


# -- cells for a graphical model -----------------------------------------------------------------------------

MIN_CELLS, MAX_CELLS = 12, 32
CELLS = 1.5  # times the third root of rows over noise


def cells_wanted(rows: float, noise: float) -> int:
    """Return how many cells pairs can bear: rows over the standard deviation of a one-way count, to the third."""
    return int(min(MAX_CELLS, max(MIN_CELLS, math.ceil(CELLS * (max(rows, 1.0) / noise) ** (1 / 3)))))


def unit_masses(tree: Tree, mass: Floats) -> Floats:
    """Return the mass of each unit: a leaf's, spread evenly over what it holds."""
    size = np.diff(np.append(tree.starts[-1], len(tree.units)))
    owner = np.repeat(np.arange(tree.leaves), size)
    width = tree.gathered(tree.units.width)
    return mass[owner] * np.where(
        width[owner] > 0, tree.units.width / np.maximum(width[owner], 1e-300), 1 / size[owner]
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """Consecutive groups of units. `first[c]` is the first unit of cell c; a single value that stands out is alone."""

    units: Units
    mass: Floats  # of the units
    first: Index
    alone: NDArray[np.bool_]

    @cached_property
    def counts(self) -> Floats:
        return np.add.reduceat(self.mass, self.first)

    def encode(self, values: Floats) -> Index:
        """Return the cell of each value."""
        return np.searchsorted(self.first, self.units.encode(values), side="right") - 1

    def edges_and_points(self) -> tuple[Floats, Floats]:
        """Return bin edges and points as a schema would write them; with a step, a lone value is a bin of its own."""
        units, low = self.units, self.units.low[self.first]
        point = self.alone & (not units.span.step)
        edges = np.append(low[~point], units.high[-1] - units.span.step)
        if units.span.step and edges[-1] == edges[-2]:
            edges[-1] += units.span.step / 2
        return np.unique(np.append(edges, units.span.low)), low[point]

    def draw(self, cells: Index, generator: np.random.Generator) -> Floats:
        """Return a value for each cell: from a unit by mass (by width where a cell has none), even inside the unit."""
        size = np.diff(np.append(self.first, len(self.units)))
        owner = np.repeat(np.arange(len(self.first)), size)
        weight = np.where(self.counts[owner] > 0, self.mass, self.units.width + 1e-12)
        ends = np.cumsum(weight / np.add.reduceat(weight, self.first)[owner])
        begin = np.concatenate([[0.0], ends])[self.first]
        drawn = np.searchsorted(ends, begin[cells] + generator.random(len(cells)) * (1 - 1e-9), side="right")
        unit = np.clip(drawn, self.first[cells], (self.first + size - 1)[cells])
        low, high, step = self.units.low[unit], self.units.high[unit], self.units.span.step
        inside = generator.random(len(cells)) * (high - low)
        return low + (np.floor(inside / step) * step if step else inside)


def cells_of(units: Units, mass: Floats, wanted: int, noise: float) -> Cells:
    """Return about `wanted` cells of equal mass between values that stand out.

    A unit of one value is alone where it holds half of a cell's share and at least twice `noise`, the standard
    deviation of a count of the table that will be measured on these cells.
    """
    single = np.isclose(units.high - units.low, units.span.step) if units.span.step else units.point
    alone = single & (mass >= max(float(mass.sum()) / (2 * wanted), 2 * noise))
    rest = float(mass[~alone].sum())
    bounds = np.flatnonzero(np.diff(np.concatenate([[True], alone, [True]]).astype(np.int8)))
    cuts: list[int] = []
    for start, end in zip(bounds[::2], bounds[1::2]):
        share = float(mass[start:end].sum())
        count = max(1, round(wanted * share / rest) if rest > 0 else 1)
        inner = start + 1 + np.searchsorted(np.cumsum(mass[start:end]), share * np.arange(1, count) / count)
        cuts += [int(start), *(int(c) for c in inner if start < c < end)]
    first = np.unique(np.concatenate([np.asarray(cuts, dtype=np.int64), np.flatnonzero(alone), [0]]).astype(np.int64))
    before = np.maximum(first - 1, 0)  # a point that is not alone stays with the cell that begins at it
    first = np.unique(np.where((first > 0) & (units.low[before] == units.low[first]) & ~alone[before], before, first))
    return Cells(units, mass, first, alone[first])
