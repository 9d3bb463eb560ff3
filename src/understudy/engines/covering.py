"""Covering: few wider tables that hold the many asked ones; rows are read for those, and the rest is adding cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from understudy.engines.engine import Counts
from understudy.errors import TooLarge
from understudy.schema import Axes, Axis, Schema
from understudy.schema.row_major import coarse_index, summed

MAX_CELLS = 100_000_000  # of one table


def check_cells(workload: Iterable[Axes], schema: Schema) -> None:
    """Refuse a table that is too large to be counted."""
    for axes in workload:
        if (cells := schema.cells(axes)) > MAX_CELLS:
            raise TooLarge(f"a table of {cells:,} cells was asked for; the limit is {MAX_CELLS:,}")


def cover(keys: Sequence[Axes], schema: Schema, most: int) -> list[Axes]:
    """Return tables of at most `most` cells that hold every key; a key that is larger stands for itself.

    Greedy: a table grows by the axis that brings in the most keys for its size, as long as it brings in any.
    """
    axes = sorted({axis for key in keys for axis in key})
    sizes = schema.sizes(axes)
    at = {axis: 1 << i for i, axis in enumerate(axes)}
    left = dict.fromkeys(sum(at[axis] for axis in key) for key in keys)
    found = []
    while left:
        union = next(iter(left))
        cells = math.prod(size for i, size in enumerate(sizes) if union >> i & 1)
        while left := {mask: None for mask in left if mask & ~union}:
            gain: dict[int, int] = {}
            for mask in left:
                missing = mask & ~union
                if not missing & (missing - 1):
                    gain[missing] = gain.get(missing, 0) + 1
            fitting = {bit: n for bit, n in gain.items() if cells * sizes[bit.bit_length() - 1] <= most}
            if not fitting:
                break
            best = max(fitting, key=lambda bit: fitting[bit] / math.log(1 + sizes[bit.bit_length() - 1]))
            union |= best
            cells *= sizes[best.bit_length() - 1]
        found.append(tuple(axis for i, axis in enumerate(axes) if union >> i & 1))
    return found


def holds(block: Axes, axes: Axes) -> bool:
    """Return whether the table over `axes` follows from the block's by summing out axes and generalising attributes."""
    return all(axis in block or Axis(axis.attribute) in block for axis in axes)


def project(table: Counts, block: Axes, axes: Axes, schema: Schema) -> Counts:
    """Return the table over `axes` from one that holds it."""
    source = [axis if axis in block else Axis(axis.attribute) for axis in axes]
    kept = [axis for axis in block if axis in source]
    reduced = table.sum(axis=tuple(i for i, axis in enumerate(block) if axis not in source))
    if source == list(axes):
        return np.transpose(reduced, [kept.index(axis) for axis in axes])
    shape = schema.sizes(axes)
    codes = [np.arange(size) if axis in block else schema.view_map(axis) for axis, size in zip(axes, shape)]
    return summed(reduced, coarse_index(reduced.shape, [kept.index(held) for held in source], codes, shape), shape)
