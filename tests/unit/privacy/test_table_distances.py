"""Table distances against brute force: all small tables, all neighbours, and wrong claims that must be caught."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import TooLarge, UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Gaussian
from understudy.privacy.questions import TableDistances
from understudy.privacy.questions.question import MAX_CELLS
from understudy.privacy.questions.statistics import MAX_FIGURE, ReferenceTables
from understudy.schema import Axes, Axis, Schema

SIZES = {"a": 2, "b": 2, "c": 3}
TABLES: list[Axes] = [tuple(map(Axis, pair)) for pair in ("ab", "ac", "bc")]
NEIGHBOURS = ("replace-one", "add-remove")
Row = tuple[int, ...]


def question(references: list[np.ndarray]) -> TableDistances:
    return TableDistances(ReferenceTables(tuple(TABLES), tuple(references)))


def references(schema: Schema, kind: str) -> list[np.ndarray]:
    """Public tables below every count, above every count, and in between."""
    sizes = [schema.sizes(axes) for axes in TABLES]
    if kind == "between":
        return [np.arange(np.prod(size)).reshape(size) % 3 for size in sizes]
    return [np.full(size, {"below": -9, "above": 9}[kind], dtype=np.int64) for size in sizes]


def neighbours(rows: tuple[Row, ...], every: list[Row], definition: str) -> Iterator[tuple[Row, ...]]:
    if definition == "add-remove":
        yield from (tuple(sorted((*rows, row))) for row in every)
        return
    for i in range(len(rows)):
        yield from (tuple(sorted((*rows[:i], row, *rows[i + 1 :]))) for row in every)


def worst_changes(n: int, definition: str, kind: str) -> tuple[int, int]:
    """The largest change between neighbouring tables, from one of n rows: in L1, and in squared L2."""
    schema = schema_of(SIZES, n if definition == "replace-one" else None, definition)
    every = list(itertools.product(*(range(size) for size in SIZES.values())))
    asked = question(references(schema, kind))

    @cache
    def value(rows: tuple[Row, ...]) -> tuple[int, ...]:
        columns = {name: np.asarray([row[i] for row in rows], dtype=np.uint8) for i, name in enumerate(SIZES)}
        return tuple(asked.exact(MemoryEngine(columns, len(rows), schema), schema).tolist())

    l1 = l2 = 0
    for rows in itertools.combinations_with_replacement(every, n):
        for other in neighbours(rows, every, definition):
            moved = np.abs(np.subtract(value(rows), value(other)))
            l1, l2 = max(l1, int(moved.sum())), max(l2, int((moved**2).sum()))
    return l1, l2


@pytest.mark.parametrize("kind", ["below", "above", "between"])
@pytest.mark.parametrize("definition", NEIGHBOURS)
def test_no_neighbours_differ_by_more_than_the_sensitivity(definition: str, kind: str) -> None:
    schema = schema_of(SIZES, 2 if definition == "replace-one" else None, definition)
    l1, l2 = worst_changes(2, definition, kind)
    claimed = question(references(schema, kind)).sensitivity(schema)
    assert 0 <= l1 <= claimed.l1 and 0 <= l2 <= claimed.l2_squared


@pytest.mark.parametrize("definition", NEIGHBOURS)
def test_there_are_tables_that_reach_it(definition: str) -> None:
    """No smaller claim would hold, so the twins below are wrong."""
    schema = schema_of(SIZES, 2 if definition == "replace-one" else None, definition)
    reached = [worst_changes(2, definition, kind) for kind in ("below", "above", "between")]
    claimed = question(references(schema, "above")).sensitivity(schema)
    assert max(l1 for l1, _ in reached) == claimed.l1
    assert max(l2 for _, l2 in reached) == claimed.l2_squared


def test_the_claims_of_one_table_and_of_the_other_neighbours_are_too_small() -> None:
    """The broken twins: one distance for all of them, and a row that comes or goes for one that is replaced."""
    one = TableDistances(ReferenceTables((TABLES[0],), (np.zeros((2, 2), dtype=np.int64),)))
    replaced, added = schema_of(SIZES, 2), schema_of(SIZES, None, "add-remove")
    l1, l2 = worst_changes(2, "replace-one", "between")
    assert l1 > one.sensitivity(replaced).l1 and l2 > one.sensitivity(replaced).l2_squared
    claimed = question(references(added, "between")).sensitivity(added)
    assert l1 > claimed.l1 and l2 > claimed.l2_squared


def test_a_person_with_several_rows_moves_it_as_many_times_as_far() -> None:
    for definition in NEIGHBOURS:
        rows = 9 if definition == "replace-one" else None
        one, three = (schema_of(SIZES, rows, definition, rows_per_person=k) for k in (1, 3))
        asked = question(references(one, "below"))
        assert asked.sensitivity(three) == asked.sensitivity(one).times(3)


@pytest.mark.costly
@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize(("definition", "person"), [("replace-one", 1), ("add-remove", 1), ("replace-one", 3)])
def test_noise_has_the_scale_of_the_theory(ledger_path: Path, delta: float, definition: str, person: int) -> None:
    """Half of the noise, or the noise of one distance, would be seen."""
    rows, draws = 60, 60
    schema = schema_of(SIZES, rows if definition == "replace-one" else None, definition, rows_per_person=person)
    columns = columns_of(SIZES, rows)
    table = private_table(schema, columns, Budget(1, delta), ledger_path)
    cost = table.total_cost / draws
    given = references(schema, "between")
    exact = question(given).exact(MemoryEngine(columns, rows, schema), schema)
    drawn = [table.measure_distances(TABLES, given, cost, "x") for _ in range(draws)]
    moved = question(given).sensitivity(schema)
    if delta:
        expected = np.sqrt(moved.l2_squared / float(cost)) * np.sqrt(2 / np.pi)  # mu squared
        assert isinstance(drawn[0].noise, Gaussian)
    else:
        expected = moved.l1 / float(cost)
    assert np.abs([d.values - exact for d in drawn]).mean() == pytest.approx(expected, rel=0.35)


def test_a_huge_budget_gives_the_distances_themselves(ledger_path: Path) -> None:
    schema, columns = schema_of(SIZES, 200), columns_of(SIZES, 200)
    table = private_table(schema, columns, Budget(10_000), ledger_path)
    given = references(schema, "between")
    seen = table.measure_distances(TABLES, given, Fraction(9000), "x")
    for axes, reference, distance in zip(TABLES, given, seen.values):
        counts = np.zeros(reference.shape)
        np.add.at(counts, tuple(columns[axis.attribute] for axis in axes), 1)
        assert distance == np.abs(counts - reference).sum()


def test_a_distance_that_no_integer_holds_stops_growing() -> None:
    schema = schema_of({"a": 2}, 5)
    tables = ReferenceTables(((Axis("a"),),), (np.array([0, 0]),))
    assert TableDistances(tables).exact(_Far(), schema).tolist() == [MAX_FIGURE]  # type: ignore[arg-type]


class _Far:
    """An engine whose counts are beyond what any table has."""

    def marginals(self, workload: object) -> Iterator[np.ndarray]:
        yield np.array([2**62, 2**60])


@pytest.mark.parametrize(
    ("tables", "given"),
    [
        ((), ()),
        ((TABLES[0],), ()),
        ((TABLES[0],), (np.zeros((2, 3), dtype=np.int64),)),
        ((TABLES[0],), (np.zeros((2, 2)),)),
        ((TABLES[0],), (np.full((2, 2), 2**60, dtype=np.int64),)),
    ],
    ids=["no table", "no reference", "another shape", "not whole", "huge"],
)
def test_what_does_not_fit_is_refused_and_charges_nothing(
    ledger_path: Path, tables: tuple[Axes, ...], given: tuple[np.ndarray, ...]
) -> None:
    table = private_table(schema_of(SIZES, 60), columns_of(SIZES, 60), Budget(1), ledger_path)
    with pytest.raises(UsageError):
        table.measure_distances(tables, given, Fraction(1, 2), "x")
    assert not table.reservation.charges()  # type: ignore[attr-defined]


def test_a_table_that_is_too_large_is_refused_before_anything_is_made() -> None:
    wide = schema_of({f"x{i}": 60 for i in range(5)}, 10)
    axes = tuple(map(Axis, wide.names))
    assert wide.cells(axes) > MAX_CELLS
    with pytest.raises(TooLarge, match="the limit is"):
        TableDistances(ReferenceTables((axes,), (np.zeros(1, dtype=np.int64),))).check(wide)


def test_the_journal_knows_it_by_its_tables(ledger_path: Path) -> None:
    """References are worked out from earlier answers, and another machine may round them otherwise."""
    schema = schema_of(SIZES, 9)
    one, two = question(references(schema, "below")), question(references(schema, "above"))
    assert one.as_json() == two.as_json()
    fewer = TableDistances(ReferenceTables(tuple(TABLES[:2]), tuple(references(schema, "below")[:2])))
    assert fewer.as_json() != one.as_json()
