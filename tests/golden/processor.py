"""Which floating-point arithmetic this machine has: sums come out otherwise in the last digit on another processor."""

from __future__ import annotations

import hashlib
from typing import Any

import numba
import numpy as np


@numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
def _sum(values: Any) -> Any:
    """Add up in the order that the compiler likes best on this processor."""
    total = 0.0
    for value in values:
        total += value * value
    return total


def arithmetic() -> str:
    """Return a short name for the results of sums, products and exponentials on this machine, with these libraries."""
    values = np.random.Generator(np.random.PCG64(1)).normal(size=4_099)
    square = values[:4096].reshape(64, 64)
    parts = [np.exp(values), np.log(np.abs(values)), square @ square, values.sum(), _sum(values)]
    return hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()[:16]
