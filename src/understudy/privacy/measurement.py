"""A measurement: a table of counts with noise already on it. Public, once it exists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Axes

Noise = Literal["laplace", "gaussian"]


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy integer counts over `axes`; `scale` is Laplace's b or the Gaussian's σ, in counts."""

    axes: Axes
    values: NDArray[np.int64]
    noise: Noise
    scale: float

    @property
    def variance(self) -> float:
        """Of the noise in one cell."""
        return noise_variance(self.noise, self.scale)


def noise_variance(noise: Noise, scale: float) -> float:
    """Exact for the discrete Laplace, and to many digits for the discrete Gaussian of scale 1 or more."""
    if noise == "gaussian" or scale == 0:
        return scale**2
    if scale > 1e8:  # 2b² is as good from here on, and further out the other has no digit left
        return 2 * scale**2
    decay = math.exp(-1 / scale)
    return 2 * decay / (1 - decay) ** 2


def expected_noise(noise: Noise, scale: float) -> float:
    """The expected absolute noise in one cell: b for Laplace, σ√(2/π) for Gauss."""
    return scale if noise == "laplace" else scale * math.sqrt(2 / math.pi)
