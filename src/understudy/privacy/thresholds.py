"""The threshold of a value list: from how many noisy rows on a value that nobody declared may be shown.

A value that one person brings into the table alone must pass the threshold with a probability of at most delta. The
tail of the discrete Gaussian is bounded from above in decimal arithmetic that rounds up: every error is toward more
rows. The rule and its proof: methods/PROOF.md, "Value lists".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from understudy.errors import UsageError

UNCOUNTED = 8  # a value held by no more than this part of the noise's scale gets no noise and is never shown
_DIGITS = 40
_SLACK = Decimal(10) ** (5 - _DIGITS)  # of a value of `exp`, which is right to the last digit or two
_TERMS = 4000  # of the tail that are added up one by one; a geometric series bounds the rest
_FROM_ABOVE = Decimal(10) ** -30  # a term that is so much smaller than the sum ends it
_SMALLEST = Decimal(10) ** -1000  # what is less is said to be this: a fraction of it would be too long
_ROOT_OF_TWO_PI = Decimal("2.506628274631000502415765284811045253006")  # cut off


@contextmanager
def _rounding(direction: str) -> Iterator[None]:
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, direction
        context.Emin, context.Emax = -999_999_999_999, 999_999_999_999
        yield


@lru_cache(maxsize=4096)
def gaussian_tail(at_least: int, scale: float) -> Fraction:
    """Return an upper bound of P(Z ≥ at_least) for the discrete Gaussian Z of this scale, and at_least ≥ 1.

    P is Σ_{z ≥ t} e^(−z²/2σ²) over Σ_z e^(−z²/2σ²), and the latter is at least 1 and at least σ·√2π (Poisson).
    """
    if at_least < 1:
        return Fraction(1)
    with _rounding(ROUND_FLOOR):
        below = max(Decimal(1), Decimal(scale) * _ROOT_OF_TWO_PI)
    with _rounding(ROUND_CEILING):
        twice_square = 2 * Decimal(scale) * Decimal(scale)
    with _rounding(ROUND_FLOOR):
        steps = Decimal(1) / twice_square  # too small, if anything: exponents are no further below 0 than they are
    with _rounding(ROUND_CEILING):
        term = _exp(-(Decimal(at_least) ** 2) * steps)
        ratio, ratio_of_ratios = _exp(-(2 * Decimal(at_least) + 1) * steps), _exp(-2 * steps)
        total = Decimal(0)
        for _ in range(_TERMS):
            total += term
            term *= ratio  # of z + 1
            ratio *= ratio_of_ratios
            if term < total * _FROM_ABOVE:
                break
        total += _geometric(term, ratio)
        return Fraction(min(Decimal(1), max(total / below, _SMALLEST)))


def _exp(power: Decimal) -> Decimal:
    """Return e^power for a power below 0, a little too large."""
    return min(Decimal(1), power.exp() * (1 + _SLACK))


def _geometric(term: Decimal, ratio: Decimal) -> Decimal:
    """Return a bound on the sum of the terms that are left, each of which is at most `ratio` times the one before."""
    with _rounding(ROUND_FLOOR):
        rest = 1 - ratio
    return term / rest if rest > 0 else Decimal("Infinity")


@lru_cache(maxsize=256)
def value_threshold(scale: float, rows_per_person: int, delta: Fraction) -> int:
    """Return the least noisy count with which a value may be shown, for noise of this scale.

    With c0 = `uncounted(scale)` it is c0 + T for the least T with P(Z ≥ T − k) ≤ δ and k·P(Z ≥ T − 1) ≤ δ.
    """
    if not 0 < delta < Fraction(1, 2):
        raise UsageError("a value list needs a delta above 0 and below 1/2")
    k = rows_per_person

    def fits(threshold: int) -> bool:
        return gaussian_tail(threshold - k, scale) <= delta and k * gaussian_tail(threshold - 1, scale) <= delta

    low, high = k, k + 1  # low never fits: P(Z ≥ 0) > 1/2
    while not fits(high):
        low, high = high, k + 2 * (high - k)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return uncounted(scale) + high


def uncounted(scale: float) -> int:
    """Return c0: a value with no more rows than this is never shown, so that texts that occur once cost nothing."""
    return max(1, math.ceil(scale / UNCOUNTED))
