"""The prototype of the noisy tree: nested levels, least squares, what one person moves, and cells that a schema takes."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from understudy.schema import Intervals

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks" / "raw"))

from noisy_tree import Range, Tree, cells_of, consistent, gathered_upwards, settled, tree_of, unit_masses, units_of

SPANS = (
    Range(0, 100),
    Range(-50, 50),
    Range(16, 100, 1),
    Range(0, 1_000_000, 1),
    Range(0, 60_000, 1, False),
    Range(0.5, 9e8),
)


def levels(span: Range, sizes: tuple[int, ...] = (4, 16, 64, 256)) -> Tree:
    return tree_of(units_of(span), sizes)


@pytest.mark.parametrize("span", SPANS, ids=str)
def test_levels_are_nested_and_every_value_has_a_leaf(span: Range) -> None:
    tree = levels(span)
    for above, below in itertools.pairwise(tree.starts):
        assert above[0] == 0 and set(above) <= set(below)
    assert tree.leaves < 65_535
    values = np.random.default_rng(1).uniform(span.low, span.high, 500)
    values = np.append(np.floor(values) if span.step else values, [span.low, span.high, span.high + 1, span.low - 1])
    unit = tree.units.encode(values)
    inside = np.clip(values, span.low, span.high)
    low, high = tree.units.low[unit], tree.units.high[unit]
    assert ((low <= inside) & ((inside < high) | (low == high) | (inside == span.high))).all()


def test_zero_and_the_ends_have_a_leaf_of_their_own() -> None:
    tree = levels(Range(-100, 1000))
    for value in (-100.0, 0.0, 1.0, 500.0, 999.0, 1000.0):
        unit = int(tree.units.encode(np.asarray([value]))[0])
        assert tree.units.low[unit] == tree.units.high[unit] == value
        assert unit in tree.starts[-1] and (unit + 1 in tree.starts[-1] or unit + 1 == len(tree.units))


def test_one_person_moves_two_counts_a_level() -> None:
    """All pairs of values of a small range: L1 and squared L2 are at most 2h, and that is attained."""
    tree = levels(Range(0, 40, 1), (4, 16))
    rows = [np.concatenate(tree.counts(tree.units.encode(np.asarray([float(v)])))) for v in range(41)]
    apart = [a - b for a, b in itertools.combinations(rows, 2)]
    assert max(np.abs(d).sum() for d in apart) == max((d**2).sum() for d in apart) == 2 * tree.depth
    assert {row.sum() for row in rows} == {tree.depth}


def test_two_passes_are_least_squares() -> None:
    tree = levels(Range(0, 40, 1), (4, 16))
    generator = np.random.default_rng(2)
    noisy = [generator.normal(10, 5, len(start)) for start in tree.starts]
    variances, total = [4.0, 9.0], 100.0
    found = consistent(gathered_upwards(tree, noisy, variances), total)[-1]
    parent = np.searchsorted(tree.starts[0], tree.starts[1], side="right") - 1
    above = (parent == np.arange(len(tree.starts[0]))[:, None]).astype(float)
    rows = np.vstack([above / 2, np.eye(tree.leaves) / 3, 1e5 * np.ones((1, tree.leaves))])
    wanted = np.linalg.lstsq(rows, np.concatenate([noisy[0] / 2, noisy[1] / 3, [1e5 * total]]), rcond=None)[0]
    assert np.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("span", SPANS, ids=str)
def test_without_noise_the_leaves_are_the_rows(span: Range) -> None:
    tree = levels(span)
    generator = np.random.default_rng(3)
    values = np.abs(generator.normal(0, 1, 3_000)) * (span.high - span.low) / 20 + span.low
    counts = tree.counts(tree.units.encode(np.round(values) if span.step else values))
    exact = settled(gathered_upwards(tree, counts, [1e-9] * tree.depth), 3_000.0)
    assert np.allclose(exact, counts[-1], atol=1e-3)


@pytest.mark.parametrize("span", SPANS, ids=str)
def test_noisy_leaves_are_counts_and_cells_are_a_domain(span: Range) -> None:
    tree, generator = levels(span), np.random.default_rng(4)
    spread = (span.high - span.low) / 20
    values = np.where(generator.random(20_000) < 0.3, span.low, generator.exponential(spread, 20_000) + span.low)
    values = np.clip(np.round(values) if span.step else values, span.low, span.high)
    noisy = [c + generator.normal(0, 50, len(c)) for c in tree.counts(tree.units.encode(values))]
    mass = settled(gathered_upwards(tree, noisy, [2500.0] * tree.depth), 20_000.0)
    assert mass.min() >= 0 and mass.sum() == pytest.approx(20_000)
    cells = cells_of(tree.units, unit_masses(tree, mass), 12, 50.0)
    assert cells.counts.sum() == pytest.approx(20_000)
    edges, points = cells.edges_and_points()
    domain = Intervals("integer" if span.step else "number", tuple(edges.tolist()), tuple(points.tolist()))
    assert domain.size == len(cells.first) and 6 <= domain.size <= 20
    codes = cells.encode(values)
    assert (codes == domain.encode_numbers(values)).all()
    assert (cells.encode(cells.draw(codes, generator)) == codes).all()
