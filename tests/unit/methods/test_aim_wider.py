"""AIM on what no pair shows: tables of three and four attributes, which are offered, and what a look at them costs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import private_table, schema_of
from understudy.methods.aim import Aim
from understudy.methods.toolkit.wider_tables import MAX_TABLES, MAX_VISITS, wider_tables
from understudy.privacy.accounting import PURE, ZCDP, total_cost
from understudy.privacy.budget import Budget
from understudy.testing import SeededSource

ROWS = 20_000


def with_a_sum(order: int, size: int = 2, others: int = 5) -> dict[str, Any]:
    """Return independent columns, of which the last is the sum of `order` - 1 others in 95 rows of 100."""
    rng = np.random.default_rng(order)
    columns = {f"x{i}": rng.integers(0, size, ROWS) for i in range(order - 1)}
    columns |= {f"other{i}": rng.integers(0, 3, ROWS) for i in range(others)}
    total = sum(columns[f"x{i}"] for i in range(order - 1)) % size
    columns["sum"] = np.where(rng.random(ROWS) < 0.05, rng.integers(0, size, ROWS), total)
    return {name: column.astype(np.uint8) for name, column in columns.items()}


def sizes_of(columns: dict[str, Any]) -> dict[str, int]:
    return {name: int(column.max()) + 1 for name, column in columns.items()}


def kept(columns: dict[str, Any], order: int) -> float:
    """Return how often the sum is the sum, of binary columns."""
    return float(np.mean(sum(columns[f"x{i}"].astype(int) for i in range(order - 1)) % 2 == columns["sum"]))


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize(("budget", "neighbours"), [(Budget(1, 1e-6), "add-remove"), (Budget(3), "replace-one")])
def test_a_sum_that_no_smaller_table_shows_is_found(
    ledger_path: Path, order: int, budget: Budget, neighbours: str
) -> None:
    columns = with_a_sum(order)
    schema = schema_of(sizes_of(columns), ROWS if neighbours == "replace-one" else None, neighbours)
    table = private_table(schema, columns, budget, ledger_path, SeededSource(1))
    fit = Aim().fit(table)
    assert {*(f"x{i}" for i in range(order - 1)), "sum"} in map(set, fit.facts["tables"])
    made = fit.model.sample(ROWS, np.random.default_rng(0))
    assert kept(columns, order) > 0.97 and kept(made, order) > 0.85
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == table.total_cost  # type: ignore[attr-defined]


def test_without_the_option_it_is_not(ledger_path: Path) -> None:
    columns = with_a_sum(3)
    table = private_table(schema_of(sizes_of(columns), ROWS), columns, Budget(3), ledger_path, SeededSource(1))
    fit = Aim(wider=0).fit(table)
    assert abs(kept(fit.model.sample(ROWS, np.random.default_rng(0)), 3) - 0.5) < 0.1


@pytest.mark.parametrize(("budget", "neighbours"), [(Budget(1, 1e-6), "add-remove"), (Budget(3), "replace-one")])
def test_a_look_that_shows_nothing_is_the_last(ledger_path: Path, budget: Budget, neighbours: str) -> None:
    rng = np.random.default_rng(5)
    columns = {f"c{i}": rng.integers(0, 3, ROWS).astype(np.uint8) for i in range(7)}
    schema = schema_of(sizes_of(columns), ROWS if neighbours == "replace-one" else None, neighbours)
    table = private_table(schema, columns, budget, ledger_path, SeededSource(2))
    fit = Aim().fit(table)
    assert sum(len(names) > 2 for names in fit.facts["tables"]) == 1
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == table.total_cost  # type: ignore[attr-defined]


def test_what_is_offered_is_small_beside_its_noise_and_not_too_much_to_count() -> None:
    schema = schema_of({f"a{i}": 2 + i % 5 for i in range(30)}, 50_000)
    offered = wider_tables(schema, ZCDP, Fraction(1, 1000), 50_000)
    assert 0 < len(offered) <= MAX_TABLES and {3, 4} == set(map(len, offered))
    assert offered == tuple(sorted(offered, key=schema.cells))
    few = schema_of({f"a{i}": 2 + i % 5 for i in range(10)}, 50_000)
    closer, noisier = (wider_tables(few, ZCDP, Fraction(1, n), 50_000) for n in (1000, 16_000))
    assert max(map(few.cells, noisier)) < max(map(few.cells, closer))
    assert len(wider_tables(schema, ZCDP, Fraction(1, 10), 10**7)) <= MAX_VISITS // 10**7
    assert wider_tables(schema, PURE, Fraction(1, 10_000), 50_000) == ()  # no choice could tell


def test_the_plan_names_the_look_and_adds_up() -> None:
    plan = Aim().plan(schema_of({f"a{i}": 3 for i in range(8)}, ROWS), Budget(1, 1e-6), ROWS)
    assert any("three and four attributes" in note for note in plan.notes)
    assert sum(phase.cost for phase in plan.phases) == total_cost(plan.budget)
    without = Aim(wider=0).plan(schema_of({f"a{i}": 3 for i in range(8)}, ROWS), Budget(1, 1e-6), ROWS)
    assert not any("three and four attributes" in note for note in without.notes)
