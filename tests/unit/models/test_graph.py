"""Triangulation and clique trees, against slow and obvious ways to do the same."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from understudy.models.graph import (
    CliqueTree,
    Graph,
    clique_tree,
    has_running_intersection,
)

SHAPES = {
    "chain": ["ab", "bc", "cd", "de"],
    "tree": ["ab", "ac", "bd", "be", "cf"],
    "star": ["ab", "ac", "ad", "ae"],
    "cycle": ["ab", "bc", "cd", "de", "ea"],
    "grid": ["ab", "bc", "de", "ef", "ad", "be", "cf"],
    "disconnected": ["ab", "cd"],
    "one clique": ["abcde"],
    "repeated": ["ab", "ba", "a", "abc", "cab"],
    "isolated": [],
}
SIZES = dict(zip("abcdef", (2, 3, 4, 2, 5, 3)))


def random_graph(seed: int, d: int = 9) -> tuple[list[tuple[int, ...]], dict[int, int]]:
    chance = random.Random(seed)
    sizes = {i: chance.randint(2, 7) for i in range(d)}
    return [tuple(chance.sample(range(d), chance.randint(1, 3))) for _ in range(chance.randint(1, 12))], sizes


def slow_cells(cliques, sizes, score) -> int:
    """Elimination with sets; simplicial vertices first, as the kernel does."""
    near = {v: set() for v in sizes}
    for clique in cliques:
        for a, b in itertools.permutations(set(clique), 2):
            near[a].add(b)
    found: list[set] = []
    while near:

        def fill(v):
            return sum(1 for a, b in itertools.combinations(near[v], 2) if b not in near[a])

        def cells(v):
            return math.prod(sizes[u] for u in near[v] | {v})

        order = list(near)
        v = min(order, key=lambda v: (fill(v) > 0, *(x(v) for x in ((fill, cells) if score == "fill" else (cells,)))))
        for a, b in itertools.permutations(near[v], 2):
            near[a].add(b)
        found.append(near[v] | {v})
        for u in near.pop(v):
            near[u].discard(v)
    maximal = [c for i, c in enumerate(found) if not any(c < o or (c == o and j < i) for j, o in enumerate(found))]
    return sum(math.prod(sizes[v] for v in c) for c in maximal)


@pytest.mark.parametrize("shape", SHAPES)
def test_clique_tree_holds_every_clique(shape: str) -> None:
    tree = clique_tree(SHAPES[shape], SIZES)
    members = [set(clique) for clique in tree.cliques]
    assert all(any(set(asked) <= m for m in members) for asked in SHAPES[shape])
    assert set().union(*members) == set(SIZES)
    assert not any(a < b for a in members for b in members)
    assert has_running_intersection(tree)
    assert tree.parent[0] == -1 and all(0 <= p < i for i, p in enumerate(tree.parent) if i)


def test_a_chordal_graph_is_left_alone() -> None:
    for shape in ("chain", "tree", "star", "one clique", "disconnected"):
        members = {frozenset(c) for c in clique_tree(SHAPES[shape], SIZES).cliques}
        assert {frozenset(c) for c in SHAPES[shape]} <= members


def test_cycle_of_four_takes_the_cheaper_chord() -> None:
    sizes = {"a": 10, "b": 2, "c": 10, "d": 2}
    assert Graph.of(["ab", "bc", "cd", "da"], sizes).triangulated_cells() == 2 * (10 * 2 * 2)  # the chord b-d, not a-c


@pytest.mark.parametrize("seed", range(60))
def test_cells_match_a_slow_elimination(seed: int) -> None:
    cliques, sizes = random_graph(seed)
    cells = Graph.of(cliques, sizes).triangulated_cells()
    assert cells == min(slow_cells(cliques, sizes, "fill"), slow_cells(cliques, sizes, "weight"))
    assert cells == sum(math.prod(sizes[v] for v in clique) for clique in clique_tree(cliques, sizes).cliques)


@pytest.mark.parametrize("seed", range(30))
def test_limit_stops_early_but_never_lies(seed: int) -> None:
    cliques, sizes = random_graph(seed)
    cells = Graph.of(cliques, sizes).triangulated_cells()
    assert Graph.of(cliques, sizes).triangulated_cells(cells) == cells
    assert Graph.of(cliques, sizes).triangulated_cells(cells - 1) > cells - 1
    assert Graph.of(cliques, sizes).triangulated_cells(cells // 3) > cells // 3


@pytest.mark.parametrize("seed", range(30))
def test_spanning_tree_is_a_maximum_one(seed: int) -> None:
    cliques, sizes = random_graph(seed)
    tree = clique_tree(cliques, sizes)
    weight = sum(len(tree.separator(i)) for i in range(len(tree.cliques)))
    edges = sorted(
        ((len(set(a) & set(b)), i, j) for i, a in enumerate(tree.cliques) for j, b in enumerate(tree.cliques[:i])),
        reverse=True,
    )
    part = list(range(len(tree.cliques)))
    best = 0
    for shared, i, j in edges:  # Kruskal
        if part[i] != part[j]:
            best += shared
            part = [part[i] if p == part[j] else p for p in part]
    assert weight == best


def test_adding_a_clique_equals_starting_with_it() -> None:
    cliques, sizes = random_graph(3)
    grown = Graph.of([], sizes)
    for clique in cliques:
        grown = grown.add(clique)
    assert (grown.adjacent == Graph.of(cliques, sizes).adjacent).all()


def test_a_broken_tree_is_recognised() -> None:
    assert not has_running_intersection(CliqueTree((("a", "b"), ("b", "c"), ("a", "c")), (-1, 0, 1)))


def test_a_size_beyond_floating_point_is_still_a_number() -> None:
    sizes = dict.fromkeys(range(80), 60_000)
    assert Graph.of([tuple(range(80))], sizes).triangulated_cells() > 10**300
