"""Counts of a tree's leaves from noisy levels: least squares, tails, totals."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.row_total import pooled_total
from understudy.models.tree_counts import TreeCounts, wanted_bins
from understudy.schema.tree_grid import TreeGrid

GRID = TreeGrid("integer", 0, 9_999)


def counts(values: np.ndarray, depth: int, deviation: float, seed: int = 0) -> TreeCounts:
    generator = np.random.default_rng(seed)
    units = np.bincount(GRID.domain.encode_numbers(values), minlength=len(GRID.prior)).astype(float)
    sizes = GRID.sizes[:depth]
    exact = [np.add.reduceat(units, GRID.first_units(size)) for size in sizes]
    noisy = tuple(level + generator.normal(0, deviation, len(level)) for level in exact)
    return TreeCounts(GRID, sizes, noisy, (max(deviation, 1e-3) ** 2,) * depth)


def incomes(rows: int, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.clip(np.floor(generator.lognormal(4, 1, rows)) * (generator.random(rows) > 0.3), 0, 9_999)


def test_without_noise_the_leaves_are_exact() -> None:
    values = incomes(5_000)
    tree = counts(values, 4, 0.0)
    starts = GRID.first_units(GRID.sizes[3])
    exact = np.add.reduceat(np.bincount(GRID.domain.encode_numbers(values), minlength=len(GRID.prior)), starts)
    assert np.abs(tree.leaves(5_000) - exact).max() < 1


def test_going_up_is_half_of_least_squares() -> None:
    """The first level's estimates are those of `lstsq` for all levels together."""
    tree = counts(incomes(300), 3, 20.0)
    starts = [GRID.first_units(size) for size in tree.sizes]
    rows = [[np.isin(np.searchsorted(s, starts[-1], side="right") - 1, [i]) for i in range(len(s))] for s in starts]
    design = np.concatenate([np.asarray(level, dtype=float) for level in rows])
    solved, *_ = np.linalg.lstsq(design, np.concatenate(tree.noisy), rcond=None)
    first = [solved[rows[0][i]].sum() for i in range(len(starts[0]))]
    assert tree.estimates[0][0] == pytest.approx(first)


@pytest.mark.parametrize("deviation", [1.0, 30.0, 3_000.0])
def test_leaves_are_counts_of_the_total(deviation: float) -> None:
    tree = counts(incomes(2_000), 5, deviation)
    leaves = tree.leaves(2_000)
    assert leaves.min() >= 0 and leaves.sum() == pytest.approx(2_000)
    units = tree.unit_masses(2_000)
    assert units.min() >= 0 and units.sum() == pytest.approx(2_000) and len(units) == len(GRID.prior)


def test_an_empty_table_has_no_rows() -> None:
    assert counts(incomes(0), 3, 5.0).leaves(0).sum() == 0


def test_phantom_tails_are_emptied() -> None:
    """No value is above 3,000; noise must not put rows near 9,999. Without the rule it does: the broken twin."""
    values = np.clip(incomes(20_000), 0, 3_000)
    far = GRID.starts >= 5_000
    tree = counts(values, 5, 60.0)
    kept = tree.unit_masses(20_000)[far].sum()
    cut = np.maximum(tree.noisy[-1], 0.0)
    twin = cut[GRID.first_units(tree.sizes[-1]) >= np.flatnonzero(far)[0]].sum() / cut.sum() * 20_000
    assert kept < 30 < 300 < twin


def test_more_rows_bear_more_bins() -> None:
    assert wanted_bins(100, 100) == 12 and wanted_bins(1e9, 1) == 32
    assert wanted_bins(10_000, 3) > wanted_bins(10_000, 30)


def test_totals_are_pooled_by_their_variances() -> None:
    assert pooled_total([(10.0, 1.0), (20.0, 1.0)]) == 15
    assert pooled_total([(10.0, 1.0), (20.0, 3.0)]) == pytest.approx(12.5)
