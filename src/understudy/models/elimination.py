"""Variable elimination: the exact table over a few axes of a product of factors, sizes checked before allocation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from understudy.models.factor import MOST_CELLS, Factor, check_cells
from understudy.schema import Axis


def eliminate(factors: Sequence[Factor], keep: Sequence[Axis], limit: int = MOST_CELLS) -> Factor:
    """Sum the product of the factors over every axis that is not kept; the cheapest axis goes first."""
    sizes = {axis: size for factor in factors for axis, size in zip(factor.axes, factor.table.shape)}
    scopes = [set(factor.axes) for factor in factors]
    pool = list(factors)
    gone = set(sizes) - set(keep)
    while gone:
        axis = min(gone, key=lambda a: (_joined_cells(a, scopes, sizes), a))
        near = [i for i, scope in enumerate(scopes) if axis in scope]
        joined = _product([pool[i] for i in near], limit)
        left = joined.project([a for a in joined.axes if a != axis])
        pool = [f for i, f in enumerate(pool) if i not in near] + [left]
        scopes = [set(f.axes) for f in pool]
        gone.remove(axis)
    check_cells(math.prod(sizes[a] for a in keep), tuple(keep), limit)
    return _product(pool, limit).project(list(keep))


def _joined_cells(axis: Axis, scopes: Sequence[set[Axis]], sizes: dict[Axis, int]) -> int:
    union: set[Axis] = set()
    for scope in scopes:
        if axis in scope:
            union |= scope
    return math.prod(sizes[a] for a in union)


def _product(factors: Sequence[Factor], limit: int) -> Factor:
    result = factors[0]
    for factor in factors[1:]:
        result = result.multiply(factor, limit)
    return result
