"""Predicates: conditions on columns whose names and values are looked up, and whether they hold.

Every column comes as bounds: the lowest and the highest value that a cell holds, or a row's value as both. So one
evaluation says of a row whether a predicate holds, and of a cell whether it holds everywhere, somewhere or nowhere in
it. Three answers are kept apart, as in SQL: a comparison with a missing value is unknown, and so is what follows from
nothing else. A rule is broken where it is false; a query and a sample take what is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.schema.attribute import Attribute
from understudy.schema.expressions import Operator
from understudy.schema.intervals import Intervals
from understudy.schema.steps import Steps

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
TOLERANCE = 1e-12  # of the larger side: sums of decimals are not exact in floating point


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lowest and the highest value of each cell (or row), and where there is none."""

    low: Floats
    high: Floats
    absent: Mask


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of cells or rows: their codes and, of an ordered attribute, their bounds."""

    codes: NDArray[np.integer]
    absent: Mask
    bounds: Bounds | None = None

    @property
    def values(self) -> Floats:
        """Return the value of each row of an ordered attribute; of cells, the lowest."""
        assert self.bounds is not None
        return self.bounds.low

    @staticmethod
    def of_codes(attribute: Attribute) -> Cells:
        """Return a cell for each code of the attribute."""
        codes = np.arange(attribute.size)
        absent = codes == attribute.missing_code
        if (domain := attribute.intervals) is None:
            return Cells(codes, absent)
        ends = np.zeros((attribute.size, 2))
        ends[: domain.size] = cell_ends(domain)
        return Cells(codes, absent, Bounds(ends[:, 0], ends[:, 1], absent))

    @staticmethod
    def of_values(codes: NDArray[np.integer], values: Floats | None, absent: Mask) -> Cells:
        """Return rows; `values` are numbers on the domain's scale, None of an attribute without order."""
        if values is None:
            return Cells(codes, absent)
        return Cells(codes, absent, Bounds(values, values, absent))

    def shaped(self, shape: tuple[int, ...]) -> Cells:
        """Return the same cells along one dimension of a larger table."""
        bounds = self.bounds
        if bounds is not None:
            bounds = Bounds(bounds.low.reshape(shape), bounds.high.reshape(shape), bounds.absent.reshape(shape))
        return Cells(self.codes.reshape(shape), self.absent.reshape(shape), bounds)

    def taken(self, rows: NDArray[np.integer] | Mask) -> Cells:
        """Return some of these cells."""
        bounds = self.bounds
        if bounds is not None:
            bounds = Bounds(bounds.low[rows], bounds.high[rows], bounds.absent[rows])
        return Cells(self.codes[rows], self.absent[rows], bounds)


Columns = Mapping[str, Cells]


def cell_ends(domain: Intervals) -> Floats:
    """Return the lowest and the highest value of each code of an ordered domain."""
    ends = np.empty((domain.size, 2))
    edges = np.asarray(domain.edges)
    if domain.steps is None:
        ends[domain.bin_codes] = np.stack([edges[:-1], edges[1:]], axis=1)
    else:
        bins = np.arange(domain.bins)
        last = np.maximum(domain.own_values - 1, 0)
        ends[domain.bin_codes] = np.stack([domain.own_value(bins, 0 * last), domain.own_value(bins, last)], axis=1)
    ends[domain.point_codes] = np.asarray(domain.points, dtype=np.float64)[:, None]
    return ends


@dataclass(frozen=True, eq=False)
class Truth:
    """Whether a predicate can be true, false and unknown in each cell; of a row it is one of them."""

    true: Mask
    false: Mask
    unknown: Mask

    def __invert__(self) -> Truth:
        return Truth(self.false, self.true, self.unknown)

    def __and__(self, other: Truth) -> Truth:
        unknown = (self.unknown & (other.unknown | other.true)) | (other.unknown & self.true)
        return Truth(self.true & other.true, self.false | other.false, unknown)

    def __or__(self, other: Truth) -> Truth:
        return ~(~self & ~other)


