"""The two mechanisms: noise on integer tables, and a noisy choice among integer scores.

A cost is an exact rational (epsilon, or rho); a scale is the float opendp takes. The scale is raised, never lowered,
until opendp's own privacy map says that the mechanism costs no more than was paid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.errors import TooLarge, UsageError
from understudy.privacy.accountant import Accounting
from understudy.privacy.measurement import Noise
from understudy.privacy.random_source import (
    Integers,
    RandomSource,
    gaussian_measurement,
    laplace_measurement,
    selection,
)

MIN_COST = Fraction(1, 10**100)  # below it, scales and costs leave the range of floating-point numbers
MAX_COST = 10**6  # no budget holds as much


def noise_of(accounting: Accounting) -> Noise:
    return "laplace" if accounting == "pure" else "gaussian"


def noise_scale(accounting: Accounting, l1: int, l2_squared: int, cost: Fraction) -> float:
    """Laplace's b for this L1 sensitivity, or the Gaussian's σ for this L2 sensitivity (given squared)."""
    _check(l1, cost)
    if accounting == "pure":
        return _raised(float(l1 / cost), lambda scale: laplace_measurement(scale).map(l1), cost)
    l2 = math.nextafter(math.sqrt(l2_squared), math.inf)
    sigma = math.sqrt(float(l2_squared / (2 * cost)))
    return _raised(sigma, lambda scale: gaussian_measurement(scale).map(l2), cost)


def choice_scale(accounting: Accounting, sensitivity: int, cost: Fraction) -> float:
    """The scale t of a choice with weights e^(score/t): 2Δ/ε, where ε²/8 = rho under zCDP (bounded range)."""
    _check(sensitivity, cost)
    epsilon = float(cost) if accounting == "pure" else math.sqrt(8 * float(cost))
    return _raised(2 * sensitivity / epsilon, lambda scale: selection(accounting, scale).map(sensitivity), cost)


def _check(sensitivity: int, cost: Fraction) -> None:
    """Refuse what cannot be noised, from public facts."""
    if cost <= 0:
        raise UsageError("whatever reads rows must cost something")
    if not MIN_COST <= cost <= MAX_COST:
        raise UsageError("whatever reads rows costs from 1e-100 to 1e6: no noise can be drawn for any other cost")
    if sensitivity >= 2**62:
        raise TooLarge("one person can move this answer by 2^62 or more: lower `rows_per_person`, or ask for less")


def _raised(scale: float, map_of: Callable[[float], Any], cost: Fraction) -> float:
    step = 2.0**-52
    while Fraction(float(map_of(scale))) > cost:
        scale *= 1 + step
        step *= 2
    return scale


def add_noise(values: Integers, accounting: Accounting, scale: float, source: RandomSource) -> Integers:
    draw = source.laplace if accounting == "pure" else source.gaussian
    return draw(values.ravel(), scale).reshape(values.shape)


def noisy_choice(scores: Sequence[int], accounting: Accounting, scale: float, source: RandomSource) -> int:
    """Permute-and-flip under pure epsilon; under zCDP the exponential mechanism, which alone costs only ε²/8."""
    if max(scores) - min(scores) >= 2**62 or max(abs(s) for s in scores) >= 2**62:
        raise UsageError("the scores of this table are too large for exact integer arithmetic")
    draw = source.permute_and_flip if accounting == "pure" else source.exponential
    return draw(scores, scale)


def as_integers(values: Any) -> Integers:
    """Guards the private path: a count is an integer or it is an error."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError("exact counts must be integers")
    return array.astype(np.int64)
