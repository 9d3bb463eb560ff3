"""Chance: how far tables of independent columns are from their expectation, since rows come whole."""

from __future__ import annotations

import math

import numpy as np

from understudy.schema import Floats


def chance_deviation(mean: Floats) -> Floats:
    """Return the mean absolute deviation of a Poisson variable, nearly: of cells that hold so many rows by a model."""
    return np.where(mean < 1, 2 * mean * np.exp(-np.minimum(mean, 1)), np.sqrt(2 / math.pi * mean))
