"""Row-major order: the number of a cell in a table, and of the cell of a coarser table that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how far the number of a cell moves for one step along each axis.

    >>> strides((2, 3, 4))
    (12, 4, 1)
    """
    found = [1]
    for size in reversed(shape[1:]):
        found.append(found[-1] * size)
    return tuple(reversed(found))[: len(shape)]


def coarse_index(
    shape: Sequence[int], follows: Sequence[int], codes: Sequence[NDArray[Any]], coarse: Sequence[int]
) -> NDArray[np.int64]:
    """Return, for each cell of a table of this shape, the number of its cell in a table of the shape `coarse`.

    Each axis of the coarse table `follows` one of the table's, and has for each code of that axis its own in `codes`.

    >>> coarse_index((2, 3), [1], [np.array([0, 0, 1])], (2,)).tolist()
    [0, 0, 1, 0, 0, 1]
    """
    index = np.zeros(shape, dtype=np.int64)
    for at, own, stride in zip(follows, codes, strides(coarse)):
        index += (own.astype(np.int64) * stride).reshape([-1 if i == at else 1 for i in range(len(shape))])
    return index.ravel()


def summed(table: NDArray[np.int64], index: NDArray[np.int64], shape: Sequence[int]) -> NDArray[np.int64]:
    """Return the coarser table of this shape, given the number of each cell's cell in it."""
    # bincount adds in doubles, exact below 2^53 rows
    flat = np.bincount(index, weights=table.ravel(), minlength=int(np.prod(shape, dtype=np.int64)))
    return flat.astype(np.int64).reshape(shape)
