"""SWIFT: what it pays, what it asks, what it finds, and that public facts and noisy answers alone decide."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import chained, columns_of, private_table, schema_of
from understudy.errors import TooLarge, UsageError
from understudy.methods import best_for, method_named
from understudy.methods.swift import Swift
from understudy.methods.swift.candidates import NAMED_WEIGHT, candidates
from understudy.methods.swift.dependence import Columns, bought_dependence, modelled_dependence
from understudy.methods.swift.growth import Growth
from understudy.models.graph import Graph
from understudy.privacy.accounting import GDP, PURE
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Gaussian
from understudy.privacy.questions import NoisyDistances
from understudy.schema import Axes, Axis, Schema
from understudy.schema.uses import Use
from understudy.testing import SeededSource

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}
ROWS = 4000


def charges(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.reservation.charges()
    return found


def tvd(columns: dict[str, Any], model: Any, names: tuple[str, ...]) -> float:
    exact = np.zeros([SIZES[n] for n in names])
    np.add.at(exact, tuple(columns[n] for n in names), 1 / len(columns[names[0]]))
    return float(0.5 * np.abs(model.project(names).table - exact).sum())


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "3"])
@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_charges_are_the_total_cost_exactly(ledger_path: Path, delta: float, neighbours: str, epsilon: str) -> None:
    schema = schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours)
    table = private_table(schema, chained(SIZES, ROWS), Budget(epsilon, delta), ledger_path)
    Swift().fit(table)
    assert sum(Fraction(c["cost"]) for c in charges(table)) == table.total_cost
    plan = Swift().plan(schema, Budget(epsilon, delta), ROWS)
    assert sum(phase.cost for phase in plan.phases) == table.total_cost


def test_with_a_large_budget_every_pair_is_right(ledger_path: Path) -> None:
    columns = chained(SIZES, ROWS)
    fit = Swift().fit(private_table(schema_of(SIZES, ROWS), columns, Budget(2000), ledger_path))
    for pair in itertools.combinations(SIZES, 2):
        assert tvd(columns, fit.model, pair) < 0.01


@pytest.mark.parametrize("fits", [1, 4])
def test_the_links_that_are_there_are_found(ledger_path: Path, fits: int) -> None:
    columns = chained(SIZES, ROWS)
    table = private_table(schema_of(SIZES, ROWS), columns, Budget(1, 1e-6), ledger_path)
    found = Swift(fits=fits).fit(table).facts["tables"]
    assert {"a", "b"} in map(set, found) and {"c", "d"} in map(set, found)


def test_independent_columns_are_published_alone(ledger_path: Path) -> None:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(size, size=ROWS).astype(np.uint8) for name, size in SIZES.items()}
    table = private_table(schema_of(SIZES, ROWS), columns, Budget(1, 1e-9), ledger_path, SeededSource(3))
    fit = Swift(kappa=3.0).fit(table)
    assert not fit.facts["tables"] and "independently" in fit.notes[0]
    assert [c["purpose"] for c in charges(table)] == ["one-way", "structure", "tables"]  # the columns once more


def test_where_noise_hides_everything_no_score_is_bought(ledger_path: Path) -> None:
    """A public decision: by the schema, the budget and the number of rows."""
    schema = schema_of({f"x{i}": 3 for i in range(30)}, 500)
    plan = Swift().plan(schema, Budget("0.5"))
    assert [phase.name for phase in plan.phases] == ["one-way"] and "independently" in plan.notes[0]
    table = private_table(schema, columns_of({a.name: 3 for a in schema.modelled}, 500), Budget("0.5"), ledger_path)
    Swift().fit(table)
    assert [c["purpose"] for c in charges(table)] == ["one-way"]


def test_the_scores_are_one_question(ledger_path: Path) -> None:
    """Whatever there is to find, the first two prices are the same, and one charge buys all scores."""
    seen = []
    for columns, name in ((chained(SIZES, ROWS), "one"), (columns_of(SIZES, ROWS, 5), "two")):
        folder = ledger_path.parent / name
        folder.mkdir()
        table = private_table(schema_of(SIZES, ROWS), columns, Budget(1, 1e-6), folder / "l.db")
        Swift().fit(table)
        bought = charges(table)
        assert [c["purpose"] for c in bought].count("structure") == 1
        seen.append([(c["purpose"], c["cost"]) for c in bought[:2]])
    assert seen[0] == seen[1]


def test_what_a_model_explains_is_not_bought_again(ledger_path: Path) -> None:
    """A chain a – b – c: a and c depend on each other through b alone. One batch buys that pair, several do not."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 40_000)
    b = np.where(rng.random(len(a)) < 0.2, rng.integers(0, 3, len(a)), a)
    c = np.where(rng.random(len(a)) < 0.2, rng.integers(0, 3, len(a)), b)
    columns = {name: codes.astype(np.uint8) for name, codes in zip("abc", (a, b, c))}
    schema = schema_of(dict.fromkeys("abc", 3), len(a))
    found = []
    for fits in (1, 4):
        folder = ledger_path.parent / str(fits)
        folder.mkdir()
        table = private_table(schema, columns, Budget(1, 1e-9), folder / "l.db", SeededSource(1))
        found.append({frozenset(names) for names in Swift(fits=fits, kappa=4.0, wider=0).fit(table).facts["tables"]})
    assert frozenset("ac") in found[0]
    assert found[1] == {frozenset("ab"), frozenset("bc")}


