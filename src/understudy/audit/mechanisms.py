"""The audited mechanisms: for every question of the kernel, small schemas on which its exact law is enumerated.

A new question needs a line here (tests/unit/audit/test_every_question_is_audited.py and the audit itself say so): what
is asked, of which attributes. Tables are chosen so that the worst case is among them: the law of a sound mechanism
should reach its claim, or come so near to it that a broken one is above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.audit.small_tables import Row, SmallTables, all_cells
from understudy.privacy.questions import (
    QUESTIONS,
    AllPairScores,
    Choice,
    ChooseChild,
    ChooseEdge,
    FineDetails,
    HadamardBlocks,
    Marginals,
    Question,
    StatisticQuery,
    TableDistances,
    TotalDependence,
    ValueLists,
    WaveletTable,
)
from understudy.privacy.questions.statistics import (
    Errors,
    LargestDistance,
    LargestVariation,
    LinearClassifier,
    ReferenceTables,
    SumOfDistances,
    SumOfVariations,
    SyntheticTables,
)
from understudy.privacy.questions.value_lists import Grouping
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, MUTUAL_INFORMATION, REFERENCE_DISTANCE, Pair, Score
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema, Taxonomy
from understudy.schema.attribute import fine_name

A, B, C, D = (Axis(name) for name in "abcd")
NEIGHBOURS = ("replace-one", "add-remove")


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A question and its small world: all tables of `rows` rows, beside `alike` rows of the first cell."""

    kind: type[Question[Any]]
    what: str
    attributes: tuple[Attribute, ...]
    ask: Callable[[Schema], Question[Any]]
    rows: int = 2
    alike: int = 0
    cells: Callable[[Schema], Sequence[Row]] = all_cells
    neighbours: tuple[str, ...] = NEIGHBOURS

    def schema(self, neighbours: str, rows_per_person: int) -> Schema:
        """Return the public schema of this world."""
        rows = self.rows + self.alike
        known = {"rows": rows} if neighbours == "replace-one" else {"rows_max": rows}
        return Schema(
            "audit", self.attributes, neighbours=neighbours, rows_per_person=rows_per_person, **known  # type: ignore[arg-type]
        )  # fmt: skip

    def tables(self, schema: Schema) -> SmallTables:
        return SmallTables.of(schema, self.cells(schema), self.rows, self.alike)


def not_audited() -> list[str]:
    """Return the kernel's questions that have no line in `MECHANISMS`."""
    known = {mechanism.kind for mechanism in MECHANISMS}
    return [question.__name__ for question in QUESTIONS if question not in known]


# -- attributes and questions ----------------------------------------------------------------------------------------


def categories(*sizes: int) -> tuple[Attribute, ...]:
    """Return attributes a, b, … with so many values each."""
    return tuple(Attribute(name, Categories(tuple(map(str, range(size))))) for name, size in zip("abcd", sizes))


def whole_numbers(size: int, **more: Any) -> Attribute:
    return Attribute("a", Intervals("integer", tuple(range(size + 1))), **more)


BINARY, TERNARY = categories(2, 2, 2, 2), categories(3, 3, 3)
_TREE = Categories(tuple(map(str, range(6))))
GROUPED = Attribute("a", _TREE, Taxonomy.of_groups({"A": ["0", "1"], "B": ["2", "3"], "C": ["4", "5"]}, _TREE))
HALVED = Attribute("a", Intervals("integer", (-0.5, 3.5, 7.5)), fine="wavelet")


def _choice(score: Score) -> Callable[[Schema], Choice]:
    """Return a choice in which one pair can gain what another loses: two of the options share no attribute."""
    return lambda schema: Choice([Pair(B, (A,)), Pair(D, (C,)), Pair(C, (A, B))], score)


def _choice_of_three(score: Score) -> Callable[[Schema], Choice]:
    return lambda schema: Choice([Pair(B, (A,)), Pair(C, (A,)), Pair(C, (B,))], score)


def _distances(schema: Schema) -> Choice:
    """Return two references, one where the rows are and one where they are not: a row moves the two scores apart."""
    here, there = np.array([3, 0], dtype=np.int64), np.array([0, 3], dtype=np.int64)
    return Choice([Pair(A), Pair(B)], REFERENCE_DISTANCE, [0, 1], [here, there])


def _edge(score: Score, allow_no_parent: bool) -> Callable[[Schema], ChooseEdge]:
    return lambda schema: ChooseEdge.of(schema, (B, D), (A, C), score, 1, 16, allow_no_parent)


