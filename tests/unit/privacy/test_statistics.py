"""Evaluation statistics against brute force: all small tables, all neighbours, and wrong claims that must be caught."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, schema_of
from understudy.errors import BudgetError, UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import ExactTable
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.questions.statistics import (
    Errors,
    LargestDistance,
    LargestVariation,
    LinearClassifier,
    ReferenceTables,
    SumOfDistances,
    SumOfVariations,
    SyntheticTables,
    refusal,
)
from understudy.privacy.random_source import SystemSource
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis, Schema
from understudy.testing import SeededSource

SIZES = {"a": 2, "b": 3}
ASKS = ((Axis("a"),), (Axis("b"),), (Axis("a"), Axis("b")))
Row = tuple[int, int]
ROWS = list(itertools.product(range(2), range(3)))


@cache
def exact_table(rows: tuple[Row, ...]) -> ExactTable:
    columns = {name: np.asarray([row[i] for row in rows], dtype=np.uint8) for i, name in enumerate(SIZES)}
    return ExactTable(columns, len(rows), schema_of(SIZES, None, "add-remove"))


def synthetic_tables(rows: tuple[Row, ...]) -> SyntheticTables:
    return SyntheticTables(ASKS, tuple(exact_table(rows).marginals(ASKS)), len(rows))


CLASSIFIER = LinearClassifier(
    "a", np.arange(2), {"b": np.asarray([[0, -1], [0, 2], [0, 0]], dtype=np.int64)}, np.asarray([0, 0], dtype=np.int64)
)
SYNTHETIC = [
    synthetic_tables(rows)
    for rows in [((0, 0),), ((1, 2),) * 3, ((0, 0), (1, 1), (1, 2)), ((0, 1), (1, 1), (0, 2), (0, 0), (1, 0))]
]


def neighbours(rows: tuple[Row, ...], definition: str) -> Iterator[tuple[Row, ...]]:
    if definition == "add-remove":
        yield from (tuple(sorted((*rows, row))) for row in ROWS)
        return
    for i in range(len(rows)):
        yield from (tuple(sorted((*rows[:i], row, *rows[i + 1 :]))) for row in ROWS)


def worst_change(statistic: Any, definition: str, most: int = 4) -> int:
    """The largest change between any two neighbouring tables of up to `most` rows."""
    known: dict[tuple[Row, ...], int] = {}

    def value(rows: tuple[Row, ...]) -> int:
        if rows not in known:
            known[rows] = statistic.value(exact_table(rows))
        return known[rows]

    tables = [rows for n in range(most + 1) for rows in itertools.combinations_with_replacement(ROWS, n)]
    return max(abs(value(other) - value(rows)) for rows in tables for other in neighbours(rows, definition))


@pytest.mark.parametrize("definition", ["replace-one", "add-remove"])
@pytest.mark.parametrize("side", range(len(SYNTHETIC)))
def test_no_neighbours_differ_by_more_than_the_sensitivity(side: int, definition: str) -> None:
    for statistic in (SumOfVariations(SYNTHETIC[side]), LargestVariation(SYNTHETIC[side])):
        assert worst_change(statistic, definition) <= statistic.sensitivity(schema_of(SIZES, None, "add-remove"))


@pytest.mark.parametrize("definition", ["replace-one", "add-remove"])
def test_a_row_is_at_most_one_error(definition: str) -> None:
    assert worst_change(Errors(CLASSIFIER), definition) == Errors(CLASSIFIER).sensitivity(schema_of(SIZES, 5)) == 1


def test_the_bounds_are_attained() -> None:
    """No smaller claim could stand: one table, one synthetic cell, and the row moves between the others."""
    tables = synthetic_tables(((1, 2),) * 3)
    one = SyntheticTables(tables.workload[1:2], tables.counts[1:2], 3)
    assert (
        worst_change(LargestVariation(one), "replace-one")
        == LargestVariation(one).sensitivity(schema_of(SIZES, 5))
        == 6
    )
    assert worst_change(SumOfVariations(one), "replace-one") == 6
    assert worst_change(SumOfVariations(one), "add-remove") == 6


def test_a_wrong_claim_is_caught() -> None:
    """The broken twins: the sum with the bound for one table, and 'one row moves one cell'."""
    tables = SYNTHETIC[2]
    assert worst_change(SumOfVariations(tables), "replace-one") > 2 * tables.rows
    assert worst_change(LargestVariation(tables), "replace-one") > tables.rows


def reference_tables(seed: int) -> ReferenceTables:
    """Any whole numbers will do: larger than the counts, negative, all zero."""
    generator = np.random.default_rng(seed)
    low, high = [(0, 1), (-2, 3), (0, 3), (5, 9)][seed]
    return ReferenceTables(ASKS, tuple(generator.integers(low, high, schema_of(SIZES, 5).sizes(a)) for a in ASKS))


@pytest.mark.parametrize("definition", ["replace-one", "add-remove"])
@pytest.mark.parametrize("seed", range(4))
def test_distances_move_no_further_than_the_tables(seed: int, definition: str) -> None:
    schema = schema_of(SIZES, 5 if definition == "replace-one" else None, definition)
    for statistic in (SumOfDistances(reference_tables(seed)), LargestDistance(reference_tables(seed))):
        assert refusal(statistic, schema) is None
        assert worst_change(statistic, definition) <= statistic.sensitivity(schema)


def test_the_bounds_of_distances_are_attained_and_no_smaller_claim_stands() -> None:
    """The broken twins: one row for any neighbours, and the bound of one table for the sum of three."""
    tables = reference_tables(0)
    for definition, moved in (("replace-one", 2), ("add-remove", 1)):
        schema = schema_of(SIZES, 5 if moved == 2 else None, definition)
        assert worst_change(SumOfDistances(tables), definition) == SumOfDistances(tables).sensitivity(schema) or moved
        assert worst_change(SumOfDistances(tables), "add-remove") == 3
        assert LargestDistance(tables).sensitivity(schema) == moved
    assert worst_change(LargestDistance(reference_tables(2)), "replace-one") == 2 > 1
    assert worst_change(SumOfDistances(reference_tables(2)), "replace-one") > 2


def test_reference_tables_must_fit() -> None:
    schema, good = schema_of(SIZES, 5), reference_tables(1)
    for bad in (
        ReferenceTables((), ()),
        ReferenceTables(good.workload[:1], good.counts),
        ReferenceTables(good.workload, tuple(c * 1.0 for c in good.counts)),
        ReferenceTables(good.workload[1:2], (np.asarray([1, 2]),)),
        ReferenceTables(good.workload[:1], (np.asarray([2**60, 2**60]),)),
    ):
        assert refusal(SumOfDistances(bad), schema) is not None


def test_a_distance_is_known_by_its_tables_and_not_by_what_they_hold() -> None:
    """A resumed run on a machine that rounds otherwise gets what was drawn; another table is another question."""
    one, other = reference_tables(1), reference_tables(2)
    assert SumOfDistances(one).key == SumOfDistances(other).key != LargestDistance(one).key
    assert SumOfDistances(ReferenceTables(one.workload[:1], one.counts[:1])).key != SumOfDistances(one).key


class TrainedOnRealRows(Errors):
    """A broken twin: the classifier is the majority of the real rows, so one row can flip every prediction."""

    def value(self, engine: Any) -> int:
        counts = next(iter(engine.marginals([(Axis("a"),)])))
        return int(counts.min() + 2 * (counts[1] > counts[0]) * engine.rows())


def test_what_is_not_in_the_list_is_refused() -> None:
    schema = schema_of(SIZES, 5)
    assert worst_change(TrainedOnRealRows(CLASSIFIER), "replace-one") > 1
    assert "no proved sensitivity" in (refusal(TrainedOnRealRows(CLASSIFIER), schema) or "")
    assert "no proved sensitivity" in (refusal("l2", schema) or "")
    assert refusal(Errors(CLASSIFIER), schema) is None


def test_synthetic_counts_must_be_what_they_claim() -> None:
    """The add-remove bound needs Σs = N: counts that do not add up are refused."""
    schema = schema_of(SIZES, 5)
    good = SYNTHETIC[2]
    assert refusal(SumOfVariations(good), schema) is None
    for bad in (
        SyntheticTables(good.workload, good.counts, good.rows + 1),
        SyntheticTables(good.workload[:1], good.counts, good.rows),
        SyntheticTables(good.workload, tuple(c * 1.0 for c in good.counts), good.rows),
        SyntheticTables(good.workload[1:2], (np.asarray([-1, 2, 2]),), 3),
        SyntheticTables(good.workload[1:2], (np.asarray([1, 2]),), 3),
        SyntheticTables((), (), 3),
    ):
        assert refusal(LargestVariation(bad), schema) is not None
    many = SyntheticTables(good.workload[:1] * 3, (np.asarray([2**31 - 1, 0]),) * 3, 2**31 - 1)
    assert "too large" in (refusal(SumOfVariations(many), schema_of(SIZES, 2**31 - 1)) or "")


def test_a_classifier_must_fit_the_schema() -> None:
    schema = schema_of(SIZES, 5)
    for weights in (
        {"b": np.zeros((2, 2), dtype=np.int64)},
        {"b": np.zeros((3, 2))},
        {"a": np.zeros((2, 2), dtype=np.int64)},
    ):
        bad = LinearClassifier("a", np.arange(2), weights, np.zeros(2, dtype=np.int64))
        assert refusal(Errors(bad), schema) is not None


def test_the_variation_is_the_total_variation_distance() -> None:
    real, other = exact_table(((0, 0), (0, 1), (1, 1))), SYNTHETIC[3]
    found = list(other.variations(real))
    for axes, counts, value in zip(ASKS, other.counts, found):
        (mine,) = real.marginals([axes])
        assert value / (2 * 3 * other.rows) == pytest.approx(0.5 * np.abs(mine / 3 - counts / other.rows).sum())


# -- through the private table -----------------------------------------------------------------------------------

N = 2000
DRAWS = 60  # each is three synced transactions of the ledger


def people(neighbours: str = "replace-one", **more: Any) -> tuple[Schema, ExactTable]:
    schema = schema_of(SIZES, N if neighbours == "replace-one" else None, neighbours, **more)
    return schema, ExactTable(columns_of(SIZES, N), N, schema)


class Watched(ExactTable):
    """Looks into the ledger at the moment rows are counted."""

    ledger: Ledger
    seen: list[list[str]]

    def marginals(self, workload: Any) -> Any:
        self.seen.append([e.kind for e in self.ledger.entries()])
        return super().marginals(workload)


def appraiser(path: Path, budget: Budget, source: Any = None, **more: Any) -> tuple[PrivateTable, Watched, Ledger]:
    schema, _ = people(**more)
    engine = Watched(columns_of(SIZES, N), N, schema)
    ledger = Ledger(path)
    engine.ledger, engine.seen = ledger, []
    reservation = ledger.reserve(schema, budget, {"method": "evaluate"}, fingerprint="t")
    return LocalPrivateTable(schema, engine, reservation, source or SystemSource()), engine, ledger


def test_the_charge_is_on_disk_before_rows_are_counted(ledger_path: Path) -> None:
    table, engine, ledger = appraiser(ledger_path, Budget(1))
    table.measure_statistic(SumOfVariations(SYNTHETIC[2]), Fraction(1, 2), "mean")
    assert engine.seen[-1] == ["open", "reserve", "charge"]
    states = [row[0] for row in ledger.connection.execute("SELECT state FROM journal")]
    assert states == ["drawn"]


def test_over_the_budget_nothing_is_counted(ledger_path: Path) -> None:
    table, engine, _ = appraiser(ledger_path, Budget(1))
    with pytest.raises(BudgetError):
        table.measure_statistic(SumOfVariations(SYNTHETIC[2]), Fraction(2), "mean")
    with pytest.raises(UsageError, match="must cost"):
        table.measure_statistic(SumOfVariations(SYNTHETIC[2]), Fraction(0), "mean")
    with pytest.raises(UsageError, match="no proved sensitivity"):
        table.measure_statistic(TrainedOnRealRows(CLASSIFIER), Fraction(1), "mean")
    assert engine.seen == []


@pytest.mark.costly
@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize(("neighbours", "person"), [("replace-one", 1), ("add-remove", 1), ("replace-one", 3)])
def test_noise_has_the_scale_of_the_theory(ledger_path: Path, delta: float, neighbours: str, person: int) -> None:
    table, engine, _ = appraiser(
        ledger_path, Budget(1, delta), SeededSource(5), neighbours=neighbours, rows_per_person=person
    )
    statistic = SumOfVariations(SYNTHETIC[3])
    cost = table.total_cost / DRAWS
    drawn = [table.measure_statistic(statistic, cost, "mean") for _ in range(DRAWS)]
    sensitivity = 2 * 5 * len(ASKS) * person
    noise = np.asarray([d.value - statistic.value(engine) for d in drawn], dtype=float)
    scale = sensitivity * DRAWS if delta == 0 else sensitivity / np.sqrt(float(cost))
    assert drawn[0].noise.scale == pytest.approx(scale)
    assert np.abs(noise).mean() == pytest.approx(scale * (1 if delta == 0 else np.sqrt(2 / np.pi)), rel=0.4)
    assert (np.abs(noise) <= drawn[0].noise.margin(0.9)).mean() >= 0.75


def test_a_huge_budget_gives_the_exact_figure(ledger_path: Path) -> None:
    table, engine, _ = appraiser(ledger_path, Budget(9000))
    for statistic in (SumOfVariations(SYNTHETIC[3]), LargestVariation(SYNTHETIC[3]), Errors(CLASSIFIER)):
        assert table.measure_statistic(statistic, Fraction(3000), "x").value == pytest.approx(
            statistic.value(engine), abs=1
        )


def test_a_resumed_run_repeats_its_outcome(ledger_path: Path) -> None:
    seen = []
    for _ in range(2):
        schema, engine = people()
        reservation = Ledger(ledger_path).reserve(schema, Budget(1), {"method": "evaluate"}, fingerprint="t")
        table = LocalPrivateTable(schema, engine, reservation, SystemSource())
        seen.append(table.measure_statistic(Errors(CLASSIFIER), Fraction(1, 100), "errors"))
        reservation._lock.release()  # the process ends without a release
    assert seen[0] == seen[1]
    assert [e.kind for e in Ledger(ledger_path).entries()] == ["open", "reserve", "charge"]


def test_an_engine_that_cannot_run_a_classifier_says_so(ledger_path: Path) -> None:
    from conftest import private_table

    table = private_table(schema_of(SIZES, N), columns_of(SIZES, N), Budget(1), ledger_path)
    with pytest.raises(UsageError, match="cannot run a classifier"):
        table.measure_statistic(Errors(CLASSIFIER), Fraction(1, 2), "errors")


def test_margins() -> None:
    assert Laplace(10.0).margin(0.95) == 30
    assert Gaussian(10.0).margin(0.95) == 21
