"""PrivBayes against hand-worked cases of the paper: parent sets, usefulness, greedy search, conditionals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.errors import UsageError
from understudy.methods import method_named
from understudy.methods.privbayes import PrivBayes
from understudy.methods.toolkit.estimator import measured_pairs, nested_dropped, paper_conditionals
from understudy.methods.toolkit.parent_candidates import FixedDegree, any_parents
from understudy.methods.toolkit.parent_sets import maximal_parent_sets
from understudy.methods.toolkit.usefulness import useful_degree
from understudy.privacy.accounting import PURE
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Laplace
from understudy.privacy.scores import Pair
from understudy.schema import Attribute, Axis, Categories, Schema, Taxonomy


def taxonomy_schema() -> Schema:
    x = Categories(("a", "b", "c", "d"))
    y = Categories(("e", "f", "g"))
    return Schema(
        "t",
        (
            Attribute("x", x, Taxonomy.of_groups({"ab": ["a", "b"], "cd": ["c", "d"]}, x)),
            Attribute("y", y, Taxonomy.of_groups({"ef": ["e", "f"]}, y)),
            Attribute("z", Categories(("0", "1"))),
        ),
        rows=100,
    )


def brute_force(schema: Schema, names: list[str], limit: int, generalised: bool) -> set[frozenset[Axis]]:
    """Maximal by definition: no attribute can be added and no level refined."""
    views = [[None, *(Axis(n, level) for level in range(schema[n].levels if generalised else 1))] for n in names]
    fitting = [
        tuple(pick) for pick in itertools.product(*views) if schema.cells([a for a in pick if a is not None]) <= limit
    ]

    def refines(better: tuple, worse: tuple) -> bool:
        return better != worse and all(
            w is None or (b is not None and b.level <= w.level) for b, w in zip(better, worse)
        )

    return {
        frozenset(a for a in pick if a is not None)
        for pick in fitting
        if not any(refines(other, pick) for other in fitting)
    }


@pytest.mark.parametrize("generalised", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 23, 24, 100])
def test_maximal_parent_sets_are_exactly_the_maximal_ones(limit: int, generalised: bool) -> None:
    schema = taxonomy_schema()
    names = ["x", "y", "z"]
    found = maximal_parent_sets(names, limit, schema, generalised)
    assert len(found) == len(set(map(frozenset, found)))
    expected = brute_force(schema, names, limit, generalised) if limit else set()
    assert set(map(frozenset, found)) == expected


def test_a_cap_on_the_number_of_parents() -> None:
    found = maximal_parent_sets(["x", "y", "z"], 1000, taxonomy_schema(), False, most=2)
    assert {frozenset(a.attribute for a in s) for s in found} == {
        frozenset(p) for p in itertools.combinations("xyz", 2)
    }


def test_usefulness_is_lemma_4_8() -> None:
    """n·ε2 / ((d−k)·2^(k+2)) ≥ θ, checked against the formula for the paper's NLTCS and ACS."""
    for d, n in ((16, 21_574), (23, 47_461)):
        schema = schema_of({f"a{i}": 2 for i in range(d)}, n)
        for epsilon in (0.05, 0.1, 0.4, 1.6):
            cost = Fraction(str(epsilon)) * Fraction(7, 10)
            useful = [k for k in range(1, d) if n * float(cost) / ((d - k) * 2 ** (k + 2)) >= 4]
            assert useful_degree(schema, d, n, PURE, cost, 4.0) == max(useful, default=0)


def test_fixed_degree_offers_every_parent_set_once() -> None:
    candidates = FixedDegree(2)
    placed = [Axis("a")]
    left = [Axis(n) for n in "bcdef"]
    while left:
        options = candidates(placed, left)
        k = min(2, len(placed))
        expected = {(x, frozenset(p)) for x in left for p in itertools.combinations(placed, k)}
        assert {(o.child, frozenset(o.parents)) for o in options} == expected
        assert len(options) == len(expected)
        placed.append(left.pop(0))