def test_what_no_pair_shows_is_found(ledger_path: Path) -> None:
    """A sum of two bits is independent of each: no score of a pair sees it, a look at small tables does."""
    rng = np.random.default_rng(5)
    columns = {f"x{i}": rng.integers(0, 2, 20_000).astype(np.uint8) for i in range(12)}
    columns["x11"] = columns["x3"] ^ columns["x7"]
    schema = schema_of(dict.fromkeys(columns, 2), 20_000)
    found = []
    for wider in (0, 1):
        folder = ledger_path.parent / str(wider)
        folder.mkdir()
        table = private_table(schema, columns, Budget(1, 1e-6), folder / "l.db", SeededSource(1))
        fit = Swift(wider=wider).fit(table)
        assert sum(Fraction(c["cost"]) for c in charges(table)) == table.total_cost
        found.append({"x3", "x7", "x11"} in map(set, fit.facts["tables"]))
    assert found == [False, True]


# -- growth --------------------------------------------------------------------------------------------------------


def growth_of(sizes: dict[str, int], limit: int, kappa: float = 0.5, power: int = 2) -> tuple[Growth, Graph[Axis]]:
    axes = [Axis(name) for name in sizes]
    tables: list[Axes] = list(itertools.combinations(axes, 2))
    cells = np.array([sizes[a.attribute] * sizes[b.attribute] for a, b in tables], dtype=np.float64)
    prices = cells ** (power / (power + 1))
    return Growth(tables, prices, limit, kappa, power), Graph.of((), dict(zip(axes, sizes.values())))


def test_no_growth_brings_the_model_over_the_limit() -> None:
    sizes = {f"x{i}": 6 for i in range(9)}
    growth, graph = growth_of(sizes, 1200)
    gains = np.random.default_rng(0).random(len(growth.tables)) * 1e6
    grown = growth.grown(gains, 1.0, graph)
    assert len(grown.chosen) > 9 and grown.graph.triangulated_cells() <= 1200
    assert len(growth.within(0.6).grown(gains, 1.0, graph).chosen) < len(grown.chosen)
    unlimited, _ = growth_of(sizes, 10**9)
    assert unlimited.grown(gains, 1.0, graph).graph.triangulated_cells() > 1200


def test_a_forest_has_no_cycle() -> None:
    growth, graph = growth_of({f"x{i}": 3 for i in range(6)}, 10**6)
    gains = np.random.default_rng(0).random(len(growth.tables)) * 1e6
    chosen = growth.forest(gains, 1.0, graph).chosen
    assert len(chosen) == 5
    assert {axis for i in chosen for axis in growth.tables[i]} == set(graph.sizes)


