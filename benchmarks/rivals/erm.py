"""PrivateERM: SVM with Huber loss by objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 2).

    minimise  (1/n) Σ ℓ(y·wx) + Λ/2 ‖w‖² + (1/n) b·w + Δ/2 ‖w‖²,   b of density ∝ e^(−ε'‖b‖/2)

Sensitivity (rows of norm ≤ 1, |ℓ'| ≤ 1, 0 ≤ ℓ'' ≤ c, replace-one): w determines b, b = −n(Λ+Δ)w − Σ y ℓ'(y·wx) x. A
replaced row moves b by at most 2, a factor e^ε'; the two Jacobians differ by a factor (1 + c/(n(Λ+Δ)))² at most. With
Δ = 0 these are ε' + log(1 + 2c/(nΛ) + c²/(nΛ)²) = ε; where that leaves no ε' > 0, Δ makes the second ε/2 and ε' = ε/2.
C = 1 is Λ = 1/n. PRIVATE ON PAPER, FLOATING-POINT NOISE.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rivals.rows import Floats, UnitRows

HUBER = 0.5  # the authors' h


def private_erm(
    rows: UnitRows, epsilon: float, generator: np.random.Generator, penalty: float | None = None, h: float = HUBER
) -> Floats:
    """Weights; `penalty` is Λ, 1/n without it."""
    own = 1 / rows.rows if penalty is None else penalty
    left, extra = split(rows.rows, epsilon, own, 1 / (2 * h))
    return minimiser(rows, perturbation(rows.columns, left, generator), own + extra, h)


def split(rows: int, epsilon: float, penalty: float, c: float) -> tuple[float, float]:
    """ε' and Δ."""
    left = epsilon - 2 * math.log1p(c / (rows * penalty))
    if left > 0:
        return left, 0.0
    return epsilon / 2, c / (rows * math.expm1(epsilon / 4)) - penalty


def perturbation(columns: int, left: float, generator: np.random.Generator) -> Floats:
    """A uniform direction, and a length of the Gamma law: density ∝ e^(−ε'‖b‖/2)."""
    direction = generator.normal(size=columns)
    length = generator.gamma(columns, 2 / left)
    vector: Floats = direction * (length / np.linalg.norm(direction))
    return vector


def minimiser(rows: UnitRows, b: Floats, penalty: float, h: float) -> Floats:
    from scipy.optimize import minimize

    n = rows.rows

    def objective(w: Floats) -> tuple[float, Floats]:
        margin = rows.y * (rows.x @ w)
        slope: Any = rows.x.T @ (rows.y * huber_slope(margin, h))
        value = huber(margin, h).sum() / n + penalty / 2 * (w @ w) + (b @ w) / n
        return float(value), slope / n + penalty * w + b / n

    # The proof is about the exact minimiser: stop only when the gradient is far below what one row can do (1/n).
    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 1e-4 / n}
    found: Floats = minimize(objective, np.zeros(rows.columns), jac=True, method="L-BFGS-B", options=options).x
    return found


def huber(margin: Floats, h: float) -> Floats:
    """Zero above 1 + h, linear below 1 − h, a parabola between."""
    return np.where(margin > 1 + h, 0.0, np.where(margin < 1 - h, 1 - margin, (1 + h - margin) ** 2 / (4 * h)))


def huber_slope(margin: Floats, h: float) -> Floats:
    return -np.clip((1 + h - margin) / (2 * h), 0.0, 1.0)
