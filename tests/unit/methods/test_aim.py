"""AIM: what is offered, what a round costs, and that it finds what is there."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import chained, columns_of, private_table, schema_of
from understudy.errors import TooLarge
from understudy.methods import best_for
from understudy.methods.aim import Aim, suits
from understudy.methods.aim.phases import UNLINKED
from understudy.methods.aim.rounds import FirstAnswer
from understudy.methods.aim.worth import chance_dependence, column_error, learnable
from understudy.methods.toolkit.budget_split import weight
from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.models.graph import Graph
from understudy.privacy.accounting import PURE, ZCDP, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.schema import Axis
from understudy.testing import SeededSource

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}
ROWS = 4000


def tvd(columns: dict[str, Any], model: Any, names: tuple[str, ...]) -> float:
    exact = np.zeros([SIZES[n] for n in names])
    np.add.at(exact, tuple(columns[n] for n in names), 1 / len(columns[names[0]]))
    return float(0.5 * np.abs(model.project(names).table - exact).sum())


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_charges_are_the_total_cost_exactly(ledger_path: Path, delta: float, neighbours: str) -> None:
    schema = schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours)
    table = private_table(schema, chained(SIZES, ROWS), Budget("0.3", delta), ledger_path)
    Aim().fit(table)
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == table.total_cost  # type: ignore[attr-defined]


def test_with_a_large_budget_every_pair_is_right(ledger_path: Path) -> None:
    columns = chained(SIZES, ROWS)
    fit = Aim().fit(private_table(schema_of(SIZES, ROWS), columns, Budget(2000), ledger_path))
    for pair in itertools.combinations(SIZES, 2):
        assert tvd(columns, fit.model, pair) < 0.01


def test_the_links_that_are_there_come_first(ledger_path: Path) -> None:
    columns = chained(SIZES, ROWS)
    fit = Aim(rounds=4).fit(private_table(schema_of(SIZES, ROWS), columns, Budget(8), ledger_path))
    assert {"a", "b"} in map(set, fit.facts["tables"]) and {"c", "d"} in map(set, fit.facts["tables"])


def test_a_round_that_sees_only_noise_doubles_the_next(ledger_path: Path) -> None:
    """Independent columns: the model of the one-way tables is right already, so most rounds are quiet ones."""
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(size, size=ROWS).astype(np.uint8) for name, size in SIZES.items()}
    table = private_table(schema_of(SIZES, ROWS), columns, Budget(1, 1e-9), ledger_path, SeededSource(3))
    rounds = 8
    Aim(rounds=rounds).fit(table)
    costs = [Fraction(c["cost"]) for c in table.reservation.charges() if c["purpose"] == "tables"]  # type: ignore[attr-defined]
    steps = [b / a for a, b in itertools.pairwise(costs[:-1])]  # the last round takes what is left
    assert set(steps) <= {1, 2} and 2 in steps
    assert len(costs) < rounds


def test_no_offer_brings_the_model_over_the_limit() -> None:
    schema, limit = schema_of({f"a{i}": 6 for i in range(8)}, 100), 400
    axes = [Axis(a.name) for a in schema.modelled]
    candidates, graph = CandidatePairs(schema, axes, limit), Graph.of((), dict.fromkeys(axes, 6))
    rng = np.random.default_rng(0)
    for _ in range(30):
        options = candidates()
        for pair in options:
            assert graph.add(pair).triangulated_cells() <= limit
        chosen = options[int(rng.integers(len(options)))]
        candidates.add(chosen)
        graph = graph.add(chosen)
    assert len(candidates()) < 28  # the limit did bind


def test_early_rounds_are_offered_what_leaves_room_for_others() -> None:
    schema = schema_of({**{f"a{i}": 3 for i in range(5)}, "b": 20, "c": 20}, 100)
    axes = [Axis(a.name) for a in schema.modelled]
    candidates = CandidatePairs(schema, axes, 600)
    large, early = (Axis("b"), Axis("c")), candidates(0.1)
    assert early and all(schema.cells(pair) <= 60 for pair in early) and large not in early
    assert large in candidates()  # what was too large for the first round comes back
    assert large in CandidatePairs(schema, [Axis("b"), Axis("c")], 600)(0.1)  # and where there is nothing else, at once


def test_there_are_further_rounds_where_few_tables_are_drowned() -> None:
    tall = schema_of({f"a{i}": 4 for i in range(10)}, 200_000)
    rounds = [Aim().plan(tall, Budget(e, 0), 200_000).options["rounds"] for e in ("0.1", "0.4", "4")]
    assert rounds[0] == 20 < rounds[1] < rounds[2] == 40 and rounds == sorted(rounds)


@pytest.mark.parametrize("linked", [False, True])
def test_rounds_end_where_the_first_ones_see_noise_and_chance(ledger_path: Path, linked: bool) -> None:
    sizes, rows = {f"a{i}": 12 for i in range(16)}, 10_000
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in sizes.items()}
    if linked:
        columns["a1"], columns["a3"] = columns["a0"].copy(), columns["a2"].copy()
    table = private_table(schema_of(sizes, None, "add-remove"), columns, Budget(1, 1e-6), ledger_path, SeededSource(5))
    fit = Aim().fit(table)
    pairs = [set(names) for names in fit.facts["tables"] if len(names) == 2]
    assert (UNLINKED in fit.notes) != linked
    assert ({"a0", "a1"} in pairs and {"a2", "a3"} in pairs) if linked else len(pairs) == 4
    charges = table.reservation.charges()  # type: ignore[attr-defined]
    assert sum(Fraction(c["cost"]) for c in charges) == table.total_cost
    assert len([c for c in charges if c["purpose"] == "one-way"]) == (1 if linked else 2)


def test_a_large_table_shows_something_sooner_than_a_small_one() -> None:
    """Of noise alone a table's distance varies by the root of its cells; a twin without that ended with links unseen."""
    draws = np.random.default_rng(1)
    for cells in (6, 30, 200):
        news = [np.abs(draws.normal(0, 1, cells)).sum() / (cells * math.sqrt(2 / math.pi)) for _ in range(400)]
        assert np.mean([FirstAnswer(float(n), 9.0, 1.0, cells).is_nothing for n in news]) > 0.9
    assert not FirstAnswer(1.4, 9.0, 1.0, 200).is_nothing and FirstAnswer(1.4, 9.0, 1.0, 6).is_nothing
    assert not FirstAnswer(1.6, 9.0, 1.0, 6).is_nothing


