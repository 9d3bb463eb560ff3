"""A third accounting is a class and nothing else: every method plans and fits with one that it has never heard of."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import columns_of, private_table, schema_of
from understudy.methods import METHODS, method_named
from understudy.methods.plan import Plan
from understudy.privacy.accounting import ZCDP, ZeroConcentrated
from understudy.privacy.budget import Budget
from understudy.testing import SeededSource

SIZES = {"a": 2, "b": 2, "c": 2, "d": 2}


class Third(ZeroConcentrated):
    """The same mechanisms in a unit of another name."""

    name = "third"
    unit = "mu"


@pytest.mark.parametrize("method", METHODS)
def test_a_method_takes_what_its_table_has(method: str, ledger_path: Path) -> None:
    found = []
    for at, accounting in enumerate((ZCDP, Third())):
        schema, ledger = schema_of(SIZES, 500), ledger_path.with_name(f"{at}.db")
        table = private_table(schema, columns_of(SIZES, 500), Budget(2, "1e-9"), ledger, SeededSource(1))
        table.accounting = accounting
        fit = method_named(method, {}, schema).fit(table)
        found.append([(m.axes, m.values.tolist(), m.noise) for m in fit.measurements])
    assert found[0] == found[1]


def test_a_plan_is_in_its_unit() -> None:
    plan = Plan("any", Budget(1, "1e-9"), Third(), 100, {}, None, (), 1.0, 1.0)
    assert plan.as_json()["unit"] == "mu" and " mu" in plan.text()
