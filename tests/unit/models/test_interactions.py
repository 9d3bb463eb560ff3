"""Interactions: tables of three and more attributes are drawn towards their pairs; what is there stands."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from understudy.models.edition import Edition
from understudy.models.interactions import drawn_to_pairs, free_cells, pair_tables
from understudy.models.junction_tree import JunctionTree
from understudy.models.refit import Design, refit
from understudy.models.shrinkage import shares_of
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.schema import Attribute, Axis, Categories, Schema

SIZES = {"a": 3, "b": 4, "c": 2, "d": 3}
AXES = tuple(map(Axis, SIZES))
N = 10_000
BEFORE = Edition.SHRUNK


def schema() -> Schema:
    return Schema("t", tuple(Attribute(n, Categories(tuple(map(str, range(k))))) for n, k in SIZES.items()), rows=N)


def joint(interaction: float, seed: int = 0) -> np.ndarray:
    """A table whose pairs depend on each other, with a part of something that no pair foresees."""
    rng = np.random.default_rng(seed)
    names = "abcd"
    table = np.ones(tuple(SIZES.values()))
    for i, j in itertools.combinations(range(4), 2):
        shape = [SIZES[names[k]] if k in (i, j) else 1 for k in range(4)]
        table = table * np.exp(rng.normal(0, 0.5, shape))
    table /= table.sum()
    if interaction:
        table = table * np.exp(interaction * rng.normal(size=table.shape))
    return np.asarray(table / table.sum())


def measured(shares: np.ndarray, scale: float, seed: int) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    found = []
    for kept in [(0,), (0, 1, 2), (1, 2, 3), (0, 2, 3), (0, 1, 3)]:
        exact = N * shares.sum(axis=tuple(i for i in range(4) if i not in kept))
        values = np.rint(exact + rng.normal(0, scale, exact.shape)).astype(np.int64)
        found.append(Measurement(tuple(AXES[i] for i in kept), values, Gaussian(scale)))
    return found


def off(model: JunctionTree, shares: np.ndarray, kept: tuple[int, ...]) -> float:
    exact = shares.sum(axis=tuple(i for i in range(4) if i not in kept))
    return 0.5 * float(np.abs(model.project([AXES[i] for i in kept]).table - exact).sum())


def errors(interaction: float, scale: float, edition: Edition, seeds: int = 8) -> tuple[float, float]:
    """Return the mean error of pairs, and of triples."""
    found = []
    for seed in range(seeds):
        shares = joint(interaction, seed)
        model = refit(measured(shares, scale, seed), Design(schema(), edition=edition)).model
        found.append(
            [np.mean([off(model, shares, s) for s in itertools.combinations(range(4), ways)]) for ways in (2, 3)]
        )
    pairs, triples = np.mean(found, axis=0)
    return float(pairs), float(triples)


@pytest.mark.parametrize("scale", [20.0, 60.0])
def test_noise_does_not_become_an_interaction(scale: float) -> None:
    new, old = errors(0.0, scale, Edition.NEWEST), errors(0.0, scale, BEFORE)
    assert new[1] < 0.9 * old[1] and new[0] < 1.02 * old[0]


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_an_interaction_stands_as_it_was_measured(scale: float) -> None:
    new, old = errors(1.0, scale, Edition.NEWEST), errors(1.0, scale, BEFORE)
    assert new[1] < 1.02 * old[1] and new[0] < 1.02 * old[0]


def test_the_model_of_pairs_alone_would_miss_it() -> None:
    """The twin: a table that is drawn all the way."""
    shares = joint(1.0)
    tables = measured(shares, 5.0, 0)
    pairs = refit(pair_tables(tables, schema(), N), Design(schema())).model
    kept = (0, 1, 2)
    drawn = refit(tables, Design(schema())).model
    assert off(drawn, shares, kept) < 0.1 * off(pairs, shares, kept)


def test_cells_that_pairs_leave_free_are_those_of_higher_interactions() -> None:
    """As many as the rank of all tables leaves to that of their pairs."""
    for sizes in [(2, 2, 2), (2, 3, 4), (2, 2, 2, 2), (3, 2, 1), (3, 4), (5,), ()]:
        cells = np.eye(math.prod(sizes)).reshape(-1, *sizes)
        pairs = [
            cells.sum(axis=tuple(i + 1 for i in range(len(sizes)) if i not in kept)).reshape(len(cells), -1)
            for kept in itertools.combinations(range(len(sizes)), min(2, len(sizes)))
        ]
        assert free_cells(sizes) == math.prod(sizes) - np.linalg.matrix_rank(np.concatenate(pairs, axis=1))


def test_pairs_have_the_noise_that_all_tables_leave_on_them() -> None:
    shares = joint(0.0)
    tables = measured(shares, 30.0, 0)
    found = {m.axes: m for m in pair_tables(tables, schema(), N)}
    assert set(found) == {*((axis,) for axis in AXES), *itertools.combinations(AXES, 2)}
    a, _, c, _ = AXES
    assert found[a, c].variance == pytest.approx(1 / (1 / (4 * 900) + 1 / (3 * 900)))  # of (a, b, c) and (a, c, d)
    of_tables = 1 / (8 * 900) + 1 / (12 * 900) + 1 / (6 * 900)  # beside its own
    assert found[a,].variance == pytest.approx(1 / (1 / 900 + of_tables))
    for axes, m in found.items():
        assert m.values.shape == schema().sizes(axes)
        exact = N * shares.sum(axis=tuple(i for i, axis in enumerate(AXES) if axis not in axes))
        assert np.abs(m.values - exact).mean() < 2 * math.sqrt(m.variance)


def test_of_pairs_nothing_is_made() -> None:
    tables = measured(joint(0.0), 10.0, 0)[:1]
    pair = Measurement(AXES[:2], np.full((3, 4), N // 12), Gaussian(5.0))
    assert pair_tables([*tables, pair], schema(), N) == []
    one, other = (refit([*tables, pair], Design(schema(), edition=e)).model for e in (Edition.NEWEST, BEFORE))
    np.testing.assert_array_equal(one.project(AXES[:2]).table, other.project(AXES[:2]).table)


def test_a_cell_is_what_its_noise_and_its_foreseen_rows_say_together() -> None:
    """By hand: of two cells with the same distance the one in which more rows are foreseen is moved further."""
    shares = joint(0.0)
    pairs = refit(pair_tables(measured(shares, 5.0, 0), schema(), N), Design(schema())).model
    axes, variance = AXES[:3], (50 / N) ** 2
    expected = pairs.project(axes).table.ravel()
    seen = expected + np.where(np.arange(24) % 2, 1, -1) * 60 / N
    moved = (drawn_to_pairs(seen, axes, pairs, variance, N) - expected) / (seen - expected)
    assert ((moved > 0) & (moved < 1)).all()
    assert (np.diff(moved[np.argsort(expected)]) >= 0).all()
    weight = expected / variance * (1 / moved - 1)
    np.testing.assert_allclose(weight, weight[0])
    assert (drawn_to_pairs(expected[:12], AXES[:2], pairs, variance, N) == expected[:12]).all()  # a pair


@pytest.mark.parametrize("design", [Design(schema(), edition=BEFORE), Design(schema(), shrink=False)])
def test_earlier_editions_and_refits_without_shrinkage_do_not_draw(
    design: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = measured(joint(0.0), 40.0, 0)
    before = refit(tables, design).model.project(AXES[:3]).table
    monkeypatch.setattr("understudy.models.refit.pair_tables", lambda *_: pytest.fail("drawn"))
    np.testing.assert_array_equal(before, refit(tables, design).model.project(AXES[:3]).table)
    with pytest.raises(pytest.fail.Exception):
        refit(tables, replace(design, edition=Edition.NEWEST, shrink=True))


def test_shares_add_up_to_one_whatever_the_noise() -> None:
    m = measured(joint(0.0), 100.0, 3)[1]
    assert m.values.sum() != N and shares_of(m, N).sum() == pytest.approx(1)
