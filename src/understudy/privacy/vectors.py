"""Vectors, half of the closed list of what can be asked of rows: integers that get noise. Each is public data that
knows how far one person can move its answer and how to compute it from exact counts; who may compute it, and what is
paid, is the private table's matter. Those that `adds_up` are linear in the rows, so that the answer for several owners'
rows is the sum of their answers.

    Tables, HadamardBlocks, WaveletTable, FineDetails    add up
    Scores, Figure                                       do not
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import TooLarge, UsageError
from understudy.privacy.accountant import Accounting
from understudy.privacy.details import detail_sensitivity, detailed, finest_grid
from understudy.privacy.mechanisms import as_integers, noise_scale
from understudy.privacy.scores import pair_scores
from understudy.privacy.sensitivity import table_l1, table_l2_squared
from understudy.privacy.statistics import Statistic
from understudy.privacy.statistics import refusal as statistic_refusal
from understudy.privacy.transforms import block, block_sensitivity, block_shape, pair_scores_sensitivity
from understudy.privacy.wavelets import Dimension, Form, Kind, transformed, wavelet_dimensions, wavelet_sensitivity
from understudy.schema import Axes, Axis, Schema
from understudy.schema.attribute import fine_name

Integers = NDArray[np.int64]

MOST_CELLS = 20_000_000  # of one measured table; noise costs about ten microseconds a cell


def table_scale(schema: Schema, accounting: Accounting, cost: Fraction) -> float:
    """The noise scale of one measured table at this cost: public, so `plan` can state it."""
    return noise_scale(accounting, table_l1(schema), table_l2_squared(schema), cost)


@dataclass(frozen=True)
class Part:
    """A stretch of a vector with noise of one scale."""

    cells: int
    scale: float


class Vector(Protocol):
    """A question answered by integers with noise on them."""

    kind: ClassVar[str]
    adds_up: ClassVar[bool]

    def check(self, schema: Schema) -> None:
        """Refuse what cannot be asked, from public facts and before anything is paid."""
        ...

    def parts(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[Part]:
        """How long the answer is and how much noise this cost puts on it."""
        ...

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        """The answer without noise, flat. Only a private table calls this."""
        ...

    def as_json(self) -> list[Any]:
        """What is asked, for the journal (the same question on resume) and for other owners."""
        ...


@dataclass(frozen=True, eq=False)
class Tables:
    """Counts over each ask, the cost split in shares; the empty ask is the row count."""

    kind: ClassVar[str] = "tables"
    adds_up: ClassVar[bool] = True

    asks: Sequence[Axes]
    shares: Sequence[Fraction]

    @staticmethod
    def of(asks: Sequence[Axes], shares: Sequence[Fraction] | None = None) -> Tables:
        return Tables(asks, shares or [Fraction(1, len(asks))] * len(asks))

    def check(self, schema: Schema) -> None:
        for axes in self.asks:
            if (cells := schema.cells(axes)) > MOST_CELLS:
                raise TooLarge(f"a table of {cells:,} cells cannot be measured; the limit is {MOST_CELLS:,}")
        if not self.asks or len(self.shares) != len(self.asks) or sum(self.shares) > 1 or min(self.shares) <= 0:
            raise UsageError("shares of a measurement must be positive and add up to at most 1")

    def parts(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[Part]:
        scales = {share: table_scale(schema, accounting, cost * share) for share in set(self.shares)}
        return [Part(schema.cells(axes), scales[share]) for axes, share in zip(self.asks, self.shares)]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return np.concatenate([as_integers(counts).ravel() for counts in engine.marginals(self.asks)])

    def as_json(self) -> list[Any]:
        return [self.kind, self.asks, list(map(str, self.shares))]


@dataclass(frozen=True, eq=False)
class HadamardBlocks:
    """The block of Hadamard coefficients of each ask."""

    kind: ClassVar[str] = "coefficients"
    adds_up: ClassVar[bool] = True

    asks: Sequence[Axes]

    def check(self, schema: Schema) -> None:
        total = sum(math.prod(block_shape(axes, schema)) for axes in self.asks)
        if not total or max(map(schema.cells, self.asks)) > MOST_CELLS or total > MOST_CELLS:
            raise TooLarge(f"from 1 to {MOST_CELLS:,} coefficients can be measured, of tables of that size")

    def parts(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[Part]:
        scale = noise_scale(accounting, *block_sensitivity(self.asks, schema), cost)
        return [Part(math.prod(block_shape(axes, schema)), scale) for axes in self.asks]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return np.concatenate([block(as_integers(counts)).ravel() for counts in engine.marginals(self.asks)])

    def as_json(self) -> list[Any]:
        return [self.kind, self.asks]


@dataclass(frozen=True, eq=False)
class WaveletTable:
    """The wavelet coefficients of one table, a kind of transform for each axis."""

    kind: ClassVar[str] = "wavelet"
    adds_up: ClassVar[bool] = True

    axes: Axes
    kinds: Sequence[Kind]
    form: Form = "tight"

    def dimensions(self, schema: Schema) -> tuple[Dimension, ...]:
        return wavelet_dimensions(schema, self.axes, self.kinds, MOST_CELLS)

    def check(self, schema: Schema) -> None:
        self.dimensions(schema)

    def parts(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[Part]:
        dimensions = self.dimensions(schema)
        scale = noise_scale(accounting, *wavelet_sensitivity(dimensions, schema, self.form), cost)
        return [Part(math.prod(d.coefficients for d in dimensions), scale)]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        (counts,) = engine.marginals([self.axes])
        return transformed(as_integers(counts), self.dimensions(schema)).ravel()

    def as_json(self) -> list[Any]:
        return [self.kind, self.axes, list(self.kinds), self.form]


@dataclass(frozen=True, eq=False)
class FineDetails:
    """The shape of one attribute inside its bins, halved `depth` times: left less right, without the bins' totals."""

    kind: ClassVar[str] = "details"
    adds_up: ClassVar[bool] = True

    attribute: str
    depth: int

    def check(self, schema: Schema) -> None:
        finest_grid(schema, self.attribute, self.depth)

    def parts(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[Part]:
        grid = finest_grid(schema, self.attribute, self.depth)
        cells = sum(len(first) for first, _, _ in grid.levels[: self.depth])
        return [Part(cells, noise_scale(accounting, *detail_sensitivity(self.depth, schema), cost))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        grid = finest_grid(schema, self.attribute, self.depth)
        (counts,) = engine.marginals([(Axis(fine_name(self.attribute)),)])
        return detailed(as_integers(counts), grid, self.depth)

    def as_json(self) -> list[Any]:
        return [self.kind, self.attribute, self.depth]


@dataclass(frozen=True, eq=False)
class Scores:
    """Score R of every pair of these axes: below the diagonal, line by line."""

    kind: ClassVar[str] = "scores"
    adds_up: ClassVar[bool] = False

    axes: Axes

    def check(self, schema: Schema) -> None:
        if len(self.axes) < 2 or len(set(self.axes)) < len(self.axes):
            raise UsageError("pairwise scores need two or more different axes")

    def parts(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[Part]:
        scale = noise_scale(accounting, *pair_scores_sensitivity(self.axes, schema), cost)
        return [Part(math.comb(len(self.axes), 2), scale)]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return pair_scores(engine, self.axes, schema)[np.tril_indices(len(self.axes), -1)]

    def as_json(self) -> list[Any]:
        return [self.kind, self.axes]


@dataclass(frozen=True, eq=False)
class Figure:
    """One evaluation statistic of the kernel's list."""

    kind: ClassVar[str] = "figure"
    adds_up: ClassVar[bool] = False

    statistic: Statistic

    def check(self, schema: Schema) -> None:
        if (reason := statistic_refusal(self.statistic, schema)) is not None:
            raise UsageError(reason)

    def parts(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[Part]:
        sensitivity = schema.rows_per_person * self.statistic.sensitivity()
        return [Part(1, noise_scale(accounting, sensitivity, sensitivity**2, cost))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return as_integers([self.statistic.value(engine)])

    def as_json(self) -> list[Any]:
        return [self.kind, self.statistic.key]