def test_rounds_are_counted_by_the_tables_that_they_measure() -> None:
    """Under pure epsilon a pair of 60 values each bears a round or two; by merged groups it bears one for each column."""
    schema = schema_of({f"x{i}": 60 for i in range(9)}, 60_000)
    merged, whole = (Aim(merge=merge).plan(schema, Budget(1), 60_000).options["rounds"] for merge in (1, 0))
    assert merged >= 9 > 2 * whole


def test_where_nothing_may_be_offered_the_rest_is_not_lost(ledger_path: Path) -> None:
    table = private_table(schema_of(SIZES, ROWS), chained(SIZES, ROWS), Budget(1), ledger_path)
    fit = Aim(cells=14).fit(table)
    assert fit.facts["tables"] == []
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == 1  # type: ignore[attr-defined]


def test_too_large_a_domain_is_refused_by_the_plan() -> None:
    with pytest.raises(TooLarge, match="one-way tables alone") as caught:
        Aim(cells=100).plan(schema_of({"a": 2, "wide": 200}, 50), Budget(1))
    assert caught.value.attribute == "wide"


def test_too_wide_a_table_is_refused_by_the_plan() -> None:
    with pytest.raises(TooLarge, match="use --method privabn"):
        Aim().plan(schema_of({f"a{i}": 3 for i in range(2000)}, 50), Budget(1))


