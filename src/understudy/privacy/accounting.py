"""Accounting: what a budget buys, what several charges cost together, and which mechanisms they pay for.

A run with delta = 0 keeps books in pure epsilon. A run with delta > 0 keeps them in mu squared of Gaussian
differential privacy (Dong, Roth & Su 2022), whose exact curve gives mu from epsilon and delta, once, at the start.
Where several owners draw shares of the noise, and in runs that earlier versions began, they are kept in rho of
zero-concentrated differential privacy (Bun & Steinke 2016), converted by the tight bound of Canonne, Kamath & Steinke
2020 (Proposition 12). Every rounding is toward more noise. The proofs: PROOF.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from understudy.errors import UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Gaussian, Laplace, Noise, check_cost, raised
from understudy.privacy.random_source import RandomSource, exponential_measurement, permute_and_flip_measurement
from understudy.privacy.sensitivity import Sensitivity

COMPOSITION_RULE = (
    "Reservations on one account add up: epsilons to epsilons, deltas to deltas (basic composition); on an account "
    "opened in Gaussian DP squares of mu do, converted once at the delta it was opened with. "
    "Inside a reservation pure charges add in epsilon, those of Gaussian DP in mu squared and those of zCDP in rho."
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

    def noise_for(self, sensitivity: Sensitivity, cost: Fraction) -> Noise:
        """Return the least noise with which an answer of this sensitivity costs at most `cost`."""
        return self.noise(self._noise_scale(sensitivity, cost))

    def _noise_scale(self, sensitivity: Sensitivity, cost: Fraction) -> float:
        return self.noise.for_cost(sensitivity, cost).scale

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
        return raised(
            scale, lambda scale: self.selection_measurement(scale).map(sensitivity), self._selection_price(cost)
        )

    def _selection_price(self, cost: Fraction) -> Fraction:
        """Return what opendp's privacy map may say at most of a selection that costs this much."""
        return cost

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


class GaussianDP(ZeroConcentrated):
    """Gaussian differential privacy: squares of mu add up. The mechanisms are those of zCDP, their prices are not.

    Discrete Gaussian noise on integers of L2 sensitivity Δ is Δ·c-GDP for c² − c⁴/12 = 1/σ². The exponential mechanism
    with ε is dominated by a logistic variable that moves by ε: μ = 2·Φ⁻¹(1/(1 + e^(−ε/2))). Both: PROOF.md.
    """

    name = "gdp"
    unit = "mu^2"

    def whole(self, budget: Budget) -> Fraction:
        return gdp_mu_squared(budget.epsilon, budget.delta - budget.aside)

    def _noise_scale(self, sensitivity: Sensitivity, cost: Fraction) -> float:
        return gaussian_scale(sensitivity, cost)

    def selection_epsilon(self, cost: float) -> float:
        at = math.sqrt(cost / 8)  # μ/2, over √2
        if at < 1:
            epsilon = 4 * math.atanh(math.erf(at))  # of 2·Φ(μ/2) − 1
        else:
            below = max(math.erfc(at) / 2, 1e-300)  # Φ(−μ/2)
            epsilon = 2 * (math.log1p(-below) - math.log(below))
        return epsilon * (1 - 1e-12)

    def _selection_price(self, cost: Fraction) -> Fraction:
        return Fraction(self.selection_epsilon(float(cost))) ** 2 / 8


PURE, ZCDP, GDP = Pure(), ZeroConcentrated(), GaussianDP()
ACCOUNTINGS: dict[str, Accounting] = {accounting.unit: accounting for accounting in (PURE, ZCDP, GDP)}


def accounting_of(budget: Budget) -> Accounting:
    """Return the accounting that a budget is kept in."""
    if not budget.delta:
        return PURE
    return ZCDP if budget.concentrated else GDP


def total_cost(budget: Budget) -> Fraction:
    """Return all that the budget holds, in the unit its charges are made in: epsilon, or rho."""
    return accounting_of(budget).whole(budget) * budget.part


