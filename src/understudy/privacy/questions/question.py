"""What a question is. The list of questions is closed: only what is in this folder can be asked of rows.

A question is public data that knows how far one person can move its answer and how to compute it from exact counts.
Who may compute it, and what is paid, is the private table's matter. There are two kinds:

    Selection     one of several public options comes out, more likely the higher its score
    NoisyQuery    integers come out, with noise on them
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.privacy.accounting import Accounting
from understudy.privacy.noise import Noise
from understudy.privacy.scores import Score
from understudy.privacy.scores.scorer import Scorer
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Integers, Schema

Answer = TypeVar("Answer")

MAX_CELLS = 20_000_000  # of one measured table; noise costs about ten microseconds a cell


class Question(ABC, Generic[Answer]):
    """Something that can be asked of rows, and the type of its answer."""

    kind: ClassVar[str]  # in JSON and on the wire

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """Refuse what cannot be asked, from public facts and before anything is paid."""

    @abstractmethod
    def as_json(self) -> list[Any]:
        """Return the whole question, for the journal (the same question on resume) and for other owners."""


class Selection(Question[Answer]):
    """A question answered by one of several public options."""

    score: Score  # by which options are compared

    @property
    @abstractmethod
    def count(self) -> int:
        """Return the number of options."""

    @abstractmethod
    def sensitivity(self, schema: Schema) -> int:
        """Return how far one row can move a score: the most over all options."""

    @abstractmethod
    def exact(self, scorer: Scorer) -> list[int]:
        """Return the exact score of every option. Only a private table calls this."""

    @abstractmethod
    def result(self, index: int) -> Answer:
        """Return the option with this index."""

    @abstractmethod
    def rescaled(self, factor: Fraction) -> Self:
        """Return the same question for fewer rows: its public penalty and reference tables times `factor`."""

    @abstractmethod
    def asked(self) -> list[Any]:
        """Return what identifies the question in the journal: all but penalties and reference tables.

        Those are figures that a method worked out from earlier answers, and another machine may round the last digit
        of one otherwise. A run that is resumed there is given the outcomes that were drawn and paid for all the same.
        """


@dataclass(frozen=True)
class NoiseBlock:
    """A stretch of an answer with the same noise on each of its cells."""

    cells: int
    noise: Noise


@dataclass(frozen=True, eq=False)
class NoisyBlock:
    """A stretch of an answer with noise already on it. Public, once it exists."""

    values: Integers
    noise: Noise


class NoisyQuery(Question[Answer]):
    """A question answered by integers with noise on them."""

    is_linear: ClassVar[bool]  # whether the answer for several owners' rows is the sum of their answers

    @abstractmethod
    def sensitivity(self, schema: Schema) -> Sensitivity:
        """Return how far one person can move a part of the answer that is charged by itself."""

    @abstractmethod
    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        """Return the cells of each stretch of the answer, and the share of the cost that its noise is for."""

    @abstractmethod
    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        """Return the answer without noise, flat. Only a private table calls this."""

    @abstractmethod
    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> Answer:
        """Return the answer from its stretches, with their noise."""

    def noise_blocks(self, schema: Schema, accounting: Accounting, cost: Fraction) -> list[NoiseBlock]:
        """Return how long the answer is and how much noise this cost puts on it."""
        blocks, sensitivity = self.blocks(schema), self.sensitivity(schema)
        noise = {share: accounting.noise_for(sensitivity, cost * share) for share in {s for _, s in blocks}}
        return [NoiseBlock(cells, noise[share]) for cells, share in blocks]


def split(flat: Integers, blocks: Sequence[NoiseBlock]) -> list[Integers]:
    """Return a flat answer, stretch by stretch."""
    ends = np.cumsum([block.cells for block in blocks])
    assert len(flat) == ends[-1]
    return np.split(flat, ends[:-1])
