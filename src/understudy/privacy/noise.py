"""Noise: the two distributions that are added to exact integers. Whatever depends on which of them it is, is here.

A cost is an exact rational (epsilon, mu squared or rho); a scale is the float opendp takes. The scale is raised, never
lowered, until opendp's own privacy map says that the mechanism costs no more than was paid; for mu squared, which it
does not know, exact arithmetic does (`accounting.gaussian_scale`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np

from understudy.errors import TooLarge, UsageError
from understudy.privacy.distributed_noise import gaussian_share_scale, polya_share, rational_scale
from understudy.privacy.random_source import RandomSource, gaussian_measurement, laplace_measurement
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Integers

MIN_COST = Fraction(1, 10**100)  # below it, scales and costs leave the range of floating-point numbers
MAX_COST = 10**6  # no budget holds as much
_FLAT = 1 - 1e-6  # a discrete Laplace that decays no faster than this is continuous to ten digits


@dataclass(frozen=True)
class Noise(ABC):
    """Integer noise of one scale, from exact samplers.

    Args:
        scale: the b of a discrete Laplace, or the σ of a discrete Gaussian, in rows for counts.

    >>> from understudy.privacy.noise import Gaussian, Laplace
    >>> round(Laplace(2.0).variance, 2), round(Gaussian(2.0).variance, 2)
    (7.84, 4.0)
    """

    name: ClassVar[str]  # in release files, in JSON and on the wire
    deviation_per_scale: ClassVar[float]  # standard deviation of the continuous noise of scale 1
    middle_95: ClassVar[float]  # half the width of the middle 95 % of it

    scale: float

    @classmethod
    @abstractmethod
    def for_cost(cls, sensitivity: Sensitivity, cost: Fraction) -> Self:
        """Return the least noise with which an answer of this `sensitivity` costs at most `cost` (epsilon, or rho)."""

    @classmethod
    @abstractmethod
    def of_variance(cls, variance: float) -> Self:
        """Return the noise of this variance: the inverse of `variance`."""

    @staticmethod
    @abstractmethod
    def squared_norm(sensitivity: Sensitivity) -> int:
        """Return the square of the norm that this noise is calibrated to."""

    @property
    def reach_95(self) -> float:
        """Return half the width of the middle 95 % of the noise, in standard deviations."""
        return self.middle_95 / self.deviation_per_scale

    @property
    @abstractmethod
    def variance(self) -> float:
        """Return the variance of the noise in one cell, in rows squared."""

    @property
    @abstractmethod
    def mean_abs(self) -> float:
        """Return the expected absolute noise in one cell."""

    @abstractmethod
    def largest_of(self, cells: int) -> float:
        """Return about how far the largest of so many noises goes."""

    @abstractmethod
    def margin(self, confidence: float) -> int:
        """Return a whole number that the noise does not exceed with at least this probability."""

    @abstractmethod
    def draw(self, values: Integers, source: RandomSource) -> Integers:
        """Return these exact integers with noise on each."""

    # -- noise of several owners, each of whom draws a share --------------------------------------------------------

    def check_share(self, honest: int) -> None:
        """Refuse noise that cannot be shared among so many honest owners, before it is paid for."""
        if honest < 1:
            raise UsageError("noise that no honest owner has a share of is no noise")
        self._share_scale(honest)

    @abstractmethod
    def _share_scale(self, honest: int) -> Fraction | float: ...

    @abstractmethod
    def share(self, cells: int, honest: int, source: RandomSource) -> Integers:
        """Return one owner's share, of which any `honest` owners' shares are enough."""

    @abstractmethod
    def summed(self, honest: int, owners: int) -> Self:
        """Return one noise with the variance of so many owners' shares: what a reader of the sum reckons with."""


