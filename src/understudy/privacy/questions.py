"""Questions: the closed list of what can be asked of rows. Each is public data that knows how far one person can move
its answer and how to compute it from exact counts; who may compute it, and what is paid, is the private table's matter.

    a choice     Choice, Links, NextLink   integer scores of public options; one option comes out
    a vector     Tables, HadamardBlocks,   integers that get noise; those that `adds_up` are linear in the rows, so that
                 WaveletTable,             the answer for several owners' rows is the sum of their answers
                 FineDetails, Scores,
                 Figure
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import TooLarge, UsageError
from understudy.privacy.accountant import Accounting
from understudy.privacy.details import detail_sensitivity, detailed, finest_grid
from understudy.privacy.mechanisms import as_integers, noise_scale
from understudy.privacy.scores import (
    Pair,
    Scorer,
    pair_scores,
    reference_refusal,
    refusal,
    score_named,
)
from understudy.privacy.sensitivity import table_l1, table_l2_squared
from understudy.privacy.statistics import Statistic
from understudy.privacy.statistics import refusal as statistic_refusal
from understudy.privacy.transforms import block, block_sensitivity, block_shape, pair_scores_sensitivity
from understudy.privacy.wavelets import Dimension, Form, Kind, transformed, wavelet_dimensions, wavelet_sensitivity
from understudy.schema import Axes, Axis, Schema
from understudy.schema.attribute import fine_name

Integers = NDArray[np.int64]

MOST_CELLS = 20_000_000  # of one measured table; noise costs about ten microseconds a cell
LARGEST_PENALTY = 2**60  # where one stops growing, so that no score less its penalty is too large: a refusal would tell


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


class Options(Protocol):
    """A question answered by one of several public options."""

    kind: ClassVar[str]

    @property
    def count(self) -> int:
        """Of options."""
        ...

    def check(self, schema: Schema) -> None: ...

    def sensitivity(self, schema: Schema) -> int:
        """How far one row can move a score: the most over all options."""
        ...

    def scores(self, scorer: Scorer) -> list[int]:
        """Of every option, exactly. Only a private table calls this."""
        ...

    def rescaled(self, factor: Fraction) -> Options:
        """The same question for fewer rows: its public penalty and reference tables times `factor`."""
        ...

    def as_json(self) -> list[Any]: ...


# -- choices -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Choice:
    """One of these pairs, by a score less a public penalty; score D has a public reference table for each option."""

    kind: ClassVar[str] = "choice"

    options: Sequence[Pair]
    score: str
    penalty: Sequence[int] | None = None
    references: Sequence[Integers] | None = None

    @property
    def count(self) -> int:
        return len(self.options)

    def check(self, schema: Schema) -> None:
        if not self.options:
            raise UsageError("there is nothing to choose from")
        if self.penalty is not None and len(self.penalty) != len(self.options):
            raise UsageError("a penalty needs one number for each option")
        if (reason := reference_refusal(self.score, self.options, self.references, schema)) is not None:
            raise UsageError(reason)
        for pair in self.options:
            if (reason := refusal(self.score, pair, schema)) is not None:
                raise UsageError(reason)

    def sensitivity(self, schema: Schema) -> int:
        rule = score_named(self.score)
        return max(rule.sensitivity(pair, schema) for pair in self.options)

    def scores(self, scorer: Scorer) -> list[int]:
        if self.references is None:
            found = scorer.scores(self.options, self.score)
        else:
            found = scorer.deviations(self.options, self.references)
        if self.penalty is None:
            return found
        fines = (min(max(int(p), -LARGEST_PENALTY), LARGEST_PENALTY) for p in self.penalty)
        return [score - fine for score, fine in zip(found, fines, strict=True)]

    def rescaled(self, factor: Fraction) -> Choice:
        penalty = None if self.penalty is None else [round(int(p) * factor) for p in self.penalty]
        references = self.references and [np.rint(r * float(factor)).astype(np.int64) for r in self.references]
        return replace(self, penalty=penalty, references=references)

    def as_json(self) -> list[Any]:
        references = None if self.references is None else [r.tolist() for r in self.references]
        penalty = None if self.penalty is None else [int(p) for p in self.penalty]
        return [self.kind, [pair.axes for pair in self.options], self.score, penalty, references]


@dataclass(frozen=True, eq=False)
class Links:
    """One attribute of `left` with one parent of `placed`, among all tables of at most `cells` cells: a `Choice` among
    those pairs that is neither listed nor scored one by one. No parent is offered too if `alone`, or where none fits.
    """

    kind: ClassVar[str] = "links"

    left: Axes
    placed: Axes
    score: str
    fine: int  # for each cell
    cells: int
    alone: bool
    tables: Integers  # cells of each attribute (row) with each parent (column); the last column is no parent
    offered: NDArray[np.bool_]

    @staticmethod
    def of(schema: Schema, left: Axes, placed: Axes, score: str, fine: int, cells: int, alone: bool) -> Links:
        own, other = (np.array(schema.sizes(side), dtype=np.int64) for side in (left, placed))
        tables = np.column_stack([own[:, None] * other, own])
        offered = tables <= cells
        offered[:, -1] = alone | ~offered[:, :-1].any(axis=1)
        return Links(left, placed, score, fine, cells, alone, tables, offered)

    @property
    def count(self) -> int:
        return int(self.offered.sum())

    def pair(self, index: int) -> Pair:
        child, parent = divmod(int(np.flatnonzero(self.offered)[index]), self.offered.shape[1])
        return Pair(self.left[child], self.placed[parent : parent + 1])

    def check(self, schema: Schema) -> None:
        if not self.left or not self.placed or self.fine < 0 or self.fine * int(self.tables.max()) >= 2**60:
            raise UsageError("links need attributes on both sides, and a fine that is not negative and not huge")
        if self.score not in ("R", "F"):
            raise UsageError("links are scored by R or F")
        if self.score == "F" and any(a.size > 2 for a in schema.modelled):
            raise UsageError("links are scored by F where every attribute of the model is binary: use score R")
        if not {Axis(a.name) for a in schema.modelled}.issuperset((*self.left, *self.placed)):
            raise UsageError("links are counted between whole attributes of the model")
        if (reason := refusal(self.score, Pair(max(self.left, key=schema.size)), schema)) is not None:
            raise UsageError(reason)

    def sensitivity(self, schema: Schema) -> int:
        """Of the widest link that is offered; a smaller table never moves further."""
        rule = score_named(self.score)
        widths = np.array(schema.sizes(self.left), dtype=np.int64)[:, None]
        narrow = np.minimum(widths, self.tables // widths)  # the smaller side of each link
        narrow[:, -1] = 1
        child, parent = np.unravel_index(int(np.where(self.offered, narrow, 0).argmax()), narrow.shape)
        return rule.sensitivity(Pair(self.left[child], self.placed[parent : int(parent) + 1]), schema)

    def scores(self, scorer: Scorer) -> list[int]:
        found: list[int] = (scorer.links(self.left, self.placed, self.score) - self.fine * self.tables)[
            self.offered
        ].tolist()
        return found

    def rescaled(self, factor: Fraction) -> Links:
        return replace(self, fine=round(self.fine * factor))

    def as_json(self) -> list[Any]:
        return [self.kind, self.left, self.placed, self.score, self.fine, self.cells, self.alone]


@dataclass(frozen=True, eq=False)
class NextLink:
    """One of `left`, by its best link to a placed attribute: score R less a public fine for each cell of the link.

    No link is worth −fine for each value. The largest of functions that each move by at most Δ moves by at most Δ.
    """

    kind: ClassVar[str] = "link"

    left: Axes
    placed: Axes
    fine: int = 0

    @property
    def count(self) -> int:
        return len(self.left)

    def check(self, schema: Schema) -> None:
        if not self.left or not self.placed or self.fine < 0:
            raise UsageError("a link needs attributes on both sides, and a fine is not negative")
        if not {Axis(a.name) for a in schema.modelled}.issuperset((*self.left, *self.placed)):
            raise UsageError("links are counted between whole attributes of the model")

    def sensitivity(self, schema: Schema) -> int:
        ends = [max(side, key=schema.size) for side in (self.left, self.placed)]
        return score_named("R").sensitivity(Pair(ends[0], (ends[1],)), schema)

    def scores(self, scorer: Scorer) -> list[int]:
        return scorer.best_links(self.left, self.placed, self.fine)

    def rescaled(self, factor: Fraction) -> NextLink:
        return replace(self, fine=round(self.fine * factor))

    def as_json(self) -> list[Any]:
        return [self.kind, self.left, self.placed, self.fine]


# -- vectors -------------------------------------------------------------------------------------------------------


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
        if len(self.axes) < 2 or len(set(self.axes)) < len(self.axes) or (schema.rows or 0) >= 2**30:
            raise UsageError("pairwise scores need two or more different axes and fewer than 2^30 rows")

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
