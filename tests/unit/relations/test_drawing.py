"""Even drawing: each row by its own chances, and all together as often as expected."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.relations.drawing import even_draw

SHARES = np.array([[0.5, 0.2, 0.3], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]])


def test_any_group_has_about_as_many_of_each_code_as_it_expects() -> None:
    generator = np.random.default_rng(1)
    like = generator.integers(3, size=5000)
    drawn = even_draw(SHARES[like], None, like, generator)
    for group in range(3):
        counts = np.bincount(drawn[like == group], minlength=3)
        assert np.abs(counts - SHARES[group] * (like == group).sum()).max() <= 2
    plain = [generator.choice(3, p=SHARES[group]) for group in like]  # the twin: rows that know nothing of each other
    off = [np.bincount(np.asarray(plain)[like == g], minlength=3) - SHARES[g] * (like == g).sum() for g in range(3)]
    assert np.abs(off).max() > 2


@pytest.mark.costly
def test_every_row_has_its_own_chances() -> None:
    """Few rows with chances of their own, drawn many times: 20,000 draws are within .02 but once in a million."""
    generator = np.random.default_rng(2)
    shares = generator.dirichlet([1.0, 1.0, 1.0, 1.0], 5)
    seen = np.zeros_like(shares)
    for _ in range(20_000):
        seen[np.arange(5), even_draw(shares, None, np.zeros(5, dtype=np.int64), generator)] += 1
    assert np.abs(seen / 20_000 - shares).max() < 0.02


def test_rows_are_drawn_evenly_by_what_they_have_beside_too() -> None:
    generator = np.random.default_rng(5)
    like, beside = generator.integers(3, size=6000), generator.integers(4, size=6000)
    off = {}
    for columns in ((), (beside,)):
        drawn = even_draw(SHARES[like], None, like, generator, columns)
        tables = [np.bincount(drawn[(like == g) & (beside == b)], minlength=3) for g in range(3) for b in range(4)]
        due = [SHARES[g] * ((like == g) & (beside == b)).sum() for g in range(3) for b in range(4)]
        off[len(columns)] = float(np.abs(np.asarray(tables) - np.asarray(due)).max())
    assert off[1] <= 3 < off[0]  # the twin: without them a group has many more or fewer than it expects
    many = [generator.integers(1000, size=6000)]  # groups of a few rows each: not worth an order
    assert np.abs(np.bincount(even_draw(SHARES[like], None, like, generator, many), minlength=3)).sum() == 6000


def test_what_cannot_be_is_not_drawn_and_factors_decide_where_no_share_is_left() -> None:
    generator = np.random.default_rng(3)
    shares = np.tile([0.3, 0.0, 0.7], (4000, 1))
    like = np.zeros(4000, dtype=np.int64)
    assert set(even_draw(shares, None, like, generator)) == {0, 2}
    assert set(even_draw(shares, np.tile([True, True, False], (4000, 1)), like, generator)) == {0}
    assert set(even_draw(shares, np.tile([False, True, False], (4000, 1)), like, generator)) == {1}
    assert len(even_draw(shares[:0], None, like[:0], generator)) == 0
