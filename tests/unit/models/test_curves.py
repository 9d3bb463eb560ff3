"""Curves inside bins: every bin keeps its rows, and they lie on the side of the fuller neighbour."""

from __future__ import annotations

import numpy as np

from understudy.models.curves import curve_masses

EDGES = np.asarray([0.0, 1, 10, 20, 40, 100])
NONE = np.zeros(5, dtype=bool)


def test_every_bin_keeps_its_rows() -> None:
    generator = np.random.default_rng(5)
    places = np.union1d(np.linspace(0, 100, 301), EDGES)
    home = np.searchsorted(EDGES, places[:-1], side="right") - 1
    for _ in range(50):
        counts = generator.integers(0, 50, 5).astype(float)
        found = curve_masses(EDGES, counts, NONE, places)
        assert (found >= 0).all()
        assert np.allclose(np.bincount(home, found, 5), counts)


def test_even_counts_are_an_even_curve() -> None:
    found = curve_masses(EDGES, np.diff(EDGES), NONE, np.arange(101.0))
    assert np.allclose(found, 1.0)


def test_a_tail_falls_off() -> None:
    density = curve_masses(EDGES, np.asarray([10.0, 80, 60, 30, 5]), NONE, np.arange(101.0))
    assert density[40] > 5 * density[99]
    assert density[20] > 1.5 * density[39]


def test_a_value_by_itself_is_no_part_of_the_curve() -> None:
    alone = np.asarray([True, False, False, False, False])
    places = np.arange(101.0)
    found = curve_masses(EDGES, np.asarray([1_000.0, 9, 10, 20, 60]), alone, places)
    assert found[0] == 0
    assert np.allclose(found[1:], 1.0)


def test_two_bins_are_even_inside() -> None:
    found = curve_masses(np.asarray([0.0, 2, 4]), np.asarray([2.0, 6]), np.zeros(2, dtype=bool), np.arange(5.0))
    assert found.sum() == 8
    one = curve_masses(np.asarray([0.0, 4]), np.asarray([8.0]), np.zeros(1, dtype=bool), np.arange(5.0))
    assert one.tolist() == [2, 2, 2, 2]
