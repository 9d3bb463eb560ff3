"""Column errors: from the prices of a plan; tables that hold a column help, and a plan that asks has two outcomes."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from conftest import schema_of
from understudy.methods import method_named
from understudy.methods.column_errors import DEPENDENCE, LEFT, Outcome, column_error, column_outcomes
from understudy.methods.expected_error import LAWS, expected_error
from understudy.methods.plan import Plan
from understudy.privacy.budget import Budget
from understudy.schema import Schema

SIZES = {f"c{i}": size for i, size in enumerate((12, 9, 20, 14, 30, 8, 16, 11))}


def planned(schema: Schema, epsilon: float, delta: float = 0.0) -> Plan:
    return method_named("aim", {}, schema).plan(schema, Budget(epsilon, delta))


def without(plan: Plan, *names: str) -> Plan:
    return replace(plan, phases=tuple(p for p in plan.phases if p.name not in names))


def test_columns_in_tables_are_known_better() -> None:
    schema = schema_of(dict.fromkeys(SIZES, 2), 20_000)
    plan = method_named("privbayes", {}, schema).plan(schema, Budget(1, 1e-9))
    alone = without(plan, "tables", "two-way")
    pairs = next(p for p in plan.phases if p.name == "two-way")
    assert pairs.cost > 0
    assert column_error(schema, plan) < column_error(schema, without(plan, "two-way")) < column_error(schema, alone)


def test_noise_alone_is_what_a_column_of_large_counts_is_off_by() -> None:
    """With counts far above the noise, the error of k cells is k times half the mean absolute noise, over the rows."""
    schema = schema_of({"a": 2, "b": 2}, 10**7)
    plan = without(planned(schema, 1, 1e-9), "tables", "structure", DEPENDENCE)
    one = next(p for p in plan.phases if p.name == "one-way")
    noise = plan.accounting.noise(one.scale).mean_abs
    assert column_error(schema, plan) == pytest.approx(LEFT * 2 * noise / (2 * 10**7), rel=1e-3)


def test_more_noise_than_rows_is_no_more_than_everything() -> None:
    schema = schema_of(SIZES, 60)
    assert 0.5 < column_error(schema, planned(schema, 0.01)) <= 1


def test_a_plan_that_asks_has_two_outcomes() -> None:
    schema = schema_of(SIZES, 8000)
    plan = planned(schema, 1)
    assert any(p.name == DEPENDENCE for p in plan.phases)
    tables, alone = column_outcomes(schema, plan)
    assert isinstance(tables, Outcome) and tables.tables and not alone.tables
    assert tables.chance + alone.chance == pytest.approx(1) and alone.error < tables.error
    assert alone.error < column_error(schema, plan) < tables.error
    assert len(column_outcomes(schema, without(plan, DEPENDENCE))) == 1
    both = expected_error(schema, plan)
    sure = expected_error(schema, without(plan, DEPENDENCE))
    assert both.one_way < sure.one_way and both.two_way != sure.two_way


def test_the_dependence_that_tables_need_decides() -> None:
    """The more rows, the less dependent pairs must be to be worth their noise, and the more likely tables are."""
    chances = [
        column_outcomes(s, planned(s, 1))[0].chance for s in (schema_of(SIZES, n) for n in (8000, 10_000, 12_000))
    ]
    assert chances == sorted(chances) and chances[0] < chances[-1]


def test_shares_of_small_groups_are_off_more_and_never_by_more_than_everything() -> None:
    schema = schema_of(SIZES, 20_000)
    expected = expected_error(schema, planned(schema, 1, 1e-9))
    assert expected.share(500, 0.1) > expected.share(5000, 0.1)
    assert expected.share(500, 0.1) < expected.share(500, 0.5)
    assert 0 < expected.typical_share_error(500, 0.1) < expected.share(500, 0.1)
    better = expected_error(schema, planned(schema, 4, 1e-9))
    assert better.share(500, 0.1) < expected.share(500, 0.1)
    assert expected.share(1, 0.9) <= 1 and math.isfinite(expected.share(10**6, 0.1))


def test_tables_of_one_column_each_are_columns_alone() -> None:
    """PrivABN without structure measures "tables" of one column: links are left out, and the forecast says so."""
    schema = schema_of({f"q{i}": 2 for i in range(200)}, 50_000)
    plan = method_named("privabn", {}, schema).plan(schema, Budget(1))
    assert plan.degree == 0 and not any(p.name == "one-way" for p in plan.phases)
    (only,) = column_outcomes(schema, plan)
    found = expected_error(schema, plan)
    assert not only.tables and found.two_way is not None and found.two_way >= LAWS[2].links
