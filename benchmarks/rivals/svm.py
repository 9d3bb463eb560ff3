"""PrivateSVM: hinge-loss SVM by output perturbation (Rubinstein, Bartlett, Huang, Taft 2012, Algorithm 1); NoPrivacy.

    minimise  ½‖w‖² + (C/n) Σ max(0, 1 − y·wx),  then add Laplace noise of scale 4Cκ√F/(εn) to each of F weights

Sensitivity (rows of norm ≤ κ, replace-one): the objective is 1-strongly convex, and a replaced row changes it by a
function of Lipschitz constant 2Cκ/n, so ‖w − w'‖₂ ≤ 2Cκ/n (the authors prove 4Cκ/n) and ‖w − w'‖₁ ≤ √F times that. The
usual C-SVM of constant 1 is C = n here, whose noise does not shrink with n. PRIVATE ON PAPER, FLOATING-POINT NOISE.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from rivals.rows import Floats, UnitRows

WEIGHT = 100.0  # C where none is given; the best of 30, 100, 300, … on Adult at epsilon 0.4, which is in its favour


def private_svm(rows: UnitRows, epsilon: float, generator: np.random.Generator, weight: float = WEIGHT) -> Floats:
    """Weights; `weight` is C."""
    scale = laplace_scale(rows.rows, rows.columns, epsilon, weight)
    noisy: Floats = hinge_minimiser(rows, weight / rows.rows) + generator.laplace(0, scale, rows.columns)
    return noisy


def laplace_scale(rows: int, columns: int, epsilon: float, weight: float, norm: float = 1.0) -> float:
    return 4 * weight * norm * math.sqrt(columns) / (epsilon * rows)


def no_privacy(rows: UnitRows, epsilon: float = math.inf, generator: np.random.Generator | None = None) -> Floats:
    """The papers' C-SVM with C = 1 on unscaled one-hot rows: scaling rows by s divides C by s². NOT PRIVATE."""
    return hinge_minimiser(rows, 1 / rows.height**2)


def hinge_minimiser(rows: UnitRows, cost: float) -> Floats:
    """½‖w‖² + cost·Σ hinge, by liblinear; the constant is a column like any other.

    The solver wants both classes to occur. (x, y) and (−x, −y) are the same to the loss, so the first row is turned.
    """
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the dual solver says so when it stops before its very last digit
        solver = LinearSVC(loss="hinge", C=cost, fit_intercept=False, random_state=0, tol=1e-5, max_iter=20_000)
        turned = np.ones(rows.rows)
        turned[0] = -1.0 if (rows.y == rows.y[0]).all() else 1.0
        found: Floats = solver.fit(_turned(rows.x, turned), turned * rows.y).coef_.ravel()
    return found


def _turned(x: Any, signs: Floats) -> Any:
    return x.multiply(signs[:, None]).tocsr() if hasattr(x, "multiply") else x * signs[:, None]
