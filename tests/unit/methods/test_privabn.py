"""PrivABN: which search, what is offered, what a parent must earn, and what comes out."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import TooLarge, UsageError
from understudy.methods import method_named
from understudy.methods.method import Fit
from understudy.methods.privabn import PrivABN
from understudy.methods.privabn.decision import FULL, full_degree
from understudy.methods.privabn.memory import Memory, Worth, remembered
from understudy.methods.privabn.search import extensions
from understudy.methods.toolkit.model_room import Joined, TableSize, room_for
from understudy.models.graph import Graph
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Laplace
from understudy.privacy.questions import PairScores
from understudy.privacy.scores import Pair
from understudy.schema import Axis, Schema


def axes(*names: str) -> tuple[Axis, ...]:
    return tuple(Axis(name) for name in names)


def wide_schema(attributes: int, rows: int | None, size: int = 2, neighbours: str = "replace-one") -> Schema:
    return schema_of({f"a{i:04}": size for i in range(attributes)}, rows, neighbours)


def tree_columns(attributes: int, rows: int, size: int = 2, seed: int = 0) -> tuple[dict[str, np.ndarray], set[Any]]:
    """Every attribute copies an earlier one four times in five; and the true edges."""
    generator = np.random.default_rng(seed)
    columns, edges = [generator.integers(0, size, rows)], set()
    for i in range(1, attributes):
        parent = int(generator.integers(0, i))
        edges.add(frozenset((f"a{i:04}", f"a{parent:04}")))
        columns.append(np.where(generator.random(rows) < 0.8, columns[parent], generator.integers(0, size, rows)))
    return {f"a{i:04}": column.astype(np.uint8) for i, column in enumerate(columns)}, edges


def edges_of(fit: Fit) -> set[Any]:
    return {frozenset((line["attribute"], parent)) for line in fit.facts["network"] for parent in line["parents"]}


# -- which search ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attributes", [2, 3, 8, 16, 23, 50, 84, 85, 300])
def test_the_full_search_is_for_as_many_candidates_as_it_says(attributes: int) -> None:
    """Round i has d − i attributes left and offers every set of up to k of the i placed ones."""

    def candidates(k: int) -> int:
        return sum((attributes - i) * sum(math.comb(i, j) for j in range(k + 1)) for i in range(1, attributes))

    degree = full_degree(attributes)
    assert candidates(degree) <= FULL or degree == 0
    assert degree == attributes - 1 or candidates(degree + 1) > FULL - attributes


@pytest.mark.parametrize(
    ("attributes", "options", "search"),
    [
        (16, {}, "full"),
        (23, {}, "full"),
        (50, {}, "growth"),
        (50, {"degree": 1}, "full"),
        (200, {}, "growth"),
        (200, {"degree": 1}, "growth"),
        (16, {"search": "growth"}, "growth"),
        (16, {"search": "released"}, "released"),
    ],
)
def test_the_search_follows_from_public_facts_and_the_plan_says_so(
    attributes: int, options: dict[str, Any], search: str
) -> None:
    plan = method_named("privabn", options).plan(wide_schema(attributes, 100_000), Budget(1, 1e-9))
    assert plan.options["search"] == search
    assert any(note.startswith(search) for note in plan.notes)
    assert float(sum(phase.cost for phase in plan.phases)) == pytest.approx(0.03311, rel=0.01)


def test_pure_epsilon_prefers_one_call_an_attribute() -> None:
    for attributes, search in ((38, "full"), (50, "full"), (83, "full"), (90, "growth")):
        plan = PrivABN().plan(wide_schema(attributes, 100_000), Budget(1))
        assert plan.options["search"] == search
        assert (plan.options["degree"] == 1) == (attributes > 38)


def test_the_plan_warns_when_pure_epsilon_cannot_find_structure() -> None:
    schema = wide_schema(500, 100_000)
    pure, zcdp = (PrivABN().plan(schema, Budget(1, delta)) for delta in (0, 1e-9))
    assert any("cannot find structure" in note and "--delta" in note for note in pure.notes)
    assert not any("cannot find structure" in note for note in zcdp.notes)
    assert pure.options["search"] == "none"  # a choice off by more than any dependence: columns alone
    assert zcdp.options["search"] == "growth"
    some = PrivABN().plan(wide_schema(200, 100_000), Budget(1))
    assert any("only the strongest" in note for note in some.notes)
    assert some.options["search"] == "growth"
    few = PrivABN().plan(wide_schema(10, 100_000), Budget(1))
    assert not any("pure epsilon" in note for note in few.notes)


def test_the_number_of_choices_is_in_the_plan() -> None:
    plan = PrivABN(search="growth", degree=2).plan(wide_schema(40, 100_000), Budget(1, 1e-9))
    (structure,) = (phase for phase in plan.phases if phase.name == "structure")
    assert structure.tables == 39 * 3


# -- refusals ----------------------------------------------------------------------------------------------------


def test_too_wide_is_refused_at_once_with_three_ways_out() -> None:
    schema = wide_schema(15_000, 1_000_000)
    begin = time.process_time()
    with pytest.raises(TooLarge) as refused:
        PrivABN().plan(schema, Budget(1, 1e-9))
    assert time.process_time() - begin < 20
    for words in ("'people'", "taxonomy", "degree", "--set links="):
        assert words in str(refused.value)


def test_a_domain_too_large_is_refused_by_name() -> None:
    schema = schema_of({"a": 2, "big": 60_000}, 1000)
    with pytest.raises(TooLarge, match="big alone") as refused:
        PrivABN(cells=10_000).plan(schema, Budget(1))
    for words in ("'people'", "taxonomy", "drop", "--set cells=60000"):
        assert words in str(refused.value)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UsageError, match="search"):
        method_named("privabn", {"serch": "full"})
    with pytest.raises(UsageError, match="search is one of"):
        method_named("privabn", {"search": "fool"})


# -- what may be offered -----------------------------------------------------------------------------------------


def test_joined_parents_keep_the_model_as_small_as_its_tables() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        sizes = {f"a{i}": int(generator.integers(2, 5)) for i in range(12)}
        schema, names = schema_of(sizes, 1000), axes(*sizes)
        room = Joined(schema, names, 10**6)
        tables = []
        for i, child in enumerate(names):
            sets = [p for k in range(4) for p in itertools.combinations(names[:i], k) if room.allows(child, p)]
            parents = sets[int(generator.integers(len(sets)))]
            room.add((*parents, child))
            tables.append((*parents, child))
        graph = Graph.of(tables, {axis: schema.size(axis) for axis in names})
        assert graph.triangulated_cells() <= sum(map(schema.cells, tables))


def test_room_runs_out() -> None:
    schema = schema_of({"a": 4, "b": 4, "c": 4}, 1000)
    a, b, c = axes("a", "b", "c")
    room = Joined(schema, (a, b, c), limit=12 + 4 + 16)
    room.add((a,))
    assert room.allows(b, (a,))
    room.add((a, b))
    assert not room.allows(c, (a,))
    assert TableSize(schema, 15).allows(b, ())
    assert not TableSize(schema, 15).allows(b, (a,))


def test_stop_is_always_the_first_offer() -> None:
    schema = schema_of({"a": 2, "b": 2, "c": 2}, 1000)
    a, b, c = axes("a", "b", "c")
    room = room_for(schema, (a, b, c), 1000, 8, ml=False)
    assert extensions(Pair(c), (a, b), room) == [Pair(c), Pair(c, (a,)), Pair(c, (b,))]
    assert extensions(Pair(c, (a,)), (a, b), room) == [Pair(c, (a,)), Pair(c, (a, b))]
    assert extensions(Pair(c), (a, b), room_for(schema, (a, b, c), 1000, 3, ml=False)) == [Pair(c)]


# -- the memory --------------------------------------------------------------------------------------------------


def scores_of(attributes: int, seed: int) -> PairScores:
    values = np.random.default_rng(seed).integers(1, 1000, (attributes, attributes))
    values = np.triu(values, 1) + np.triu(values, 1).T
    return PairScores(axes(*(f"a{i}" for i in range(attributes))), values, Laplace(1.0))


@pytest.mark.parametrize("seed", range(5))
def test_a_set_of_size_i_has_i_members(seed: int) -> None:
    """The paper's upward loop breaks this (tests/audit has it)."""
    scores = scores_of(7, seed)
    schema = schema_of({axis.attribute: 2 for axis in scores.axes}, 1000)
    memory = Memory(Worth(scores, schema, 0), TableSize(schema, 10**6), 4)
    for newest in scores.axes[:-1]:
        memory.see(scores.axes[-1], newest)
    for size, (worth, parents) in memory.best[scores.axes[-1]].items():
        assert len(parents) == len(set(parents)) == size
        assert worth == Worth(scores, schema, 0)(scores.axes[-1], parents)


