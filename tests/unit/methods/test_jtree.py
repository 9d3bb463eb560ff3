"""JTree: the graph and its cliques, the paper's end, recovery without noise, odd shapes, size and budget."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.errors import TooLarge, UsageError
from understudy.methods import method_named
from understudy.methods.jtree import JTree
from understudy.methods.jtree.consistency import clique_model, consistent, thresholded
from understudy.methods.jtree.edges import CandidateEdges, ChordalGraph, tree_rounds
from understudy.models.factor import Factor
from understudy.models.graph import Graph
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Laplace
from understudy.schema import Axis


def axes_of(names: str) -> tuple[Axis, ...]:
    return tuple(Axis(name) for name in names)


# -- the graph -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_the_graph_stays_triangulated_and_offers_every_edge_that_keeps_it_so(seed: int) -> None:
    """Against models.graph: triangulating changes nothing, and a chord is offered exactly if it needs no fill."""
    generator = np.random.default_rng(seed)
    sizes = {axis: int(generator.integers(2, 5)) for axis in axes_of("abcdefgh")}
    graph = ChordalGraph(sizes)
    candidates = CandidateEdges(graph, lambda tables: 10**9, 10**9)
    for _ in range(18):
        options = candidates()
        if not options:
            break
        graph.add(options[int(generator.integers(len(options)))])
        whole = Graph.of(graph.edges, sizes)
        assert {frozenset(c) for c in whole.triangulated_cliques()} == set(graph.cliques)
        offered = set(graph.chords())
        for u, v in itertools.combinations(sizes, 2):
            if whole.adjacent[list(sizes).index(u), list(sizes).index(v)] or not graph.connected(u, v):
                assert (u, v) not in offered
                continue
            more = whole.add((u, v))
            edges = {frozenset(e) for c in more.triangulated_cliques() for e in itertools.combinations(c, 2)}
            assert ((u, v) in offered) == (len(edges) == more.adjacent.sum() // 2)


def test_only_useful_cliques_are_offered() -> None:
    sizes = dict(zip(axes_of("abcd"), (2, 3, 4, 30)))
    graph = ChordalGraph(sizes)
    candidates = CandidateEdges(graph, lambda tables: 24, 10**6)
    while options := candidates():
        graph.add(options[0])
    assert max(graph.cliques.values()) <= 30  # d is alone
    assert frozenset(axes_of("d")) in graph.cliques
    assert frozenset(axes_of("abc")) in graph.cliques
    assert tree_rounds(sizes, lambda tables: 24) == 2
    assert tree_rounds(sizes, lambda tables: 60) == 3
    assert tree_rounds({}, lambda tables: 60) == 0


def test_the_cell_limit_holds_for_the_whole_model() -> None:
    graph = ChordalGraph(dict.fromkeys(axes_of("abcdef"), 4))
    candidates = CandidateEdges(graph, lambda tables: 10**9, 100)
    while options := candidates():
        graph.add(options[-1])
    assert sum(graph.cliques.values()) <= 100


# -- the paper's end -------------------------------------------------------------------------------------------


def noisy(names: str, shape: tuple[int, ...], seed: int, scale: float = 4.0) -> Measurement:
    generator = np.random.default_rng(seed)
    return Measurement(axes_of(names), generator.integers(-5, 60, shape), Laplace(scale))


def test_consistency_gives_equal_marginals() -> None:
    schema = schema_of({"a": 2, "b": 3, "c": 4, "d": 2}, 500)
    tables = [noisy("abc", (2, 3, 4), 0), noisy("bcd", (3, 4, 2), 1, 9.0), noisy("ad", (2, 2), 2)]
    agreed = consistent(tables, schema)
    for x, y in itertools.combinations(agreed, 2):
        shared = tuple(axis for axis in x.axes if axis in y.axes)
        assert x.project(shared).table == pytest.approx(y.project(shared).table)
    before = Factor(tables[0].axes, tables[0].values.astype(float)).project(axes_of("bc")).table
    assert not np.allclose(before, agreed[0].project(axes_of("bc")).table)


def test_the_weights_are_inverse_variances() -> None:
    """T(a) = Σ T_i(a)/σ_i² / Σ 1/σ_i², where σ_i² grows with the cells that are summed up."""
    schema = schema_of({"a": 2, "b": 2, "c": 5}, 500)
    tables = [
        Measurement(axes_of("ab"), np.array([[10, 20], [30, 40]]), Laplace(4.0)),
        Measurement(axes_of("ac"), np.array([[10] * 5, [10] * 5]), Laplace(4.0)),
    ]
    agreed = consistent(tables, schema)
    expected = [(30 / 2 + 50 / 5) / 0.7, (70 / 2 + 50 / 5) / 0.7]
    assert agreed[0].project(axes_of("a")).table == pytest.approx(expected)
    assert agreed[1].project(axes_of("a")).table == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_the_positive_integer_that_comes_nearest(seed: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.normal(3, 12, 40) if seed % 2 else generator.integers(-9, 15, 40).astype(float)
    total = float(generator.integers(20, 400))
    ours = thresholded(counts, total)
    kept = [counts[counts > level].sum() for level in range(1, 60) if (counts > level).any()]
    best = min(abs(k - total) for k in kept)
    assert abs(counts[ours > 0].sum() - total) == pytest.approx(best)
    assert counts[ours > 0].min() > counts[ours == 0].max(initial=-np.inf)
    assert ours.sum() == pytest.approx(total)


def test_a_table_of_nothing_but_noise() -> None:
    assert thresholded(np.array([-3.0, 0.5, 0.5, -1]), 10) == pytest.approx([0, 5, 5, 0])


def test_the_clique_model_is_equation_1() -> None:
    schema = schema_of({"a": 2, "b": 3, "c": 2}, 100)
    generator = np.random.default_rng(0)
    joint = generator.random((2, 3, 2))
    ab, bc = joint.sum(axis=2), joint.sum(axis=0)
    model = clique_model(
        [Factor(axes_of("ab"), ab), Factor(axes_of("bc"), bc)], [axes_of("ab"), axes_of("bc")], schema, 10**6
    )
    expected = ab[:, :, None] * bc[None] / bc.sum(axis=1)[None, :, None]
    assert model.project(["a", "b", "c"]).table == pytest.approx(expected / expected.sum())


def test_a_separator_without_mass_keeps_the_rest_of_its_clique() -> None:
    schema = schema_of({"a": 2, "b": 2, "c": 2}, 100)
    ab, bc = np.array([[20.0, 0], [10, 70]]), np.array([[0.0, 0], [30, 70]])
    tables = [Factor(axes_of("ab"), ab), Factor(axes_of("bc"), bc)]
    model = clique_model(tables, [axes_of("ab"), axes_of("bc")], schema, 10**6)
    assert model.project(["a", "b", "c"]).total == pytest.approx(1)
    assert np.isfinite(model.beliefs).all()


# -- the whole -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimate", ["ml", "paper"])
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_without_noise_the_marginals_are_recovered(ledger_path: Path, estimate: str, delta: float) -> None:
    sizes = {"a": 2, "b": 3, "c": 5, "d": 2, "e": 1}
    rows = 4000
    schema, columns = schema_of(sizes, rows), columns_of(sizes, rows)
    fit = JTree(estimate=estimate).fit(private_table(schema, columns, Budget(5000, delta), ledger_path))
    for x, y in itertools.combinations(sizes, 2):
        exact = np.zeros((sizes[x], sizes[y]))
        np.add.at(exact, (columns[x], columns[y]), 1 / rows)
        assert 0.5 * np.abs(fit.model.project([x, y]).table - exact).sum() < 0.02
    assert {"ab", "bc", "cd"} <= {"".join(edge) for edge in fit.facts["edges"]}


@pytest.mark.costly
def test_the_budget_is_spent_exactly(ledger_path: Path) -> None:
    """Rounds that find nothing to offer leave their share to the tables."""
    sizes = {"a": 2, "b": 3, "c": 4, "d": 5}
    cases = itertools.product(("replace-one", "add-remove"), (0, 1e-9), (None, 1, 40), ("ml", "paper"))
    for i, (neighbours, delta, rounds, estimate) in enumerate(cases):
        schema = schema_of(sizes, 3000 if neighbours == "replace-one" else None, neighbours)
        table = private_table(schema, columns_of(sizes, 3000), Budget(1, delta), ledger_path.with_name(f"{i}.db"))
        fit = JTree(rounds=rounds, estimate=estimate).fit(table)
        spent = sum(Fraction(c["cost"]) for c in table.reservation.charges())  # type: ignore[attr-defined]
        assert spent == table.total_cost
        if rounds is not None:
            assert len(fit.facts["edges"]) <= rounds


@pytest.mark.parametrize("estimate", ["ml", "paper"])
@pytest.mark.parametrize(
    ("sizes", "rows"),
    [({"a": 3}, 1), ({"a": 1}, 5), ({"a": 1, "b": 1}, 5), ({"a": 2, "b": 2}, 1), ({"a": 1, "b": 4, "c": 1}, 30)],
)
def test_odd_shapes(ledger_path: Path, estimate: str, sizes: dict[str, int], rows: int) -> None:
    table = private_table(schema_of(sizes, rows), columns_of(sizes, rows), Budget(1), ledger_path)
    fit = JTree(estimate=estimate).fit(table)
    assert fit.model.project(list(sizes)).total == pytest.approx(1)
    assert len(fit.model.sample(7, np.random.default_rng(0))["a"]) == 7


def test_a_budget_too_small_for_pairs_gives_independent_columns(ledger_path: Path) -> None:
    sizes = {"a": 50, "b": 60, "c": 40}
    schema = schema_of(sizes, 200)
    plan = JTree().plan(schema, Budget("0.1"))
    assert [p.name for p in plan.phases] == ["tables"]
    assert plan.phases[0].cost == Fraction(1, 10)
    assert "independently" in plan.notes[0]
    fit = JTree().fit(private_table(schema, columns_of(sizes, 200), Budget("0.1"), ledger_path))
    assert fit.facts["edges"] == []


def test_an_attribute_too_large_for_any_pair_is_independent(ledger_path: Path) -> None:
    sizes = {"a": 2, "b": 2, "c": 200}
    schema = schema_of(sizes, 1000)
    plan = JTree().plan(schema, Budget(1))
    assert "1 attributes are too large" in plan.notes[0]
    fit = JTree().fit(private_table(schema, columns_of(sizes, 1000), Budget(1), ledger_path))
    assert fit.facts["edges"] == [["a", "b"]]


def test_size_is_refused_before_anything_is_read() -> None:
    schema = schema_of({"a": 2, "b": 300}, 1000)
    with pytest.raises(TooLarge, match="the table of b alone has 300 cells, the limit is 200") as refusal:
        JTree(cells=200).plan(schema, Budget(1))
    assert refusal.value.attribute == "b"
    assert "fewer bins" in refusal.value.message
    with pytest.raises(TooLarge, match="302 cells together"):
        JTree(cells=301).plan(schema, Budget(1))


def test_no_cluster_and_no_model_beyond_the_limit(ledger_path: Path) -> None:
    sizes = {f"a{i}": 3 for i in range(8)}
    schema = schema_of(sizes, 50_000)
    fit = JTree(cells=120).fit(private_table(schema, columns_of(sizes, 50_000), Budget(10), ledger_path))
    assert fit.model.cells <= 120  # type: ignore[attr-defined]
    assert max(schema.cells(tuple(axes_of_names(c))) for c in fit.facts["clusters"]) <= 120


def axes_of_names(names: list[str]) -> list[Axis]:
    return [Axis(name) for name in names]


def test_the_number_of_rounds_is_public() -> None:
    """A tree's rounds; more only while each choice stays sharp; never more than the tree's again."""
    schema = schema_of({f"a{i}": 2 for i in range(16)}, 21_574)
    rounds = [JTree().plan(schema, Budget(e)).options["rounds"] for e in ("0.4", "1.5", "8")]
    assert rounds[0] == 15
    assert 15 < rounds[1] < 30
    assert rounds[2] == 30
    plan = JTree(rounds=7).plan(schema, Budget(1))
    assert plan.options["rounds"] == 7
    assert "7 choices of an edge" in plan.phases[0].detail
    assert sum(p.cost for p in plan.phases) == 1
    with pytest.raises(UsageError, match="--rows"):
        JTree().plan(schema_of({"a": 2}, None, "add-remove"), Budget(1))


def test_options_from_the_command_line() -> None:
    method = method_named(
        "jtree", {"theta": "2", "beta": "0.5", "rounds": "3", "merging": "greedy", "estimate": "paper"}
    )
    assert method == JTree(theta=2.0, beta=0.5, rounds=3, merging="greedy", estimate="paper")
    with pytest.raises(UsageError, match="one of auto, relaxation, greedy, exact"):
        method_named("jtree", {"merging": "best"})