def _synthetic(schema: Schema) -> SyntheticTables:
    workload = ((A,), (B,), (A, B))
    joint = np.array([[3, 0], [0, 0]], dtype=np.int64)
    return SyntheticTables(workload, (joint.sum(axis=1), joint.sum(axis=0), joint), 3)


def _references(schema: Schema) -> ReferenceTables:
    public = _synthetic(schema)
    return ReferenceTables(public.workload, public.counts)


def _statistic(what: str, statistic: Callable[[Schema], Any]) -> Mechanism:
    return Mechanism(StatisticQuery, what, categories(2, 2), lambda schema: StatisticQuery(statistic(schema)), rows=3)


def _classifier() -> LinearClassifier:
    none = np.zeros(2, dtype=np.int64)
    return LinearClassifier("a", np.arange(2), {"b": np.array([[1, 0], [0, 1]], dtype=np.int64)}, none)


def _fine_cells(schema: Schema) -> list[Row]:
    name = HALVED.name
    return [{name: 0, fine_name(name): code} for code in range(schema.counted[fine_name(name)].size)]


MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism(Choice, "choice by score R, binary", BINARY, _choice(INDEPENDENCE), alike=12),
    Mechanism(Choice, "choice by score R, three values", TERNARY, _choice_of_three(INDEPENDENCE), alike=12),
    Mechanism(Choice, "choice by score F", BINARY, _choice(MAXIMUM_JOINT), alike=12),
    Mechanism(Choice, "choice by score I", BINARY, _choice(MUTUAL_INFORMATION), alike=12),
    Mechanism(Choice, "choice by score I, three values", TERNARY, _choice_of_three(MUTUAL_INFORMATION), alike=12),
    Mechanism(Choice, "choice by score D", categories(2, 2), _distances, rows=3),
    Mechanism(ChooseEdge, "edge by score R", BINARY, _edge(INDEPENDENCE, True), alike=12),
    Mechanism(ChooseEdge, "edge by score F", BINARY, _edge(MAXIMUM_JOINT, False), alike=12),
    Mechanism(
        ChooseChild, "child by its best edge", BINARY, lambda schema: ChooseChild((B, D), (A, C), 1), alike=12
    ),
    Mechanism(
        Marginals, "tables of counts", categories(2, 3),
        lambda schema: Marginals.of([(A,), (A, B), ()], [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]), rows=3,
    ),
    Mechanism(
        HadamardBlocks, "Hadamard coefficients", categories(2, 3, 2),
        lambda schema: HadamardBlocks([(A,), (B,), (A, C)]),
    ),
    Mechanism(WaveletTable, "Haar wavelets", (whole_numbers(8),), lambda schema: WaveletTable((A,), ("haar",))),
    Mechanism(
        WaveletTable, "Haar wavelets, as published", (whole_numbers(8),),
        lambda schema: WaveletTable((A,), ("haar",), "published"),
    ),
    Mechanism(WaveletTable, "nominal wavelets", (GROUPED,), lambda schema: WaveletTable((A,), ("nominal",))),
    Mechanism(
        WaveletTable, "wavelets of two dimensions", (whole_numbers(4), *categories(3, 3)[1:]),
        lambda schema: WaveletTable((A, B), ("haar", "plain")),
    ),
    Mechanism(FineDetails, "details inside bins", (HALVED,), lambda schema: FineDetails("a", 2), cells=_fine_cells),
    Mechanism(AllPairScores, "scores of all pairs", BINARY[:3], lambda schema: AllPairScores((A, B, C)), alike=12),
    Mechanism(TotalDependence, "sum of all scores", BINARY[:3], lambda schema: TotalDependence((A, B, C)), alike=12),
    _statistic("sum of variations", lambda schema: SumOfVariations(_synthetic(schema))),
    _statistic("largest variation", lambda schema: LargestVariation(_synthetic(schema))),
    _statistic("sum of distances", lambda schema: SumOfDistances(_references(schema))),
    _statistic("largest distance", lambda schema: LargestDistance(_references(schema))),
    Mechanism(
        TableDistances, "distances of several tables", categories(2, 2),
        lambda schema: TableDistances(_references(schema)), rows=3,
    ),
    Mechanism(
        ValueLists, "value lists", categories(2),
        lambda schema: ValueLists((Grouping("a"),), Fraction(1, 10**6)),
    ),
    _statistic("errors", lambda schema: Errors(_classifier())),
)  # fmt: skip