def test_fewer_rounds_where_epsilons_add_up() -> None:
    schema = schema_of({f"a{i}": 8 for i in range(10)}, 40_000)
    rounds = [Aim().plan(schema, Budget(e)).options["rounds"] for e in ("0.1", "1", "10")]
    assert rounds == sorted(rounds) and rounds[1:] == [20, 40]
    weak = [Aim().plan(schema, Budget(e, 1e-9)).options["rounds"] for e in ("0.1", "0.5", "10")]
    assert weak == sorted(weak) and (weak[0], weak[-1]) == (20, 80)
    assert Aim(rounds=7).plan(schema, Budget(1)).options["rounds"] == 7


def test_where_pairs_are_lost_in_noise_there_are_few_and_one_way_tables_get_more() -> None:
    schema = schema_of({f"a{i}": 8 for i in range(10)}, 40_000)
    small, large = (Aim().plan(schema, Budget(e)).options for e in ("0.01", "10"))
    assert small["rounds"] < 10 and small["single"] > large["single"] == 0.2
    assert Aim(single=0.4).plan(schema, Budget("0.01")).options["single"] == 0.4


@pytest.mark.parametrize("accounting", [PURE, ZCDP])
def test_weights_make_the_sum_of_errors_least(accounting: Any) -> None:
    sizes = np.array([2, 3, 16, 41, 112])
    power = 1 if accounting == PURE else 1 / 2

    def error(parts: Any) -> float:
        return float((sizes / (parts / parts.sum()) ** power).sum())

    best = np.array([weight(int(m), accounting) for m in sizes], dtype=float)
    draw = np.random.default_rng(0)
    assert all(error(best) < error(best * np.exp(0.05 * draw.normal(size=5))) for _ in range(200))


def test_auto_asks_the_schema_only() -> None:
    general, binary = schema_of(SIZES, 500), schema_of({f"a{i}": 2 for i in range(64)}, 500)
    assert suits(general) and not suits(binary)
    assert best_for(general, {}) == "aim"
    assert best_for(general, {"score": "R"}) == "privbayes"  # an option of the other method
    assert best_for(general, {}, owners=3) == "dp-subn"
    assert suits(schema_of({f"a{i}": 3 for i in range(64)}, 500))
    assert not suits(schema_of({f"a{i}": 3 for i in range(65)}, 500))


def test_a_wide_table_has_a_smaller_model_unless_told() -> None:
    narrow, wide = (schema_of({f"a{i}": 3 for i in range(d)}, 500) for d in (64, 65))
    assert [Aim().max_cells(narrow), Aim().max_cells(wide), Aim(cells=777).max_cells(wide)] == [400_000, 50_000, 777]
    options = [Aim(**given).plan(narrow, Budget(1, 0), 500).options for given in ({}, {"cells": 777})]
    assert [plan["cells"] for plan in options] == [400_000, 777]


def test_one_attribute_is_measured_whole(ledger_path: Path) -> None:
    columns = columns_of({"a": 5}, ROWS)
    table = private_table(schema_of({"a": 5}, ROWS), columns, Budget(1), ledger_path)
    fit = Aim().fit(table)
    assert len(fit.measurements) == 1
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == 1  # type: ignore[attr-defined]


# -- what structure is worth ---------------------------------------------------------------------------------------


def alike(rows: int) -> dict[str, Any]:
    """Columns that are all the same but for their domains: as dependent as can be."""
    base = np.random.default_rng(3).integers(12, size=rows)
    return {name: (base % size).astype(np.uint8) for name, size in SIZES.items()}


def apart(rows: int) -> dict[str, Any]:
    draw = np.random.default_rng(4)
    return {name: draw.integers(size, size=rows).astype(np.uint8) for name, size in SIZES.items()}


def spent(table: Any) -> list[str]:
    return [charge["purpose"] for charge in table.reservation.charges()]


