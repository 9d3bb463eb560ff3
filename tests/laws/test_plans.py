"""A plan says what a run pays for: for every method the same phases as in the ledger, and the same costs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from test_matrix import NEIGHBOURS, PROMISES, small_table

from conftest import columns_of, private_table, schema_of
from understudy.methods import METHODS
from understudy.methods.plan import Plan
from understudy.privacy.accounting import total_cost
from understudy.privacy.budget import Budget
from understudy.publishing import plan
from understudy.testing import SeededSource, publish_seeded

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from rivals.private_rivals import RIVALS, rival_named

CASES: list[tuple[str, Mapping[str, Any]]] = [(method, {}) for method in METHODS] + [
    ("privbayes", {"estimate": "paper"}),
    ("privbayes", {"encoding": "binary"}),
    ("privbayes", {"score": "R", "degree": 0}),
    ("privabn", {"search": "full"}),
    ("privabn", {"search": "growth"}),
    ("privabn", {"search": "released"}),
    ("jtree", {"merging": "greedy"}),
    ("dp-subn", {"variant": "adaptive"}),
    ("dp-subn", {"variant": "sequential"}),
    ("dp-subn", {"variant": "frontier"}),
    ("dp-ccbn", {"degree": 1}),
]


def planned(told: Plan) -> dict[str, Fraction]:
    costs: dict[str, Fraction] = {}
    for phase in told.phases:
        costs[phase.name] = costs.get(phase.name, Fraction(0)) + phase.cost
    return costs


def paid(charges: list[dict[str, Any]]) -> dict[str, Fraction]:
    costs: dict[str, Fraction] = {}
    for charge in charges:
        costs[charge["purpose"]] = costs.get(charge["purpose"], Fraction(0)) + Fraction(charge["cost"])
    return costs


def agree(told: dict[str, Fraction], charged: dict[str, Fraction], whole: Fraction) -> None:
    """The same names in the same order; the same costs, but that choices which were not made go to the tables."""
    assert list(charged) == list(told)
    assert sum(charged.values()) == sum(told.values()) == whole
    unmade = told.get("structure", Fraction(0)) - charged.get("structure", Fraction(0))
    assert unmade >= 0
    for name, cost in told.items():
        assert charged[name] == cost + {"structure": -unmade, "tables": unmade}.get(name, 0)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_a_plan_is_what_the_ledger_says(
    method: str, options: Mapping[str, Any], neighbours: str, promise: str, tmp_path: Path
) -> None:
    table, schema = small_table(method, neighbours)
    asked: dict[str, Any] = {"epsilon": 4, "delta": PROMISES[promise], "method": method, **options}
    made = publish_seeded(table, schema, seed=1, ledger=tmp_path / "ledger.db", **asked)
    told = plan(schema, rows=made.release.rows, **asked)
    agree(planned(told), paid(made.charges), total_cost(Budget(4, PROMISES[promise])))


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("rival", RIVALS)
def test_a_rivals_plan_is_what_the_ledger_says(rival: str, neighbours: str, promise: str, ledger_path: Path) -> None:
    sizes = dict.fromkeys("abcdef", 2)
    schema = schema_of(sizes, 800 if neighbours == "replace-one" else None, neighbours)
    budget = Budget(4, PROMISES[promise])
    table = private_table(schema, columns_of(sizes, 800), budget, ledger_path, SeededSource(1))
    method = rival_named(rival, {"mwem": {"rounds": 3}, "majority": {"targets": "a"}}.get(rival, {}))
    fit = method.fit(table)
    told = method.plan(schema, budget, fit.rows)
    charged = paid(table.reservation.charges())  # type: ignore[attr-defined]
    agree(planned(told), charged, sum(charged.values(), Fraction(0)))
