"""Drawing: a code for each row by its own distribution, evenly: as often as all rows together expect it, nearly.

Rows that are drawn independently of each other have a column that is off by chance, by more than the noise where rows
are few. Here rows stand in an order, like beside like, and a code goes to every row at which the sum of its chances
passes a whole number (systematic sampling): each row has its own chances still, and any stretch of rows has about as
many as expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
FEWEST = 4  # rows of a group, on average
SURE = 1 - 1e-12  # a chance that is one but for rounding


def even_draw(
    shares: Floats,
    factors: NDArray[Any] | None,
    like: Index,
    generator: np.random.Generator,
    beside: Sequence[NDArray[Any]] = (),
) -> Index:
    """Draw a column for each row, as likely as its share times its factor; by the factors where no share is left.

    Rows with the same number in `like` are drawn beside each other, by what they have in the columns `beside`, as far
    as a group of them keeps some rows, and else in a random order.
    """
    weights = shares if factors is None else shares * factors
    if factors is not None:
        weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, factors)
    order = np.lexsort((generator.random(len(weights)), *_sorting(like, beside, generator)))
    tails = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]  # of a column and those after it
    found = np.full(len(weights), weights.shape[1] - 1)
    for column, start in enumerate(generator.random(weights.shape[1] - 1)):
        chances = weights[order, column] / np.maximum(tails[order, column], 1e-300)
        passed = np.floor(np.cumsum(chances) + start)
        taken = (np.diff(passed, prepend=0.0) > 0) | (chances >= SURE)
        found[order[taken]] = column
        order = order[~taken]
    return found


def _sorting(like: Index, beside: Sequence[NDArray[Any]], generator: np.random.Generator) -> list[NDArray[Any]]:
    """Return the columns to sort by, the last first: some of those `beside`, in a random order."""
    found, groups = [like], 1 + int(like.max(initial=0))
    for at in generator.permutation(len(beside)):
        groups *= 1 + int(beside[at].max(initial=0))
        if groups * FEWEST > len(like):
            break
        found.insert(0, beside[at])
    return found
