"""Total dependence against brute force: all small tables, all neighbours, and wrong claims that must be caught."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.questions import AllPairScores, TotalDependence
from understudy.privacy.questions.statistics import MAX_FIGURE
from understudy.privacy.scores import INDEPENDENCE
from understudy.schema import Axis, Schema

SIZES = {"a": 2, "b": 2, "c": 3}
BINARY = {"a": 2, "b": 2, "c": 2}
AXES = tuple(map(Axis, SIZES))
PAIRS = 3
Row = tuple[int, ...]


def neighbours(rows: tuple[Row, ...], every: list[Row], definition: str) -> Iterator[tuple[Row, ...]]:
    if definition == "add-remove":
        yield from (tuple(sorted((*rows, row))) for row in every)
        return
    for i in range(len(rows)):
        yield from (tuple(sorted((*rows[:i], row, *rows[i + 1 :]))) for row in every)


def worst_change(sizes: dict[str, int], n: int, definition: str) -> tuple[int, int]:
    """The largest change between neighbouring tables, from one of n rows, and the claimed bound."""
    schema = schema_of(sizes, n if definition == "replace-one" else None, definition)
    axes, every = tuple(map(Axis, sizes)), list(itertools.product(*(range(size) for size in sizes.values())))

    @cache
    def value(rows: tuple[Row, ...]) -> int:
        columns = {name: np.asarray([row[i] for row in rows], dtype=np.uint8) for i, name in enumerate(sizes)}
        return int(TotalDependence(axes).exact(MemoryEngine(columns, len(rows), schema), schema)[0])

    tables = itertools.combinations_with_replacement(every, n)
    moved = (abs(value(other) - value(rows)) for rows in tables for other in neighbours(rows, every, definition))
    return max(moved), TotalDependence(axes).sensitivity(schema).l1


@pytest.mark.parametrize("definition", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("sizes", "n"), [(BINARY, 2), (BINARY, 3), (SIZES, 2)])
def test_no_neighbours_differ_by_more_than_the_sensitivity(sizes: dict[str, int], n: int, definition: str) -> None:
    worst, claimed = worst_change(sizes, n, definition)
    assert 0 < worst <= claimed


def test_the_claim_for_one_pair_is_too_small_for_the_sum() -> None:
    """The broken twin: the bound of one score, as if the pairs did not move together."""
    one_pair = AllPairScores(AXES[:2]).sensitivity(schema_of(BINARY, 3)).l1
    assert worst_change(BINARY, 3, "replace-one")[0] > one_pair


def test_the_square_is_that_of_the_sum() -> None:
    """All scores may move in one direction: squares of a sum, not the sum of squares that a vector would have."""
    for schema in (schema_of(SIZES, 5), schema_of(SIZES, None, "add-remove", rows_per_person=3)):
        l1, squared = TotalDependence(AXES).sensitivity(schema)
        assert l1 == AllPairScores(AXES).sensitivity(schema).l1 and squared == l1**2
        assert squared > AllPairScores(AXES).sensitivity(schema).l2_squared


@pytest.mark.costly
@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize(("neighbours", "person"), [("replace-one", 1), ("add-remove", 1), ("replace-one", 3)])
def test_noise_has_the_scale_of_the_theory(ledger_path: Path, delta: float, neighbours: str, person: int) -> None:
    """Half of the noise, or the noise of another neighbour definition, would be seen."""
    rows, draws = 60, 100
    schema = schema_of(SIZES, rows if neighbours == "replace-one" else None, neighbours, rows_per_person=person)
    columns = columns_of(SIZES, rows)
    table = private_table(schema, columns, Budget(1, delta), ledger_path)
    cost = table.total_cost / draws
    exact = dependence(columns, rows, schema)
    drawn = np.array([table.measure_dependence(AXES, cost, "x") for _ in range(draws)]) - exact
    step = TotalDependence(AXES).sensitivity(schema).l1 / (INDEPENDENCE.unit(schema) * PAIRS)
    scale = step / float(cost) if delta == 0 else step / np.sqrt(2 * float(cost)) * np.sqrt(2 / np.pi)
    assert np.abs(drawn).mean() == pytest.approx(scale, rel=0.4)


def dependence(columns: dict[str, np.ndarray], rows: int, schema: Schema) -> float:
    """The mean distance from independence, in rows, worked out another way."""
    found = []
    for a, b in itertools.combinations(SIZES, 2):
        table = np.zeros((SIZES[a], SIZES[b]))
        np.add.at(table, (columns[a], columns[b]), 1)
        found.append(0.5 * np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0)) / rows).sum())
    return float(np.mean(found))


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_huge_budget_gives_the_distance_itself(ledger_path: Path, neighbours: str) -> None:
    schema = schema_of(SIZES, 200 if neighbours == "replace-one" else None, neighbours)
    columns = columns_of(SIZES, 200)
    table = private_table(schema, columns, Budget(10_000), ledger_path)
    seen = table.measure_dependence(AXES, Fraction(9000), "x")
    assert seen == pytest.approx(dependence(columns, 200, schema), abs=0.05)


def test_a_sum_that_no_integer_holds_stops_growing() -> None:
    schema = schema_of(SIZES, 5)
    huge = np.full((3, 3), 2**61, dtype=np.int64)
    with mock.patch.object(type(INDEPENDENCE), "all_pairs", lambda *_: huge):
        engine = MemoryEngine(columns_of(SIZES, 5), 5, schema)
        assert TotalDependence(AXES).exact(engine, schema).tolist() == [MAX_FIGURE]


def test_one_axis_has_no_pairs(ledger_path: Path) -> None:
    table = private_table(schema_of(SIZES, 60), columns_of(SIZES, 60), Budget(1), ledger_path)
    with pytest.raises(UsageError, match="two or more"):
        table.measure_dependence(AXES[:1], Fraction(1, 2), "x")
