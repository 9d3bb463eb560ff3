"""Choices among all edges between attributes, which are neither listed nor scored one by one.

ChooseEdge     one attribute with one parent
ChooseChild    one attribute, by its best edge
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.errors import UsageError
from understudy.privacy.questions.question import Selection
from understudy.privacy.scores import INDEPENDENCE, Pair, PairwiseScore, Score, check_listed
from understudy.privacy.scores.scorer import Scorer
from understudy.schema import Axes, Axis, Integers, Mask, Schema


@dataclass(frozen=True, eq=False)
class ChooseEdge(Selection[Pair]):
    """Choose one attribute of `left` with one parent of `placed`, among all tables of at most `cells` cells.

    Include the empty parent set if `allow_no_parent`, or for an attribute with which no parent fits within `cells`.
    """

    kind: ClassVar[str] = "links"

    left: Axes
    placed: Axes
    score: Score
    penalty_per_cell: int
    cells: int
    allow_no_parent: bool
    tables: Integers  # cells of each attribute (row) with each parent (column); the last column is no parent
    offered: Mask

    @staticmethod
    def of(
        schema: Schema,
        left: Axes,
        placed: Axes,
        score: Score,
        penalty_per_cell: int,
        cells: int,
        allow_no_parent: bool,
    ) -> ChooseEdge:
        """Return the question with the sizes of all its tables."""
        own, other = (np.array(schema.sizes(side), dtype=np.int64) for side in (left, placed))
        tables = np.column_stack([own[:, None] * other, own])
        offered = tables <= cells
        offered[:, -1] = allow_no_parent | ~offered[:, :-1].any(axis=1)
        return ChooseEdge(left, placed, score, penalty_per_cell, cells, allow_no_parent, tables, offered)

    @property
    def count(self) -> int:
        return int(self.offered.sum())

    def result(self, index: int) -> Pair:
        child, parent = divmod(int(np.flatnonzero(self.offered)[index]), self.offered.shape[1])
        return Pair(self.left[child], self.placed[parent : parent + 1])

    def check(self, schema: Schema) -> None:
        penalty = self.penalty_per_cell
        if not self.left or not self.placed or penalty < 0 or penalty * int(self.tables.max()) >= 2**60:
            raise UsageError(
                "edges need attributes on both sides, and a penalty per cell that is not negative and not huge"
            )
        check_listed(self.score)
        if not isinstance(self.score, PairwiseScore):
            raise UsageError("edges are scored by R or F")
        if (reason := self.score.all_pairs_refusal(schema)) is not None:
            raise UsageError(reason)
        _check_attributes((*self.left, *self.placed), schema)
        if (reason := self.score.refusal(Pair(max(self.left, key=schema.size)), schema)) is not None:
            raise UsageError(reason)

    def sensitivity(self, schema: Schema) -> int:
        """Return the sensitivity of the widest edge that is offered; a smaller table never moves further."""
        widths = np.array(schema.sizes(self.left), dtype=np.int64)[:, None]
        narrow = np.minimum(widths, self.tables // widths)  # the smaller side of each edge
        narrow[:, -1] = 1
        child, parent = np.unravel_index(int(np.where(self.offered, narrow, 0).argmax()), narrow.shape)
        return self.score.sensitivity(Pair(self.left[child], self.placed[parent : int(parent) + 1]), schema)

    def exact(self, scorer: Scorer) -> list[int]:
        assert isinstance(self.score, PairwiseScore)
        edges = scorer.edges(self.left, self.placed, self.score)
        scores = np.column_stack([edges, scorer.without_parent(self.left, self.score)])
        return list((scores - self.penalty_per_cell * self.tables)[self.offered].tolist())

    def rescaled(self, factor: Fraction) -> ChooseEdge:
        return replace(self, penalty_per_cell=round(self.penalty_per_cell * factor))

    def asked(self) -> list[Any]:
        return [self.kind, self.left, self.placed, self.score.name, self.cells, self.allow_no_parent]

    def as_json(self) -> list[Any]:
        penalty, name = self.penalty_per_cell, self.score.name
        return [self.kind, self.left, self.placed, name, penalty, self.cells, self.allow_no_parent]


@dataclass(frozen=True, eq=False)
class ChooseChild(Selection[Axis]):
    """Choose one of `left` by its best edge to a placed attribute: score R less a public penalty for each cell.

    No edge is worth minus the penalty for each value. The largest of functions that each move by at most Δ moves by at
    most Δ.
    """

    kind: ClassVar[str] = "link"
    left: Axes
    placed: Axes
    penalty_per_cell: int = 0
    score: PairwiseScore = field(default=INDEPENDENCE, init=False)

    @property
    def count(self) -> int:
        return len(self.left)

    def result(self, index: int) -> Axis:
        return self.left[index]

    def check(self, schema: Schema) -> None:
        if not self.left or not self.placed or self.penalty_per_cell < 0:
            raise UsageError("an edge needs attributes on both sides, and a penalty per cell that is not negative")
        _check_attributes((*self.left, *self.placed), schema)

    def sensitivity(self, schema: Schema) -> int:
        ends = [max(side, key=schema.size) for side in (self.left, self.placed)]
        return self.score.sensitivity(Pair(ends[0], (ends[1],)), schema)

    def exact(self, scorer: Scorer) -> list[int]:
        penalty = self.penalty_per_cell
        widths, sizes = (np.array(scorer.sizes(side), dtype=np.int64) for side in (self.left, self.placed))
        most = 2**60 // max(1, penalty)  # cells beyond which a penalty stops growing, so that it stays exact
        edges = scorer.edges(self.left, self.placed, self.score)
        best = (edges - penalty * np.minimum(widths[:, None] * sizes, most)).max(axis=1)
        return [int(score) for score in np.maximum(best, -penalty * np.minimum(widths, most))]

    def rescaled(self, factor: Fraction) -> ChooseChild:
        return replace(self, penalty_per_cell=round(self.penalty_per_cell * factor))

    def asked(self) -> list[Any]:
        return [self.kind, self.left, self.placed]

    def as_json(self) -> list[Any]:
        return [*self.asked(), self.penalty_per_cell]


def _check_attributes(axes: Axes, schema: Schema) -> None:
    if not {Axis(a.name) for a in schema.modelled}.issuperset(axes):
        raise UsageError("edges are counted between whole attributes of the model")
