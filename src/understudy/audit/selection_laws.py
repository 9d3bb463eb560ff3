"""The exact laws of the two selections, and how far two of them are apart.

Permute-and-flip (McKenna & Sheldon 2020) accepts options in random order, each with probability w = e^((s − max)/t):
P(i) = w_i ∫₀¹ Π_{j≠i} (1 − w_j u) du. The integrand is a polynomial, so Gauss–Legendre quadrature is exact. The
exponential mechanism has P(i) ∝ e^(s/t).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def permute_and_flip_log_law(scores: NDArray[np.int64], scale: float) -> Floats:
    """Return ln P of each option; `scores` has one line for each table."""
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / scale)
    nodes, quadrature = np.polynomial.legendre.leggauss(scores.shape[1] // 2 + 2)
    u = (nodes + 1) / 2
    terms = 1 - weights[:, :, None] * u  # table × option × node; u < 1, so no factor is 0
    others = terms.prod(axis=1, keepdims=True) / terms
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights) + np.log((others * quadrature / 2).sum(axis=2)))


def exponential_log_law(scores: NDArray[np.int64], scale: float) -> Floats:
    """Return ln P of each option; `scores` has one line for each table."""
    logits = (scores - scores.max(axis=1, keepdims=True)) / scale
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


LOG_LAWS = {"permute_and_flip": permute_and_flip_log_law, "exponential": exponential_log_law}
