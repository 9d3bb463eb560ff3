"""Student's t distribution: how far an interval reaches, in standard deviations that were estimated from few draws."""

from __future__ import annotations

import math
from functools import cache


@cache
def student_reach(freedom: float, confidence: float) -> float:
    """Return the t such that the middle `confidence` of Student's law with so many degrees of freedom is within ±t."""
    if freedom > 1e6:
        freedom = 1e6
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - tail(freedom, middle) < confidence else (low, middle)
    return high


def tail(freedom: float, t: float) -> float:
    """Return P(|T| > t): the regularised incomplete beta function at ν/(ν + t²)."""
    return _beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), by its continued fraction on the side where that converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b), by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    found = d
    for m in range(1, 400):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + factor * d
            c = 1 + factor / c
            d, c = 1 / (d if abs(d) > tiny else tiny), c if abs(c) > tiny else tiny
            found *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return found
