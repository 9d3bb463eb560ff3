"""What a draw says about which of two tables it came from, from its law alone, in the unit of an accounting.

discrete Laplace        Σ‖v − v'‖₁/b                       epsilon, attained
discrete Gaussian       Σ‖v − v'‖²/2σ²                     rho (Canonne, Kamath & Steinke 2020)
                        c²·Σ‖v − v'‖², c² − c⁴/12 = 1/σ²   mu squared (privacy/PROOF.md)
permute-and-flip        max |ln P − ln P'|                  epsilon, over all options
exponential mechanism   range²/8                            rho; range = max − min of ln P − ln P' (bounded range)
                        (2·Φ⁻¹(1/(1 + e^(−range/2))))²      mu squared (privacy/PROOF.md)
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from understudy.audit.selection_laws import LOG_LAWS
from understudy.privacy.accounting import GDP, Accounting
from understudy.privacy.noise import Laplace


def losses(
    sampler: str,
    values: NDArray[np.int64],
    scale: float,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    accounting: Accounting,
) -> NDArray[np.float64]:
    """Return what one draw says about each pair of tables; `values` has what the sampler was handed for each table."""
    if sampler in LOG_LAWS:
        laws = LOG_LAWS[sampler](values, scale)
        ratios = laws[first] - laws[second]
        if sampler == "permute_and_flip":
            return np.asarray(np.abs(ratios).max(axis=1))
        return np.array([selection_loss(r, accounting) for r in ratios.max(axis=1) - ratios.min(axis=1)])
    moved = np.abs(values[first] - values[second]).astype(np.float64)
    if sampler == Laplace.name:
        return np.asarray(moved.sum(axis=1) / scale)
    return np.asarray((moved**2).sum(axis=1) * gaussian_loss(scale, accounting))


def gaussian_loss(scale: float, accounting: Accounting) -> float:
    """Return the loss of discrete Gaussian noise of this scale for each unit of squared distance."""
    if accounting == GDP:
        return 6 * (1 - math.sqrt(max(0.0, 1 - 1 / (3 * scale**2))))
    return 1 / (2 * scale**2)


def selection_loss(ratios_range: float, accounting: Accounting) -> float:
    """Return the loss of a selection whose log probabilities move by no more than this range."""
    if accounting == GDP:
        return float((2 * NormalDist().inv_cdf(1 / (1 + math.exp(-ratios_range / 2)))) ** 2)
    return float(ratios_range**2 / 8)
