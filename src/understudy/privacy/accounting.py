"""Accounting: what a budget buys, what several charges cost together, and which mechanisms they pay for.

A run with delta = 0 keeps books in pure epsilon. A run with delta > 0 keeps them in rho of zero-concentrated
differential privacy (Bun & Steinke 2016), converted once, at the start, by the tight bound of
Canonne, Kamath & Steinke 2020 (Proposition 12). Every rounding is toward more noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from understudy.errors import UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Gaussian, Laplace, Noise, check_cost, raised
from understudy.privacy.random_source import RandomSource, exponential_measurement, permute_and_flip_measurement

COMPOSITION_RULE = (
    "Reservations on one account add up: epsilons to epsilons, deltas to deltas (basic composition). "
    "Inside a reservation pure charges add in epsilon and zCDP charges in rho."
)


@dataclass(frozen=True)
class Accounting(ABC):
    """A unit in which charges add up, and the mechanisms whose cost is known in it."""

    name: ClassVar[str]
    unit: ClassVar[str]  # of a cost, in the ledger and in JSON
    noise: ClassVar[type[Noise]]
    power: ClassVar[int]  # k charges of the same noise leave each with k^(1/power) times the noise of one

    @abstractmethod
    def whole(self, budget: Budget) -> Fraction:
        """Return all that a budget holds, in this unit."""

    @abstractmethod
    def selection_epsilon(self, cost: float) -> float:
        """Return the epsilon of a selection with weights e^(ε·score/2Δ) that costs this much."""

    @abstractmethod
    def selection_measurement(self, scale: float) -> Any:
        """Return opendp's selection of this scale."""

    @abstractmethod
    def _draw(self, source: RandomSource) -> Callable[[Sequence[int], float], int]: ...

    def selection_scale(self, sensitivity: int, cost: Fraction) -> float:
        """Return the scale t of a selection with weights e^(score/t): 2Δ/ε."""
        check_cost(sensitivity, cost)
        scale = 2 * sensitivity / self.selection_epsilon(float(cost))
        return raised(scale, lambda scale: self.selection_measurement(scale).map(sensitivity), cost)

    def select(self, scores: Sequence[int], scale: float, source: RandomSource) -> int:
        """Return the index of one score, more likely the higher it is."""
        if max(scores) - min(scores) >= 2**62 or max(abs(s) for s in scores) >= 2**62:
            raise UsageError("the scores of this table are too large for exact integer arithmetic")
        return self._draw(source)(scores, scale)


class Pure(Accounting):
    """Pure differential privacy: epsilons add up. Laplace noise and permute-and-flip."""

    name = "pure"
    unit = "epsilon"
    noise = Laplace
    power = 1

    def whole(self, budget: Budget) -> Fraction:
        return budget.epsilon

    def selection_epsilon(self, cost: float) -> float:
        return cost

    def selection_measurement(self, scale: float) -> Any:
        return permute_and_flip_measurement(scale)

    def _draw(self, source: RandomSource) -> Callable[[Sequence[int], float], int]:
        return source.permute_and_flip


class ZeroConcentrated(Accounting):
    """Zero-concentrated differential privacy: rhos add up. Gaussian noise and the exponential mechanism, which alone
    costs only rho = ε²/8 (bounded range)."""

    name = "zcdp"
    unit = "rho"
    noise = Gaussian
    power = 2

    def whole(self, budget: Budget) -> Fraction:
        return zcdp_rho(budget.epsilon, budget.delta - budget.aside)

    def selection_epsilon(self, cost: float) -> float:
        return math.sqrt(8 * cost)

    def selection_measurement(self, scale: float) -> Any:
        return exponential_measurement(scale)

    def _draw(self, source: RandomSource) -> Callable[[Sequence[int], float], int]:
        return source.exponential


PURE, ZCDP = Pure(), ZeroConcentrated()


def accounting_of(budget: Budget) -> Accounting:
    """Return the accounting that a budget is kept in."""
    return ZCDP if budget.delta else PURE


def total_cost(budget: Budget) -> Fraction:
    """Return all that the budget holds, in the unit its charges are made in: epsilon, or rho."""
    return accounting_of(budget).whole(budget) * budget.part


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the smallest delta we can prove for a rho-zCDP mechanism at this epsilon.

    Any alpha > 1 gives a valid bound, so an inexact search can only err on the safe side.
    """
    if rho <= 0:
        return 0.0
    low, high = -30.0, 30.0  # log(alpha − 1)
    for _ in range(200):  # golden-section on a function that is unimodal in log(alpha − 1)
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        before = low, high
        if _log_delta(rho, epsilon, a) < _log_delta(rho, epsilon, b):
            high = b
        else:
            low = a
        if (low, high) == before:  # and so it would stay
            break
    return min(1.0, math.exp(min(0.0, _log_delta(rho, epsilon, (low + high) / 2))))


def _log_delta(rho: float, epsilon: float, log_above_one: float) -> float:
    above = math.exp(log_above_one)
    alpha = 1 + above
    return above * (alpha * rho - epsilon) - math.log(alpha) + above * math.log1p(-1 / alpha)


@lru_cache(maxsize=256)
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho we can prove to be within (epsilon, delta), rounded down."""
    target = float(delta) * (1 - 1e-9)  # covers the floating-point error of zcdp_delta
    low, high = 0.0, float(epsilon) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):  # two neighbouring numbers
            break
        if zcdp_delta(middle, float(epsilon)) <= target:
            low = middle
        else:
            high = middle
    return Fraction(low * (1 - 1e-12))