def test_the_best_single_parent_is_remembered_exactly() -> None:
    scores = scores_of(9, 3)
    schema = schema_of({axis.attribute: 2 for axis in scores.axes}, 1000)
    network = remembered(scores.axes, scores.axes[0], Worth(scores, schema, 0), TableSize(schema, 10**6), 1)
    placed = [scores.axes[0]]
    at = {axis: i for i, axis in enumerate(scores.axes)}
    for pair in network.pairs[1:]:
        left = [axis for axis in scores.axes if axis not in placed]
        best = max(scores.values[at[x], at[p]] for x in left for p in placed)
        assert scores.values[at[pair.child], at[pair.parents[0]]] == best
        placed.append(pair.child)


def test_a_fine_keeps_sets_small() -> None:
    scores = scores_of(6, 1)
    schema = schema_of({axis.attribute: 2 for axis in scores.axes}, 1000)
    for fine, most in ((0, 3), (10**6, 0)):
        network = remembered(scores.axes, scores.axes[0], Worth(scores, schema, fine), TableSize(schema, 10**6), 3)
        assert max(len(pair.parents) for pair in network.pairs) <= most


# -- fitting -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("estimate", ["ml", "paper"])
@pytest.mark.parametrize("search", ["full", "growth", "released"])
def test_a_tree_is_found_and_the_total_cost_is_spent(
    search: str, estimate: str, neighbours: str, ledger_path: Path
) -> None:
    rows = 20_000
    columns, edges = tree_columns(9, rows)
    schema = wide_schema(9, rows if neighbours == "replace-one" else None, neighbours=neighbours)
    table = private_table(schema, columns, Budget(5, 1e-9), ledger_path)
    fit = PrivABN(search=search, estimate=estimate, degree=2).fit(table)
    assert edges <= edges_of(fit)
    assert table.reservation.left == 0  # type: ignore[attr-defined]
    assert fit.facts["options"]["search"] == search
    for edge in edges:
        names = sorted(edge)
        exact = np.zeros((2, 2))
        np.add.at(exact, (columns[names[0]], columns[names[1]]), 1 / rows)
        assert np.abs(fit.model.project(names).table - exact).sum() / 2 < 0.03


