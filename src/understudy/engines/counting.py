"""Counting a store: every table of a batch in one pass over the rows, chunk by chunk, on every core.

A chunk of all columns fits in a cache near the processor, so a batch of many tables reads memory, or a disk, once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from understudy.engines import kernels
from understudy.engines.engine import Counts
from understudy.engines.pairs import PairCounts, gram_of
from understudy.engines.store import Store
from understudy.engines.tables import KernelLayout
from understudy.engines.threads import Shared, in_threads, threads
from understudy.schema import Axes, Axis, Schema
from understudy.schema.table_runs import table_runs

CHUNK = 1 << 17  # rows; a multiple of 64
GROUP_CELLS = 1 << 22  # of the tables that are counted in one pass: each thread has its own copy
FEW_COUNTS = 20_000_000  # rows × tables up to which numpy counts them in some 50 ms, and nothing needs to be compiled
_FEW = 100_000  # rows × tables below which a thread costs more than it saves


class Counter:
    """Exact tables of a store."""

    def __init__(self, store: Store, schema: Schema) -> None:
        self._store = store
        self._schema = schema

    def tables(self, keys: Sequence[Axes]) -> list[Counts]:
        """Return tables over any axes."""
        found: list[Counts] = []
        for group in table_runs(keys, [self._schema.cells(key) for key in keys], GROUP_CELLS):
            few = self._store.rows <= CHUNK and self._store.rows * len(group) <= FEW_COUNTS
            flat = self._count_few(group) if few else self._in_parts(group, self._count)
            found += [cells.reshape(self._schema.sizes(key)) for key, cells in zip(group, flat)]
        return found

    def binary_tables(self, keys: Sequence[Axes]) -> list[Counts]:
        """Return tables over axes of two values each, all of the same width."""
        for axis in {axis for key in keys for axis in key}:
            self._store.bits(axis)  # made once, before threads ask for it
        return [cells.reshape((2,) * len(keys[0])) for cells in self._in_parts(keys, self._count_binary)]

    def pairs(self, axes: Axes) -> PairCounts:
        """Return all pairwise tables of these axes."""
        sizes, ranges = self._schema.sizes(axes), self._ranges()
        inner = threads() if len(ranges) < 2 * threads() else 1

        def gram(part: Iterator[tuple[int, int]]) -> Counts:
            total = np.zeros((sum(sizes) - len(sizes),) * 2, dtype=np.int64)
            for start, stop in part:
                total += gram_of(self._indicators(axes, start, stop), inner)
            return total

        shared = Shared(ranges)
        grams = in_threads(gram, [shared] * (threads() if inner == 1 else 1))
        first = np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64) - 1)])
        return PairCounts(self._store.rows, first, sum(grams[1:], grams[0]))

    def _count_few(self, keys: Sequence[Axes]) -> list[Counts]:
        """Count tables of few rows, one after the other."""
        rows = self._store.rows
        found = []
        for key in keys:
            index = np.zeros(rows, dtype=np.int64)
            for axis in key:
                index *= self._schema.size(axis)
                index += self._view(axis, 0, rows)
            found.append(np.bincount(index, minlength=self._schema.cells(key)))
        return found

    # -- one thread's share ----------------------------------------------------------------------------------

    def _in_parts(self, keys: Sequence[Axes], count: Count) -> list[Counts]:
        """Count in threads, which share the chunks where there are many, and the tables where there are few chunks."""
        ranges = self._ranges()
        large = sum(map(self._schema.cells, keys)) > GROUP_CELLS  # a single one: a copy for each thread would not do
        if large or self._store.rows * len(keys) < _FEW or threads() == 1:
            return count(keys, iter(ranges))
        if len(ranges) >= 2 * threads():
            shared = Shared(ranges)
            first, *others = in_threads(lambda _: count(keys, shared), range(threads()))
            for other in others:
                for whole, part in zip(first, other):
                    whole += part
            return first
        bounds = np.linspace(0, len(keys), min(len(keys), 4 * threads()) + 1).astype(int)
        parts = [keys[a:b] for a, b in itertools.pairwise(bounds)]
        return [cells for found in in_threads(lambda part: count(part, iter(ranges)), parts) for cells in found]

    def _count(self, keys: Sequence[Axes], ranges: Iterator[tuple[int, int]]) -> list[Counts]:
        tables = KernelLayout.of(keys, self._schema)
        # half the width of what is given back: twice as many cells stay near the processor
        out = np.zeros(tables.cells, dtype=np.int32 if self._store.rows < 2**31 else np.int64)
        narrow = np.empty((len(tables.narrow), min(CHUNK, self._store.rows)), dtype=np.uint8)
        wide = np.empty((len(tables.wide), narrow.shape[1]), dtype=np.uint16)
        for start, stop in ranges:
            length = stop - start
            if length < narrow.shape[1]:
                narrow, wide = (np.empty((len(lines), length), dtype=lines.dtype) for lines in (narrow, wide))
            for lines, names in ((narrow, tables.narrow), (wide, tables.wide)):
                for i, name in enumerate(names):
                    lines[i] = self._store.codes(name, start, stop)
            kernels.count_tables(narrow, wide, tables, out)
        return tables.split(out.astype(np.int64))

    def _count_binary(self, keys: Sequence[Axes], ranges: Iterator[tuple[int, int]]) -> list[Counts]:
        axes = sorted({axis for key in keys for axis in key})
        at = {axis: i for i, axis in enumerate(axes)}
        lines = np.asarray([[at[axis] for axis in key] for key in keys], dtype=np.int64)
        ones = np.zeros((len(keys), 1 << len(keys[0])), dtype=np.int64)
        rows = 0
        for start, stop in ranges:
            words = slice(start // 64, -(-stop // 64))
            packed = np.stack([self._store.bits(axis)[words] for axis in axes])
            kernels.count_ones(packed, lines, ones)
            rows += stop - start
        return list(kernels.cells_of_ones(ones, rows))

    def _indicators(self, axes: Axes, start: int, stop: int) -> np.ndarray:
        """Return, for each axis and each of its codes but 0, which rows have it."""
        lines = []
        for axis in axes:
            codes = self._view(axis, start, stop)
            lines += [kernels.pack((codes == value).astype(np.uint8)) for value in range(1, self._schema.size(axis))]
        return np.stack(lines) if lines else np.zeros((0, -(-(stop - start) // 64)), dtype=np.uint64)

    def _view(self, axis: Axis, start: int, stop: int) -> np.ndarray:
        codes = self._store.codes(axis.attribute, start, stop)
        return codes if axis.base else self._schema.view_map(axis)[codes]

    def _ranges(self) -> list[tuple[int, int]]:
        rows = self._store.rows
        return [(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]


Count = Callable[[Sequence[Axes], Iterator[tuple[int, int]]], list[Counts]]
