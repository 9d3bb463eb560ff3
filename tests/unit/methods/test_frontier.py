"""Search frontiers: what Algorithm 1 promises, and the worked example of sparsity and impact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.methods.dp_subn.frontier import Frontier, in_order, search_frontier


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[frozenset[int]], np.ndarray, int]:
    size, degree = draw(st.integers(1, 9)), draw(st.integers(0, 3))
    names = draw(st.permutations(range(size)))
    parents: list[frozenset[int]] = [frozenset()] * size
    for i, name in enumerate(names):
        parents[name] = frozenset(draw(st.sets(st.sampled_from(names[:i]), max_size=degree))) if i else frozenset()
    upper = np.triu(
        np.array(draw(st.lists(st.integers(0, 20), min_size=size**2, max_size=size**2))).reshape(size, size), 1
    )
    return parents, (upper + upper.T).astype(float), degree + draw(st.integers(0, 3))


@pytest.mark.costly
@given(networks())
@settings(max_examples=150, deadline=None)
def test_a_frontier_is_an_acyclic_extension_within_its_degree(
    case: tuple[list[frozenset[int]], np.ndarray, int],
) -> None:
    parents, correlation, most = case
    found = search_frontier(parents, correlation, most)
    assert all(own <= theirs and len(theirs) <= max(most, len(own)) for own, theirs in zip(parents, found))
    order = in_order(found)  # fails on a circle
    assert sorted(order) == list(range(len(parents)))


@pytest.mark.costly
@given(networks())
@settings(max_examples=100, deadline=None)
def test_a_comparable_pair_is_left_out_only_without_room(case: tuple[list[frozenset[int]], np.ndarray, int]) -> None:
    parents, correlation, most = case
    found = search_frontier(parents, correlation, most)
    frontier = Frontier(found, correlation, most)
    for x in range(len(found)):
        for y in range(len(found)):
            if x != y and frontier.before(x, y) and x not in found[y]:
                assert len(found[y]) >= most or len(found[x]) >= most


def example() -> Frontier:
    """Fig. 1's shape: X0 → X1, X0 → X2, X1 → X3; k = 1, k′ = 2."""
    correlation = np.zeros((4, 4))
    for (x, y), value in {(0, 1): 0.9, (0, 2): 0.8, (0, 3): 0.7, (1, 2): 0.6, (1, 3): 0.5, (2, 3): 0.4}.items():
        correlation[x, y] = correlation[y, x] = value
    return Frontier([frozenset(), frozenset({0}), frozenset({0}), frozenset({1})], correlation, 2)


def test_sparsity_and_impact() -> None:
    frontier = example()
    assert [frontier.sparsity(x) for x in range(4)] == [2, 3, 3, 4]  # 2·1 − 0, 2·2 − 1, 2·2 − 1, 2·3 − 2
    # F of 1 is {0, 1}, D of 2 is {2}: I(0, 2); F of 2 is {0, 2}, D of 1 is {1, 3}: I(0, 1) + I(0, 3) + I(2, 3)
    assert frontier.impact(1, 2) == pytest.approx(0.8)
    assert frontier.impact(2, 1) == pytest.approx(0.9 + 0.7 + 0.4)
    assert frontier.direction(1, 2) == (1, 2)  # 3·0.8 < 3·2.0: the edge whose impact is smaller
    assert frontier.direction(0, 3) == (0, 3)  # comparable


def test_an_edge_against_the_order_is_refused() -> None:
    with pytest.raises(AssertionError, match="circle"):
        example().add(3, 0)
