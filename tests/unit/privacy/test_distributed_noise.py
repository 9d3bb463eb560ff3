"""Noise shares: the exact coins they are made of, scales that are only ever raised, and the lemma on Gaussian sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import TooLarge
from understudy.privacy import distributed_noise as shares
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.testing import SeededSource

DRAWS = 40_000


def draw() -> shares.Draw:
    return SeededSource(11).words


def near(share: float, wanted: float, draws: int = DRAWS) -> bool:
    return abs(share - wanted) < 5 * math.sqrt(wanted * (1 - wanted) / draws)


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(7, 3)])
def test_exp_minus_is_a_coin_of_that_chance(gamma: Fraction) -> None:
    numerator = np.full(DRAWS, gamma.numerator)
    share = shares.exp_minus(numerator, gamma.denominator, draw()).mean()
    assert near(share, math.exp(-gamma)) or share == 1 == math.exp(-gamma)


@pytest.mark.parametrize("times", [0, 1, 3])
def test_two_over_e_to_a_power(times: int) -> None:
    share = shares._two_over_e(np.full(DRAWS, times), draw()).mean()
    assert near(share, (2 / math.e) ** times) or (times == 0 and share == 1)


def test_uniform_integers_reject_the_incomplete_run() -> None:
    """A scripted source: words of the last, incomplete run of 2^64 are drawn again, and no other."""
    bound = 2**64 // 3 + 1  # 2^64 = 2·bound + rest: a third of all words is in an incomplete run
    words = iter([np.array([2 * bound, bound, 5], dtype=np.uint64), np.array([7], dtype=np.uint64)])
    assert shares.below(bound, 3, lambda count: next(words)).tolist() == [7, 0, 5]
    exact = iter([np.array([2**64 - 1, 2**63], dtype=np.uint64)])
    assert shares.below(2, 2, lambda count: next(exact)).tolist() == [1, 0]
    counts = np.bincount(shares.below(6, DRAWS, draw()), minlength=6)
    assert all(near(count / DRAWS, 1 / 6) for count in counts)


def test_leading_failures_go_on_beyond_a_word() -> None:
    words = iter([np.array([1, 8, 0], dtype=np.uint64), np.array([0], dtype=np.uint64), np.array([2], dtype=np.uint64)])
    assert shares.leading_failures(3, lambda count: next(words)).tolist() == [0, 3, 129]


@pytest.mark.costly
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_poisson_of_a_rational_rate(rate: Fraction) -> None:
    source = draw()
    drawn = np.array([shares.poisson(rate, source) for _ in range(1200)])
    for n in range(5):
        assert near((drawn == n).mean(), math.exp(-rate) * float(rate) ** n / math.factorial(n), 1200)


@pytest.mark.parametrize("scale", [1e-12, 0.1, 1.0, 200.0, 1 / 3, 12345.678, 2.0**31, 2.0**39 + 0.3])
def test_a_scale_is_only_raised(scale: float) -> None:
    raised = shares.rational_scale(scale)
    assert raised >= Fraction(scale)
    assert raised <= Fraction(scale) * (1 + Fraction(1, 2**29)) + Fraction(1, 2**31)
    assert max(raised.numerator, raised.denominator) <= 2**40


def test_a_scale_out_of_reach_is_refused() -> None:
    for scale in (0.0, -1.0, 2.0**40, math.inf, math.nan):
        with pytest.raises(TooLarge):
            shares.rational_scale(scale)


def test_shares_of_extreme_scales_end() -> None:
    assert not shares.polya_share(1000, shares.rational_scale(1e-9), 2, draw()).any()
    large = shares.polya_share(1000, shares.rational_scale(2.0**39), 2, draw())
    assert 2**30 < np.abs(large).mean() < 2**45


def test_no_cells() -> None:
    assert shares.polya_share(0, Fraction(3), 2, draw()).shape == (0,)


# -- zCDP --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0, 20.0, 1e4, 1e8])
@pytest.mark.parametrize("honest", [1, 2, 3, 9])
def test_gaussian_shares_cost_no_more_than_one_gaussian(scale: float, honest: int) -> None:
    sigma = Fraction(shares.gaussian_share_scale(scale, honest))
    excess = shares.sum_excess(sigma**2, honest) if honest > 1 else 0
    assert 1 / (2 * honest * sigma**2) + 2 * excess <= 1 / (2 * Fraction(scale) ** 2)
    assert honest == 1 or sigma**2 >= shares.MIN_VARIANCE
    assert float(honest * sigma**2) <= max(4 * honest, scale**2) * (1 + 1e-3)  # and not much more noise than needed


def gaussian(variance: float, reach: int) -> np.ndarray:
    weights = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance))
    return weights / weights.sum()


@pytest.mark.parametrize("variance", [0.2, 0.35, 0.5])
@pytest.mark.parametrize("honest", [2, 3, 5])
def test_the_lemma_on_sums_of_discrete_gaussians(variance: float, honest: int) -> None:
    """At variances so small that the sum is visibly no Gaussian: its log-probabilities are off by η at most."""
    total = gaussian(variance, 30)
    for _ in range(honest - 1):
        total = np.convolve(total, gaussian(variance, 30))
    middle = len(total) // 2
    seen = slice(middle - 3, middle + 4)
    off = np.abs(np.log(total[seen] / gaussian(honest * variance, middle)[seen])).max()
    excess = 0.0
    for k in range(1, honest):
        delta = 2 * sum(math.exp(-2 * math.pi**2 * variance * k / (k + 1) * j * j) for j in range(1, 9))
        excess += 2 * math.atanh(delta) if delta < 1 else math.inf
    assert 1e-4 < off < excess


def test_the_excess_is_rounded_up() -> None:
    for honest in (2, 5):
        exact = 0.0
        for k in range(1, honest):
            delta = 2 * math.exp(-2 * math.pi**2 * 4 * k / (k + 1)) * (1 + 1e-12)
            exact += 2 * delta
        assert exact < float(shares.sum_excess(Fraction(4), honest)) < 1.2 * exact


@pytest.mark.parametrize("noise", [Laplace, Gaussian])
@pytest.mark.parametrize("scale", [0.3, 2.0, 50.0, 1e7])
def test_the_stated_scale_has_the_variance_of_the_sum(noise: type[Noise], scale: float) -> None:
    for honest, owners in [(1, 2), (2, 3), (2, 2), (5, 9)]:
        stated = noise(scale).summed(honest, owners)
        if noise is Gaussian:
            variance = shares.gaussian_share_scale(scale, honest) ** 2 * owners
        else:
            variance = Laplace(float(shares.rational_scale(scale))).variance * owners / honest
        assert stated.variance == pytest.approx(variance, rel=1e-5)