@pytest.mark.parametrize("power", [1, 2])
def test_a_table_is_grown_where_its_gain_is_above_its_noise(power: int) -> None:
    """The prices are those of the least sum of errors, so what one more table costs the others is known."""
    growth, graph = growth_of({f"x{i}": 4 for i in range(5)}, 10**6, kappa=1.0, power=power)
    gains, noise, y = np.zeros(len(growth.tables)), 10.0, growth.prices[0]
    first = noise * y ** (1 + 1 / power)
    second = noise * (2 * y) ** (1 + 1 / power) - first
    gains[:2] = 2 * second, second * 1.01
    assert growth.grown(gains, noise, graph).chosen == (0, 1)
    gains[1] = second * 0.99
    assert growth.grown(gains, noise, graph).chosen == (0,)
    gains[:2] = first * 0.99, 0
    assert growth.grown(gains, noise, graph).chosen == ()


def test_prices_in_proportion_make_the_sum_of_errors_least() -> None:
    cells = np.array([4.0, 30.0, 200.0])
    for accounting in (PURE, GDP):
        power = accounting.power

        def errors(shares: Any, power: int = power) -> float:
            return float((cells / shares ** (1 / power)).sum())

        best = cells ** (power / (power + 1))
        least = errors(best / best.sum())
        assert least == pytest.approx(best.sum() ** (1 + 1 / power))  # the closed form that growth reckons with
        for moved in itertools.permutations((0.02, -0.01, -0.01)):
            assert errors(best / best.sum() + np.array(moved)) > least


# -- dependence ----------------------------------------------------------------------------------------------------


def test_noise_and_chance_are_no_dependence() -> None:
    """Distances of independent columns, as they come out on average, say nothing; without what is taken off they do."""
    rng, rows, sigma = np.random.default_rng(0), 20_000, 200.0
    laws = {Axis("a"): np.full(8, 1 / 8), Axis("b"): np.full(10, 0.1)}
    columns = Columns(laws, dict.fromkeys(laws, 0.0), rows)
    table: Axes = (Axis("a"), Axis("b"))
    reference = columns.reference(table)
    drawn = [rng.multinomial(rows, np.full(80, 1 / 80)).reshape(8, 10) for _ in range(50)]
    exact = np.array([np.abs(counts - reference).sum() for counts in drawn])
    assert exact.mean() == pytest.approx(columns.distance_of_nothing(table), rel=0.05)
    noisy = np.rint(exact + rng.normal(0, sigma, 50)).astype(np.int64)
    left = bought_dependence(NoisyDistances(noisy, Gaussian(sigma)), columns, [table] * 50)
    assert np.median(left) < 0.2 * np.median(noisy) / 2
    strong = np.full(50, 8000, dtype=np.int64)
    assert bought_dependence(NoisyDistances(strong, Gaussian(sigma)), columns, [table] * 50)[0] > 0.9 * 4000


def test_noise_in_the_columns_counts_too() -> None:
    laws = {Axis("a"): np.full(4, 0.25), Axis("b"): np.full(4, 0.25)}
    still, loud = (Columns(laws, dict.fromkeys(laws, noise), 1000) for noise in (0.0, 300.0))
    table: Axes = (Axis("a"), Axis("b"))
    assert loud.distance_of_nothing(table) > 2 * still.distance_of_nothing(table)


def test_the_dependence_of_a_model_is_that_of_its_tables() -> None:
    apart = np.outer([0.3, 0.7], [0.2, 0.8])
    joined = np.array([[0.5, 0.0], [0.0, 0.5]])
    three = np.zeros((2, 2, 2))
    three[0, 0, 0] = three[0, 1, 1] = three[1, 0, 1] = three[1, 1, 0] = 0.25  # a sum: no pair shows it
    assert modelled_dependence([apart, joined, three], 1000).tolist() == [0, 500, 500]


# -- uses, groups, limits --------------------------------------------------------------------------------------------


def test_uses_weigh_and_bring_wider_tables() -> None:
    schema = replace(schema_of({**SIZES, "e": 6}, ROWS), uses=(Use(("a", "d", "c")), Use((), "b")))
    weights = {tuple(x.attribute for x in axes): weight for axes, weight in candidates(schema, 10_000).items()}
    named = {*itertools.combinations("acd", 2), ("a", "c", "d"), *(tuple(sorted(("b", other))) for other in "acde")}
    assert {axes for axes, weight in weights.items() if weight == NAMED_WEIGHT} == named
    assert len(weights) == 11 and not any(len(axes) > 2 for axes in candidates(schema_of(SIZES, 9), 10_000))
    assert ("a", "c", "d") not in {tuple(x.attribute for x in axes) for axes in candidates(schema, 39)}


