"""The samplers against their laws: what enumeration and replay take for granted.

Chi-squared over cells with at least twenty expected draws, the rest pooled. A sampler is called wrong when that is
above k + 2√(kx) + 2x, which a chi-squared variable of k degrees exceeds with probability e^(−x) at most (Laurent &
Massart 2000).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.audit.findings import Finding
from understudy.audit.selection_laws import LOG_LAWS
from understudy.privacy.distributed_noise import polya_share, rational_scale
from understudy.privacy.random_source import SystemSource

UNLIKELY = 1e-9
_SUPPORT = np.arange(-2000, 2001)
_SCORES: tuple[tuple[int, ...], ...] = ((0, 3, 5, 5), (0, 10, 11, 30, 31), (-7, 0, 0, 0, 0, 9))
_SCALE = 5.0
Law = NDArray[np.float64]


def laplace_law(scale: float) -> Law:
    """Return P(k) of the discrete Laplace distribution for k from −2000 to 2000."""
    decay = math.exp(-1 / scale)
    return np.asarray((1 - decay) / (1 + decay) * decay ** np.abs(_SUPPORT).astype(np.float64))


def gaussian_law(scale: float) -> Law:
    """Return P(k) of the discrete Gaussian distribution for k from −2000 to 2000."""
    weights = np.exp(-(_SUPPORT.astype(np.float64) ** 2) / (2 * scale**2))
    return np.asarray(weights / weights.sum())


def follows(seen: NDArray[np.int64], law: Law) -> bool:
    """Return whether counts of outcomes could come from a law."""
    draws = int(seen.sum())
    large = law * draws >= 20
    observed = np.append(seen[large], seen[~large].sum())
    expected = np.append(law[large] * draws, draws - (law[large] * draws).sum())
    kept = expected > 5
    statistic = float(((observed - expected) ** 2 / np.maximum(expected, 1e-12))[kept].sum())
    return statistic <= chi_squared_limit(int(kept.sum()) - 1) and bool(observed[~kept].sum() <= 60)


def chi_squared_limit(degrees: int) -> float:
    """Return a value that a chi-squared variable exceeds with a chance of `UNLIKELY` at most."""
    x = -math.log(UNLIKELY)
    return degrees + 2 * math.sqrt(max(degrees, 1) * x) + 2 * x


def check_samplers(long: bool = False) -> list[Finding]:
    """Return a finding for each sampler of the system source at a few scales."""
    draws = 400_000 if long else 40_000
    return [*check_noise(draws), *check_selections(draws // 10), *_check_uniform(draws // 10)]


def check_noise(draws: int = 40_000) -> list[Finding]:
    """Return a finding for each noise at a few scales."""
    source, zeros = SystemSource(), np.zeros(draws, dtype=np.int64)
    laplace = [
        _finding(f"discrete Laplace, scale {scale:g}", _counted(source.laplace(zeros, scale)), laplace_law(scale))
        for scale in (0.5, 3.0, 20.0)
    ]
    gaussian = [
        _finding(f"discrete Gaussian, scale {scale:g}", _counted(source.gaussian(zeros, scale)), gaussian_law(scale))
        for scale in (1.0, 3.0, 20.0)
    ]
    # the Pólya shares of three owners are discrete Laplace noise together
    three = sum(polya_share(draws // 20, rational_scale(3.0), 3, source.words) for _ in range(3))
    shares = _finding("shares of three owners, scale 3", _counted(np.asarray(three)), laplace_law(3.0))
    return [*laplace, *gaussian, shares]


def check_selections(draws: int = 4_000) -> list[Finding]:
    """Return a finding for each selection on a few lists of scores."""
    source = SystemSource()
    found = []
    for scores in _SCORES:
        for sampler, words in (("permute_and_flip", "permute-and-flip"), ("exponential", "exponential mechanism")):
            choose, law = getattr(source, sampler), LOG_LAWS[sampler](np.array([scores], dtype=np.int64), _SCALE)[0]
            chosen = np.bincount([choose(list(scores), _SCALE) for _ in range(draws)], minlength=len(scores))
            found.append(_finding(f"{words} of {', '.join(map(str, scores))}", chosen, np.exp(law)))
    return found


def _check_uniform(draws: int) -> list[Finding]:
    source = SystemSource()
    below = np.bincount([source.below(7) for _ in range(draws)], minlength=7)
    bits = np.unpackbits(source.words(draws).view(np.uint8))
    return [
        _finding("uniform numbers below 7", below, np.full(7, 1 / 7)),
        _finding("bits of words", np.bincount(bits, minlength=2), np.full(2, 0.5)),
    ]


def _finding(what: str, seen: NDArray[np.int64], law: Law) -> Finding:
    holds = follows(seen, law)
    says = f"{int(seen.sum()):,} draws {'fit' if holds else 'DO NOT FIT'} the law"
    return Finding("samplers", what, holds, says)


def _counted(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each number from −2000 to 2000 was drawn."""
    return np.bincount(np.clip(drawn, -2000, 2000) + 2000, minlength=len(_SUPPORT))
