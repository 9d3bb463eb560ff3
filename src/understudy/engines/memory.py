"""The in-memory engine: coded columns, compiled loops, and a cache so that nothing is counted twice."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines import kernels
from understudy.engines.engine import Counts
from understudy.engines.pairs import PairCounts, pair_counts
from understudy.errors import TooLarge
from understudy.schema import Axes, Axis, Schema

CACHE_CELLS = 32_000_000  # 256 MB of counts
MOST_CELLS = 100_000_000
MOST_PACKED = 12  # wider binary tables are counted row by row: 2^k popcounts would cost more


class MemoryEngine:
    """Counts columns that fit in memory, one or two bytes a value."""

    name = "memory"

    def __init__(self, columns: dict[str, NDArray[Any]], rows: int, schema: Schema) -> None:
        self._schema = schema
        self._rows = rows
        narrow = [a.name for a in schema.modelled if a.size <= 256]
        wide = [a.name for a in schema.modelled if a.size > 256]
        self._place = {name: (False, i) for i, name in enumerate(narrow)} | {n: (True, i) for i, n in enumerate(wide)}
        self._narrow = _stack([columns[name] for name in narrow], np.uint8, rows)
        self._wide = _stack([columns[name] for name in wide], np.uint16, rows)
        self._packed: NDArray[np.uint64] = np.zeros((0, -(-rows // 64)), dtype=np.uint64)
        self._packed_at: dict[Axis, int] = {}
        self._cache: dict[Axes, Counts] = {}
        self._cached_cells = 0
        self._widest = 0
        self._tables_with: dict[Axis, set[Axes]] = {}
        self.tables_counted = 0  # how many scans were made, for tests of sharing

    def rows(self) -> int:
        return self._rows

    def marginals(self, asks: Sequence[Axes]) -> Iterator[Counts]:
        """Equal asks, and asks that differ only in the order of their axes, are counted once."""
        keys = [tuple(sorted(axes)) for axes in asks]
        self._count_all(list(dict.fromkeys(keys)))
        for axes, key in zip(asks, keys):
            table = self._cache[key]
            yield table if axes == key else np.transpose(table, [key.index(axis) for axis in axes])
        self._shrink()

    def pairs(self, axes: Axes) -> PairCounts:
        """All pairwise tables of these axes at once; kept nowhere, since whoever asks wants scores of them."""
        lines = []
        for axis in axes:
            wide, at = self._place[axis.attribute]
            codes = self._schema.view_map(axis)[(self._wide if wide else self._narrow)[at]]
            lines += [kernels.pack((codes == value).astype(np.uint8)) for value in range(1, self._schema.size(axis))]
        bits = np.stack(lines) if lines else np.zeros((0, -(-self._rows // 64)), dtype=np.uint64)
        return pair_counts(bits, self._schema.sizes(axes), self._rows, _threads())

    # -- planning a batch ------------------------------------------------------------------------------------

    def _count_all(self, keys: list[Axes]) -> None:
        for key in keys:
            if (cells := self._schema.cells(key)) > MOST_CELLS:
                raise TooLarge(f"a table of {cells:,} cells was asked for; the limit is {MOST_CELLS:,}")
        by_width: dict[int, list[Axes]] = {}
        for key in keys:
            by_width.setdefault(len(key), []).append(key)
        for width in sorted(by_width, reverse=True):  # the widest first: narrower ones may be their projections
            self._count_width(by_width[width])

    def _count_width(self, keys: list[Axes]) -> None:
        packed: list[Axes] = []
        plain: list[Axes] = []
        coarse: dict[Axes, Axes] = {}
        for key in keys:
            if key in self._cache or self._from_wider(key):
                continue
            if not key:
                self._keep(key, np.array(self._rows, dtype=np.int64))
            elif len(key) <= MOST_PACKED and all(self._schema.size(axis) == 2 for axis in key):
                packed.append(key)
            elif self._summable(key):
                coarse[key] = tuple(sorted({Axis(axis.attribute) for axis in key}))
            else:
                plain.append(key)
        base = [key for key in dict.fromkeys(coarse.values()) if key not in self._cache and key not in plain]
        self._count_plain(plain + [key for key in base if not self._from_wider(key)])
        self._count_packed(packed)
        for key, whole in coarse.items():
            self._keep(key, self._generalise(self._cache[whole], key))

    def _summable(self, key: Axes) -> bool:
        """A generalised table whose base table is small comes by adding cells, not by reading rows again."""
        if all(axis.base for axis in key):
            return False
        base = {axis.attribute for axis in key}
        return self._schema.cells([Axis(name) for name in base]) <= max(1024, self._rows)

    def _from_wider(self, key: Axes) -> bool:
        """Project a wider table that is already there, when that is cheaper than a scan."""
        holding = [self._tables_with.get(axis, set()) for axis in key]
        if not holding or self._widest <= len(key):
            return False
        wider = set.intersection(*sorted(holding, key=len))
        if not wider:
            return False
        best = min(wider, key=lambda other: self._cache[other].size)
        gone = tuple(i for i, axis in enumerate(best) if axis not in key)
        self._keep(key, self._cache[best].sum(axis=gone))
        return True

    # -- counting --------------------------------------------------------------------------------------------

    def _count_plain(self, keys: list[Axes]) -> None:
        self.tables_counted += len(keys)
        for key, table in zip(keys, _in_threads(self._scan, keys, self._rows)):
            self._keep(key, table)

    def _scan(self, key: Axes) -> Counts:
        shape = self._schema.sizes(key)
        columns, is_wide, offsets = [], [], [0]
        parts = []
        stride = math.prod(shape)
        for axis, size in zip(key, shape):
            stride //= size
            wide, at = self._place[axis.attribute]
            columns.append(at)
            is_wide.append(wide)
            parts.append(self._schema.view_map(axis).astype(np.int64) * stride)
            offsets.append(offsets[-1] + len(parts[-1]))
        lut = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        flat = kernels.count(
            self._narrow, self._wide, np.asarray(columns, dtype=np.int64), np.asarray(is_wide, dtype=bool),
            np.asarray(offsets, dtype=np.int64), lut, self._rows, math.prod(shape),
        )  # fmt: skip
        return flat.reshape(shape)

    def _count_packed(self, keys: list[Axes]) -> None:
        """Binary tables, all of the same width."""
        if not keys:
            return
        self.tables_counted += len(keys)
        self._pack({axis for key in keys for axis in key})
        lines = np.asarray([[self._packed_at[axis] for axis in key] for key in keys], dtype=np.int64)
        chunks = np.array_split(lines, min(len(keys), max(1, _threads() * 4)))
        tables = _in_threads(lambda part: kernels.count_packed(self._packed, part, self._rows), chunks, self._rows)
        for key, flat in zip(keys, np.concatenate(tables)):
            self._keep(key, flat.reshape((2,) * len(key)))

    def _pack(self, axes: set[Axis]) -> None:
        fresh = sorted(axis for axis in axes if axis not in self._packed_at)
        if not fresh:
            return
        lines = [self._packed]
        for axis in fresh:
            wide, at = self._place[axis.attribute]
            codes = (self._wide if wide else self._narrow)[at]
            lines.append(kernels.pack(self._schema.view_map(axis).astype(np.uint8)[codes])[None, :])
            self._packed_at[axis] = len(self._packed_at)
        self._packed = np.concatenate(lines)

    def _generalise(self, base: Counts, key: Axes) -> Counts:
        names = sorted({axis.attribute for axis in key})
        shape = self._schema.sizes(key)
        index = np.zeros(base.shape, dtype=np.int64)
        stride = math.prod(shape)
        for axis, size in zip(key, shape):
            stride //= size
            line = self._schema.view_map(axis).astype(np.int64) * stride
            index += line.reshape([-1 if name == axis.attribute else 1 for name in names])
        # bincount adds in doubles, exact below 2^53 rows
        flat = np.bincount(index.ravel(), weights=base.ravel(), minlength=math.prod(shape))
        return flat.astype(np.int64).reshape(shape)

    # -- the cache -------------------------------------------------------------------------------------------

    def _keep(self, key: Axes, table: Counts) -> None:
        self._cache[key] = table
        self._cached_cells += table.size
        if table.size <= self._rows:  # larger ones are dearer to project than to count again
            self._widest = max(self._widest, len(key))
            for axis in key:
                self._tables_with.setdefault(axis, set()).add(key)

    def _shrink(self) -> None:
        """Oldest first, between batches only."""
        while self._cached_cells > CACHE_CELLS and self._cache:
            key = next(iter(self._cache))
            self._cached_cells -= self._cache.pop(key).size
            for axis in key:
                self._tables_with.get(axis, set()).discard(key)


def _stack(columns: list[NDArray[Any]], dtype: Any, rows: int) -> NDArray[Any]:
    out = np.empty((len(columns), rows), dtype=dtype)
    for i, column in enumerate(columns):
        out[i] = column
    return out


def _threads() -> int:
    return min(8, os.cpu_count() or 1)


def _in_threads(work: Any, items: Sequence[Any], rows: int) -> list[Any]:
    """The compiled loops release the interpreter lock, so plain threads use every core."""
    if len(items) < 2 or rows * len(items) < 100_000 or _threads() == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(_threads()) as pool:
        return list(pool.map(work, items))
