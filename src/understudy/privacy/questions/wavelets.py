"""Wavelets of counts (Xiao, Wang & Gehrke 2010, Privelet): the second kind of linear map that can be measured.

Along each dimension the cells are the leaves of a public tree, or stand for themselves (plain). Haar is the binary
tree over ordered cells; padding it to 2^l cells would add only empty cells, so branches without a real cell are left
out. The nominal tree is the taxonomy. A tree has the coefficients

    base                        the sum of all leaves                                              entries 1
    node with two children      the left sum less the right one (the paper's W·c, an integer)      entries ±1
    node with three or more     the sum of each child; its siblings' mean is taken off afterwards  entries 1
    node with one child         none: its sum is the child's

so a cell's column has at most s entries, all ±1, with s = 1 + the most branchings above a leaf: 1 + ⌈log2 m⌉ for Haar,
the number of levels for a taxonomy, 1 for plain. Columns of several dimensions multiply: S = Π s_i entries of ±1.

Sensitivity. A row that comes or goes moves the coefficients by one column: S in L1 and in squared L2. A replaced row
moves them by the difference of two columns a and b: at most 2S − 2·(places where both are non-zero and agree) in L1,
2S − 2·Π⟨a_i, b_i⟩ in squared L2. In one dimension let P places agree and N differ in sign; N ≤ 1, where the paths part
at a node with two children. Twice the places that agree are Π(P+N) + Π(P−N). A plain dimension of two or more cells
can make both products 0. Without one, base gives P ≥ 1, so P − N ≥ 0; and if the root has two children P + N ≥ 2,
since its coefficient is in every column; if it has more, P − N ≥ 1. So with b roots of two children

    L1 ≤ 2S − 2^max(1, b)        L2² ≤ 2S if b > 0, else 2S − 2        2S in both with a plain dimension

which paths of full depth that part at every root attain: 2·log2 m in one dimension, 28 for 8 × 8. The published form
is 2S: 2(1 + log2 m) in one dimension. tests/unit/privacy/test_wavelets.py compares with all pairs of columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import TooLarge, UsageError
from understudy.privacy.noise import Noise, as_integers
from understudy.privacy.questions.question import MAX_CELLS, NoisyBlock, NoisyQuery
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axes, Axis, Integers, Schema

Kind = Literal["haar", "nominal", "plain"]
Form = Literal["tight", "published"]
Index = NDArray[np.intp]
MAX_DIMENSIONS = 4


@dataclass(frozen=True, eq=False)
class Step:
    """One level of a tree: `order` lists the children parent by parent, `starts` where each parent's begin."""

    order: Index
    starts: Index

    @staticmethod
    def of_parents(parent: NDArray[np.integer]) -> Step:
        sizes = np.bincount(parent)
        return Step(np.argsort(parent, kind="stable"), np.cumsum(sizes) - sizes)

    @cached_property
    def sizes(self) -> Index:
        """Return how many children each parent has."""
        return np.diff(self.starts, append=len(self.order))

    @cached_property
    def first(self) -> Index:
        return np.asarray(self.order[self.starts[self.sizes == 2]])

    @cached_property
    def second(self) -> Index:
        return np.asarray(self.order[self.starts[self.sizes == 2] + 1])

    @cached_property
    def many(self) -> Index:
        """Return the children of parents with three or more, parent by parent."""
        return self.order[np.repeat(self.sizes > 2, self.sizes)]

    @property
    def coefficients(self) -> int:
        return len(self.first) + len(self.many)


@dataclass(frozen=True, eq=False)
class Dimension:
    """How one axis is transformed: a tree as steps from the leaves up, or none (plain)."""

    kind: Kind
    size: int
    steps: tuple[Step, ...] = ()

    @cached_property
    def coefficients(self) -> int:
        return self.size if self.kind == "plain" else 1 + sum(step.coefficients for step in self.steps)

    @cached_property
    def levels(self) -> int:
        """Return s, the most entries of a column."""
        depth = np.ones(1, dtype=np.intp)
        for step in reversed(self.steps):
            below = np.empty(len(step.order), dtype=np.intp)
            below[step.order] = np.repeat(depth + (step.sizes > 1), step.sizes)
            depth = below
        return int(depth.max())

    @property
    def two_at_the_root(self) -> bool:
        return bool(self.steps) and len(self.steps[-1].order) == 2

    @property
    def apart(self) -> bool:
        """Return whether two cells can have no coefficient in common."""
        return self.kind == "plain" and self.size > 1

    def forward(self, counts: Integers) -> Integers:
        """Return the coefficients along the first dimension: base, then level by level from the root down."""
        if self.kind == "plain":
            return counts
        parts = []
        for step in self.steps:
            parts.append(np.concatenate([counts[step.first] - counts[step.second], counts[step.many]]))
            counts = np.add.reduceat(counts[step.order], step.starts, axis=0)
        return np.concatenate([counts, *reversed(parts)])


@dataclass(frozen=True, eq=False)
class Wavelets:
    """Noisy coefficients of a table over `axes`, one kind for each. Public, once it exists."""

    axes: Axes
    kinds: tuple[Kind, ...]
    form: Form
    values: Integers
    noise: Noise


