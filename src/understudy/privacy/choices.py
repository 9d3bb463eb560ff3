"""Choices, half of the closed list of what can be asked of rows: integer scores of public options, of which one comes
out. Each is public data that knows how far one person can move a score and how to compute it from exact counts; who may
compute it, and what is paid, is the private table's matter.

    Choice      listed pairs, by any score
    Links       one attribute with one parent, among all of them, never listed
    NextLink    one attribute, by its best link
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.privacy.scores import Pair, Scorer, reference_refusal, refusal, score_named
from understudy.schema import Axes, Axis, Schema

Integers = NDArray[np.int64]

LARGEST_PENALTY = 2**60  # where one stops growing, so that no score less its penalty is too large: a refusal would tell


class Options(Protocol):
    """A question answered by one of several public options."""

    kind: ClassVar[str]

    @property
    def score(self) -> str:
        """Return the name of the score by which options are compared."""
        ...

    @property
    def count(self) -> int:
        """Return the number of options."""
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

    def asked(self) -> list[Any]:
        """Return what identifies the question in the journal: all but penalties and reference tables.

        Those are figures that a method worked out from earlier answers, and another machine may round the last digit
        of one otherwise. A run that is resumed there is given the outcomes that were drawn and paid for all the same.
        """
        ...

    def as_json(self) -> list[Any]:
        """Return the whole question, for other owners."""
        ...


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

    def asked(self) -> list[Any]:
        return [self.kind, [pair.axes for pair in self.options], self.score]

    def as_json(self) -> list[Any]:
        references = None if self.references is None else [r.tolist() for r in self.references]
        penalty = None if self.penalty is None else [int(p) for p in self.penalty]
        return [*self.asked(), penalty, references]


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

    def asked(self) -> list[Any]:
        return [self.kind, self.left, self.placed, self.score, self.cells, self.alone]

    def as_json(self) -> list[Any]:
        return [self.kind, self.left, self.placed, self.score, self.fine, self.cells, self.alone]


@dataclass(frozen=True, eq=False)
class NextLink:
    """One of `left`, by its best link to a placed attribute: score R less a public fine for each cell of the link.

    No link is worth −fine for each value. The largest of functions that each move by at most Δ moves by at most Δ.
    """

    kind: ClassVar[str] = "link"
    score: ClassVar[str] = "R"

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
        return score_named(self.score).sensitivity(Pair(ends[0], (ends[1],)), schema)

    def scores(self, scorer: Scorer) -> list[int]:
        return scorer.best_links(self.left, self.placed, self.fine)

    def rescaled(self, factor: Fraction) -> NextLink:
        return replace(self, fine=round(self.fine * factor))

    def asked(self) -> list[Any]:
        return [self.kind, self.left, self.placed]

    def as_json(self) -> list[Any]:
        return [*self.asked(), self.fine]
