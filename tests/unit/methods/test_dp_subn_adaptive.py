"""DP-SUBN in rounds: what is split how, who pays for what, when there are no rounds, and that it finds what is there."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import chained, private_table, schema_of
from federating import federation, parts_of
from understudy.errors import TooLarge
from understudy.methods.dp_subn import DPSUBN
from understudy.methods.dp_subn.adaptive import Adaptive
from understudy.methods.toolkit.budget_split import middle_pair, pair_cells
from understudy.privacy.accounting import PURE, ZCDP
from understudy.privacy.budget import Budget
from understudy.testing import SeededSource

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}
ROWS = 4000


def charges(table: Any) -> list[tuple[str, Fraction]]:
    return [(c["purpose"], Fraction(c["cost"])) for c in table.reservation.charges()]


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("budget", [Budget("0.01"), Budget("0.5"), Budget("0.5", 1e-9)], ids=str)
def test_the_plan_and_the_charges_are_the_total_cost(ledger_path: Path, budget: Budget, neighbours: str) -> None:
    schema = schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours)
    made = DPSUBN(variant="adaptive")
    table = private_table(schema, chained(SIZES, ROWS), budget, ledger_path)
    assert sum(phase.cost for phase in made.plan(schema, budget, ROWS).phases) == table.total_cost
    made.fit(table)
    assert sum(cost for _, cost in charges(table)) == table.total_cost


def test_where_pairs_would_be_lost_in_noise_attributes_are_alone(ledger_path: Path) -> None:
    table = private_table(schema_of(SIZES, ROWS), chained(SIZES, ROWS), Budget("0.01"), ledger_path)
    fit = DPSUBN().fit(table)
    assert charges(table) == [("one-way", Fraction(1, 100))]
    assert fit.facts["options"]["rounds"] == 0 and "independently" in fit.notes[0]


def test_rounds_follow_from_public_facts() -> None:
    schema = schema_of({f"a{i}": 8 for i in range(10)}, 40_000)
    plans = [DPSUBN().plan(schema, Budget(e)) for e in ("0.01", "0.1", "0.2", "0.4", "10")]
    assert [plan.options["rounds"] for plan in plans] == [0, 5, 10, 15, 15]
    assert DPSUBN(rounds=7).plan(schema, Budget(1)).options["rounds"] == 7
    pure, gaussian = (
        [Adaptive(None, 10**5).affordable(schema, kind, Fraction(3, 10**5 if kind == ZCDP else 30), 40_000, noisier)
         for noisier in (1.0, 1.5, 2.0)]
        for kind in (PURE, ZCDP)
    )  # fmt: skip
    assert pure == [5, 3, 2]  # in proportion to the noise, and under zCDP to its square
    assert gaussian == [10, 4, 2]


def test_each_owner_pays_for_its_turns_and_all_for_the_sums(tmp_path: Path) -> None:
    """Seven rounds of three owners: the first has three turns at a third of the choices' part, the others two at a half."""
    with federation(
        tmp_path, 3, rows=ROWS, sizes=SIZES, budget=Budget(8), columns=parts_of(chained(SIZES, 3 * ROWS), 3)
    ) as made:
        DPSUBN(variant="adaptive", rounds=7).fit(made.table)
        found, paid = made.table.charges, made.table.paid
        spent = {name: kept.total_cost - kept.left for name, kept in made.reservations.items()}
        costs = Adaptive(7, 150_000).costs(made.table.schema, PURE, Fraction(8), 3 * ROWS)
    assert made.owners.refusals == [] and spent == paid
    turns = Counter(c["owner"] for c in found if c["purpose"] == "structure")
    prices = {c["owner"]: Fraction(c["cost"]) for c in found if c["purpose"] == "structure"}
    assert all(turns[name] * price <= costs.structure for name, price in prices.items())
    assert sorted(prices.values()) == [costs.structure / most for most in (3, 2, 2)]
    assert {c["owner"] for c in found if c["purpose"] != "structure"} == {"all"}
    tables = [Fraction(c["cost"]) for c in found if c["purpose"] == "tables"]
    assert sum(tables) == costs.tables and len(tables) == sum(turns.values())
    assert max(paid.values()) <= 8