# -- terms ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OrderedColumn:
    """An ordered attribute."""

    name: str

    def bounds(self, columns: Columns) -> Bounds:
        found = columns[self.name].bounds
        assert found is not None
        return found


@dataclass(frozen=True)
class Constant:
    """A number, or a moment on the scale of what it is compared with."""

    value: float

    def bounds(self, columns: Columns) -> Bounds:
        value = np.asarray(self.value)
        return Bounds(value, value, np.zeros((), dtype=bool))


@dataclass(frozen=True, eq=False)
class Lookup:
    """The number that a declared map has for each code of an attribute; NaN where there is none."""

    name: str
    values: Floats

    def bounds(self, columns: Columns) -> Bounds:
        found = self.values[columns[self.name].codes]
        absent = np.isnan(found)
        found = np.where(absent, 0.0, found)
        return Bounds(found, found, absent)


@dataclass(frozen=True, eq=False)
class Rounded:
    """A term rounded to the nearest value as it is written."""

    term: NumberTerm
    steps: Steps

    def bounds(self, columns: Columns) -> Bounds:
        found = self.term.bounds(columns)
        return Bounds(self._nearest(found.low), self._nearest(found.high), found.absent)

    def _nearest(self, values: Floats) -> Floats:
        finite = np.isfinite(values)
        with np.errstate(all="ignore"):
            rounded = self.steps.value(np.rint(np.where(finite, values, 0.0) / self.steps.size))
        return np.where(finite, rounded, values)


@dataclass(frozen=True)
class Calculation:
    """Two terms put together."""

    sign: Literal["+", "-", "*", "/", "**"]
    left: NumberTerm
    right: NumberTerm

    def bounds(self, columns: Columns) -> Bounds:
        left, right = self.left.bounds(columns), self.right.bounds(columns)
        with np.errstate(all="ignore"):
            low, high = _SIGNS[self.sign](left, right)
        return Bounds(low, high, left.absent | right.absent)


NumberTerm = OrderedColumn | Constant | Lookup | Rounded | Calculation


def _product(left: Bounds, right: Bounds) -> tuple[Floats, Floats]:
    ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return reduce(np.minimum, ends), reduce(np.maximum, ends)


def _quotient(left: Bounds, right: Bounds) -> tuple[Floats, Floats]:
    """Return the bounds of a quotient: infinite where the divisor may be 0."""
    ends = [a / b for a in (left.low, left.high) for b in (right.low, right.high)]
    risky = (right.low <= 0) & (right.high >= 0)
    point = (right.low == 0) & (right.high == 0)
    low = np.where(risky, np.where(point, np.inf, -np.inf), reduce(np.minimum, ends))
    return low, np.where(risky, np.inf, reduce(np.maximum, ends))


def _power(left: Bounds, right: Bounds) -> tuple[Floats, Floats]:
    ends = (left.low**right.low, left.high**right.low)
    low, high = np.minimum(*ends), np.maximum(*ends)
    even = right.low % 2 == 0
    return np.where(even & (left.low < 0) & (left.high > 0), 0.0, low), high


_SIGNS = {
    "+": lambda a, b: (a.low + b.low, a.high + b.high),
    "-": lambda a, b: (a.low - b.high, a.high - b.low),
    "*": _product,
    "/": _quotient,
    "**": _power,
}


# -- predicates ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ordered:
    """Two terms compared; sides that differ by no more than `tolerance`, as a share of their sizes, count as equal."""

    operator: Operator
    left: NumberTerm
    right: NumberTerm
    tolerance: float = 0.0

    def truth(self, columns: Columns) -> Truth:
        left, right = self.left.bounds(columns), self.right.bounds(columns)
        near = self.tolerance * (_size(left) + _size(right)) if self.tolerance else 0.0
        true, false = _compared(self.operator, left, right, near)
        absent = left.absent | right.absent
        return Truth(true & ~absent, false & ~absent, np.broadcast_to(absent, true.shape))


