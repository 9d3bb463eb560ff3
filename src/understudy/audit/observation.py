"""Observation of the kernel at its last step: the exact integers and the scale that reach a sampler, and the order in
which a run pays, counts and draws. What is recorded here is private by nature; the audit's tables are made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from understudy import discovering, publishing
from understudy.engines import opening
from understudy.engines.engine import GroupingEngine
from understudy.engines.opening import Opened
from understudy.privacy.accounting import Accounting
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.questions import NoisyBlock, NoisyQuery, Selection, ValueList, ValueLists
from understudy.privacy.random_source import RandomSource, Words, seeded_generator
from understudy.relations.reading import DerivedEngine, opened_people
from understudy.relations.table_reading import opened_tables
from understudy.schema import Integers, Schema

COUNTING = ("marginals", "pairs", "errors")  # what an engine does with rows once it is open
LISTS = "value lists"


@dataclass(frozen=True, eq=False)
class Draw:
    """One call of a sampler: what it was given, and what came out."""

    sampler: str
    values: Integers
    scale: float
    outcome: Any
    question: int = 0  # which of the run's questions it answers


class Observer:
    """A random source that records every draw of the source behind it."""

    private = True

    def __init__(self, source: RandomSource, seen: Observed | None = None) -> None:
        self.draws: list[Draw] = []
        self._source = source
        self._seen = seen or Observed()

    def _drawn(self, sampler: str, values: Any, scale: float) -> Any:
        self._seen.events.append("draw")
        outcome = self._outcome(sampler, values, scale)
        number = len(self._seen.asked) - 1
        self.draws.append(Draw(sampler, np.array(values, dtype=np.int64), scale, outcome, number))
        return outcome

    def _outcome(self, sampler: str, values: Any, scale: float) -> Any:
        drawing = getattr(self._source, sampler)
        return drawing(values) if sampler == "below" else drawing(values, scale)

    def laplace(self, values: Integers, scale: float) -> Integers:
        return np.asarray(self._drawn(Laplace.name, values, scale))

    def gaussian(self, values: Integers, scale: float) -> Integers:
        return np.asarray(self._drawn(Gaussian.name, values, scale))

    def permute_and_flip(self, scores: Sequence[int], scale: float) -> int:
        return int(self._drawn("permute_and_flip", scores, scale))

    def exponential(self, scores: Sequence[int], scale: float) -> int:
        return int(self._drawn("exponential", scores, scale))

    def below(self, bound: int) -> int:
        number = int(self._outcome("below", bound, 0.0))
        self.draws.append(Draw("below", np.array([bound]), 0.0, number))
        return number

    def listed(self, draw: Callable[[RandomSource], bytes], threshold: int, scale: float) -> bytes:
        """Draw value lists as one outcome: how many texts get noise follows the rows, and what is shown does not."""
        self._seen.events.append("draw")
        outcome = self._outcome_of_lists(draw, threshold, scale)
        self.draws.append(Draw(LISTS, np.array([threshold]), scale, outcome, len(self._seen.asked) - 1))
        return outcome

    def _outcome_of_lists(self, draw: Callable[[RandomSource], bytes], threshold: int, scale: float) -> bytes:
        return draw(self._source)

    def words(self, count: int) -> Words:
        return self._source.words(count)

    def generator(self) -> np.random.Generator:
        return self._source.generator()


class NoDraw:
    """A source for exact laws, where only what a sampler is given matters: no noise, and the first option."""

    private = False

    def laplace(self, values: Integers, scale: float) -> Integers:
        return values

    gaussian = laplace

    def permute_and_flip(self, scores: Sequence[int], scale: float) -> int:
        return 0

    exponential = permute_and_flip

    def below(self, bound: int) -> int:
        return 0

    def words(self, count: int) -> Words:
        return np.zeros(count, dtype=np.uint64)

    def generator(self) -> np.random.Generator:
        return seeded_generator(0)


class NoLedger:
    """A reservation without a file: the kernel's charging rule, for tables that are nobody's."""

    def __init__(self, accounting: Accounting, total_cost: Fraction) -> None:
        self.accounting, self.total_cost, self.left = accounting, total_cost, total_cost

    def charge(
        self, purpose: str, cost: Fraction, ask: str, formerly: Any = None, delta: Fraction = Fraction(0)
    ) -> Any:
        assert 0 <= cost <= self.left
        self.left -= cost
        return SimpleNamespace(outcome=None, drawing=lambda: None, journal=lambda _: None, note=lambda _: None)


# -- a whole run ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asked:
    """A question as the private table was asked it."""

    question: Selection[Any] | NoisyQuery[Any] | ValueLists
    schema: Schema
    cost: Fraction
    purpose: str

    @property
    def key(self) -> str:
        return repr([self.question.as_json(), str(self.cost), self.purpose])


@dataclass
class Observed:
    """The questions and events of one run, in order."""

    asked: list[Asked] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def statement(self, sql: str) -> None:
        """Note what the ledger writes to disk, from SQLite's own trace."""
        if sql.startswith("INSERT INTO entries") and "'charge'" in sql[:80]:
            self.events.append("charge")
        elif sql.startswith("UPDATE journal SET state = 'drawing'"):
            self.events.append("drawing")
        elif sql.startswith("UPDATE journal SET state = 'drawn'"):
            self.events.append("journal")
        elif sql == "COMMIT":
            self.events.append("commit")

    @property
    def disorder(self) -> str | None:
        """Return what was done before it was paid for on disk, or None."""
        state = "closed"
        for event in self.events:
            if event == "count" and state != "paid":
                return "rows were counted before the charge for it was on disk"
            if event == "draw" and state != "drawing":
                return "noise was drawn before the ledger said so on disk"
            if event in ("charge", "drawing", "journal"):
                state = f"{event}, not yet on disk"
            elif event == "commit":
                state = _ON_DISK.get(state, state)
        return None


