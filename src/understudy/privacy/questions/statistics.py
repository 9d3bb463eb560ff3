"""Evaluation statistics: the closed list of figures about a stand-in that can be bought, each an integer with a lemma.

Write c for the real counts of a table (n rows), s for those of the synthetic one (N rows, public), and
V = Σ|N·c − n·s| = 2nN·TVD over its cells.

    SumOfVariations    ΣV over q tables       2Nq    (the mean TVD is this over 2nNq)
    LargestVariation   the largest V          2N     (the maximum TVD is this over 2nN)
    Errors             rows that a public classifier gets wrong: 1

and for a public table r of whole numbers, D = Σ|c − r| over its cells:

    SumOfDistances     ΣD over q tables       2q where a row is replaced, q where one comes or goes
    LargestDistance    the largest D          2, or 1

Replacing a row moves c by one in two cells, so V by at most 2N; a maximum moves no further than what it is taken over.
When a row comes or goes, c and n change together: V moves by at most Σ|N·e − s| = 2(N − s(x)) ≤ 2N, since s adds up
to N. What is cut off at 2^62 moves no further than before; that happens only where the row count is private, has no
declared maximum and is beyond 2^61/Nq. A row counts as one error or none whatever the other rows are, because the
classifier was trained without them. D moves no further than c itself, in L1: by 2, or by 1 (the triangle inequality).
What has no such lemma (L2, mutual information, a classifier trained on real rows) is not in the list and is refused.
tests/unit/privacy/test_statistics.py checks every bound on all small tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import UsageError
from understudy.privacy.noise import Noise, as_integers
from understudy.privacy.questions.question import NoisyBlock, NoisyQuery
from understudy.privacy.scores.reference_distance import deviation, is_huge
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import MAX_ROWS, Axes, Integers, Schema

MAX_FIGURE = 2**62  # where a statistic stops growing, so that noise can be added to it as an integer of 64 bits
_UNDECLARED_ROWS = 2**31  # of a table whose row count is private and has no declared maximum
_BATCH = 500


def variation(real: Integers, rows: int, synthetic: Integers, synthetic_rows: int) -> int:
    """Return V = Σ|N·c − n·s| ≤ 2nN, exactly; in Python's unbounded integers where 64 bits may not hold it."""
    if 2 * rows * synthetic_rows < 2**63:
        return int(np.abs(synthetic_rows * real - rows * synthetic).sum())
    cells = zip(real.ravel().tolist(), synthetic.ravel().tolist(), strict=True)
    return sum(abs(synthetic_rows * c - rows * s) for c, s in cells)


def row_distance(schema: Schema) -> int:
    """Return how far one row can move D: as far as the table of counts itself, in L1."""
    return 2 if schema.neighbours == "replace-one" else 1


# -- what is asked -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SyntheticTables:
    """The public side of a comparison: which tables, and the synthetic counts of each."""

    workload: tuple[Axes, ...]
    counts: tuple[Integers, ...]
    rows: int

    def variations(self, engine: CountingEngine) -> Iterator[int]:
        for begin in range(0, len(self.workload), _BATCH):
            part = slice(begin, begin + _BATCH)
            for real, synthetic in zip(engine.marginals(self.workload[part]), self.counts[part], strict=True):
                yield variation(real, engine.rows(), synthetic, self.rows)

    def refusal(self, schema: Schema) -> str | None:
        if not self.workload or len(self.workload) != len(self.counts) or not 1 <= self.rows <= MAX_ROWS:
            return "a comparison needs at least one table and a synthetic table with rows"
        for axes, counts in zip(self.workload, self.counts):
            fits = counts.dtype == np.int64 and counts.shape == schema.sizes(axes) and counts.min() >= 0
            if not fits or int(counts.sum()) != self.rows:
                return "the synthetic counts do not belong to the tables that were asked for"
        if 2 * (schema.rows or schema.rows_max or _UNDECLARED_ROWS) * self.rows * len(self.workload) >= MAX_FIGURE:
            return "so many tables of so many rows are too large for exact integer arithmetic: compare fewer tables"
        return None

    @property
    def key(self) -> str:
        digest = hashlib.sha256(repr([[str(axis) for axis in axes] for axes in self.workload]).encode())
        for counts in self.counts:
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class ReferenceTables:
    """The public side of a distance: which tables, and a public whole number for each cell of them."""

    workload: tuple[Axes, ...]
    counts: tuple[Integers, ...]

    def distances(self, engine: CountingEngine) -> Iterator[int]:
        for begin in range(0, len(self.workload), _BATCH):
            part = slice(begin, begin + _BATCH)
            for real, reference in zip(engine.marginals(self.workload[part]), self.counts[part], strict=True):
                yield deviation(real, reference)

    def refusal(self, schema: Schema) -> str | None:
        if not self.workload or len(self.workload) != len(self.counts):
            return "a distance needs at least one table, and a reference table for each"
        for axes, counts in zip(self.workload, self.counts):
            if counts.dtype != np.int64 or counts.shape != schema.sizes(axes) or is_huge(counts):
                return "a reference table must hold a whole number for each cell, 2^60 at most in all"
        return None

    @property
    def key(self) -> str:
        """Return a digest of which tables are compared.

        What they hold follows from earlier answers by arithmetic that another machine may round otherwise; a run that
        is resumed there is given what was drawn and paid for all the same.
        """
        return hashlib.sha256(repr([[str(axis) for axis in axes] for axes in self.workload]).encode()).hexdigest()