class Laplace(Noise):
    """The discrete Laplace distribution, calibrated to the L1 sensitivity: pure differential privacy."""

    name = "laplace"
    deviation_per_scale = math.sqrt(2)
    middle_95 = math.log(20)

    @classmethod
    def for_cost(cls, sensitivity: Sensitivity, cost: Fraction) -> Self:
        l1 = sensitivity.l1
        check_cost(l1, cost)
        return cls(raised(float(l1 / cost), lambda scale: laplace_measurement(scale).map(l1), cost))

    @classmethod
    def of_variance(cls, variance: float) -> Self:
        decay = 1 + 1 / variance - math.sqrt((2 + 1 / variance) / variance)  # solves 2·decay/(1 − decay)² = variance
        return cls(math.sqrt(variance / 2) if decay > _FLAT else -1 / math.log(decay))

    @staticmethod
    def squared_norm(sensitivity: Sensitivity) -> int:
        return sensitivity.l1**2

    @property
    def variance(self) -> float:
        if self.scale == 0:
            return self.scale
        if self.scale > 1e8:  # 2b² is as good from here on, and further out the other has no digit left
            return 2 * self.scale**2
        decay = math.exp(-1 / self.scale)
        return 2 * decay / (1 - decay) ** 2

    @property
    def mean_abs(self) -> float:
        return self.scale

    def largest_of(self, cells: int) -> float:
        return self.scale * math.log(cells)

    def margin(self, confidence: float) -> int:
        """Return b·ln(1/(1 − confidence)), rounded up: P(|X| > k) ≤ e^(−k/b) for the discrete Laplace."""
        return math.ceil(self.scale * -math.log(1 - confidence))

    def draw(self, values: Integers, source: RandomSource) -> Integers:
        return source.laplace(values.ravel(), self.scale).reshape(values.shape)

    def _share_scale(self, honest: int) -> Fraction:
        return rational_scale(self.scale)

    def share(self, cells: int, honest: int, source: RandomSource) -> Integers:
        self.check_share(honest)
        return polya_share(cells, self._share_scale(honest), honest, source.words)

    def summed(self, honest: int, owners: int) -> Self:
        variance = Laplace(float(self._share_scale(honest))).variance * owners / honest
        return self.of_variance(variance) if variance else self


class Gaussian(Noise):
    """The discrete Gaussian distribution, calibrated to the L2 sensitivity: concentrated differential privacy."""

    name = "gaussian"
    deviation_per_scale = 1.0
    middle_95 = 1.96

    @classmethod
    def for_cost(cls, sensitivity: Sensitivity, cost: Fraction) -> Self:
        check_cost(sensitivity.l1, cost)
        l2 = math.nextafter(math.sqrt(sensitivity.l2_squared), math.inf)
        sigma = math.sqrt(float(sensitivity.l2_squared / (2 * cost)))
        return cls(raised(sigma, lambda scale: gaussian_measurement(scale).map(l2), cost))

    @classmethod
    def of_variance(cls, variance: float) -> Self:
        return cls(math.sqrt(variance))

    @staticmethod
    def squared_norm(sensitivity: Sensitivity) -> int:
        return sensitivity.l2_squared

    @property
    def variance(self) -> float:
        """Return σ², which is right to many digits from scale 1 on."""
        return self.scale**2

    @property
    def mean_abs(self) -> float:
        return self.scale * math.sqrt(2 / math.pi)

    def largest_of(self, cells: int) -> float:
        return self.scale * math.sqrt(2 * math.log(cells))

    def margin(self, confidence: float) -> int:
        """Return the normal quantile, rounded up and one more for the discrete Gaussian."""
        return math.ceil(self.scale * NormalDist().inv_cdf((1 + confidence) / 2)) + 1

    def draw(self, values: Integers, source: RandomSource) -> Integers:
        return source.gaussian(values.ravel(), self.scale).reshape(values.shape)

    def _share_scale(self, honest: int) -> float:
        return gaussian_share_scale(self.scale, honest)

    def share(self, cells: int, honest: int, source: RandomSource) -> Integers:
        self.check_share(honest)
        return source.gaussian(np.zeros(cells, dtype=np.int64), self._share_scale(honest))

    def summed(self, honest: int, owners: int) -> Self:
        return type(self)(self._share_scale(honest) * math.sqrt(owners))


NOISES: dict[str, type[Noise]] = {noise.name: noise for noise in (Laplace, Gaussian)}  # by the name in files


# -- what every mechanism has in common -----------------------------------------------------------------------------


def check_cost(sensitivity: int, cost: Fraction) -> None:
    """Refuse what cannot be noised, from public facts."""
    if cost <= 0:
        raise UsageError("whatever reads rows must cost something")
    if not MIN_COST <= cost <= MAX_COST:
        raise UsageError("whatever reads rows costs from 1e-100 to 1e6: no noise can be drawn for any other cost")
    if sensitivity >= 2**62:
        raise TooLarge("one person can move this answer by 2^62 or more: lower `rows_per_person`, or ask for less")


def raised(scale: float, map_of: Callable[[float], Any], cost: Fraction) -> float:
    """Return the least scale, from this one on, that costs no more than `cost` by opendp's privacy map."""
    step = 2.0**-52
    while Fraction(float(map_of(scale))) > cost:
        scale *= 1 + step
        step *= 2
    return scale


def as_integers(values: Any) -> Integers:
    """Return exact counts as 64-bit integers: a count is an integer or it is an error."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError("exact counts must be integers")
    return array.astype(np.int64)
