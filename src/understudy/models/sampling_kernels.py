"""The inner loop of ancestral sampling. Imported late: compiling costs time."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.compiled import compiled


@compiled
def draw(
    codes: Any, child: int, columns: Any, offsets: Any, lut: Any, cumulative: Any, uniform: Any
) -> None:  # pragma: no cover - compiled
    """Fill line `child` of `codes`: find each row's parent configuration, then the value by its cumulative weights."""
    values = cumulative.shape[1]
    for r in range(codes.shape[1]):
        at = 0
        for j in range(columns.shape[0]):
            at += lut[offsets[j] + np.int64(codes[columns[j], r])]
        u = uniform[r]
        low, high = 0, values - 1
        while low < high:
            middle = (low + high) >> 1
            if cumulative[at, middle] <= u:
                low = middle + 1
            else:
                high = middle
        codes[child, r] = low
