"""Lower bounds: what a number of runs on two tables proves about the loss, at a stated confidence.

A test says "first table" when its statistic is at least a threshold. With a lower confidence limit on how often it is
right on the first table (its power) and an upper one on how often it is wrong on the second (Clopper & Pearson 1934),

    epsilon ≥ ln((power − delta)/false alarms)          mu ≥ Φ⁻¹(power) − Φ⁻¹(false alarms)

mu is that of Gaussian differential privacy (Dong, Roth & Su 2022): the best Gaussian trade-off curve that lies below
what was seen. Thresholds are fixed beforehand, and the confidence is shared among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

CHANCE = 1e-5  # that a bound is above what a sound mechanism loses


@dataclass(frozen=True)
class TradeOff:
    """What one threshold proves: the power is at least, and false alarms are at most, this."""

    power: float
    false_alarms: float

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the lower bound of epsilon at this delta."""
        return math.log(max(self.power - delta, 1e-300) / self.false_alarms)

    @property
    def mu(self) -> float:
        """Return the lower bound of mu."""
        if not 0 < self.power < 1 or self.false_alarms >= 1:
            return 0.0
        normal = NormalDist()
        return normal.inv_cdf(self.power) - normal.inv_cdf(self.false_alarms)


def trade_offs(first: NDArray[np.float64], second: NDArray[np.float64], levels: Sequence[float]) -> list[TradeOff]:
    """Return what each threshold proves, in both directions: either table may be the likelier one."""
    chance = CHANCE / (4 * len(levels))  # two directions, two limits
    return [
        TradeOff(
            at_least(int((a >= level - 1e-9).sum()), len(a), chance),
            at_most(int((b >= level - 1e-9).sum()), len(b), chance),
        )
        for a, b in ((first, second), (-second, -first))
        for level in levels
    ]


def at_least(hits: int, runs: int, chance: float) -> float:
    """Return the lower confidence limit of a probability."""
    return 1 - at_most(runs - hits, runs, chance)


def at_most(hits: int, runs: int, chance: float) -> float:
    """Return the upper confidence limit of a probability: the p with P(Binomial(runs, p) ≤ hits) = chance."""
    if hits >= runs:
        return 1.0
    low, high = hits / runs, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if binomial_tail(hits, runs, middle) > chance:
            low = middle
        else:
            high = middle
    return high


def binomial_tail(hits: int, runs: int, p: float) -> float:
    """Return P(Binomial(runs, p) ≤ hits)."""
    if not 0 < p < 1:
        return 1.0 if p <= 0 else float(hits >= runs)
    k = np.arange(hits + 1)
    choose = math.lgamma(runs + 1) - _log_factorials(hits) - _log_factorials(runs)[runs - k]
    return float(np.exp(choose + k * math.log(p) + (runs - k) * math.log1p(-p)).sum())


def _log_factorials(most: int) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])


def smallest_caught(epsilon: float, runs: int) -> float:
    """Return by which factor a count's Laplace noise must be too small to be caught 19 times of 20.

    For one count that a person moves by one, the sharpest case there is: with a true loss of e the test "at least the
    true count" has power 1/(1 + q) and false alarms q/(1 + q), q = exp(−e).
    """
    low, high = 1.0, 64.0
    for _ in range(40):
        middle = (low + high) / 2
        decay = math.exp(-epsilon * middle)
        unlucky_hits = _quantile(runs, 1 / (1 + decay), 0.025)
        unlucky_alarms = _quantile(runs, decay / (1 + decay), 0.975)
        chance = CHANCE / (4 * len(LEVELS))
        found = TradeOff(at_least(unlucky_hits, runs, chance), at_most(unlucky_alarms, runs, chance)).epsilon()
        low, high = (low, middle) if found > epsilon else (middle, high)
    return high


LEVELS = (0.25, 0.5, 0.75, 1.0)  # thresholds, as parts of the largest log-likelihood ratio that is claimed


def _quantile(runs: int, p: float, share: float) -> int:
    """Return the smallest number of hits that is not exceeded with at least this probability."""
    low, high = 0, runs
    while low < high:
        middle = (low + high) // 2
        if binomial_tail(middle, runs, p) >= share:
            high = middle
        else:
            low = middle + 1
    return low