# -- Gaussian differential privacy ------------------------------------------------------------------------------


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the delta of mu-GDP at this epsilon, the exact curve: Φ(−a) − e^ε·Φ(−b) for a = ε/μ − μ/2, b = a + μ.

    With R the Mills ratio of the normal distribution and φ its density it is φ(a)·(R(a) − R(b)), and R' = x·R − 1, so
    that no digits are lost where the two are nearly the same: the integral of 1 − x·R(x) from a to b.
    """
    if mu <= 0:
        return 0.0
    low = epsilon / mu - mu / 2
    if low > 37:  # less than 1e-300
        return 0.0
    if low < -8:  # 1 to fifteen digits
        return 1.0
    if mu > _WIDE:  # no run has so much: accounts may, and nothing is lost between R(a) and so small an R(b)
        return math.exp(-low * low / 2) / math.sqrt(2 * math.pi) * (_mills(low) - _mills(low + mu))
    points, weights = _GAUSS_LEGENDRE
    pieces = max(1, math.ceil(mu))
    width = mu / pieces
    at = (low + width * (np.arange(pieces)[:, None] + (points + 1) / 2)).ravel()
    slopes = [1 - x * _mills(x) for x in at.tolist()]
    return float(
        math.exp(-low * low / 2) / math.sqrt(2 * math.pi) * width / 2 * np.dot(np.tile(weights, pieces), slopes)
    )


def _mills(x: float) -> float:
    """Return (1 − Φ(x))/φ(x)."""
    if x < _FAR:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    fraction = x
    for k in range(_TERMS, 0, -1):  # Laplace's continued fraction
        fraction = x + k / fraction
    return 1 / fraction


_FAR, _TERMS, _WIDE = 4.0, 80, 150.0
_GAUSS_LEGENDRE = np.polynomial.legendre.leggauss(24)


@lru_cache(maxsize=256)
def gdp_mu_squared(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest mu squared we can prove to be within (epsilon, delta), rounded down."""
    target = float(delta) * (1 - 1e-6)  # covers the floating-point error of gdp_delta
    mu = _largest(lambda mu: gdp_delta(mu, float(epsilon)) <= target, float(epsilon) + 10.0)
    return Fraction(mu * (1 - 1e-12)) ** 2


@lru_cache(maxsize=256)
def gdp_epsilon(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon that we can prove of so much mu squared at this delta, rounded up."""
    if not mu_squared:
        return Fraction(0)
    mu = math.sqrt(float(mu_squared)) * (1 + 1e-15)
    target = float(delta) * (1 - 1e-6)
    enough = mu * mu / 2 + mu * math.sqrt(2 * math.log(2 / target))  # Φ(−a) ≤ δ there
    short = _largest(lambda less: gdp_delta(mu, enough - less) <= target, enough)
    return Fraction((enough - short) * (1 + 1e-12))


def pure_mu_squared(epsilon: Fraction) -> Fraction:
    """Return the least mu squared that we can prove of a pure epsilon, rounded up: μ = 2·Φ⁻¹(1/(1 + e^(−ε))).

    At most ε·√(π/2), since Φ⁻¹ of the logistic function is concave from 0 on, and at most 2·√(2ε), by the tail of the
    normal distribution: where the quantile has few digits, these are taken.
    """
    e = float(epsilon) * (1 + 1e-15)
    bounds = [e * math.sqrt(math.pi / 2), 2 * math.sqrt(2 * e)]
    if 1e-4 < e < 30:
        bounds.append(-2 * NormalDist().inv_cdf(1 / (1 + math.exp(e))))
    return Fraction(min(bounds) * (1 + 1e-9)) ** 2


def gaussian_scale(sensitivity: Sensitivity, cost: Fraction) -> float:
    """Return the least σ with which integers of this L2 sensitivity cost at most `cost` in mu squared.

    With m = cost/Δ², c² = m and σ² = 1/(m − m²/12), for m up to 6, where σ² is 1/3 and no smaller one is proved.
    """
    check_cost(sensitivity.l1, cost)
    m = min(Fraction(6), cost / sensitivity.l2_squared)
    least = 1 / (m - m * m / 12)
    scale, step = math.sqrt(float(least)), 2.0**-52
    while Fraction(scale) ** 2 < least:
        scale *= 1 + step
        step *= 2
    return scale


# -- zero-concentrated differential privacy ---------------------------------------------------------------------


def _largest(fits: Callable[[float], bool], high: float) -> float:
    """Return the largest number between 0 and `high` that fits, if all smaller ones do."""
    low = 0.0
    for _ in range(1100):  # to two neighbouring numbers, however small
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


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
    low = _largest(lambda rho: zcdp_delta(rho, float(epsilon)) <= target, float(epsilon) + 1.0)
    return Fraction(low * (1 - 1e-12))
