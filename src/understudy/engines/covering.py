"""Covering: few wide tables that hold many narrow ones, so that a pass over the rows counts few things.

A wide table is worth its cells only while they are few beside the rows; the limit says how many that is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from understudy.schema import Axes, Axis, Schema


def holds(block: Axes, ask: Axes) -> bool:
    """Whether the ask's table follows from the block's: by leaving axes out and by generalising whole attributes."""
    return all(axis in block or Axis(axis.attribute) in block for axis in ask)


def cover(asks: Sequence[Axes], schema: Schema, limit: int) -> list[Axes]:
    """Blocks of at most `limit` cells (or a single ask, where that is larger) that hold every ask.

    Greedy: the largest ask that is still open is the seed, and the axis that completes most open asks joins next.
    """
    axes = sorted({axis for ask in asks for axis in ask})
    at = {axis: i for i, axis in enumerate(axes)}
    implied = [[at[other] for other in axes if other.attribute == axis.attribute] for axis in axes]
    sizes = np.asarray(schema.sizes(axes), dtype=np.float64)
    ordered = sorted(asks, key=schema.cells, reverse=True)
    wants = np.zeros((len(ordered), len(axes)), dtype=np.float32)
    for i, ask in enumerate(ordered):
        wants[i, [at[axis] for axis in ask]] = 1
    open_asks = np.ones(len(ordered), dtype=bool)
    blocks = []
    for seed, ask in enumerate(ordered):
        if not open_asks[seed]:
            continue
        inside = np.zeros(len(axes), dtype=bool)
        block: list[Axis] = []
        for axis in sorted(ask, key=lambda axis: not axis.base):
            if not inside[at[axis]]:
                _join(axis, at, implied, inside, block)
        left = np.flatnonzero(open_asks)
        while (best := _next(wants[left], inside, sizes, limit / math.prod(schema.sizes(block)))) is not None:
            _join(axes[best], at, implied, inside, block)
        missing = wants[left] @ ~inside
        open_asks[left[missing == 0]] = False
        blocks.append(tuple(sorted(block)))
    return blocks


def _join(axis: Axis, at: dict[Axis, int], implied: list[list[int]], inside: np.ndarray, block: list[Axis]) -> None:
    """A whole attribute brings all its views, and takes the place of those that are there."""
    if axis.base:
        block[:] = [other for other in block if other.attribute != axis.attribute]
        inside[implied[at[axis]]] = True
    inside[at[axis]] = True
    block.append(axis)


def _next(wants: np.ndarray, inside: np.ndarray, sizes: np.ndarray, room: float) -> int | None:
    """The axis that completes most asks for its size, among those there is room for."""
    missing = wants @ ~inside
    fits = ~inside & (sizes <= room)
    for lacking in (1, 2):
        gain = (wants[missing == lacking].sum(axis=0) * fits) / np.log2(np.maximum(sizes, 2))
        if gain.any():
            return int(gain.argmax())
    return None
