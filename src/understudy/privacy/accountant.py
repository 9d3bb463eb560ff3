"""Accounting: what a budget buys, and what several charges cost together.

A run with delta = 0 keeps books in pure epsilon. A run with delta > 0 keeps them in rho of zero-concentrated
differential privacy (Bun & Steinke 2016), converted once, at the start, by the tight bound of
Canonne, Kamath & Steinke 2020 (Proposition 12). Every rounding is toward more noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from understudy.privacy.budget import Budget

Accounting = Literal["pure", "zcdp"]

COMPOSITION_RULE = (
    "Reservations on one account add up: epsilons to epsilons, deltas to deltas (basic composition). "
    "Inside a reservation pure charges add in epsilon and zCDP charges in rho."
)


def accounting_of(budget: Budget) -> Accounting:
    return "zcdp" if budget.delta else "pure"


def purse(budget: Budget) -> Fraction:
    """All that the budget holds, in the unit its charges are made in: epsilon, or rho."""
    whole = zcdp_rho(budget.epsilon, budget.delta) if budget.delta else budget.epsilon
    return whole * budget.part


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The smallest delta we can prove for a rho-zCDP mechanism at this epsilon.

    Any alpha > 1 gives a valid bound, so an inexact search can only err on the safe side.
    """
    if rho <= 0:
        return 0.0
    low, high = -30.0, 30.0  # log(alpha − 1)
    for _ in range(200):  # golden-section on a function that is unimodal in log(alpha − 1)
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        if _log_delta(rho, epsilon, a) < _log_delta(rho, epsilon, b):
            high = b
        else:
            low = a
    return min(1.0, math.exp(min(0.0, _log_delta(rho, epsilon, (low + high) / 2))))


def _log_delta(rho: float, epsilon: float, log_above_one: float) -> float:
    above = math.exp(log_above_one)
    alpha = 1 + above
    return above * (alpha * rho - epsilon) - math.log(alpha) + above * math.log1p(-1 / alpha)


@lru_cache(maxsize=256)
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho we can prove to be within (epsilon, delta), rounded down."""
    target = float(delta) * (1 - 1e-9)  # covers the floating-point error of zcdp_delta
    low, high = 0.0, float(epsilon) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if zcdp_delta(middle, float(epsilon)) <= target:
            low = middle
        else:
            high = middle
    return Fraction(low * (1 - 1e-12))
