"""Intervals: an ordered domain, cut into bins on the line of numbers that its scale defines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.domain import MAX_CODES, UNFIT, Codes, Floats, Kind, check_size
from understudy.schema.scales import OrderedScale, ordered_scale
from understudy.schema.scales.scale import whole_or_real
from understudy.schema.steps import Steps, equal_edges, steps_of

MAX_WHOLE = 2**53  # whole numbers beyond this are not all floats, so a bin could not tell them apart

_FORMAT_PROBES = 500  # cells on which a date format is tried out
_NUMERALS = "0123456789+-.eE:T"  # what numbers and plain dates are written with


@dataclass(frozen=True)
class Intervals:
    """An ordered domain cut into bins [e_i, e_i+1), the last one closed, and declared points with a cell of their own.

    Edges and points are places on the scale of the kind: numbers are themselves, dates are days since 1970. Values
    outside the edges are clamped. `step` and `places` (the key `decimals`) say how values are written; cells are read
    whether they follow it or not.
    """

    kind: Kind
    edges: tuple[float, ...]
    points: tuple[float, ...] = ()
    format: str | None = None
    step: float | None = None
    places: int | None = None
    modelled: ClassVar[bool] = True
    flags: ClassVar[bool] = False
    texts: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or any(b <= a for a, b in zip(self.edges, self.edges[1:])):
            raise SchemaError("bin edges must be at least two and increase")
        if not all(math.isfinite(e) for e in self.edges + self.points):
            raise SchemaError("edges and points must be finite")
        if not math.isfinite(self.edges[-1] - self.edges[0]):
            raise SchemaError("the range is wider than the largest number: bring its ends nearer to zero")
        if len(set(self.points)) != len(self.points):
            raise SchemaError("a point is declared twice")
        if any(not self.edges[0] <= p <= self.edges[-1] for p in self.points):
            raise SchemaError("a point lies outside the range")
        check_size(len(self.edges) - 1 + len(self.points))
        if self.integral:
            self._check_whole()
        if bare := self._bare_bins:
            low, high = self.edges[bare[0]], self.edges[bare[0] + 1]
            what = "value" if self.step is None and self.places is None else "multiple of its `step`"
            raise SchemaError(
                f"the bin from {self._show_edge(low)} to {self._show_edge(high)} holds no {what} of its own; use fewer "
                "bins, leave `bins` out for one cell a value, or take a point out that fills its bin"
            )
        if self.format is not None:
            self._check_format(self.format)
        if self.places is not None and len(Steps(1, self.places).indices(self.points)) < len(self.points):
            raise SchemaError(f"a point has more than the {self.places} `decimals` that are written")

    def _check_whole(self) -> None:
        if any(p != math.floor(p) for p in self.points):
            raise SchemaError(f"a point of kind {self.kind!r} must be a whole number")
        if max(abs(self.edges[0]), abs(self.edges[-1])) > MAX_WHOLE:
            raise SchemaError('whole numbers reach to ±2^53 here; use kind = "number" for a wider range')

    @cached_property
    def _bare_bins(self) -> list[int]:
        """Return bins that hold nothing but declared points: no value would decode to them."""
        if self.steps is not None:
            return [int(i) for i in np.flatnonzero(self.own_values <= 0)]
        low, high = self._edges[:-1], self._edges[1:]
        inner = low + (high - low) / 2
        for i in np.flatnonzero(np.isin(inner, self.points)):
            inner[i] = self._inner(int(i))
        return [int(i) for i in np.flatnonzero(self.encode_numbers(inner) != self.bin_codes)]

    def _check_format(self, format: str) -> None:
        """Refuse a format whose texts do not tell the bins apart: `%d.%m.%y` cannot tell 1924 from 2024."""
        codes = sorted({*range(0, self.size, max(1, self.size // _FORMAT_PROBES)), self.size - 1})
        for code in codes:
            for value in self.bounds(code):
                if self.encode([self.show(value)])[0] != code:
                    raise SchemaError(
                        f"a value of {self.labels[code]} written with format {format!r} is read back in another cell; "
                        "use a format that keeps the whole date, or edges that fall between the texts it can write"
                    )

    @property
    def scale(self) -> OrderedScale:
        """Return the codec of the kind."""
        return ordered_scale(self.kind)

    @property
    def integral(self) -> bool:
        return self.scale.integral

    @property
    def wanted(self) -> str:
        return self.scale.wanted + (f" written {self.format}" if self.format else "")

    @property
    def characters(self) -> str:
        return (self.format or "") + _NUMERALS

    @property
    def bins(self) -> int:
        return len(self.edges) - 1

    @property
    def size(self) -> int:
        return self.bins + len(self.points)

    @cached_property
    def steps(self) -> Steps | None:
        """Return the values that are written: whole numbers, multiples of `step`, or None for any number."""
        return steps_of(self.scale, self.step, self.places, max(abs(self.edges[0]), abs(self.edges[-1])))

    @cached_property
    def step_range(self) -> tuple[Floats, Floats]:
        """Return for each bin the index of the first and of the last step in it."""
        assert self.steps is not None
        first = self.steps.at_least(self._edges[:-1])
        last = self.steps.at_least(self._edges[1:]) - 1
        last[-1] = self.steps.at_most(self.edges[-1])
        return first, last

    @cached_property
    def own_values(self) -> NDArray[np.int64]:
        """Return for each bin, where values come in steps, how many it holds that are no points."""
        first, last = self.step_range
        count = (last - first + 1).astype(np.int64)
        np.subtract.at(count, self._point_steps[1], 1)
        return count

    @cached_property
    def _point_steps(self) -> tuple[Floats, NDArray[np.int64]]:
        """Return the indices of the points that are steps, in order, and the bin that each lies in."""
        assert self.steps is not None
        index = self.steps.indices(self.points)
        return index, self._bin_of(self.steps.value(index))

    def own_value(self, bins: NDArray[np.int64], index: NDArray[np.int64]) -> Floats:
        """Return the value that comes at this index among the own values of its bin."""
        assert self.steps is not None
        places = self.step_range[0][bins] + index
        points, home = self._point_steps
        before = np.searchsorted(home, bins)  # points of lower bins
        # a point p with r points below it in its bin comes before the own values from index p - r - first on
        passed = points - (np.arange(len(points)) - np.searchsorted(home, home))
        return np.asarray(self.steps.value(places + np.searchsorted(passed, places, side="right") - before))

    @cached_property
    def _layout(self) -> tuple[Codes, Codes]:
        """Return the code of each point and of each bin. Codes follow the line, a point before the bin it begins."""
        order = np.argsort(np.asarray(self.points + self.edges[:-1]), kind="stable")
        codes = np.empty(len(order), dtype=np.int32)
        codes[order] = np.arange(len(order))
        return codes[: len(self.points)], codes[len(self.points) :]

    @property
    def bin_codes(self) -> Codes:
        """Return the code of each bin, in order; the other codes are points."""
        return self._layout[1]

    @property
    def point_codes(self) -> Codes:
        """Return the code of each point, as they are declared."""
        return self._layout[0]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        names = [""] * self.size
        for code, point in zip(self.point_codes, self.points):
            names[code] = self.show(point)
        for i, code in enumerate(self.bin_codes):
            first, last = self._ends(i)
            low, high = self.show(first), self.show(last)
            if self.steps is None:
                names[code] = f"[{low}, {high}{']' if i == self.bins - 1 else ')'}"
            else:
                names[code] = low if first == last else f"{low}..{high}"
        return tuple(names)

    def bounds(self, code: int) -> tuple[float, float]:
        """Return the lowest and highest value that decode to this code (the high end of a number's bin is open)."""
        at = np.flatnonzero(self.point_codes == code)
        if at.size:
            return self.points[at[0]], self.points[at[0]]
        return self._ends(int(np.flatnonzero(self.bin_codes == code)[0]))

    def _ends(self, i: int) -> tuple[float, float]:
        """Return the edges of bin i; where values come in steps, its first and last value that is no point."""
        if self.steps is None:
            return self.edges[i], self.edges[i + 1]
        ends = np.asarray([0, self.own_values[i] - 1])
        first, last = self.own_value(np.asarray([i, i]), ends).tolist()
        return first, last

    @cached_property
    def _points(self) -> frozenset[float]:
        return frozenset(self.points)

    def _bin_of(self, values: Floats) -> NDArray[np.int64]:
        return np.clip(np.searchsorted(self._edges, values, side="right") - 1, 0, self.bins - 1)

    @cached_property
    def _edges(self) -> Floats:
        return np.asarray(self.edges, dtype=np.float64)

    def encode_numbers(self, values: Floats) -> Codes:
        """Return codes of numbers on the domain's scale.

        What is not finite (or not whole, where it must be) is UNFIT.
        """
        fit = np.isfinite(values)
        if self.integral:
            fit &= values == np.floor(values)
        inside = np.clip(np.where(fit, values, self.edges[0]), self.edges[0], self.edges[-1])
        codes = self.bin_codes[self._bin_of(inside)]
        if self.points:
            points, own = self._sorted_points
            near = np.minimum(np.searchsorted(points, inside), len(points) - 1)
            codes = np.where(points[near] == inside, own[near], codes)
        codes[~fit] = UNFIT
        return codes

    @cached_property
    def _sorted_points(self) -> tuple[Floats, Codes]:
        """Return the points in order, and their codes."""
        return np.sort(np.asarray(self.points, dtype=np.float64)), np.sort(self.point_codes)

    def encode(self, texts: Sequence[str], decimal: str = ".") -> Codes:
        return self.encode_numbers(np.asarray([self.parse(text, decimal) for text in texts], dtype=np.float64))

    def decode(self, codes: Codes, generator: np.random.Generator) -> NDArray[Any]:
        """Return a value for each code, uniform in its bin or exactly the point: encode(decode(c)) = c."""
        bin_of_code = np.full(self.size, -1, dtype=np.int64)
        bin_of_code[self.bin_codes] = np.arange(self.bins)
        where = bin_of_code[codes]
        in_bin = where >= 0
        uniform = generator.random(len(codes))
        stepped = self.steps is not None
        values = self._step_in_bin(where, uniform) if stepped else self._number_in_bin(where, uniform)
        if self.points:
            values[~in_bin] = self._sorted_points[0][np.searchsorted(self._sorted_points[1], codes[~in_bin])]
        if not stepped:
            astray = in_bin & (self.encode_numbers(values) != codes)
            values[astray] = [self._inner(int(i)) for i in where[astray]]
        return values.astype(np.int64) if self.integral else values

    def _step_in_bin(self, where: NDArray[np.int64], uniform: Floats) -> Floats:
        count = self.own_values[where]
        return self.own_value(where, np.minimum((uniform * count).astype(np.int64), np.maximum(count - 1, 0)))

    def _number_in_bin(self, where: NDArray[np.int64], uniform: Floats) -> Floats:
        low, high = self._edges[:-1][where], self._edges[1:][where]
        return np.asarray(np.round(low + uniform * (high - low), self.decimals))

    def _inner(self, i: int) -> float:
        """Return some value strictly inside bin i that is no point."""
        low, high = self.edges[i], self.edges[i + 1]
        tries = (low + (high - low) / k for k in range(2, len(self.points) + 4))
        return next((value for value in tries if value not in self._points), low)

    @cached_property
    def decimals(self) -> int:
        """Return how many decimals are written for a number: about a thousand steps in the narrowest bin."""
        if self.integral:
            return 0
        narrowest = min(b - a for a, b in zip(self.edges, self.edges[1:]))
        return min(max(0, 3 - math.floor(math.log10(narrowest))), 300)  # a float ends at 1e-308

    def to_arrow(self, codes: Codes, absent: NDArray[np.bool_], generator: np.random.Generator) -> Any:
        return self.scale.to_arrow(self.decode(codes, generator), absent)

    def cell_texts(self, column: Any, decimal: str) -> Any:
        return self.scale.cell_texts(column, self.format, decimal, self.places)

    def parse(self, text: str, decimal: str = ".") -> float:
        """Return a cell's number on the domain's scale, or NaN."""
        return self.scale.parse(text, self.format, decimal)

    def holds(self, text: str) -> bool:
        return self.edges[0] <= self.parse(text) <= self.edges[-1]

    def show(self, value: float, decimal: str = ".") -> str:
        """Return a number of the domain's scale as the text a cell would hold."""
        return self.scale.show(value, self.format, decimal)

    def _show_edge(self, edge: float) -> str:
        """Return an edge for an error message.

        The edge itself may be no date: it lies half a step below the first value.
        """
        return self.show(edge if self.scale.arithmetic else math.ceil(edge))

    # -- the schema file -------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        show, low, high = self.scale.in_file, self.edges[0], self.edges[-1]
        body: dict[str, Any] = {}
        if (ends := self._ends_in_steps()) is not None:
            body["range"] = [show(end) for end in ends]
        elif self.integral and self.edges == tuple(low + i for i in range(self.bins + 1)) and low % 1 == 0.5:
            body["range"] = [show(low + 0.5), show(high - 0.5)]
        elif self.edges == equal_edges(self.scale, low, high, self.bins):
            body |= {"range": [show(low), show(high)], "bins": self.bins}
        else:
            body["edges"] = [show(e) for e in self.edges]
        step = None if self.step is None else whole_or_real(self.step)
        points = [show(point) for point in self.points] or None
        more = {"points": points, "format": self.format or None, "step": step, "decimals": self.places}
        return body | {key: value for key, value in more.items() if value is not None}

    def _ends_in_steps(self) -> tuple[float, float] | None:
        """Return the range whose multiples of `step` have a bin each, if these are the domain's bins."""
        if self.step is None:
            return None
        steps, (first, last) = Steps.of(self.step), self.step_range
        low, high = float(steps.value(first[0])), float(steps.value(last[-1]))
        if not 0 < last[-1] - first[0] < MAX_CODES or self.edges != steps.between(low, high, MAX_CODES):
            return None
        return low, high