@pytest.mark.parametrize(("epsilon", "delta"), [("0.3", 0), ("0.25", 1e-9)])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_rounds_are_for_pairs_that_are_worth_them(
    ledger_path: Path, epsilon: str, delta: float, neighbours: str
) -> None:
    """The same public facts, other rows: the rest of the budget buys structure, or the columns once more."""
    schema = schema_of(SIZES, 600 if neighbours == "replace-one" else None, neighbours)
    for number, (columns, rounds) in enumerate([(alike(600), True), (apart(600), False)]):
        table = private_table(schema, columns, Budget(epsilon, delta), ledger_path.with_name(f"{number}.db"))
        fit = Aim().fit(table)
        purposes = spent(table)
        assert purposes.count("dependence") == 1
        assert ("structure" in purposes) == bool(fit.facts["tables"]) == rounds
        assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == table.total_cost  # type: ignore[attr-defined]
        assert (fit.facts["options"]["rounds"] > 0) == rounds
        assert any("independently" in note for note in fit.notes) != rounds
        if delta == 0 and not rounds:
            assert purposes.count("one-way") == 1  # decided before: one table at the whole price


def test_nothing_is_asked_where_public_facts_decide(ledger_path: Path) -> None:
    """At a large budget there are rounds, at a tiny one there are none; and whoever sets the rounds gets them."""
    schema = schema_of(SIZES, ROWS)
    for name, method, budget, found in [
        ("large", Aim(), "8", {"one-way", "structure", "tables"}),
        ("tiny", Aim(), "0.001", {"one-way"}),
        ("set", Aim(rounds=3), "0.1", {"one-way", "structure", "tables"}),
    ]:
        table = private_table(schema, chained(SIZES, ROWS), Budget(budget), ledger_path.with_name(f"{name}.db"))
        method.fit(table)
        assert set(spent(table)) == found


def test_the_plan_says_what_will_be_asked() -> None:
    plan = Aim().plan(schema_of(SIZES, 600), Budget("0.3"))
    assert [phase.name for phase in plan.phases] == ["dependence", "one-way", "structure", "tables"]
    assert sum(phase.cost for phase in plan.phases) == Fraction(3, 10)
    alone = Aim().plan(schema_of(SIZES, 600), Budget("0.001"))
    assert [phase.name for phase in alone.phases] == ["one-way"] and "independently" in alone.notes[0]


def test_chance_is_no_structure() -> None:
    """Independent columns of few rows look dependent: by as much as is taken off."""
    sizes, rows = [12, 20], 300
    draw = np.random.default_rng(5)
    seen = []
    for _ in range(40):
        counts = np.zeros(sizes)
        np.add.at(counts, tuple(draw.integers(size, size=rows) for size in sizes), 1)
        seen.append(0.5 * np.abs(counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows).sum() / rows)
    chance = chance_dependence([np.full(size, 1 / size) for size in sizes], rows)
    assert chance == pytest.approx(np.mean(seen), rel=0.15)
    assert learnable(chance, chance) == 0 and learnable(-0.1, 0.0) == 0 and learnable(0.3, 0.0) == pytest.approx(0.3)


def test_the_error_of_a_column_is_what_noise_does() -> None:
    draw = np.random.default_rng(6)
    shares, rows, scale = draw.dirichlet(np.ones(10)), 5000, 60.0
    noisy = shares * rows + draw.laplace(0, scale, (200, 10))
    off = 0.5 * np.abs(noisy / rows - shares).sum(axis=1).mean()
    assert column_error([shares], rows, [scale]) == pytest.approx(off, rel=0.25)
    assert column_error([shares], rows, [1e9]) <= 0.5


def test_costs_without_rounds_are_not_asked_whether_rounds_are_worth_it() -> None:
    """What known columns would have cost is for rounds; where there are none, no round has a price to go by."""
    schema, budget = schema_of(SIZES, 40), Budget(1, 1e-9)
    split = Aim().split(schema, accounting_of(budget), total_cost(budget), 40)
    left = replace(split.costs, each=Fraction(0), rounds=Fraction(1, 10), worth=Fraction(1, 100), surely=False)
    assert split.worthwhile(left, 10.0, 40) is left