def dimension(schema: Schema, axis: Axis, kind: str) -> Dimension:
    """Return the axis under this kind of transform; refuse one that does not fit it."""
    size, attribute = schema.size(axis), schema[axis.attribute]
    if kind == "plain":
        return Dimension("plain", size)
    if kind == "haar" and attribute.intervals is not None and axis.base:
        return Dimension("haar", size, binary_tree(size))
    if kind == "nominal" and attribute.levels > 1 and axis.base:
        return Dimension("nominal", size, _taxonomy_tree(schema, axis))
    if kind not in get_args(Kind):
        raise UsageError(f"there is no transform {kind!r}: it is one of {', '.join(get_args(Kind))}")
    need = "order" if kind == "haar" else "taxonomy"
    raise UsageError(f"{axis} has no {need}, which the {kind} transform needs", attribute=axis.attribute)


def binary_tree(size: int) -> tuple[Step, ...]:
    steps = []
    while size > 1:
        steps.append(Step(np.arange(size), np.arange(0, size, 2)))
        size = (size + 1) // 2
    return tuple(steps)


def _taxonomy_tree(schema: Schema, axis: Axis) -> tuple[Step, ...]:
    steps, below = [], np.arange(schema.size(axis))
    for level in range(1, schema[axis.attribute].levels):
        above = schema.view_map(Axis(axis.attribute, level))
        parent = np.zeros(below.max() + 1, dtype=np.intp)
        parent[below] = above
        steps.append(Step.of_parents(parent))
        below = above.astype(np.intp)
    return (*steps, Step.of_parents(np.zeros(below.max() + 1, dtype=np.intp)))


def wavelet_dimensions(schema: Schema, axes: Axes, kinds: Sequence[str], limit: int) -> tuple[Dimension, ...]:
    """Return how each axis is transformed; refuse what is not one to four attributes whose table can be laid out."""
    if not 1 <= len(axes) <= MAX_DIMENSIONS or len({axis.attribute for axis in axes}) != len(axes):
        raise UsageError(f"a wavelet release covers one to {MAX_DIMENSIONS} different attributes, not {len(axes)}")
    _check_cells(axes, schema.sizes(axes), "cells", limit)
    dimensions = tuple(dimension(schema, axis, kind) for axis, kind in zip(axes, kinds, strict=True))
    _check_cells(axes, [d.coefficients for d in dimensions], "coefficients", limit)
    return dimensions


def _check_cells(axes: Axes, sizes: Sequence[int], what: str, limit: int) -> None:
    if (cells := math.prod(sizes)) > limit:
        product = f"{' × '.join(map(str, axes))} = {' × '.join(f'{size:,}' for size in sizes)}"
        raise TooLarge(f"{product} is {cells:,} {what}, the limit is {limit:,}: use fewer attributes or bins")


def wavelet_sensitivity(dimensions: Sequence[Dimension], schema: Schema, form: Form) -> Sensitivity:
    """Return how far one person can move the coefficients."""
    entries = math.prod(d.levels for d in dimensions)
    if schema.neighbours == "add-remove":
        return Sensitivity(entries, entries).times(schema.rows_per_person)
    l1 = l2_squared = 2 * entries
    if form == "tight" and not any(d.apart for d in dimensions):
        roots = sum(d.two_at_the_root for d in dimensions)
        l1 -= 2 ** max(1, roots)
        l2_squared -= 0 if roots else 2
    return Sensitivity(max(1, l1), max(1, l2_squared)).times(schema.rows_per_person)


def transformed(counts: Integers, dimensions: Sequence[Dimension]) -> Integers:
    """Return the coefficients of a table of counts: exact integers."""
    for i, dimension in enumerate(dimensions):
        counts = np.moveaxis(dimension.forward(np.moveaxis(counts, i, 0)), 0, i)
    return np.ascontiguousarray(counts)


@dataclass(frozen=True, eq=False)
class WaveletTable(NoisyQuery[Wavelets]):
    """The wavelet coefficients of one table, a kind of transform for each axis."""

    kind: ClassVar[str] = "wavelet"
    is_linear: ClassVar[bool] = True

    axes: Axes
    kinds: Sequence[Kind]
    form: Form = "tight"

    def dimensions(self, schema: Schema) -> tuple[Dimension, ...]:
        """Return how each axis is transformed."""
        return wavelet_dimensions(schema, self.axes, self.kinds, MAX_CELLS)

    def check(self, schema: Schema) -> None:
        self.dimensions(schema)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return wavelet_sensitivity(self.dimensions(schema), schema, self.form)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(math.prod(d.coefficients for d in self.dimensions(schema)), Fraction(1))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        (counts,) = engine.marginals([self.axes])
        return transformed(as_integers(counts), self.dimensions(schema)).ravel()

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> Wavelets:
        values = noisy[0].values.reshape([d.coefficients for d in self.dimensions(schema)])
        return Wavelets(self.axes, tuple(self.kinds), self.form, values, noisy[0].noise)

    def as_json(self) -> list[Any]:
        return [self.kind, self.axes, list(self.kinds), self.form]
