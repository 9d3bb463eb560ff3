"""A budget: one epsilon (and delta) for everything, as exact rationals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from understudy.errors import UsageError

Amount = int | float | str | Fraction | Decimal
_LONGEST_TEXT = 5000  # characters: more than Python reads as one whole number
_LONGEST_EXPONENT = 5  # characters: 1e999999999 would be worked out for hours
MIN_EPSILON, MAX_EPSILON = Fraction(1, 10**12), 10_000
MIN_DELTA = Fraction(1, 10**15)  # but for 0, the pure promise
_LARGEST = Fraction(10) ** 300  # a floating-point number holds what is between this and its inverse


@dataclass(frozen=True)
class Budget:
    """What a run may spend: an epsilon and a delta, as exact fractions.

    Args:
        epsilon: the privacy loss, greater than 0. Small is private: at 1 a 50 % suspicion can become at most 73 %.
        delta: the probability with which the promise of epsilon may fail; 0 is the pure promise.

    A float means its shortest decimal, so `Budget(0.1)` is exactly one tenth.

    >>> understudy.Budget(0.1).epsilon
    Fraction(1, 10)
    >>> print(understudy.Budget("1", "1e-9"))
    epsilon 1, delta 1e-09
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    part: Fraction = Fraction(1)  # of all it holds, for plans of a method that does not get all of it
    aside: Fraction = Fraction(0)  # of delta, for value lists; the rest is for the conversion to mu, or rho
    concentrated: bool = False  # kept in rho of zCDP: owners' shares of noise, and what earlier versions began

    def __init__(self, epsilon: Amount, delta: Amount = 0) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon"))
        object.__setattr__(self, "delta", exact(delta, "delta"))
        if self.epsilon <= 0:
            raise UsageError("epsilon must be greater than 0")
        if self.epsilon < MIN_EPSILON:
            raise UsageError("epsilon below 1e-12 buys nothing but noise")
        if self.epsilon > MAX_EPSILON:
            raise UsageError("epsilon above 10000 is no privacy at all")
        if not 0 <= self.delta < 1:
            raise UsageError("delta must be at least 0 and less than 1")
        if 0 < self.delta < MIN_DELTA:
            raise UsageError("delta below 1e-15 is not supported: use 0 for the pure promise")

    def shared(self, part: Fraction) -> Budget:
        """Return the same promise with this part of what it holds."""
        return self._twin(part=self.part * part)

    def setting_aside(self, delta: Fraction) -> Budget:
        """Return the same promise with this much of its delta kept for value lists; the sum of both is `delta`."""
        if not 0 <= delta <= self.delta or (delta and delta == self.delta):
            raise UsageError("what is set aside for value lists must leave a part of delta for the conversion")
        return self._twin(aside=delta)

    def in_rho(self) -> Budget:
        """Return the same promise, kept in rho of zero-concentrated differential privacy where it has a delta."""
        return self._twin(concentrated=True)

    def _twin(self, **changed: Fraction | bool) -> Budget:
        twin = Budget(self.epsilon, self.delta)
        for field in ("part", "aside", "concentrated"):
            object.__setattr__(twin, field, changed.get(field, getattr(self, field)))
        return twin

    def __str__(self) -> str:
        return f"epsilon {show(self.epsilon)}" + (f", delta {show(self.delta)}" if self.delta else "")


def exact(value: Amount, what: str = "the amount") -> Fraction:
    """Return the rational a person meant, of a size that floating-point numbers have too."""
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, Integral):  # numpy's whole numbers too
            value = int(value)
        if isinstance(value, float | Decimal):
            if not math.isfinite(value):
                raise ValueError
            value = repr(float(value)) if isinstance(value, float) else str(value)
        if isinstance(value, str) and (
            len(value) > _LONGEST_TEXT or len(value.strip().lower().partition("e")[2]) > _LONGEST_EXPONENT
        ):
            raise ValueError
        number = Fraction(value)
        if number and not 1 / _LARGEST < abs(number) < _LARGEST:
            raise ValueError
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        example = "1e-9" if what == "delta" else "0.5"
        raise UsageError(f"{what} must be a number such as {example}") from None
    return number


def exact_cap(value: Amount) -> Fraction:
    """Return the rational of a cap: 0, which stops an account, or more."""
    cap = exact(value, "the cap")
    if cap < 0:
        raise UsageError("a cap is 0 or more")
    return cap


def show(value: Fraction) -> str:
    """Return a short text of an amount: six significant digits."""
    return f"{float(value):.6g}"