def test_a_use_that_is_no_attribute_is_refused() -> None:
    schema = replace(schema_of(SIZES, ROWS), uses=(Use(("a", "nobody")),))
    with pytest.raises(UsageError, match="nobody"):
        Swift().plan(schema, Budget(1, 1e-9))


def test_a_named_table_is_bought_before_equal_ones(ledger_path: Path) -> None:
    """Noise decides between pairs that are alike; a use outweighs it."""
    sizes = {f"x{i}": 5 for i in range(6)}
    rng = np.random.default_rng(4)
    columns: dict[str, Any] = {}
    for i in range(0, 6, 2):
        columns[f"x{i}"] = rng.integers(0, 5, 3000).astype(np.uint8)
        other = rng.integers(0, 5, 3000)
        columns[f"x{i + 1}"] = np.where(rng.random(3000) < 0.35, columns[f"x{i}"], other).astype(np.uint8)
    found = []
    for uses, name in (((), "plain"), ((Use(("x4", "x5")),), "named")):
        folder = ledger_path.parent / name
        folder.mkdir()
        schema = replace(schema_of(sizes, 3000), uses=uses)
        table = private_table(schema, columns, Budget("0.5", 1e-9), folder / "l.db", SeededSource(11))
        found.append([set(names) for names in Swift(kappa=0.8).fit(table).facts["tables"]])
    assert found[1][0] == {"x4", "x5"}


def test_large_attributes_take_part_by_groups(ledger_path: Path) -> None:
    rng = np.random.default_rng(0)
    value = rng.integers(0, 300, 30_000)
    columns = {"v": value.astype(np.uint16), "w": ((value * 3) // 2 % 450).astype(np.uint16)}
    columns["s"] = (value > 150).astype(np.uint16)
    schema = schema_of({"v": 300, "w": 450, "s": 2}, len(value))
    fit = Swift().fit(private_table(schema, columns, Budget(1, 1e-9), ledger_path))
    assert any(axis.merged for m in fit.measurements for axis in m.axes)
    assert any("groups" in note for note in fit.notes)


def wide(columns: int, size: int) -> Schema:
    return schema_of({f"x{i}": size for i in range(columns)}, 1000)


def test_what_is_too_wide_or_too_large_is_refused_by_public_facts() -> None:
    for schema in (wide(257, 2), wide(40, 600), wide(9, 60_000)):
        with pytest.raises(TooLarge):
            Swift().plan(schema, Budget(1, 1e-9))


def test_one_attribute_has_no_pairs(ledger_path: Path) -> None:
    table = private_table(schema_of({"a": 7}, 300), columns_of({"a": 7}, 300), Budget(1, 1e-9), ledger_path)
    fit = Swift().fit(table)
    assert [c["purpose"] for c in charges(table)] == ["one-way"] and not fit.notes


def test_several_owners_are_refused_before_anything_is_bought() -> None:
    with pytest.raises(UsageError, match="do not add up"):
        method_named("swift", {}, schema_of(SIZES, ROWS), owners=3)


def test_auto_takes_it_for_wide_tables_and_binary_ones() -> None:
    assert [best_for(wide(columns, 3), {}) for columns in (64, 65, 256, 257)] == ["aim", "swift", "swift", "privbayes"]
    pure, approximate = Budget(1), Budget(1, 1e-9)
    assert [best_for(wide(columns, 2), {}, budget=pure) for columns in (50, 100, 101)] == [*["privbayes"] * 2, "swift"]
    assert [best_for(wide(columns, 2), {}, budget=approximate) for columns in (10, 50, 256)] == [
        "priview",
        *["swift"] * 2,
    ]
    assert best_for(wide(120, 3), {"score": "R"}) == "privbayes" and best_for(wide(120, 3), {"fits": 2}) == "swift"
    assert best_for(wide(120, 3), {}, owners=2) == "dp-subn"
    assert best_for(wide(120, 2000), {}) == "privbayes"
