"""The public grid of a declared range, and a tree over it: what a noisy tree is measured on before bins are known.

The smallest pieces are units: single values (steps) of a short range, else at most `MAX_UNITS` cells of equal prior
mass. The prior is a public guess of where values lie, part linear and part logarithmic around 0, with some mass on
round values. A level of the tree cuts the units into nodes of about equal prior mass; each level nests in the one
above. Constants were found on generated columns: docs/decisions/0017-noisy-tree.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.domain import Kind
from understudy.schema.intervals import MAX_WHOLE, Intervals
from understudy.schema.scales import OrderedScale, ordered_scale
from understudy.schema.steps import MAX_DECIMALS, MAX_INDEX, Steps, steps_of
from understudy.schema.taxonomy import Taxonomy

Floats = NDArray[np.float64]
Index = NDArray[np.int64]

MAX_UNITS = 16_384
FANOUT = 4
LEVELS = tuple(FANOUT**depth for depth in range(1, 8))  # nodes of each level, from the root down
MIN_VALUES = 64  # a whole-number range of no more values has a cell for each, and no tree
ZERO_MASS = 0.05  # of the prior, on the value 0
END_MASS = 0.03  # on each end of the range
ROUND_MASS = 0.05  # on all other round values together
LINEAR_MASS = 0.5  # of the rest: linear, the other part logarithmic around 0
SMALLEST = 1e-5  # of the larger end: a number below this counts as near 0
ALONE_FROM = 64  # nodes of a level from which on round values are nodes of their own, the roundest first
ALONE_SHARE = 0.25  # of a level's size: how many
NEAR = 0.25  # of a node or a bin: how far from its place a cut may be if that makes it a round number
LONE, CODED = 2.0, 256.0  # deviations that a value must hold, and all rows for an end of the range, to be a bin alone
MIN_DECIMALS = 2  # of a number without declared decimals: who calls it a number has some
SHOWN_DIGITS = 4  # digits that a number without declared decimals is written with


@dataclass(frozen=True)
class TreeGrid:
    """The units of a range, and the levels of the tree over them.

    Parameters
    ----------
    kind, low, high
        The declared range, on the domain's own scale (days for dates, seconds for datetimes).
    points
        Values that a person declared to have a bin of their own.
    decimals, every
        How a number is written, as declared (the keys `decimals` and `step`); by default with four digits of the
        range's length, at least two decimals, and as many as its ends have.
    heaps
        Round numbers that values are heaped on, the roundest first; only where each value is a unit.
    """

    kind: Kind
    low: float
    high: float
    points: tuple[float, ...] = ()
    format: str | None = None
    decimals: int | None = None
    every: float | None = None
    heaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise SchemaError("needs `range = [low, high]` with low < high, or `edges`")
        if self.integral and (self.low != math.floor(self.low) or self.high != math.floor(self.high)):
            raise SchemaError("`range` of whole numbers must be whole")
        if self.integral and max(abs(self.low), abs(self.high)) > MAX_WHOLE:
            raise SchemaError('whole numbers reach to ±2^53 here; use kind = "number" for a wider range')
        if max(abs(self.low), abs(self.high)) > MAX_INDEX:
            raise SchemaError("a range beyond ±2^53 needs `bins` or `edges`")
        if self.heaps and self.count > MAX_UNITS:
            raise SchemaError(
                f"`heaps` need a range of at most {MAX_UNITS:,} values as they are written, and this one has "
                f"{self.count:,}: take a larger `step`, fewer `decimals` or a shorter range"
            )

    @property
    def scale(self) -> OrderedScale:
        """Return the codec of the kind."""
        return ordered_scale(self.kind)

    @property
    def integral(self) -> bool:
        """Return whether values are whole numbers of their scale."""
        return self.scale.integral

    @property
    def logarithmic(self) -> bool:
        """Return whether 0 means something: dates and datetimes have no natural zero."""
        return self.scale.arithmetic

    @cached_property
    def steps(self) -> Steps:
        """Return the values as they are written."""
        reach = max(abs(self.low), abs(self.high))
        if self.integral or self.every is not None or self.decimals is not None:
            found = steps_of(self.scale, self.every, self.decimals, reach)
            assert found is not None
            return found
        most = min(MAX_DECIMALS, math.floor(math.log10(MAX_INDEX) - math.log10(reach)))
        wanted = SHOWN_DIGITS - math.floor(math.log10(self.high - self.low))
        ends = max(Steps.of(end).digits if end else 0 for end in (self.low, self.high))
        return Steps(1, max(0, min(most, max(MIN_DECIMALS, wanted, ends))))

    @property
    def guesses_decimals(self) -> bool:
        """Return whether numbers are written with decimals that nobody declared."""
        undeclared = self.decimals is None and self.every is None and not self.heaps
        return undeclared and not self.integral and self.steps.digits > 0

    @property
    def step(self) -> float:
        """Return the distance of neighbouring values as they are written."""
        return self.steps.size

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return the index of the first and of the last value as it is written."""
        return float(self.steps.at_least(self.low)), float(self.steps.at_most(self.high))

    @property
    def count(self) -> int:
        """Return how many values there are as they are written."""
        return int(self._ends[1] - self._ends[0]) + 1

    @property
    def short(self) -> bool:
        """Return whether each value has a bin of its own rather than a tree."""
        return (self.integral or self.every is not None) and self.count <= MIN_VALUES

    @property
    def pointed(self) -> bool:
        """Return whether the end of a range of numbers is a value that is written, and so a unit of its own."""
        return not self.integral and bool(self.steps.value(self._ends[1]) == self.high)

    # -- units -----------------------------------------------------------------------------------------------

    @cached_property
    def starts(self) -> Floats:
        """Return where each unit begins, without the point at the end of a range of numbers."""
        first, last = self._ends
        if last <= first:
            raise SchemaError("the range holds one value as it is written: take a smaller `step`, or more `decimals`")
        if self.count <= MAX_UNITS:
            index = np.arange(first, last + 1)
        else:
            probes, points = self._probes, self.round_values
            inner = np.interp(np.arange(1, MAX_UNITS) / MAX_UNITS, self._warp(probes), probes)
            alone = self.steps.at_least(points)
            index = np.concatenate([np.round(self._snapped(inner) / self.step), alone, alone + 1])
            index = np.unique(index[(index > first) & (index <= last)])
        values = np.asarray(self.steps.value(index[index > first]), dtype=np.float64)
        return np.concatenate([[self.low], values[:-1] if self.pointed and values[-1] == self.high else values])

    def _snapped(self, inner: Floats) -> Floats:
        """Return boundaries moved to round numbers less than a unit away, and rounder ones between them."""
        width = np.maximum(np.diff(inner, append=self.high), self.step)
        power = 10.0 ** np.floor(np.log10(width))
        digit = np.floor(width / power)
        step = np.maximum(power * np.where(digit >= 5, 5, np.where(digit >= 2, 2, 1)), self.step)
        far = np.maximum(10.0 * power, self.step)  # one boundary in some ten is a multiple of this
        return np.concatenate([np.round(inner / step) * step, np.round(inner / far) * far])

    @cached_property
    def domain(self) -> Intervals:
        """Return the units as a domain: what rows are coded on."""
        starts = self.starts.tolist()
        if self.integral and self.every is None and self.count == len(starts):
            starts = (self.starts - 0.5).tolist()
        end = self.high + 0.5 if self.integral else self.high
        return self._intervals((*starts, end), (self.high,) if self.pointed else ())

    def _intervals(self, edges: tuple[float, ...], points: tuple[float, ...]) -> Intervals:
        guessed = not self.integral and self.every is None and self.decimals is None
        every = self.step if guessed else self.every
        return Intervals(self.kind, edges, points, self.format, every, self.decimals)

    @property
    def end(self) -> float:
        """Return where the last unit ends."""
        return self.high + (self.step if self.integral else 0.0)

    @cached_property
    def widths(self) -> Floats:
        """Return how many steps each unit holds; none of its own for the point at the end."""
        ends = np.append(self.starts[1:], self.end)
        inside = (ends - self.starts) / self.step
        return np.append(inside, 0.0) if self.pointed else inside

    @cached_property
    def single(self) -> NDArray[np.bool_]:
        """Return which units hold one value as it is written."""
        return self.widths < 1.5

    @cached_property
    def prior(self) -> Floats:
        """Return the public guess of each unit's share of the rows."""
        ends = np.append(self.starts[1:], self.high)
        low, high = (self.starts - 0.5, ends - 0.5) if self.integral else (self.starts, ends)
        high[-1] = self.high
        bounds = np.clip(np.append(low, high[-1]), self.low, self.high)
        mass = np.maximum(np.diff(self._warp(bounds)), 0.0)
        starts = self.starts
        if self.pointed:
            mass, starts = np.append(mass, 0.0), np.append(starts, self.high)
        extra = np.zeros(len(starts))
        lone = self._round_units
        extra[lone] = ROUND_MASS / max(1, len(lone))
        for value, share in ((self.low, END_MASS), (self.high, END_MASS), (0.0, ZERO_MASS)):
            extra[lone[starts[lone] == value]] = share if self.logarithmic else 0.0
        return np.asarray(mass / mass.sum() * (1 - extra.sum()) + extra)

    @property
    def _special_units(self) -> Index:
        """Return the units that are 0 or an end of the range: they may have many rows."""
        special = np.asarray([0.0, self.low, self.high]) if self.logarithmic else np.empty(0)
        return np.flatnonzero(self.single & np.isin(self.unit_starts, special))

    @cached_property
    def _round_units(self) -> Index:
        """Return the units that are single round values, the roundest first."""
        lone = np.flatnonzero(self.single & np.isin(self.unit_starts, self.round_values))
        return lone[np.argsort(-self._roundness[lone], kind="stable")]

    @cached_property
    def round_values(self) -> Floats:
        """Return values that people round to or use as codes: 0, the ends, two digits × 10^k, 999 …, of both signs."""
        declared = np.asarray(self.points)
        if not self.logarithmic:
            return np.unique(declared)
        largest = max(abs(self.low), abs(self.high))
        smallest = self.step if self.integral else max(self.step, largest * 1e-4)
        powers = 10.0 ** np.arange(math.floor(math.log10(smallest)), math.floor(math.log10(largest)) + 1)
        found = np.concatenate([(powers[:, None] * np.arange(1, 100)).ravel(), powers - 1, [0.0]])
        values = self.steps.value(np.round(np.concatenate([found, -found]) / self.step))
        inside = values[(values > self.low) & (values < self.high)]
        return np.unique(np.concatenate([inside, [self.low, self.high], declared]))

    def _warp(self, values: Floats) -> Floats:
        """Return the prior's distribution function without its points."""
        flat = (values - self.low) / (self.high - self.low)
        if not self.logarithmic:
            return flat
        scale = self.step if self.integral else max(self.step, max(abs(self.low), abs(self.high)) * SMALLEST)
        curve = np.sign(values) * np.log1p(np.abs(values) / scale)
        low, high = (math.copysign(math.log1p(abs(end) / scale), end) for end in (self.low, self.high))
        return LINEAR_MASS * flat + (1 - LINEAR_MASS) * (curve - low) / (high - low)

    @property
    def _probes(self) -> Floats:
        """Return values dense enough near 0 and far from it to invert the prior."""
        largest = max(abs(self.low), abs(self.high))
        near = np.geomspace(largest * 1e-9, largest, 4_000)
        every = np.concatenate([np.linspace(self.low, self.high, 20_000), near, -near, [0.0]])
        return np.unique(every[(every >= self.low) & (every <= self.high)])

    # -- bins ------------------------------------------------------------------------------------------------

    def equal_bins(
        self, mass: Floats, wanted: int, deviation: float = 0.0, spikes: NDArray[np.bool_] | None = None
    ) -> Index:
        """Return the first unit of each bin: about `wanted` bins of equal mass between values that stand out.

        `mass` has the rows of each unit. A unit of one value is alone where it holds half of a bin's share and twice
        `deviation`, that of a count of the table to come; so is a unit of `spikes`, however many values it has, and an
        end of the range, a rare code (99,999) perhaps, where rows are many. Cuts are at round numbers if any are near.
        """
        stands_out = (mass > 0) & (mass >= max(float(mass.sum()) / (2 * wanted), LONE * deviation))
        alone = ((self.single if spikes is None else self.single | spikes) & stands_out) | self.declared
        alone[[0, -1]] |= self.single[[0, -1]] & (self.logarithmic and mass.sum() >= CODED * deviation > 0)
        rest = float(mass[~alone].sum())
        bounds = np.flatnonzero(np.diff(np.concatenate([[True], alone, [True]]).astype(np.int8)))
        cuts = [0, *np.flatnonzero(alone).tolist()]
        below = np.concatenate([[0.0], np.cumsum(mass)])
        for start, end in zip(bounds[::2], bounds[1::2]):
            share = float(mass[start:end].sum())
            count = max(1, round(wanted * share / rest)) if rest > 0 else 1
            targets = below[start] + share * np.arange(1, count) / count
            inner = self.roundest(below, targets, np.full(count - 1, NEAR * share / count))
            cuts += [int(start), *(int(cut) for cut in inner if start < cut < end)]
        return np.unique(np.asarray(cuts, dtype=np.int64))

    def public_bins(self, wanted: int) -> Index:
        """Return the first unit of each of about so many bins of equal prior mass."""
        return self.equal_bins(self.prior, wanted)

    def binned(self, first: Index) -> Intervals:
        """Return the domain whose bins begin at these units; a bin that is the range's end alone is a point."""
        starts = self.unit_starts[first].tolist()
        alone = first[-1] == len(self.prior) - 1 and starts[-1] == self.high
        edges = (*(starts[:-1] if alone else starts), self.high)
        return self._intervals(edges, (self.high,) if alone else ())

    def homes(self, first: Index) -> Index:
        """Return the bin that each unit lies in."""
        return np.repeat(np.arange(len(first)), np.diff(np.append(first, len(self.prior))))

    # -- the tree --------------------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the sizes of the levels there can be, from the root down; the last one may hold every unit."""
        fit = [size for size in LEVELS if size < len(self.prior)]
        return tuple(LEVELS[: len(fit) + 1])

    def first_units(self, size: int) -> Index:
        """Return the first unit of each node on the level of this size.

        A node is cut into four of about equal prior mass, at round numbers where there are any near; a value of much
        mass, such as 0, stands alone early.
        """
        if size not in self._levels:
            self._levels[size] = self._cut(size)
        return self._levels[size]

    def _cut(self, size: int) -> Index:
        ends = np.concatenate([[0.0], np.cumsum(self.prior)])
        above = np.zeros(1, dtype=np.int64) if size == LEVELS[0] else self.first_units(size // FANOUT)
        low, high = ends[above], ends[np.append(above[1:], len(self.prior))]
        targets = (low + (high - low) * np.arange(1, FANOUT)[:, None] / FANOUT).ravel()
        near = np.tile((high - low) * NEAR / FANOUT, FANOUT - 1)
        starts = np.concatenate([above, self.roundest(ends, targets, near)])
        if size > LEVELS[0]:
            lone = self._round_units[: int(size * ALONE_SHARE)] if size >= ALONE_FROM else self._special_units
            starts = np.concatenate([starts, lone, lone + 1])
        return np.unique(starts[starts < len(self.prior)]).astype(np.int64)

    def roundest(self, ends: Floats, targets: Floats, near: Floats) -> Index:
        """Return for each target the unit that begins at the roundest number near it, or else nearest to it.

        `ends` has the mass below each unit, and all of it; `near` is how far from a target a cut may be.
        """
        first = np.searchsorted(ends, targets - near)
        last = np.searchsorted(ends, targets + near, side="right")
        nearest = np.clip(np.searchsorted(ends, targets), 1, len(ends) - 1)
        nearest -= targets - ends[nearest - 1] < ends[nearest] - targets
        found = nearest.copy()
        for i in np.flatnonzero(last - first > 1):
            window = self._roundness[first[i] : min(last[i], len(self._roundness))]
            if len(window):
                best = first[i] + np.flatnonzero(window == window.max())
                found[i] = best[np.argmin(np.abs(ends[best] - targets[i]))]
        return found

    @cached_property
    def _roundness(self) -> Index:
        """Return how round the number is at which each unit begins: 3 for each ten that divides it, 2 for a five; for
        times, the beginning of a day, a month, a year."""
        if not self.logarithmic:
            return self.scale.roundness(self.unit_starts)
        steps = np.abs(np.round(self.unit_starts / self.step)).astype(np.int64)
        found = np.zeros(len(steps), dtype=np.int64)
        for power in range(1, 18):
            found += 3 * ((steps % 10**power) == 0)
        left = np.where(steps == 0, 1, steps // 10 ** np.minimum(found // 3, 17))
        return np.where(steps == 0, 99, found + 2 * (left % 5 == 0) + (left % 2 == 0))

    @property
    def unit_starts(self) -> Floats:
        """Return where each unit begins."""
        return np.append(self.starts, self.high) if self.pointed else self.starts

    @property
    def declared(self) -> NDArray[np.bool_]:
        """Return which units are declared points."""
        return np.isin(self.unit_starts, self.points) & self.single

    @cached_property
    def _levels(self) -> dict[int, Index]:
        return {}

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """Return the levels of the tree as views of the attribute, finest first."""
        from understudy.schema.tree_levels import TreeLevels

        return Taxonomy(TreeLevels(self))

    @property
    def calendar(self) -> bool:
        """Return whether each unit is a day, so that first days of months and years are classes."""
        return self.scale.calendar and self.every is None and self.count <= MAX_UNITS and not self.short

    @property
    def heap_level(self) -> int:
        """Return the number of the view that has the rounding classes."""
        return len(self.sizes) + 1

    def level_of(self, size: int) -> int:
        """Return the number of the view that has the level of this size."""
        return len(self.sizes) - self.sizes.index(size)
