"""AIM with uses: what they name is bought first, out of the same budget, and follows from public facts alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import chained, columns_of, private_table, schema_of
from understudy.errors import UsageError
from understudy.methods.aim import Aim
from understudy.methods.aim.named_tables import named_tables
from understudy.privacy.budget import Budget
from understudy.release.release import Release
from understudy.schema import Axis, Schema
from understudy.schema.uses import Use
from understudy.testing import publish_seeded

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 40}
ROWS = 4000
USES = (Use(("a", "d")), Use(("c", "e", "d")), Use((), "b"))


def table_schema(neighbours: str = "replace-one", uses: tuple[Use, ...] = USES) -> Schema:
    return replace(schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours), uses=uses)


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", "3"])
def test_the_charges_are_the_total_cost_exactly(ledger_path: Path, delta: float, neighbours: str, epsilon: str) -> None:
    """Also where columns would be published alone: then uses are paid for by the one-way tables."""
    budget = Budget(epsilon, delta)
    table = private_table(table_schema(neighbours), chained(SIZES, ROWS), budget, ledger_path)
    Aim().fit(table)
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == table.total_cost  # type: ignore[attr-defined]
    plan = Aim().plan(table.schema, budget, ROWS)
    assert sum(phase.cost for phase in plan.phases) == table.total_cost
    assert any("uses" in note for note in plan.notes)


def test_what_uses_name_does_not_depend_on_rows(ledger_path: Path, tmp_path: Path) -> None:
    """The same tables are bought for columns that depend on each other and for columns that do not."""
    fits = [
        Aim().fit(private_table(table_schema(), columns, Budget(4), path / "l.db"))
        for columns, path in ((chained(SIZES, ROWS), ledger_path.parent), (columns_of(SIZES, ROWS, 5), tmp_path))
    ]
    assert all(fit.facts["tables"][0] == ["a", "d"] for fit in fits)


def shown(uses: tuple[Use, ...], noise: float) -> Any:
    found = named_tables(table_schema(uses=uses), 10_000, lambda cells, price: cells * noise / price)
    return [tuple(a.attribute for a in axes) for axes in found.measured], [
        tuple(a.attribute for a in axes) for axes in found.offered
    ]


def test_a_clean_table_is_measured_a_noisy_one_is_offered_in_parts() -> None:
    assert shown((Use(("d", "a")),), 0.001) == ([("a", "d")], [])
    assert shown((Use(("c", "d", "e")),), 0.001) == ([], [("c", "d"), ("c", "e"), ("d", "e")])  # 800 cells are .8 off
    assert shown((Use(("a", "d")),), 1.0) == ([], [])  # nothing but noise
    measured, offered = shown((Use(("a", "c"), "b"),), 0.001)
    assert measured == [] and offered == [("a", "b"), ("c", "b")]
    assert shown((Use(("a", "b")), Use(("a", "b", "c"))), 0.001) == ([("a", "b", "c")], [])  # the wider one has both


def test_tables_that_the_model_has_no_room_for_are_left_out() -> None:
    wide = tuple(Use((x, "e")) for x in "abcd")
    found = named_tables(table_schema(uses=wide), 400, lambda cells, price: 0.0)
    assert [axes[0] for axes in found.measured] == [Axis("a")]  # 80 cells; the next one has 120, above a quarter


def test_a_use_of_no_attribute_is_refused(ledger_path: Path) -> None:
    table = private_table(table_schema(uses=(Use(("a", "z")),)), chained(SIZES, ROWS), Budget(1), ledger_path)
    with pytest.raises(UsageError, match="'z'"):
        Aim().fit(table)
    assert table.reservation.charges() == []  # type: ignore[attr-defined]


def test_a_release_carries_its_uses(tmp_path: Path) -> None:
    import numpy as np

    from understudy.demo import demo_schema, demo_table

    schema = replace(demo_schema(rows=300), uses=(Use(("sex", "income")),), text=None)
    made = publish_seeded(
        demo_table(300, np.random.default_rng(1)), schema, seed=1, epsilon=5, ledger=tmp_path / "l.db", cap="none"
    )
    made.release.save(tmp_path / "r.zip")
    assert Release.open(tmp_path / "r.zip").schema.uses == schema.uses
