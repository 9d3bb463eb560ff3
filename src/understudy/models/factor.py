"""A factor: a non-negative table over axes, and the two things one does with it — project and multiply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TooLarge
from understudy.schema import Axes, Axis, Floats

MAX_CELLS = 50_000_000  # a factor above this is refused before it is allocated (400 MB)


@dataclass(frozen=True, eq=False)
class Factor:
    """`table` has one dimension for each of `axes`, in that order."""

    axes: Axes
    table: Floats

    def __post_init__(self) -> None:
        assert len(self.axes) == self.table.ndim and len(set(self.axes)) == len(self.axes)

    @property
    def total(self) -> float:
        return float(self.table.sum())

    def project(self, axes: Sequence[Axis]) -> Factor:
        """Sum out every other axis; the result has the order asked for."""
        gone = tuple(i for i, axis in enumerate(self.axes) if axis not in axes)
        kept = [axis for axis in self.axes if axis in axes]
        table = self.table.sum(axis=gone)
        return Factor(tuple(axes), np.transpose(table, [kept.index(axis) for axis in axes]))

    def expand(self, axes: Sequence[Axis]) -> Floats:
        """Return the table laid out over a superset of the axes, broadcast along the new ones."""
        order = [self.axes.index(axis) for axis in axes if axis in self.axes]
        shape = [self.table.shape[self.axes.index(axis)] if axis in self.axes else 1 for axis in axes]
        return np.transpose(self.table, order).reshape(shape)

    def multiply(self, other: Factor, limit: int = MAX_CELLS) -> Factor:
        axes = self.axes + tuple(axis for axis in other.axes if axis not in self.axes)
        sizes = dict(zip(self.axes + other.axes, self.table.shape + other.table.shape))
        check_cells(math.prod(sizes[axis] for axis in axes), axes, limit)
        return Factor(axes, self.expand(axes) * other.expand(axes))

    def normalised(self) -> Factor:
        """Scale the table to sum one; an all-zero table becomes uniform."""
        total = self.table.sum()
        if total <= 0:
            return Factor(self.axes, np.full(self.table.shape, 1 / max(1, self.table.size)))
        return Factor(self.axes, self.table / total)


def conditional(table: Floats, given: int) -> Floats:
    """Return a table of shares given its first few dimensions; where these have no mass, the rest keeps its own
    distribution."""
    total = table.sum(axis=tuple(range(given, table.ndim)), keepdims=True)
    own = table.sum(axis=tuple(range(given)), keepdims=True)
    return np.where(total > 0, table / np.where(total > 0, total, 1.0), own / own.sum())


def check_cells(cells: int, axes: Sequence[Axis], limit: int) -> None:
    """Refuse a table before it is allocated."""
    if cells > limit:
        raise TooLarge(
            f"a table over {', '.join(str(a) for a in axes)} has {cells:,} cells, the limit is {limit:,}. "
            "Ask for fewer attributes, give the larger ones a taxonomy or fewer bins, or lower the degree."
        )


def sum_groups(table: Floats, dimension: int, group: NDArray[np.int32], size: int) -> Floats:
    """Add up slices of one dimension by group."""
    moved = np.moveaxis(table, dimension, 0)
    out = np.zeros((size, *moved.shape[1:]), dtype=table.dtype)
    np.add.at(out, group, moved)
    return np.moveaxis(out, 0, dimension)
