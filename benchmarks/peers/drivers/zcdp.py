"""What MST and AIM share on the API of mbi 2.0: the price of a promise, Gaussian tables, draws in proportion to exp.

Floating-point noise, as in the peers: private on paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from mbi import Dataset, LinearMeasurement

DELTA = 1e-9
GENERATOR = np.random.default_rng()


def rho_of(epsilon: float, delta: float = DELTA) -> float:
    """The largest rho whose zCDP implies (epsilon, delta) (Canonne, Kamath and Steinke 2020, Corollary 13)."""
    alphas = 1 + np.logspace(-3, 5, 4_000)

    def log_delta(rho: float) -> float:
        terms = (alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas) - np.log(alphas - 1)
        return float(terms.min())

    low, high = 0.0, epsilon
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return low


def noisy(data: Dataset, clique: tuple[str, ...], sd: float) -> LinearMeasurement:
    """Gaussian counts of a table: one row moves one cell by one, so rho is 1 / (2 sd^2)."""
    counts = np.asarray(data.project(clique).datavector())
    return LinearMeasurement(counts + GENERATOR.normal(0, sd, counts.size), clique, stddev=sd)


def draw(options: Sequence[Any], scores: Sequence[float], epsilon: float, sensitivity: float = 1.0) -> Any:
    """The exponential mechanism: epsilon^2 / 8 zCDP."""
    shaken = epsilon / (2 * sensitivity) * np.asarray(scores) + GENERATOR.gumbel(size=len(options))
    return options[int(np.argmax(shaken))]
