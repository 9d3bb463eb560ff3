"""All pairs of a junction tree in one pass, against its projections one by one."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from understudy.models.factor import Factor
from understudy.models.graph import Graph
from understudy.models.junction_tree import JunctionTree
from understudy.models.pair_marginals import pair_marginals
from understudy.schema import Attribute, Axis, Categories, Schema


@pytest.mark.parametrize("seed", range(6))
def test_pairs_are_those_of_projections(seed: int) -> None:
    """Trees of several components, with overlapping separators, structural zeros and pairs in either order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, 6 + 3 * seed)
    names = [Axis(f"c{i}") for i in range(len(sizes))]
    domain = [Categories(tuple(map(str, range(size)))) for size in sizes]
    schema = Schema("t", tuple(Attribute(str(a), d) for a, d in zip(names, domain)), rows=100)
    potentials = []
    for i in range(1, len(names)):
        if rng.random() < 0.9:
            near = range(max(0, i - 5), i)
            axes = (*(names[p] for p in rng.choice(near, min(len(near), 2), replace=False)), names[i])
            logs = rng.normal(size=schema.sizes(axes)) * 2
            logs[rng.random(logs.shape) < 0.05] = -np.inf
            potentials.append(Factor(axes, logs))
    tree = JunctionTree.of(schema, potentials)
    pairs = [pair if rng.random() < 0.7 else pair[::-1] for pair in combinations(names, 2)]
    found = pair_marginals(tree, [*pairs, (names[0], names[1], names[2])])
    for axes, table in found.items():
        np.testing.assert_allclose(table, tree.project(axes).table, atol=1e-12)


def test_a_weight_whose_inverse_is_infinite_gives_nothing() -> None:
    """A model fitted to loud noise has weights of 1e-310: their inverse is infinite, and AIM's tables were no numbers."""
    names = [Axis(name) for name in "abcde"]
    schema = Schema("t", tuple(Attribute(str(n), Categories(("x", "y", "z"))) for n in names), rows=100)
    logs = np.zeros((3, 3))
    logs[0, 1], logs[1:, 1] = -357.0, -np.inf  # b = y, with little weight, leads to c = y alone, with little again
    chain = [logs, logs[[1, 0, 2]], np.zeros((3, 3)), np.zeros((3, 3))]
    tree = JunctionTree.of(schema, [Factor(pair, table) for pair, table in zip(pairwise(names), chain)])
    assert 0 < tree.project((names[2],)).table[1] < 1e-308
    for axes, table in pair_marginals(tree, list(combinations(names, 2))).items():
        np.testing.assert_allclose(table, tree.project(axes).table, atol=1e-12)


def test_a_graph_fits_as_its_triangulation_does() -> None:
    sizes = dict(zip("abcdef", (2, 3, 4, 5, 6, 7)))
    graph = Graph.of(["ab", "bc", "cd", "de", "ef", "fa"], sizes)
    cells = graph.triangulated_cells()
    assert graph.fits(cells) and not graph.fits(cells - 1)