def test_algorithm_1_measures_d_minus_k_tables() -> None:
    """Example 3.1: five attributes, degree 2: three tables, the first of which gives three conditionals."""
    a, e, w, t, i = (Axis(n) for n in "aewti")
    pairs = [Pair(a), Pair(e, (a,)), Pair(w, (a, e)), Pair(t, (a, w)), Pair(i, (w, t))]
    measured = measured_pairs(pairs, 2)
    assert [set(p.axes) for p in measured] == [{a, e, w}, {a, w, t}, {w, t, i}]
    generator = np.random.default_rng(0)
    tables = [Measurement(p.axes, generator.integers(1, 40, (2, 2, 2)), Laplace(1.0)) for p in measured]
    tables[0].values[0, 0, 1] = -3
    conditionals = paper_conditionals(pairs, tables)
    first = np.maximum(tables[0].values, 0)
    joint = first / first.sum()
    assert conditionals[0].table == pytest.approx(joint.sum(axis=(1, 2)))
    assert conditionals[1].table == pytest.approx(joint.sum(axis=2) / joint.sum(axis=(1, 2))[:, None])
    assert conditionals[2].table == pytest.approx(joint / joint.sum(axis=2, keepdims=True))
    for c in conditionals:
        assert c.table.sum(axis=-1) == pytest.approx(1)


def test_a_parent_without_mass_takes_the_childs_own_distribution() -> None:
    pair = Pair(Axis("x"), (Axis("p"),))
    table = Measurement(pair.axes, np.array([[30, 10], [-2, -1]]), Laplace(1.0))
    (conditional,) = paper_conditionals([pair], [table])
    assert conditional.table[1] == pytest.approx([0.75, 0.25])


def test_nested_tables_are_dropped() -> None:
    a, b, c = Axis("a"), Axis("b"), Axis("c")
    assert nested_dropped([(a,), (a, b), (b, a), (b, c), (c,)]) == [(a, b), (b, c)]
    assert nested_dropped([(Axis("a", 1),), (a, b)]) == [(Axis("a", 1),), (a, b)]


def test_degree_zero_resets_beta() -> None:
    schema = schema_of({f"a{i}": 2 for i in range(10)}, 100)
    plan = PrivBayes().plan(schema, Budget("0.01"))
    assert plan.degree == 0
    assert [p.name for p in plan.phases] == ["tables"]
    assert plan.phases[0].cost == Fraction(1, 100)
    assert "independently" in plan.notes[0]
    wide = schema_of({"a": 50, "b": 60}, 100)
    assert PrivBayes().plan(wide, Budget("0.1")).degree == 0


VARIABLES = [Axis(n) for n in "xyz"]


def test_room_for_an_edge() -> None:
    schema = taxonomy_schema()
    assert any_parents(schema, VARIABLES, 4, "hierarchical")  # z with x at its upper level
    assert not any_parents(schema, VARIABLES, 3, "hierarchical")
    assert any_parents(schema, VARIABLES, 6, "vanilla")
    assert not any_parents(schema, VARIABLES, 5, "vanilla")


def test_the_budget_is_spent_exactly(ledger_path: Path) -> None:
    sizes = {"a": 2, "b": 3, "c": 4, "d": 5}
    for i, (neighbours, delta) in enumerate(itertools.product(("replace-one", "add-remove"), (0, 1e-9))):
        schema = schema_of(sizes, 3000 if neighbours == "replace-one" else None, neighbours)
        path = ledger_path.with_name(f"{i}.db")
        table = private_table(schema, columns_of(sizes, 3000), Budget(1, delta), path)
        PrivBayes().fit(table)
        spent = sum(Fraction(c["cost"]) for c in table.reservation.charges())  # type: ignore[attr-defined]
        assert spent == table.total_cost


