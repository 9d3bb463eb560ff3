"""The private table of one owner: the rows are here, behind the owner's own ledger.

Every question goes the same way: the charge is written to the ledger and synced; the engine counts; the ledger notes
that noise is about to be drawn; noise is drawn; the outcome is journalled; only then is it returned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import groupby
from typing import Any, Self

import numpy as np

from understudy.engines.engine import CountingEngine, ForesightedEngine, GroupingEngine
from understudy.errors import UsageError
from understudy.privacy.noise import Noise
from understudy.privacy.questions import NoiseBlock, NoisyBlock, NoisyQuery, Selection, ValueList, ValueLists
from understudy.privacy.questions.question import split
from understudy.privacy.random_source import RandomSource, Words
from understudy.privacy.reservation import Charge, Reservation
from understudy.privacy.scores.scorer import Scorer
from understudy.privacy.table import PrivateTable, Progress, check_regrouping
from understudy.schema import Axes, Integers, Schema


class LocalPrivateTable(PrivateTable):
    """One owner's rows. Nothing public here holds the engine, the reservation or a count."""

    def __init__(
        self,
        schema: Schema,
        engine: CountingEngine,
        reservation: Reservation,
        source: RandomSource,
        progress: Progress | None = None,
        groups: GroupingEngine | None = None,
    ) -> None:
        self.schema = schema
        self.accounting = reservation.accounting
        self.total_cost = reservation.total_cost
        self.__engine = engine
        self.__scorer = Scorer(engine, schema)
        self.__reservation = reservation
        self.__source = source
        self.__progress = progress
        self.__groups = groups
        self.__views: tuple[str, ...] = ()  # the digest of merged groups, which every question is journalled with
        self.__cells: tuple[str, ...] = ()  # what tells which rows are counted and in what cells, likewise

    def progress(self, phase: str, done: int, of: int) -> None:
        if self.__progress is not None:
            self.__progress(phase, done, of, self.__reservation.total_cost - self.__reservation.left)

    def regrouped(self, schema: Schema, homes: Mapping[str, Integers]) -> Self:
        check_regrouping(self.schema, schema, homes)
        coarser = copy(self)
        coarser.schema = schema
        coarser.__engine = self.__engine.regrouped(schema.counted, homes)
        coarser.__scorer = Scorer(coarser.__engine, schema)
        bins = digest("bins", *([name, *_firsts(homes[name])] for name in sorted(homes)))
        coarser.__cells = (*self.__cells, bins)
        return coarser

    def known_by(self, told: str) -> Self:
        """Return the same table, whose answers are journalled with this, too: which of several tables of a run it is,
        or the schema that was bought."""
        twin = copy(self)
        twin.__cells = (*self.__cells, told)
        return twin

    def viewed(self, groups: Mapping[str, tuple[int, ...]]) -> Self:
        if self.__views:
            raise UsageError("the values of a table are merged once")
        grouped = copy(self)
        grouped.schema = self.schema.merged(groups)
        grouped.__engine = self.__engine.viewed(grouped.schema.counted)
        grouped.__scorer = Scorer(grouped.__engine, grouped.schema)
        grouped.__views = (digest("groups", *([name, *groups[name]] for name in sorted(groups))),)
        return grouped

    def foresee(self, workload: Sequence[Axes]) -> None:
        if isinstance(self.__engine, ForesightedEngine):
            self.__engine.foresee(workload)

    def public_random_index(self, count: int, purpose: str) -> int:
        charge = self.__reservation.charge(purpose, Fraction(0), digest("pick", count))
        if charge.outcome is not None:
            return int(charge.outcome)
        number = self.__source.below(count)
        charge.note(str(number).encode())
        return number

    def _select(self, question: Selection[Any], cost: Fraction, purpose: str, of: int) -> int:
        scale = self._selection_scale(question, cost)
        charge = self._charged(purpose, cost, question.asked(), question.as_json())
        if charge.outcome is not None:
            return int(charge.outcome)
        scores = question.exact(self.__scorer)
        charge.drawing()
        index = self.accounting.select(scores, scale, self.__source)
        charge.journal(str(index).encode())
        return index

    def _measure(self, question: NoisyQuery[Any], cost: Fraction, purpose: str) -> list[NoisyBlock]:
        blocks = question.noise_blocks(self.schema, self.accounting, cost)
        charge = self._charged(purpose, cost, question.as_json())
        if charge.outcome is None:
            exact = split(question.exact(self.__engine, self.schema), blocks)
            charge.drawing()
            noisy = [block.noise.draw(values, self.__source) for values, block in zip(exact, blocks)]
            charge.journal(b"".join(values.astype("<i8").tobytes() for values in noisy))
        else:
            noisy = split(np.frombuffer(charge.outcome, dtype="<i8").astype(np.int64), blocks)
        return [NoisyBlock(values, block.noise) for values, block in zip(noisy, blocks)]

    def _charged(self, purpose: str, cost: Fraction, asked: Any, *formerly: Any) -> Charge:
        """Charge for what is asked; in the journal it is known by its cost, too, by the merged groups that its axes may
        name, and by the table and the bins that rows are counted in: an answer for other cells is none for these.

        Earlier versions knew it without tables and bins, and by `formerly`.
        """
        key = [str(cost), *self.__views]
        asked_now = digest(asked, *key, *self.__cells)
        return self.__reservation.charge(
            purpose, cost, asked_now, lambda: [digest(before, *key) for before in (asked, *formerly)]
        )

    def _list(self, question: ValueLists, cost: Fraction, purpose: str) -> list[ValueList]:
        if self.__groups is None:
            raise UsageError("value lists cannot be bought of rows that are already coded")
        noise = question.noise(self.schema, self.accounting, cost)
        threshold = question.threshold(self.schema, noise)
        asked = digest(question.as_json(), str(cost), threshold)
        charge = self.__reservation.charge(purpose, cost, asked, delta=question.delta)
        outcome = charge.outcome
        if outcome is None:
            found = question.exact(self.__groups, noise)
            charge.drawing()
            outcome = question.draw(found, noise, threshold, self.__source)
            charge.journal(outcome)
        return question.result(outcome, noise)

    # -- a federation's owner ---------------------------------------------------------------------------------

    @property
    def left(self) -> Fraction:
        """Return what this reservation can still pay for."""
        return self.__reservation.left

    @property
    def delta_left(self) -> Fraction:
        """Return what of delta this reservation has left for value lists."""
        return self.__reservation.delta_left

    def check_lists(self, question: ValueLists, cost: Fraction) -> None:
        """Refuse value lists that `list_texts` could not make, by public facts alone. Nothing is charged."""
        question.check(self.schema)
        if self.__groups is None:
            raise UsageError("value lists cannot be bought of rows that are already coded")
        question.noise(self.schema, self.accounting, cost).check_share(1)  # no scale that the sampler would cut off

    def list_texts(self, question: ValueLists, cost: Fraction, purpose: str) -> list[ValueList]:
        """Return the value lists of this owner's rows alone, with the whole noise on every count."""
        self.check_lists(question, cost)
        return self._list(question, cost, purpose)

    def check_selection(self, question: Selection[Any], cost: Fraction) -> None:
        """Refuse a choice that `select` could not make, by public facts alone. Nothing is charged."""
        question.check(self.schema)
        self._selection_scale(question, cost)

    def check_query(self, question: NoisyQuery[Any], cost: Fraction, honest: int | None = None) -> None:
        """Refuse a query that `answer` (or `contribute` among so many honest owners) could not answer, likewise."""
        question.check(self.schema)
        blocks = question.noise_blocks(self.schema, self.accounting, cost)
        if honest is not None:
            self._check_shares(question, blocks, honest)

    def _selection_scale(self, question: Selection[Any], cost: Fraction) -> float:
        sensitivity = self.schema.rows_per_person * question.sensitivity(self.schema)
        return self.accounting.selection_scale(sensitivity, cost)

    def _check_shares(self, question: NoisyQuery[Any], blocks: Sequence[NoiseBlock], honest: int) -> None:
        if not question.is_linear:
            raise UsageError(f"{question.kind} of several owners do not add up: they cannot be asked of a federation")
        for noise in {block.noise for block in blocks}:
            noise.check_share(honest)

    def select(self, question: Selection[Any], cost: Fraction, purpose: str) -> int:
        """Make one choice of several owners' choices: this owner's turn, on its own rows. Return the option's index."""
        question.check(self.schema)
        return self._select(question, cost, purpose, of=1)

    def answer(self, question: NoisyQuery[Any], cost: Fraction, purpose: str) -> list[NoisyBlock]:
        """Answer a query on this owner's rows alone, with the whole noise on it."""
        question.check(self.schema)
        return self._measure(question, cost, purpose)

    def contribute(
        self,
        question: NoisyQuery[Any],
        cost: Fraction,
        purpose: str,
        round_key: str,
        honest: int,
        mask: Callable[[int], Words],
    ) -> Words:
        """Return this owner's part of a secure sum: counts, its share of the noise and its mask, modulo 2^64.

        A share alone is not enough noise: what keeps the counts is the mask, which nobody else may know. `round_key`
        names the round, so that no two rounds have the same draw.
        """
        question.check(self.schema)
        blocks = question.noise_blocks(self.schema, self.accounting, cost)
        self._check_shares(question, blocks, honest)  # what cannot be shared is not charged
        asked = ["share", question.as_json(), str(cost), honest, round_key, *self.__views]
        charge = self.__reservation.charge(purpose, cost, digest(*asked, *self.__cells), lambda: [digest(*asked)])
        if charge.outcome is None:
            counts = question.exact(self.__engine, self.schema)
            charge.drawing()
            shares = [noise.share(cells, honest, self.__source) for cells, noise in _runs(blocks)]
            masked = (counts + np.concatenate(shares)).view(np.uint64) + mask(len(counts))
            charge.journal(masked.astype("<u8").tobytes())
            return masked
        return np.frombuffer(charge.outcome, dtype="<u8").astype(np.uint64)


def _runs(blocks: Sequence[NoiseBlock]) -> list[tuple[int, Noise]]:
    """Return blocks with the same noise joined to their neighbours, as cells and noise: many small draws take long."""
    return [(sum(b.cells for b in same), noise) for noise, same in groupby(blocks, key=lambda b: b.noise)]


def _firsts(home: Integers) -> list[int]:
    """Return the first code of each new one."""
    firsts: list[int] = np.flatnonzero(np.diff(home, prepend=-1)).tolist()
    return firsts


def digest(*asked: Any) -> str:
    """Return a digest of what was asked, for the journal: the same question on resume has the same digest."""
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
