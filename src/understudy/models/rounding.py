"""Rounding: rows from a calibrated clique tree, clique by clique, with as little sampling error as integers allow.

Systematic rounding gives every cell of a table the integer below or above its expected count, and the right one on
average. It is done for the root clique, and then for each clique given its separator, in random order of the rows.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled
from understudy.models.calibration import Layout
from understudy.schema import Axis, Floats

Rounding = Literal["systematic", "multinomial"]
Columns = dict[Axis, NDArray[Any]]
CHUNK = 1 << 20  # rows drawn at a time: what is needed beside the result stays small


def draw(layout: Layout, beliefs: Floats, rows: int, rounding: Rounding, generator: np.random.Generator) -> Columns:
    """Draw codes of every variable, in random order of the rows."""
    sizes = {a: n for axes, shape in zip(layout.axes, layout.shapes) for a, n in zip(axes, shape)}
    columns: Columns = {a: np.zeros(rows, dtype=np.uint8 if n <= 256 else np.uint16) for a, n in sizes.items()}
    # one row for each configuration of the separator, with the running sums of its block
    blocks = [layout.table(beliefs, i).reshape(-1, layout.block(i)) for i in range(len(layout.axes))]
    cumulative = [np.cumsum(block, axis=1) for block in blocks]
    for first in range(0, rows, CHUNK):
        part = {axis: column[first : first + CHUNK] for axis, column in columns.items()}
        for i, table in enumerate(cumulative):
            _draw_clique(layout, i, table, part, min(CHUNK, rows - first), rounding, generator)
    return columns


def _draw_clique(
    layout: Layout, i: int, cumulative: Floats, columns: Columns, rows: int, rounding: Rounding,
    generator: np.random.Generator,
) -> None:  # fmt: skip
    """Fill in the columns that this clique adds to its separator's."""
    known = len(layout.separators[i])
    axes, shape = layout.axes[i], layout.shapes[i]
    group = np.zeros(rows, dtype=np.int64)
    for axis, size in zip(axes[:known], shape[:known]):
        group *= size
        group += columns[axis]
    if rounding == "systematic":
        order, offset = generator.permutation(rows), generator.random(len(cumulative))
        place = np.empty(rows)
        _spread(group, order, offset, np.bincount(group, minlength=len(offset)), np.zeros(len(offset), np.int64), place)
    else:
        place = generator.random(rows)
    cell = group
    _find(cumulative, group, place)
    for axis, size in zip(reversed(axes[known:]), reversed(shape[known:])):
        cell, columns[axis][:] = np.divmod(cell, size)


@compiled
def _spread(group: Any, order: Any, offset: Any, size: Any, dealt: Any, place: Any) -> None:
    """Fill `place` with evenly spaced places in [0, 1) for the rows of each group, dealt out in random order.

    `size` has the number of rows of each group, `dealt` a zero for each.
    """
    for i in range(len(order)):
        row = order[i]
        g = group[row]
        place[row] = (dealt[g] + offset[g]) / size[g]
        dealt[g] += 1


@compiled
def _find(cumulative: Any, group: Any, place: Any) -> None:
    """Replace each row's group by the cell of its block in which its place falls: the first one whose running sum is
    above it."""
    width = cumulative.shape[1]
    for row in range(len(group)):
        block = group[row]
        # Strictly below the total, whatever the rounding: a cell of probability zero is never reached.
        share = place[row] if place[row] < 1.0 - 1e-12 else 1.0 - 1e-12
        target = share * cumulative[block, width - 1]
        low, high = 0, width - 1
        while low < high:
            middle = (low + high) >> 1
            if cumulative[block, middle] > target:
                high = middle
            else:
                low = middle + 1
        group[row] = low
