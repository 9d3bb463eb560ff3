"""Nearest counts: noisy counts made non-negative and brought to a total, as near to what was measured as can be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Floats


def nearest_counts(values: NDArray[Any], total: float) -> Floats:
    """Return the nearest counts to these that are not negative and add up to `total`: all less the same number, cut off
    at zero. Of integers it is worked out from sums of integers, so that every machine finds the same.

    >>> nearest_counts(np.array([60, 50, 4, -4]), 100).tolist()
    [55.0, 45.0, 0.0, 0.0]
    """
    largest_first = np.sort(values)[::-1]
    excess = (np.cumsum(largest_first) - total) / np.arange(1, len(values) + 1)
    kept = max(1, int((largest_first > excess).sum()))
    return np.asarray(np.maximum(values - excess[kept - 1], 0.0))