_ON_DISK = {
    "charge, not yet on disk": "paid", "drawing, not yet on disk": "drawing", "journal, not yet on disk": "closed"
}  # fmt: skip


@contextmanager
def observed_runs() -> Iterator[Observed]:
    """Record the questions, counts and ledger writes of the runs of `publishing.run` in this block."""
    seen = Observed()

    class ObservedTable(LocalPrivateTable):
        """The real private table, listened to."""

        def _select(self, question: Selection[Any], cost: Fraction, purpose: str, of: int) -> int:
            seen.asked.append(Asked(question, self.schema, cost, purpose))
            return super()._select(question, cost, purpose, of)

        def _measure(self, question: NoisyQuery[Any], cost: Fraction, purpose: str) -> list[NoisyBlock]:
            seen.asked.append(Asked(question, self.schema, cost, purpose))
            return super()._measure(question, cost, purpose)

        def _list(self, question: ValueLists, cost: Fraction, purpose: str) -> list[ValueList]:
            seen.asked.append(Asked(question, self.schema, cost, purpose))
            return super()._list(question, cost, purpose)

    draw_lists = ValueLists.draw

    def draw(question: ValueLists, found: Any, noise: Gaussian, threshold: int, source: RandomSource) -> bytes:
        if not isinstance(source, Observer):
            return draw_lists(question, found, noise, threshold, source)
        return source.listed(lambda own: draw_lists(question, found, noise, threshold, own), threshold, noise.scale)

    def open_groups(*arguments: Any) -> GroupingEngine:
        engine = opening.open_groups(*arguments)
        engine.groups = _noted(engine.groups, seen.events)  # type: ignore[method-assign]
        return engine

    def listened(opening: Callable[..., Opened]) -> Callable[..., Opened]:
        def opened(*arguments: Any) -> Opened:
            found = opening(*arguments)
            engine: Any = found.engine
            for own in engine.tables.values() if isinstance(engine, DerivedEngine) else (engine,):
                _listen(own, seen.events)
            return found

        return opened

    with (
        mock.patch.object(discovering, "open_engine", listened(opening.open_engine)),
        mock.patch.object(discovering, "opened_tables", listened(opened_tables)),
        mock.patch.object(discovering, "opened_people", listened(opened_people)),
        mock.patch.object(discovering, "open_groups", open_groups),
        mock.patch.object(discovering, "LocalPrivateTable", ObservedTable),
        mock.patch.object(ValueLists, "draw", draw),
        mock.patch.object(publishing, "LocalPrivateTable", ObservedTable),
    ):
        yield seen


def _listen(engine: Any, events: list[str]) -> None:
    """Note each time the engine counts; so do engines made of it."""
    for name in COUNTING:
        if hasattr(engine, name):
            setattr(engine, name, _noted(getattr(engine, name), events))
    for name in ("regrouped", "viewed"):
        setattr(engine, name, _passed_on(getattr(engine, name), events))


def _passed_on(made: Callable[..., Any], events: list[str]) -> Callable[..., Any]:
    def passed_on(*arguments: Any) -> Any:
        engine = made(*arguments)
        _listen(engine, events)
        return engine

    return passed_on


def _noted(count: Callable[..., Any], events: list[str]) -> Callable[..., Any]:
    def noted(*arguments: Any, **more: Any) -> Any:
        events.append("count")
        return count(*arguments, **more)

    return noted
