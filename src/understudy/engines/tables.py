"""Tables that are counted together: which lines of codes each one reads, and where its cells are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.engines.kernels import Integers
from understudy.schema import Axes, Axis, Schema
from understudy.schema.row_major import strides


@dataclass(frozen=True, eq=False)
class KernelLayout:
    """Tables to count together, as the loop wants them."""

    narrow: tuple[str, ...]  # the attributes with one byte a code, by line
    wide: tuple[str, ...]
    columns: Integers
    strides: NDArray[np.int32]
    maps: Integers
    lut: NDArray[np.int32]
    first: Integers
    starts: Integers

    @staticmethod
    def of(keys: Sequence[Axes], schema: Schema) -> KernelLayout:
        names = sorted({axis.attribute for key in keys for axis in key})
        narrow = tuple(name for name in names if schema[name].size <= 256)
        wide = tuple(name for name in names if schema[name].size > 256)
        place = {name: i for i, name in enumerate(narrow)} | {name: -1 - i for i, name in enumerate(wide)}
        columns, steps, maps, luts, starts, first = [], [], [], [np.zeros(0, dtype=np.int32)], [0], [0]
        ready: dict[tuple[Axis, int], int] = {}
        length = 0
        for key in keys:
            shape = schema.sizes(key)
            starts.append(starts[-1] + math.prod(shape))
            first.append(first[-1] + len(key))
            for axis, stride in zip(key, strides(shape)):
                columns.append(place[axis.attribute])
                steps.append(stride)
                if not axis.base and (axis, stride) not in ready:
                    ready[axis, stride] = length
                    luts.append((schema.view_map(axis).astype(np.int64) * stride).astype(np.int32))
                    length += len(luts[-1])
                maps.append(-1 if axis.base else ready[axis, stride])
        return KernelLayout(
            narrow, wide, np.asarray(columns, dtype=np.int64), np.asarray(steps, dtype=np.int32),
            np.asarray(maps, dtype=np.int64), np.concatenate(luts), np.asarray(first, dtype=np.int64),
            np.asarray(starts, dtype=np.int64),
        )  # fmt: skip

    @property
    def cells(self) -> int:
        return int(self.starts[-1])

    def split(self, flat: Integers) -> list[Integers]:
        return np.split(flat, self.starts[1:-1])
