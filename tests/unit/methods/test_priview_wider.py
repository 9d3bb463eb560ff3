"""PriView on what no view shows: rounds among tables of three and four attributes, and what they cost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import private_table, schema_of
from understudy.methods.method import Fit
from understudy.methods.priview import PriView
from understudy.privacy.accounting import total_cost
from understudy.privacy.budget import Budget
from understudy.testing import SeededSource

ROWS = 20_000
PROMISES = [(Budget(1, 1e-6), "add-remove"), (Budget(1), "replace-one")]


def with_a_sum(order: int, noise: float = 0.03) -> dict[str, Any]:
    """Return sixteen evenly drawn bits; the last of `order` of them is the sum of the others, but for some noise."""
    rng = np.random.default_rng(order)
    bits = rng.integers(0, 2, (16, ROWS))
    bits[15] = bits[: order - 1].sum(axis=0) % 2 ^ (rng.random(ROWS) < noise)
    return {f"x{i}": column.astype(np.uint8) for i, column in enumerate(bits)}


def kept(columns: dict[str, Any], order: int) -> float:
    """Return how often the sum is the sum."""
    return float(np.mean(sum(columns[f"x{i}"].astype(int) for i in range(order - 1)) % 2 == columns["x15"]))


def fitted(columns: dict[str, Any], promise: tuple[Budget, str], folder: Path, **options: Any) -> tuple[Fit, Any]:
    budget, neighbours = promise
    schema = schema_of(dict.fromkeys(columns, 2), ROWS if neighbours == "replace-one" else None, neighbours)
    table = private_table(schema, columns, budget, folder, SeededSource(1))
    fit = PriView(**options).fit(table)
    costs = [Fraction(charge["cost"]) for charge in table.reservation.charges()]  # type: ignore[attr-defined]
    assert sum(costs) == table.total_cost
    return fit, table


@pytest.mark.costly
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(("wider", "least", "most"), [(1, 0.9, 1.0), (0, 0.4, 0.6)])
def test_a_sum_of_two_that_no_view_holds_is_found_by_the_rounds_alone(
    ledger_path: Path, promise: tuple[Budget, str], wider: int, least: float, most: float
) -> None:
    """Without the rounds, the twin, it is missed."""
    columns = with_a_sum(3)
    fit, _ = fitted(columns, promise, ledger_path, wider=wider)
    assert not any({"x0", "x1", "x15"} <= set(view) for view in fit.facts["views"])
    assert (["x0", "x1", "x15"] in [sorted(t, key=list(columns).index) for t in fit.facts["tables"]]) == bool(wider)
    assert least < kept(fit.model.sample(ROWS, np.random.default_rng(0)), 3) < most


@pytest.mark.costly
def test_a_sum_of_three_is_found_too(ledger_path: Path) -> None:
    columns = with_a_sum(4)
    fit, _ = fitted(columns, PROMISES[0], ledger_path)
    assert kept(fit.model.sample(ROWS, np.random.default_rng(0)), 4) > 0.9


@pytest.mark.parametrize("promise", PROMISES)
def test_where_there_is_nothing_to_find_one_look_is_all_and_views_have_the_rest(
    ledger_path: Path, promise: tuple[Budget, str]
) -> None:
    rng = np.random.default_rng(5)
    columns = {f"x{i}": rng.integers(0, 2, ROWS).astype(np.uint8) for i in range(12)}
    fit, table = fitted(columns, promise, ledger_path)
    assert len(fit.facts["tables"]) == 1
    charges = [c for c in table.reservation.charges() if c["purpose"] == "structure"]
    assert len(charges) == 1 and Fraction(charges[0]["cost"]) <= table.total_cost / 128
    times = 2 if promise[0].delta else 1  # where epsilons add up, views are measured once
    assert sum(len(m.axes) > 2 for m in fit.measurements) == times * len(fit.facts["views"]) + 1


@pytest.mark.costly
def test_what_is_inside_a_view_is_not_offered(ledger_path: Path) -> None:
    fit, _ = fitted(with_a_sum(3), PROMISES[0], ledger_path)
    views = [set(view) for view in fit.facts["views"]]
    assert not any(set(names) <= view for names in fit.facts["tables"] for view in views)


def test_the_plan_names_the_rounds_and_adds_up() -> None:
    schema = schema_of({f"x{i}": 2 for i in range(16)}, ROWS)
    plan, without = (PriView(wider=w).plan(schema, Budget(1, 1e-6), ROWS) for w in (1, 0))
    assert any("three and four attributes" in note for note in plan.notes) and not without.notes
    assert [phase.name for phase in plan.phases] == ["tables", "structure"]
    assert sum(phase.cost for phase in plan.phases) == total_cost(plan.budget)
    assert [phase.name for phase in without.phases] == ["tables"]
    few = PriView().plan(schema_of({f"x{i}": 2 for i in range(4)}, ROWS), Budget(1), ROWS)
    assert not few.notes  # one view holds them all