def test_several_owners_find_what_is_there(tmp_path: Path) -> None:
    columns = chained(SIZES, 3 * ROWS)
    with federation(tmp_path, 3, rows=ROWS, sizes=SIZES, budget=Budget(50), columns=parts_of(columns, 3)) as made:
        fit = DPSUBN().fit(made.table)
    assert {"a", "b"} in map(set, fit.facts["tables"]) and {"c", "d"} in map(set, fit.facts["tables"])
    for pair in itertools.combinations(SIZES, 2):
        exact = np.zeros([SIZES[name] for name in pair])
        np.add.at(exact, tuple(columns[name] for name in pair), 1 / (3 * ROWS))
        assert 0.5 * np.abs(fit.model.project(pair).table - exact).sum() < 0.02


def test_an_owner_of_one_kind_does_not_choose_that_kind_again_and_again(tmp_path: Path) -> None:
    """Each owner has one value of `a` only: every table with `a` is far from the model's, but not more dependent."""
    columns = chained(SIZES, 2 * ROWS)
    order = np.argsort(columns["a"], kind="stable")
    halves = [{name: codes[part] for name, codes in columns.items()} for part in np.array_split(order, 2)]
    with federation(tmp_path, 2, rows=ROWS, sizes=SIZES, budget=Budget(50), columns=halves) as made:
        fit = DPSUBN(variant="adaptive", rounds=3).fit(made.table)
    assert [{"b", "c"}, {"c", "d"}] == sorted(map(set, fit.facts["tables"]), key=sorted)[-2:]


def test_a_round_that_sees_only_noise_doubles_the_next_table(ledger_path: Path) -> None:
    """Independent columns: the one-way tables say it all. Choices keep their price, the last table takes the rest."""
    draw = np.random.default_rng(1)
    columns = {name: draw.integers(size, size=ROWS).astype(np.uint8) for name, size in SIZES.items()}
    table = private_table(schema_of(SIZES, ROWS), columns, Budget("0.1", 1e-9), ledger_path, SeededSource(3))
    DPSUBN(variant="adaptive", rounds=8).fit(table)
    tables = [cost for purpose, cost in charges(table) if purpose == "tables"]
    steps = [b / a for a, b in itertools.pairwise(tables[:-1])]
    assert set(steps) <= {1, 2} and 2 in steps and len(tables) < 8
    assert len({cost for purpose, cost in charges(table) if purpose == "structure"}) == 1
    assert sum(cost for _, cost in charges(table)) == table.total_cost


def test_where_nothing_may_be_offered_the_rest_is_not_lost(ledger_path: Path) -> None:
    table = private_table(schema_of(SIZES, ROWS), chained(SIZES, ROWS), Budget(1), ledger_path)
    fit = DPSUBN(variant="adaptive", cells=14).fit(table)
    assert fit.facts["tables"] == []
    assert [purpose for purpose, _ in charges(table)] == ["one-way", "one-way"]
    assert sum(cost for _, cost in charges(table)) == 1


def test_one_attribute_is_measured_whole(ledger_path: Path) -> None:
    table = private_table(schema_of({"a": 5}, ROWS), {"a": np.zeros(ROWS, np.uint8)}, Budget(1), ledger_path)
    DPSUBN(variant="adaptive").fit(table)
    assert charges(table) == [("one-way", Fraction(1))]


def test_too_large_a_domain_is_refused_before_anything_is_charged() -> None:
    schema = schema_of({f"a{i}": 100 for i in range(15)}, ROWS)
    assert pair_cells([a.size for a in schema.modelled]) == 105 * 10_000 and middle_pair(schema) == 10_000
    with pytest.raises(TooLarge, match="variant=sequential"):
        DPSUBN(variant="adaptive").plan(schema, Budget(1))
    assert DPSUBN().plan(schema, Budget(1)).options["variant"] == "sequential"
