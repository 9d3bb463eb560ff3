"""The threshold of value lists: its tail bound against the exact law, and all ways in which a person may hold rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from luck import once_more
from understudy.errors import UsageError
from understudy.privacy.random_source import SystemSource
from understudy.privacy.thresholds import gaussian_tail, uncounted, value_threshold


def exact_tail(at_least: int, scale: float) -> float:
    """By adding everything up, a term at a time."""
    reach = int(40 * scale) + at_least + 10
    terms = [math.exp(-z * z / (2 * scale * scale)) for z in range(reach)]
    return math.fsum(terms[at_least:]) / (2 * math.fsum(terms) - 1)


@pytest.mark.parametrize("scale", [0.6, 1.0, 3.7, 41.0, 800.0])
def test_the_bound_is_never_below_the_law_and_close_to_it(scale: float) -> None:
    for deviations in (0.5, 1, 2, 4, 6):
        at = max(1, round(deviations * scale))
        bound, law = float(gaussian_tail(at, scale)), exact_tail(at, scale)
        assert law * (1 - 1e-12) <= bound
        if scale >= 1:
            assert bound <= law * (1 + 1e-7)


@pytest.mark.parametrize("scale", [5e4, 1e9])
def test_a_wide_noise_is_bounded_by_a_series(scale: float) -> None:
    """Beyond some thousand terms the rest is bounded: within a tenth of the normal tail, and never below it."""
    for deviations in (4, 5, 6):
        normal = 0.5 * math.erfc(deviations / math.sqrt(2))
        assert normal * (1 - 1e-3) <= float(gaussian_tail(round(deviations * scale), scale)) <= 1.1 * normal


def test_a_count_that_everyone_reaches() -> None:
    assert gaussian_tail(0, 5.0) == gaussian_tail(-3, 5.0) == 1


def holdings(rows: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every way in which a person's rows can fall on different texts."""
    if rows == 0:
        yield ()
    for first in range(min(rows, most or rows), 0, -1):
        for rest in holdings(rows - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**4), Fraction(1, 10**9)])
@pytest.mark.parametrize("scale", [0.8, 4.0, 30.0])
def test_no_way_of_holding_rows_passes_more_often_than_delta(scale: float, delta: Fraction) -> None:
    """And a threshold one lower lets some way through: it is the least, and the twin is caught."""
    for k in (1, 2, 4):
        threshold = value_threshold(scale, k, delta) - uncounted(scale)

        def worst(threshold: int, k: int = k) -> Fraction:
            kept = (held for rows in range(1, k + 1) for held in holdings(rows))
            return max(sum((gaussian_tail(threshold - c, scale) for c in held), Fraction(0)) for held in kept)

        assert worst(threshold) <= delta
        assert worst(threshold - 1) > delta


def test_the_issues_rule_follows_from_its_two_ends() -> None:
    """P(Z ≥ T − (k − j + 1)) + (j − 1)·P(Z ≥ T − 1) is convex in j, so that its ends are enough."""
    scale, delta, k = 12.0, Fraction(1, 10**6), 40
    threshold = value_threshold(scale, k, delta) - uncounted(scale)
    every = [
        gaussian_tail(threshold - (k - j + 1), scale) + (j - 1) * gaussian_tail(threshold - 1, scale)
        for j in range(1, k + 1)
    ]
    assert max(every) == max(every[0], every[-1]) <= delta


@pytest.mark.costly
def test_the_sampler_has_the_tail_that_is_bounded() -> None:
    """Less than once in a million runs by chance; noise of half the scale (the twin) is far off."""
    scale, at, draws = 3.0, 5, 40_000
    expected = exact_tail(at, scale)

    def trial(_: int) -> None:
        drawn = SystemSource().gaussian(np.zeros(draws, dtype=np.int64), scale)
        share = float((drawn >= at).mean())
        deviation = math.sqrt(expected * (1 - expected) / draws)
        assert abs(share - expected) < 5 * deviation
        assert abs(share - exact_tail(at, scale / 2)) > 5 * deviation

    once_more(trial)


def test_a_person_with_a_billion_rows_is_settled_at_once() -> None:
    assert value_threshold(1000.0, 10**9, Fraction(1, 10**9)) > 10**9


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 2), Fraction(2)])
def test_what_is_no_delta(delta: Fraction) -> None:
    with pytest.raises(UsageError, match="delta"):
        value_threshold(3.0, 1, delta)
