"""Chi-squared on every sampler of the private path, each with a control that has too little noise and must fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from understudy.privacy.random_source import SystemSource
from understudy.testing import SeededSource

DRAWS = 60_000
UNLIKELY = 1e-9  # how improbable a deviation must be before a sampler is called wrong


def laplace_law(k: np.ndarray, scale: float) -> np.ndarray:
    decay = math.exp(-1 / scale)
    return (1 - decay) / (1 + decay) * decay ** np.abs(k)


def gaussian_law(k: np.ndarray, scale: float) -> np.ndarray:
    support = np.arange(-2000, 2001)
    return np.exp(-(k**2) / (2 * scale**2)) / np.exp(-(support**2) / (2 * scale**2)).sum()


def p_value(drawn: np.ndarray, law: object, scale: float) -> float:
    """Chi-squared over cells with at least twenty expected draws, the tails pooled."""
    support = np.arange(-2000, 2001)
    expected = law(support, scale) * len(drawn)  # type: ignore[operator]
    inside = support[expected >= 20]
    low, high = inside.min(), inside.max()
    seen = np.array([(drawn == k).sum() for k in inside] + [(drawn < low).sum() + (drawn > high).sum()])
    wanted = np.append(expected[expected >= 20], len(drawn) - expected[expected >= 20].sum())
    keep = wanted > 5
    return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted)[keep].sum(), keep.sum() - 1))


@pytest.mark.slow
@pytest.mark.parametrize("source", [SystemSource(), SeededSource(5)])
@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
def test_laplace_noise_has_its_law(source: SystemSource, scale: float) -> None:
    drawn = source.laplace(np.zeros(DRAWS, dtype=np.int64), scale)
    assert p_value(drawn, laplace_law, scale) > UNLIKELY
    assert p_value(drawn, laplace_law, scale * 1.1) < UNLIKELY  # a tenth too little noise is noticed


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 3.0, 20.0])
def test_gaussian_noise_has_its_law(scale: float) -> None:
    drawn = SystemSource().gaussian(np.zeros(DRAWS, dtype=np.int64), scale)
    assert p_value(drawn, gaussian_law, scale) > UNLIKELY
    assert p_value(drawn, gaussian_law, scale * 1.1) < UNLIKELY


def test_noise_does_not_depend_on_the_value() -> None:
    """The support test that floating-point Laplace noise fails: every integer is reachable from every other."""
    source = SystemSource()
    near, far = (source.laplace(np.full(20_000, v, dtype=np.int64), 2.0) - v for v in (0, 1))
    shared = set(near.tolist()) & set(far.tolist())
    assert set(range(-8, 9)) <= shared
    assert stats.ks_2samp(near, far).pvalue > UNLIKELY


def test_floating_point_laplace_fails_the_support_test() -> None:
    """The broken twin: with a textbook sampler on a grid of uniforms, a true 0 and a true 1 share no output."""
    grid = (np.arange(1, 2**12) / 2**12) - 0.5
    noise = -np.sign(grid) * np.log(1 - 2 * np.abs(grid))
    zero, one = set((0 + noise).tolist()), set((1 + noise).tolist())
    assert len(zero & one) < 0.01 * len(zero)


def test_uniform_numbers_and_fresh_generators() -> None:
    source = SystemSource()
    seen = np.bincount([source.below(5) for _ in range(20_000)], minlength=5)
    assert stats.chisquare(seen).pvalue > UNLIKELY
    assert source.generator().random() != source.generator().random()


def test_two_runs_never_share_noise() -> None:
    zeros = np.zeros(50, dtype=np.int64)
    first, second = SystemSource().laplace(zeros, 100.0), SystemSource().laplace(zeros, 100.0)
    assert (first != second).any()