Tables = TypeVar("Tables", SyntheticTables, ReferenceTables)


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """Integer weights on a row's codes: the class with the largest sum wins, the first among equals. Public."""

    target: str
    label: Integers  # the class of each code of the target
    weights: Mapping[str, Integers]  # attribute -> codes × classes
    bias: Integers

    def predict(self, codes: Mapping[str, NDArray[Any]]) -> Integers:
        total = np.tile(self.bias, (len(codes[self.target]), 1))
        for name, weights in self.weights.items():
            total += weights[codes[name]]
        return np.asarray(total.argmax(axis=1))

    def refusal(self, schema: Schema) -> str | None:
        classes = len(self.bias)
        shapes = all(w.shape == (schema[name].size, classes) for name, w in self.weights.items())
        whole = all(w.dtype == np.int64 for w in (*self.weights.values(), self.bias, self.label))
        if not shapes or not whole or self.target in self.weights or len(self.label) != schema[self.target].size:
            return "the classifier does not fit the schema: integer weights, one line for each code"
        return None

    @property
    def key(self) -> str:
        arrays = [self.label, self.bias, *self.weights.values()]
        text = repr([self.target, *self.weights, *(array.tolist() for array in arrays)])
        return hashlib.sha256(text.encode()).hexdigest()


# -- the closed list ---------------------------------------------------------------------------------------------


@runtime_checkable
class CountsErrors(Protocol):
    """An engine that can run a public classifier over its rows and say how many it gets wrong."""

    def errors(self, classifier: LinearClassifier) -> int: ...


class Statistic(Protocol):
    """An integer function of the rows and how far one row can move it."""

    @property
    def key(self) -> str: ...
    def refusal(self, schema: Schema) -> str | None: ...
    def sensitivity(self, schema: Schema) -> int: ...
    def value(self, engine: CountingEngine) -> int: ...


@dataclass(frozen=True, eq=False)
class TableStatistic(Generic[Tables]):
    """What the statistics of several tables have in common: `name` is the word for the journal."""

    name: ClassVar[str]
    tables: Tables

    @property
    def key(self) -> str:
        return f"{self.name} {self.tables.key}"

    def refusal(self, schema: Schema) -> str | None:
        return self.tables.refusal(schema)


class SumOfVariations(TableStatistic[SyntheticTables]):
    """ΣV over the tables: 2nNq times their mean total variation distance."""

    name = "sum of variations"

    def sensitivity(self, schema: Schema) -> int:
        return 2 * self.tables.rows * len(self.tables.workload)

    def value(self, engine: CountingEngine) -> int:
        return min(sum(self.tables.variations(engine)), MAX_FIGURE)


class LargestVariation(TableStatistic[SyntheticTables]):
    """The largest V: 2nN times the maximum total variation distance."""

    name = "largest variation"

    def sensitivity(self, schema: Schema) -> int:
        return 2 * self.tables.rows

    def value(self, engine: CountingEngine) -> int:
        return min(max(self.tables.variations(engine)), MAX_FIGURE)


class SumOfDistances(TableStatistic[ReferenceTables]):
    """ΣD over the tables: how far the rows are from public tables of counts, in rows."""

    name = "sum of distances"

    def sensitivity(self, schema: Schema) -> int:
        return row_distance(schema) * len(self.tables.workload)

    def value(self, engine: CountingEngine) -> int:
        return min(sum(self.tables.distances(engine)), MAX_FIGURE)


class LargestDistance(TableStatistic[ReferenceTables]):
    """The largest D."""

    name = "largest distance"

    def sensitivity(self, schema: Schema) -> int:
        return row_distance(schema)

    def value(self, engine: CountingEngine) -> int:
        return min(max(self.tables.distances(engine)), MAX_FIGURE)


@dataclass(frozen=True, eq=False)
class Errors:
    """How many rows a public classifier gets wrong."""

    classifier: LinearClassifier

    @property
    def key(self) -> str:
        return f"errors {self.classifier.key}"

    def refusal(self, schema: Schema) -> str | None:
        return self.classifier.refusal(schema)

    def sensitivity(self, schema: Schema) -> int:
        return 1

    def value(self, engine: CountingEngine) -> int:
        if not isinstance(engine, CountsErrors):
            raise UsageError(f"the engine {engine.name!r} cannot run a classifier over its rows")
        return engine.errors(self.classifier)


STATISTICS: Sequence[type[Statistic]] = (SumOfVariations, LargestVariation, SumOfDistances, LargestDistance, Errors)


def refusal(statistic: Statistic, schema: Schema) -> str | None:
    """Return why this cannot be bought, or None. A subclass may compute anything, so only the listed types pass."""
    if type(statistic) not in STATISTICS:
        return f"{type(statistic).__name__} has no proved sensitivity, so it cannot be bought"
    return statistic.refusal(schema)


# -- what comes back ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoisyStatistic:
    """A statistic with noise already on it. Public, once it exists."""

    value: int
    noise: Noise


class NoisyFigure(NoisyQuery[NoisyStatistic]):
    """A question answered by one number. Those of several owners do not add up."""

    is_linear: ClassVar[bool] = False

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(1, Fraction(1))]

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> NoisyStatistic:
        return NoisyStatistic(int(noisy[0].values[0]), noisy[0].noise)


@dataclass(frozen=True, eq=False)
class StatisticQuery(NoisyFigure):
    """The value of one statistic."""

    kind: ClassVar[str] = "figure"

    statistic: Statistic

    def check(self, schema: Schema) -> None:
        if (reason := refusal(self.statistic, schema)) is not None:
            raise UsageError(reason)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        moved = self.statistic.sensitivity(schema)
        return Sensitivity(moved, moved**2).times(schema.rows_per_person)

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return as_integers([self.statistic.value(engine)])

    def as_json(self) -> list[Any]:
        return [self.kind, self.statistic.key]
