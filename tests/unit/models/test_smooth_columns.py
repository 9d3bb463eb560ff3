"""Smooth columns: what noise has nearly drowned is drawn towards smooth shapes, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.edition import Edition
from understudy.models.refit import Design, refit
from understudy.models.smooth_columns import FEW_ROWS, smooth_counts, smoothed
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.schema import Axis, Schema

ROWS = 1_000
GIVEN = Schema.from_toml(
    """
[table]
name = "t"
rows = 1_000

[attributes.weight]
kind = "number"
edges = [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200]
missing = [""]

[attributes.spent]
kind = "number"
edges = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
points = [0]

[attributes.year]
kind = "integer"
range = [71, 99]
missing = [""]

[attributes.town]
kind = "category"
values = ["a", "b", "c", "d", "e", "f", "g", "h"]
"""
)
SCHEMA = GIVEN.with_found_bins({"weight", "spent"})
HUMP = np.asarray([0, 0, 60, 240, 340, 220, 80, 10, 0, 0, 50])  # of weight; the last cell is missing
SPIKE = np.asarray([700, 30, 30, 60, 60, 50, 30, 20, 15, 5, 0])  # of spent: 0 is a cell of its own


YEAR = np.append(np.where(np.arange(29) >= 12, 12, 0), ROWS - 17 * 12)  # the last cell, most rows, is missing


def noisy(name: str, counts: np.ndarray, deviation: float, seed: int) -> Measurement:
    draws = np.random.default_rng(seed).normal(0, deviation, len(counts))
    return Measurement((Axis(name),), np.rint(counts + draws).astype(np.int64), Gaussian(deviation))


def cut_off(m: Measurement) -> np.ndarray:
    positive = np.maximum(m.values, 0).astype(float)
    return positive * (ROWS / positive.sum())


@pytest.mark.parametrize(("name", "counts"), [("weight", HUMP), ("spent", SPIKE)])
def test_a_drowned_table_comes_nearer_to_the_truth(name: str, counts: np.ndarray) -> None:
    before, after = [], []
    for seed in range(20):
        m = noisy(name, counts, ROWS / 8, seed)
        (found,) = smoothed([m], SCHEMA, ROWS)
        before.append(np.abs(np.cumsum(cut_off(m) - counts)).sum())
        after.append(np.abs(np.cumsum(cut_off(found) - counts)).sum())
        assert found.variance < m.variance
    assert np.mean(after) < 0.85 * np.mean(before)


def test_many_rows_speak_for_themselves() -> None:
    m = noisy("weight", HUMP, ROWS / FEW_ROWS / 1.2, 1)
    assert smoothed([m], SCHEMA, ROWS) == [m]


def test_what_has_no_order_or_bins_that_a_person_gave_is_left_alone() -> None:
    town, weight = noisy("town", np.full(8, 125), ROWS / 8, 1), noisy("weight", HUMP, ROWS / 8, 1)
    both = Measurement((Axis("weight"), Axis("town")), np.zeros((11, 8), dtype=np.int64), Gaussian(100.0))
    assert smoothed([town, both], SCHEMA, ROWS) == [town, both]
    assert smoothed([town, weight, weight, both], GIVEN, ROWS) == [town, weight, weight, both]


def test_rows_without_a_value_say_nothing_of_a_column() -> None:
    """204 rows of 1,000 have a year: by them it is drowned, by all rows, as earlier editions counted, it is not. A
    column of which each value has a cell is drawn towards shapes though no run found its bins."""
    assert GIVEN["year"].size == len(YEAR) and not GIVEN["year"].found
    before, after = [], []
    for seed in range(20):
        m = noisy("year", YEAR, 20.0, seed)
        (found,) = smoothed([m], GIVEN, ROWS)
        assert smoothed([m], GIVEN, ROWS, Edition.SHRUNK) == [m]
        assert smoothed([m], GIVEN.with_found_bins({"year"}), ROWS, Edition.SHRUNK) == [m]
        assert abs(found.values[-1] - m.values[-1]) < 120  # how many are missing is no part of a shape
        before.append(np.abs(np.cumsum(cut_off(m) - YEAR)).sum())
        after.append(np.abs(np.cumsum(cut_off(found) - YEAR)).sum())
    assert np.mean(after) < 0.7 * np.mean(before)
    clear = noisy("year", YEAR, 204 / FEW_ROWS / 1.3, 1)
    assert smoothed([clear], GIVEN, ROWS) == [clear]


def test_two_tables_of_one_attribute_are_pooled() -> None:
    twice = [noisy("weight", HUMP, ROWS / 8, seed) for seed in (1, 2)]
    (found,) = smoothed(twice, SCHEMA, ROWS)
    middle = Measurement((Axis("weight"),), (twice[0].values + twice[1].values) // 2, Gaussian(ROWS / 8 / 2**0.5))
    (alone,) = smoothed([middle], SCHEMA, ROWS)
    assert np.abs(found.values - alone.values).max() <= 1
    assert found.variance == pytest.approx(alone.variance, rel=0.02)


def test_what_shapes_cannot_explain_is_kept_as_far_as_noise_does_not_explain_it() -> None:
    two = np.asarray([450.0, 0, 0, 0, 0, 0, 0, 0, 0, 550])
    found = smooth_counts(two, 40.0**2, ROWS, SCHEMA["weight"].ordered)
    assert np.abs(found.counts - two).sum() < 0.1 * ROWS
    drowned = smooth_counts(two, 2_000.0**2, ROWS, SCHEMA["weight"].ordered)
    assert np.abs(drowned.counts - two).sum() > 0.5 * ROWS


def test_heavy_noise_is_weighed_by_its_own_law() -> None:
    """One wild cell of Laplace noise moves the shape less than if it were normal."""
    cells = HUMP[:-1] + np.asarray([0, 0, 0, 0, 0, 0, 0, 0, 0, 500.0])
    normal, heavy = (
        smooth_counts(cells, 150.0**2, ROWS, SCHEMA["weight"].ordered, heavy=law).counts for law in (False, True)
    )
    assert heavy[-1] < normal[-1]


def test_refit_smooths_and_stays_deterministic() -> None:
    m = Measurement((Axis("weight"),), noisy("weight", HUMP, ROWS / 8, 3).values, Laplace(ROWS / 8 / 2**0.5))
    first, again = (refit([m], Design(SCHEMA)) for _ in range(2))
    shares = first.model.project(["weight"]).table
    assert shares.tolist() == again.model.project(["weight"]).table.tolist()
    assert np.abs(ROWS * shares - HUMP).sum() < np.abs(cut_off(m) - HUMP).sum()
