"""Noise shares: each owner draws one, any h of them add up to the whole noise, and nobody knows the sum.

Pure epsilon: a Pólya share is NB(1/h, α) − NB(1/h, α) with α = exp(−1/b); h of them are discrete Laplace of scale b,
exactly. NB(r, α) is a sum of Poisson jumps, those of size k at the rate r·α^k/k, so a share is drawn jump by jump:
propose jumps at a larger rate that is rational, keep each with a probability that is rational or exp(−rational).

    1 ≤ k ≤ L = ⌈b⌉          blocks [2^i, 2^(i+1)): proposed at r/2^i each, kept with 2^i/k · exp(−k/b)
    iL < k ≤ (i+1)L, i ≥ 1    proposed at r·2^−i/L each, kept with L/k · (2/e)^i · exp(−(k/b − i))

Every block and the whole tail are proposed at the rate r in all. There is no floating-point number in it.

zCDP: a discrete Gaussian of variance σ²/h, enlarged so that the sum of h of them, which is only almost a discrete
Gaussian, costs no more than one of variance σ² would. federation/PROOF.md has both proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.errors import TooLarge
from understudy.privacy.random_source import Words
from understudy.schema import Integers, Mask

Draw = Callable[[int], Words]  # so many uniform 64-bit words

_CHUNK = 1 << 14  # cells at a time, so that memory stays small
_DIGITS = 31  # binary digits kept of a scale
_LARGEST_SCALE = 2.0**40
MIN_VARIANCE = Fraction(4)  # of one Gaussian share: from here on the sum is a Gaussian to 16 digits


# -- pure epsilon --------------------------------------------------------------------------------------------------


def _check_scale(scale: float) -> None:
    if not 0 < scale < _LARGEST_SCALE:
        raise TooLarge(f"noise of scale {scale:.3g} cannot be shared: the scale must be from 0 to {_LARGEST_SCALE:.3g}")


def rational_scale(scale: float) -> Fraction:
    """Return the scale, rounded up to so few binary digits that 64-bit integers hold all that follows."""
    _check_scale(scale)
    denominator = 2 ** min(_DIGITS, max(0, _DIGITS - math.frexp(scale)[1]))
    return Fraction(math.ceil(Fraction(scale) * denominator), denominator)


def polya_share(cells: int, scale: Fraction, honest: int, draw: Draw) -> Integers:
    """Return a draw of NB(1/h, α) − NB(1/h, α) for every cell, α = exp(−1/scale)."""
    chunks = [min(_CHUNK, cells - begin) for begin in range(0, cells, _CHUNK)]
    return np.concatenate([np.empty(0, np.int64), *(_polya(size, scale, honest, draw) for size in chunks)])


def _polya(cells: int, scale: Fraction, honest: int, draw: Draw) -> Integers:
    width = math.ceil(scale)  # L
    blocks = width.bit_length() + 1  # the last one is the tail
    jumps = poisson(Fraction(2 * blocks * cells, honest), draw)  # up and down, over all blocks and cells
    cell, block = below(cells, jumps, draw), below(blocks, jumps, draw)
    sign = 1 - 2 * below(2, jumps, draw)
    tail = block == blocks - 1
    level = np.where(tail, 1 + leading_failures(jumps, draw), 0)  # i of the tail, 1 or more
    lowest = np.where(tail, level * width + 1, 1 << block)
    size = lowest + below(np.where(tail, width, 1 << block), jumps, draw)  # k
    kept = tail | (size <= width)
    kept &= happens(np.where(tail, width, 1 << block), size, draw)
    kept[kept] = _two_over_e(level[kept], draw)
    over = size * scale.denominator - level * scale.numerator  # (k/b − i)·N ≥ 0 where b = N/D
    kept[kept] = exp_minus(over[kept], scale.numerator, draw)
    share = np.zeros(cells, dtype=np.int64)
    np.add.at(share, cell[kept], (sign * size)[kept])
    return share


def poisson(rate: Fraction, draw: Draw) -> int:
    """Return a Poisson draw of a rational rate, as a sum of whole ones and one of the rest."""
    whole, rest = divmod(rate, 1)
    return _poissons(int(whole), Fraction(1), draw) + _poissons(1, rest, draw)


def _poissons(count: int, rate: Fraction, draw: Draw) -> int:
    """Return a sum of `count` Poisson draws of a rate μ ≤ 1.

    By rejection: propose n with probability 2^−(n+1), and keep it with probability μ^n · ½·2^n/n!.
    """
    total = 0
    while count:
        n = leading_failures(count, draw)
        kept = np.where(n == 0, happens(np.ones_like(n), 2, draw), True)
        for j in range(1, int(n.max()) + 1):
            at = kept & (n >= j)
            kept[at] = happens(np.full(at.sum(), rate.numerator), rate.denominator, draw)
            if j > 2:  # ½·2^n/n! is ½ at 0, 1 at 1 and 2, and 2/j times the one before at j
                at = kept & (n >= j)
                kept[at] = happens(np.full(at.sum(), 2), j, draw)
        total += int(n[kept].sum())
        count -= int(kept.sum())
    return total


def exp_minus(numerator: Integers, denominator: int, draw: Draw) -> Mask:
    """Return True with probability exp(−numerator/denominator): Canonne, Kamath & Steinke 2020, Algorithm 1."""
    whole, rest = np.divmod(numerator, denominator)
    alive = _exp_minus_fraction(rest, denominator, draw)
    while (more := alive & (whole > 0)).any():
        alive[more] = _exp_minus_fraction(np.ones(more.sum(), dtype=np.int64), 1, draw)
        whole -= 1
    return alive


def _exp_minus_fraction(numerator: Integers, denominator: int, draw: Draw, start: int = 1) -> Mask:
    """Draw whether K is odd, the first k where Bernoulli(γ/k) fails: with probability exp(−γ), for γ ≤ 1."""
    count = np.full(numerator.shape, start, dtype=np.int64)
    going = np.arange(len(numerator))
    while len(going):
        won = happens(numerator[going], denominator * count[going], draw)
        going = going[won]
        count[going] += 1
    return np.equal(count % 2, 1)


def _two_over_e(times: Integers, draw: Draw) -> Mask:
    """Return True with probability (2/e)^times: for γ = 1, K ≥ 3 has probability 1/2, K odd given that 2/e."""
    times = times.copy()
    alive = np.ones(times.shape, dtype=np.bool_)
    while (more := alive & (times > 0)).any():
        alive[more] = _exp_minus_fraction(np.ones(more.sum(), dtype=np.int64), 1, draw, start=3)
        times -= 1
    return alive


def happens(numerator: Integers, denominator: Any, draw: Draw) -> Mask:
    """Return True with probability numerator/denominator."""
    return np.less(below(denominator, len(numerator), draw), numerator)


def below(bound: Any, count: int, draw: Draw) -> Integers:
    """Return uniform integers from 0 to bound − 1 (below 2^62): the last incomplete run of 64-bit words is rejected."""
    bounds = np.broadcast_to(np.asarray(bound, dtype=np.uint64), (count,))
    words = draw(count).copy()
    last = np.uint64(2**64 - 1) - bounds + np.uint64(1)  # 2^64 − bound: a run that starts later is incomplete
    while (bad := np.flatnonzero(words - words % bounds > last)).size:
        words[bad] = draw(len(bad))
    return (words % bounds).astype(np.int64)


def leading_failures(count: int, draw: Draw) -> Integers:
    """Return how many fair coins failed before the first success: n with probability 2^−(n+1)."""
    failures = np.zeros(count, dtype=np.int64)
    going = np.arange(count)
    while len(going):
        words = draw(len(going))
        lowest = (words & (~words + np.uint64(1))).astype(np.float64)  # a power of two, or 0 where all 64 failed
        found = lowest > 0
        failures[going] += np.where(found, np.frexp(lowest)[1] - 1, 64)
        going = going[~found]
    return failures


# -- zCDP ----------------------------------------------------------------------------------------------------------


def gaussian_share_scale(scale: float, honest: int) -> float:
    """Return the σ of one share, so that h of them cost at most what a discrete Gaussian of this scale does.

    Per unit of squared sensitivity the sum costs 1/(2h·s²) + 2η(s²), the single Gaussian 1/(2σ²).
    """
    _check_scale(scale)  # noise beyond 2^63 would come back cut off there, and a cut-off is no secret
    if honest == 1:
        return scale
    paid = 1 / (2 * Fraction(scale) ** 2)
    share = max(MIN_VARIANCE, Fraction(scale) ** 2 / honest)
    while 1 / (2 * honest * share) + 2 * sum_excess(share, honest) > paid:
        share *= 1 + Fraction(1, 2**40)
    sigma = math.sqrt(float(share))
    while Fraction(sigma) ** 2 < share:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def sum_excess(variance: Fraction, honest: int) -> Fraction:
    """Return η: the log-probabilities of a sum of h discrete Gaussians differ by at most η from those of one.

    Adding the (k+1)-th to a sum of k: 2·artanh δ with δ = 2Σ_j exp(−2π²s²j²), s² = variance·k/(k+1) ≥ variance/2.
    Rounded up: δ < 2.1·exp(−2π²s²) and 2·artanh δ < 2.1·δ where s² ≥ 2.
    """
    assert variance >= MIN_VARIANCE
    total = sum(math.exp(-2 * math.pi**2 * float(variance) * k / (k + 1) * (1 - 1e-9)) for k in range(1, honest))
    return Fraction(2.1 * 2.1 * total)