@pytest.mark.parametrize("search", ["full", "growth", "released"])
def test_general_domains(search: str, ledger_path: Path) -> None:
    sizes = {"a": 2, "b": 3, "c": 5, "d": 12, "e": 1, "f": 2}
    rows = 20_000
    columns = columns_of(sizes, rows)
    table = private_table(schema_of(sizes, rows), columns, Budget(2, 1e-9), ledger_path)
    fit = PrivABN(search=search).fit(table)
    sample = fit.model.sample(rows, np.random.default_rng(0))
    for name, size in sizes.items():
        true, seen = (np.bincount(column, minlength=size) / rows for column in (columns[name], sample[name]))
        assert np.abs(true - seen).sum() / 2 < 0.05


def test_a_larger_set_must_earn_its_noise(ledger_path: Path) -> None:
    """Independent columns: R of any set is almost nothing, grows with the set, and is less than its noise."""
    rows = 5000
    columns = {f"a{i:04}": np.random.default_rng(i).integers(0, 2, rows).astype(np.uint8) for i in range(8)}
    counts = {}
    for kappa in (0, 2):
        table = private_table(wide_schema(8, rows), columns, Budget(2, 1e-9), ledger_path.parent / str(kappa))
        fit = PrivABN(search="full", kappa=kappa, beta=0.9, degree=3).fit(table)
        counts[kappa] = sum(len(line["parents"]) for line in fit.facts["network"])
    assert counts[0] > 8 > counts[2]


