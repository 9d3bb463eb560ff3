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
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import UsageError
from understudy.privacy.choices import Options
from understudy.privacy.mechanisms import add_noise, choice_scale, noisy_choice
from understudy.privacy.random_source import RandomSource, Words
from understudy.privacy.reservation import Reservation
from understudy.privacy.scores import Scorer
from understudy.privacy.shares import check_share, noise_share
from understudy.privacy.table import Noisy, PrivateTable, Progress
from understudy.privacy.vectors import Part, Vector
from understudy.schema import Schema


class OwnedTable(PrivateTable):
    """One owner's rows. Nothing public here holds the engine, the reservation or a count."""

    def __init__(
        self,
        schema: Schema,
        engine: CountingEngine,
        reservation: Reservation,
        source: RandomSource,
        progress: Progress | None = None,
    ) -> None:
        self.schema = schema
        self.accounting = reservation.accounting
        self.purse = reservation.purse
        self.__engine = engine
        self.__scorer = Scorer(engine, schema)
        self.__reservation = reservation
        self.__source = source
        self.__progress = progress

    def progress(self, phase: str, done: int, of: int) -> None:
        if self.__progress is not None:
            self.__progress(phase, done, of, self.__reservation.purse - self.__reservation.left)

    def regrouped(self, schema: Schema, homes: Mapping[str, NDArray[np.int64]]) -> Self:
        coarser = copy(self)
        coarser.schema = schema
        coarser.__engine = self.__engine.regrouped(schema.counted, homes)
        coarser.__scorer = Scorer(coarser.__engine, schema)
        return coarser

    def pick(self, count: int, purpose: str) -> int:
        charge = self.__reservation.charge(purpose, Fraction(0), digest("pick", count))
        if charge.outcome is not None:
            return int(charge.outcome)
        number = self.__source.below(count)
        charge.note(str(number).encode())
        return number

    def _decide(self, question: Options, cost: Fraction, purpose: str, of: int) -> int:
        scale = self._choice_scale(question, cost)
        asked = digest(question.asked(), str(cost))
        charge = self.__reservation.charge(purpose, cost, asked, lambda: digest(question.as_json(), str(cost)))
        if charge.outcome is not None:
            return int(charge.outcome)
        scores = question.scores(self.__scorer)
        charge.drawing()
        index = noisy_choice(scores, self.accounting, scale, self.__source)
        charge.journal(str(index).encode())
        return index

    def _release(self, question: Vector, cost: Fraction, purpose: str) -> Noisy:
        parts = question.parts(self.schema, self.accounting, cost)
        charge = self.__reservation.charge(purpose, cost, digest(question.as_json(), str(cost)))
        if charge.outcome is None:
            exact = split(question.exact(self.__engine, self.schema), parts)
            charge.drawing()
            noisy = [add_noise(v, self.accounting, part.scale, self.__source) for v, part in zip(exact, parts)]
            charge.journal(b"".join(values.astype("<i8").tobytes() for values in noisy))
        else:
            noisy = split(np.frombuffer(charge.outcome, dtype="<i8").astype(np.int64), parts)
        return Noisy(noisy, [part.scale for part in parts])

    # -- a federation's owner ---------------------------------------------------------------------------------

    @property
    def left(self) -> Fraction:
        """What this reservation can still pay for."""
        return self.__reservation.left

    def check_decision(self, question: Options, cost: Fraction) -> None:
        """Refuse a choice that `decide` could not make, by public facts alone. Nothing is charged."""
        question.check(self.schema)
        self._choice_scale(question, cost)

    def check_vector(self, question: Vector, cost: Fraction, honest: int | None = None) -> None:
        """Refuse a vector that `release` (or `contribute` among so many honest owners) could not answer, likewise."""
        question.check(self.schema)
        parts = question.parts(self.schema, self.accounting, cost)
        if honest is not None:
            self._check_shares(question, parts, honest)

    def _choice_scale(self, question: Options, cost: Fraction) -> float:
        sensitivity = self.schema.rows_per_person * question.sensitivity(self.schema)
        return choice_scale(self.accounting, sensitivity, cost)

    def _check_shares(self, question: Vector, parts: Sequence[Part], honest: int) -> None:
        if not question.adds_up:
            raise UsageError(f"{question.kind} of several owners do not add up: they cannot be asked of a federation")
        for scale in {part.scale for part in parts}:
            check_share(self.accounting, scale, honest)

    def decide(self, question: Options, cost: Fraction, purpose: str) -> int:
        """One choice of several owners' choices: this owner's turn, on its own rows."""
        question.check(self.schema)
        return self._decide(question, cost, purpose, of=1)

    def release(self, question: Vector, cost: Fraction, purpose: str) -> Noisy:
        """A vector of this owner's rows alone, with the whole noise on it."""
        return self._asked(question, cost, purpose)

    def contribute(
        self, question: Vector, cost: Fraction, purpose: str, round_key: str, honest: int, mask: Callable[[int], Words]
    ) -> Words:
        """This owner's part of a secure sum: exact counts, its share of the noise and its mask, added modulo 2^64.

        A share alone is not enough noise: what keeps the counts is the mask, which nobody else may know. `round_key`
        names the round, so that no two rounds have the same draw.
        """
        question.check(self.schema)
        parts = question.parts(self.schema, self.accounting, cost)
        self._check_shares(question, parts, honest)  # what cannot be shared is not charged
        asked = digest("share", question.as_json(), str(cost), honest, round_key)
        charge = self.__reservation.charge(purpose, cost, asked)
        if charge.outcome is None:
            counts = question.exact(self.__engine, self.schema)
            charge.drawing()
            noise = [noise_share(n, self.accounting, scale, honest, self.__source) for n, scale in _runs(parts)]
            masked = (counts + np.concatenate(noise)).view(np.uint64) + mask(len(counts))
            charge.journal(masked.astype("<u8").tobytes())
            return masked
        return np.frombuffer(charge.outcome, dtype="<u8").astype(np.uint64)


def split(flat: NDArray[np.int64], parts: Sequence[Part]) -> list[NDArray[np.int64]]:
    """A flat answer, part by part."""
    ends = np.cumsum([part.cells for part in parts])
    assert len(flat) == ends[-1]
    return np.split(flat, ends[:-1])


def _runs(parts: Sequence[Part]) -> list[tuple[int, float]]:
    """The cells of neighbouring parts with the same noise, and its scale: many small draws take long."""
    return [(sum(p.cells for p in same), scale) for scale, same in groupby(parts, key=lambda p: p.scale)]


def digest(*asked: Any) -> str:
    """What was asked, for the journal: the same question on resume has the same digest."""
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
