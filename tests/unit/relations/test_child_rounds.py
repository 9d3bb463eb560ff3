"""Rounds of a child table: what is spent, what each column depends on, and what comes of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import private_table, schema_of
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Gaussian
from understudy.relations.child_rounds import ChildRounds, RoundsPlan, RowsAbove, parts_of_graph
from understudy.schema import Axis

SIZES = {"g": 3, "h": 2, "a": 4, "b": 2, "c": 5}
SCHEMA = schema_of(SIZES, None, "add-remove", rows_per_person=3)
GIVEN, TARGETS = ("g", "h"), ("a", "b", "c")


def child_rows(rows: int) -> dict[str, np.ndarray]:
    """g and h go together, a follows g, b follows a and h, c follows nothing."""
    draw = np.random.default_rng(4)
    g = draw.choice(3, rows, p=[0.5, 0.3, 0.2])
    h = (draw.random(rows) < 0.2 + 0.3 * g).astype(int)
    a = np.where(draw.random(rows) < 0.8, g, draw.integers(4, size=rows))
    b = (draw.random(rows) < 0.2 + 0.2 * (a % 2) + 0.4 * h).astype(int)
    return {n: c.astype(np.uint8) for n, c in zip(SIZES, (g, h, a, b, draw.integers(5, size=rows)))}


def plan_of(budget: Budget, rows: int) -> RoundsPlan:
    return RoundsPlan.of(SCHEMA, GIVEN, TARGETS, rows, accounting_of(budget), total_cost(budget))


@pytest.mark.parametrize("budget", [Budget("0.1"), Budget("4"), Budget("0.1", "1e-6"), Budget("4", "1e-6")])
def test_the_whole_cost_is_spent(budget: Budget, tmp_path: Path) -> None:
    columns = child_rows(2000)
    table = private_table(SCHEMA, columns, budget, tmp_path / "l.db")
    plan = plan_of(budget, 2000)
    assert plan.single_cost + plan.rounds_cost == total_cost(budget) and (plan.rounds == 0) == (plan.rounds_cost == 0)
    assert bool(plan.rounds) == (budget.epsilon > 1)  # columns alone where pairs would be noise
    rounds = ChildRounds(table, plan, {name: columns[name] for name in GIVEN}, "child")
    network = rounds.play()
    assert table.reservation.left == Fraction(0)  # type: ignore[attr-defined]
    assert {c.child.attribute for c in network.conditionals} == set(TARGETS)
    assert len([m for m in rounds.measured if len(m.axes) == 1]) >= 3


def test_rows_are_drawn_with_what_they_depend_on(tmp_path: Path) -> None:
    columns = child_rows(20_000)
    above = {name: columns[name] for name in GIVEN}
    table = private_table(SCHEMA, columns, Budget("60", "1e-6"), tmp_path / "l.db")
    network = ChildRounds(table, plan_of(Budget("60", "1e-6"), 20_000), above, "child").play()
    drawn = network.draw(above, {}, np.random.default_rng(5)) | above
    for one, two in (("g", "a"), ("h", "b"), ("a", "b"), ("g", "b"), ("h", "a"), ("g", "c")):
        sizes = SIZES[one], SIZES[two]
        tables = [np.bincount(r[one].astype(int) * sizes[1] + r[two], minlength=sizes[0] * sizes[1])
                  for r in (columns, drawn)]  # fmt: skip
        assert np.abs(tables[0] - tables[1]).sum() / 2 < 0.02 * 20_000, (one, two)


def test_a_target_depends_on_what_comes_before_it() -> None:
    edges = {frozenset(pair) for pair in (("g", "a"), ("a", "b"), ("b", "h"))}
    parts = parts_of_graph(edges, TARGETS, SIZES)
    placed = set(GIVEN)
    for target, near in parts:
        assert set(near) <= placed
        placed.add(target)
    assert dict(parts)["c"] == () and len(parts) == 3
    for pair in edges:  # every measured pair is inside one conditional
        assert any(pair <= {target, *near} for target, near in parts)


def test_rows_above_stand_for_all_rows() -> None:
    above = RowsAbove(SCHEMA, {"g": np.array([0, 0, 1, 2]), "h": np.array([0, 1, 1, 1])}, 400, Gaussian(1.0))
    found = above.table(["g", "h"])
    assert found.axes == (Axis("g"), Axis("h")) and found.values.tolist() == [[100, 100], [0, 100], [0, 100]]
    assert RowsAbove(SCHEMA, {"g": np.zeros(0)}, 7, Gaussian(1.0)).table(["g"]).values.tolist() == [0, 0, 0]