def _size(bounds: Bounds) -> Floats:
    size = np.maximum(np.abs(bounds.low), np.abs(bounds.high))
    return np.where(np.isfinite(size), size, 0.0)


def _compared(operator: Operator, left: Bounds, right: Bounds, near: Floats | float) -> tuple[Mask, Mask]:
    """Return where the comparison can be true, and where it can be false."""
    if operator in (">", ">="):
        return _compared("<" if operator == ">" else "<=", right, left, near)
    if operator == "<":
        return left.low < right.high - near, left.high >= right.low - near
    if operator == "<=":
        return left.low <= right.high + near, left.high > right.low + near
    equal = (left.low <= right.high + near) & (right.low <= left.high + near)
    differ = (left.high > right.low + near) | (right.high > left.low + near)
    return (equal, differ) if operator == "=" else (differ, equal)


@dataclass(frozen=True, eq=False)
class OneOf:
    """An attribute that has one of these codes."""

    name: str
    codes: Mask
    absent: Mask  # codes for which the answer is unknown

    def truth(self, columns: Columns) -> Truth:
        codes = columns[self.name].codes
        found, absent = self.codes[codes], self.absent[codes]
        return Truth(found & ~absent, ~found & ~absent, absent)


@dataclass(frozen=True, eq=False)
class Alike:
    """Two attributes without order that have the same text: by code, the number of each text; -1 for none."""

    left: str
    right: str
    left_text: NDArray[np.int64]
    right_text: NDArray[np.int64]

    def truth(self, columns: Columns) -> Truth:
        left, right = self.left_text[columns[self.left].codes], self.right_text[columns[self.right].codes]
        absent = (left < 0) | (right < 0)
        equal = left == right
        return Truth(equal & ~absent, ~equal & ~absent, absent)


@dataclass(frozen=True)
class IsMissing:
    """Whether an attribute has no value."""

    name: str

    def truth(self, columns: Columns) -> Truth:
        absent = columns[self.name].absent
        return Truth(absent, ~absent, np.zeros(absent.shape, dtype=bool))


@dataclass(frozen=True, eq=False)
class Connective:
    """`and`, `or`, or `not` of one part."""

    word: Literal["and", "or", "not"]
    parts: tuple[Predicate, ...]

    def truth(self, columns: Columns) -> Truth:
        found = [part.truth(columns) for part in self.parts]
        if self.word == "not":
            return ~found[0]
        return reduce(Truth.__and__ if self.word == "and" else Truth.__or__, found)


Predicate = Ordered | OneOf | Alike | IsMissing | Connective


def names_in(part: Predicate | NumberTerm) -> Iterator[str]:
    """Yield the attributes of a predicate or a term, each as often as it stands there."""
    match part:
        case OrderedColumn(name) | IsMissing(name):
            yield name
        case Lookup() | OneOf():
            yield part.name
        case Alike():
            yield from (part.left, part.right)
        case Rounded():
            yield from names_in(part.term)
        case Calculation() | Ordered():
            yield from names_in(part.left)
            yield from names_in(part.right)
        case Connective():
            for inner in part.parts:
                yield from names_in(inner)


def constants_in(part: Predicate) -> Iterator[tuple[str, float]]:
    """Yield each ordered attribute that is compared with a number, and the number."""
    for compared in comparisons_in(part):
        match compared.left, compared.right:
            case (OrderedColumn(name), Constant(value)) | (Constant(value), OrderedColumn(name)):
                yield name, value


def comparisons_in(part: Predicate) -> Iterator[Ordered]:
    """Yield the comparisons of numbers."""
    match part:
        case Ordered():
            yield part
        case Connective():
            for inner in part.parts:
                yield from comparisons_in(inner)
