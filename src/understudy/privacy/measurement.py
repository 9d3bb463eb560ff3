"""A measurement: a table of counts with noise already on it. Public, once it exists."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from understudy.privacy.accounting import Accounting
from understudy.privacy.noise import Noise
from understudy.privacy.sensitivity import table_sensitivity
from understudy.schema import Axes, Integers, Schema


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy integer counts over `axes`, and the noise in each of their cells."""

    axes: Axes
    values: Integers
    noise: Noise

    @property
    def variance(self) -> float:
        """Return the variance of the noise in one cell."""
        return self.noise.variance


def table_noise(schema: Schema, accounting: Accounting, cost: Fraction) -> Noise:
    """Return the noise of one measured table at this cost: public, so that a plan can state it."""
    return accounting.noise_for(table_sensitivity(schema), cost)