def test_a_budget_too_small_gives_independent_columns(ledger_path: Path) -> None:
    columns, _ = tree_columns(150, 500)
    table = private_table(wide_schema(150, 500), columns, Budget("0.01"), ledger_path)
    fit = PrivABN().fit(table)
    assert edges_of(fit) == set()
    assert {c["purpose"] for c in table.reservation.charges()} == {"tables"}  # type: ignore[attr-defined]
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == Fraction(1, 100)  # type: ignore[attr-defined]


def test_a_tree_that_cannot_be_found_is_not_searched(ledger_path: Path) -> None:
    columns, _ = tree_columns(50, 20_000)
    table = private_table(wide_schema(50, 20_000), columns, Budget("0.1"), ledger_path)
    fit = PrivABN().fit(table)
    assert fit.facts["options"]["search"] == "none"
    assert edges_of(fit) == set()
    assert table.reservation.left == 0  # type: ignore[attr-defined]


def test_a_wide_table_beats_independent_columns(ledger_path: Path) -> None:
    """A hundred and fifty attributes: too many to triangulate at every step."""
    rows = 20_000
    columns, edges = tree_columns(150, rows)
    table = private_table(wide_schema(150, rows), columns, Budget(4, 1e-9), ledger_path)
    fit = PrivABN().fit(table)
    assert len(edges & edges_of(fit)) >= 0.95 * len(edges)
    own, alone = [], []
    for edge in list(edges)[:40]:
        names = sorted(edge)
        exact = np.zeros((2, 2))
        np.add.at(exact, (columns[names[0]], columns[names[1]]), 1 / rows)
        own.append(np.abs(fit.model.project(names).table - exact).sum())
        alone.append(np.abs(np.outer(exact.sum(1), exact.sum(0)) - exact).sum())
    assert 3 * np.mean(own) < np.mean(alone)


# -- structure recovery ------------------------------------------------------------------------------------------


def known_network(attributes: int, rows: int, seed: int) -> dict[str, np.ndarray]:
    """One or two parents each, conditional probabilities near 0 or 1."""
    generator = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for i in range(attributes):
        parents = generator.choice(i, min(i, int(generator.integers(1, 3))), replace=False) if i else []
        chances = generator.beta(0.5, 0.5, 2 ** len(parents))
        place = np.zeros(rows, dtype=np.int64)
        for parent in parents:
            place = place * 2 + columns[parent]
        columns.append((generator.random(rows) < chances[place]).astype(np.int64))
    return {f"a{i:04}": column.astype(np.uint8) for i, column in enumerate(columns)}


def information(counts: np.ndarray) -> float:
    joint = counts.reshape(-1, 2) / counts.sum()
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log2(joint[seen] / apart[seen])).sum())


def greedy_information(engine: MemoryEngine, names: tuple[Axis, ...]) -> float:
    """Not private: the best link, then the best second parent, every time; the sum of I(X, Π)."""
    counts = engine.pairs(names)
    links = np.array([[0 if i == j else information(counts.table(j, i)) for j in range(len(names))] for i in range(len(names))])  # fmt: skip
    placed, left, total = [0], list(range(1, len(names))), 0.0
    while left:
        best = links[np.ix_(left, placed)]
        child, first = (side[i] for side, i in zip((left, placed), np.unravel_index(best.argmax(), best.shape)))
        workload = [(names[first], names[other], names[child]) for other in placed if other != first]
        total += max([best.max(), *map(information, engine.marginals(workload))])
        placed.append(child)
        left.remove(child)
    return total


@pytest.mark.slow
def test_structure_of_a_known_network_is_recovered(ledger_path: Path) -> None:
    """A hundred attributes, 100,000 rows, (1, 1e-9): mutual information against the non-private greedy network.

    Single runs have been between 0.897 and 0.968 of it, and this is a single run.
    """
    rows = 100_000
    columns = known_network(100, rows, 1)
    schema = wide_schema(100, rows)
    engine = MemoryEngine(columns, rows, schema)
    fit = PrivABN().fit(private_table(schema, columns, Budget(1, 1e-9), ledger_path))
    workload = [axes(*line["parents"], line["attribute"]) for line in fit.facts["network"]]
    ours = sum(map(information, engine.marginals(workload)))
    assert ours >= 0.85 * greedy_information(engine, axes(*columns))