@pytest.mark.parametrize("encoding", ["vanilla", "hierarchical", "binary", "gray"])
@pytest.mark.parametrize("score", ["R", "F", "I"])
def test_without_noise_the_marginals_are_recovered(ledger_path: Path, encoding: str, score: str) -> None:
    """The non-private limit on a chain: every pairwise table of the model is that of the rows."""
    sizes = {"a": 2, "b": 3, "c": 5, "d": 2}
    rows = 4000
    schema, columns = schema_of(sizes, rows), columns_of(sizes, rows)
    method = PrivBayes(score=score, encoding=encoding, degree=9)
    if score == "F" and encoding in ("vanilla", "hierarchical"):
        with pytest.raises(UsageError, match="use score R"):
            method.plan(schema, Budget(5000))
        return
    fit = method.fit(private_table(schema, columns, Budget(5000), ledger_path))
    for x, y in itertools.combinations(sizes, 2):
        exact = np.zeros((sizes[x], sizes[y]))
        np.add.at(exact, (columns[x], columns[y]), 1 / rows)
        assert 0.5 * np.abs(fit.model.project([x, y]).table - exact).sum() < 0.02
    sampled = fit.model.sample(20_000, np.random.default_rng(0))
    assert all(int(sampled[name].max()) < size for name, size in sizes.items())


@pytest.mark.parametrize("degree", [0, 1, 2, 9])
def test_degree_is_respected(ledger_path: Path, degree: int) -> None:
    sizes = {f"a{i}": 2 for i in range(5)}
    fit = PrivBayes(degree=degree).fit(
        private_table(schema_of(sizes, 500), columns_of(sizes, 500), Budget(50), ledger_path)
    )
    assert max(len(p["parents"]) for p in fit.facts["network"]) == min(degree, 4)


def test_one_attribute_and_one_row(ledger_path: Path) -> None:
    fit = PrivBayes().fit(
        private_table(schema_of({"a": 3}, 1), {"a": np.array([2], dtype=np.uint8)}, Budget(1), ledger_path)
    )
    assert fit.model.project(["a"]).total == pytest.approx(1)


def test_options_from_the_command_line() -> None:
    method = method_named("auto", {"theta": "2", "beta": "0.5", "degree": "3", "score": "I"})
    assert (method.theta, method.beta, method.degree, method.score) == (2.0, 0.5, 3, "I")  # type: ignore[attr-defined]
    for bad, text in (
        ({"thta": "1"}, "Did you mean 'theta'"),
        ({"score": "X"}, "one of auto, I, F, R"),
        ({"degree": "1.5"}, "whole number"),
        ({"beta": "2"}, "from 0.01 to 0.99"),
    ):
        with pytest.raises(UsageError, match=text):
            method_named("privbayes", bad)
    with pytest.raises(UsageError, match="Did you mean 'privbayes'"):
        method_named("privbays", {})


def test_plan_reads_no_row_and_says_what_to_expect() -> None:
    schema = schema_of({f"a{i}": 2 for i in range(16)}, 21_574)
    plan = PrivBayes(estimate="paper").plan(schema, Budget("1.6"))
    tables = plan.phases[-1]
    assert plan.degree == useful_degree(schema, 16, 21_574, PURE, Fraction(112, 100), 4.0)
    assert tables.scale == pytest.approx(2 * (16 - plan.degree) / 1.12)
    assert "10% share of a group of 500" in plan.words()
    assert math.isclose(sum(p.cost for p in plan.phases), 1.6)
    with pytest.raises(UsageError, match="--rows"):
        PrivBayes().plan(schema_of({"a": 2}, None, "add-remove"), Budget(1))


def test_the_score_rule_uses_the_budget_only() -> None:
    schema = schema_of({f"a{i}": 2 for i in range(16)}, 21_574)
    scores = [PrivBayes().plan(schema, Budget(e)).options["score"] for e in ("0.05", "1.6", "8")]
    assert scores == sorted(scores, key="FR".index)
    assert scores[-1] == "R"
