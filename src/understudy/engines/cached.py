"""An engine over a store: a workload is planned, counted in few passes and kept; nothing is counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from understudy.engines.counting import Counter
from understudy.engines.covering import check_cells, cover, project
from understudy.engines.engine import Codes, Counts
from understudy.engines.fingerprint import RowFingerprint
from understudy.engines.pairs import PairCounts
from understudy.engines.store import Store, regrouped
from understudy.schema import Axes, Axis, Schema

CACHE_CELLS = 32_000_000  # 256 MB of counts
COVER_ROWS = 100_000  # fewer are read as fast as a cover is found
COVER_CELLS = 1 << 14  # of a wider table: its cells stay in the nearest caches
FEW_ONES = 10_000_000  # rows × binary tables below which popcounts save nothing: they are counted as all others
MAX_BINARY = 12  # wider binary tables are counted row by row: 2^k popcounts would cost more


class CachedEngine:
    """Plans and remembers; the store has the rows."""

    def __init__(self, store: Store, schema: Schema, name: str) -> None:
        self.name = name
        self._schema = schema
        self._store = store
        self._counter = Counter(store, schema)
        self._cache: dict[Axes, Counts] = {}
        self._cached_cells = 0
        self._widest = 0
        self._tables_with: dict[Axis, set[Axes]] = {}
        self.tables_counted = 0  # from rows, for tests of sharing

    def rows(self) -> int:
        return self._store.rows

    def fingerprint(self, key: bytes) -> str:
        return RowFingerprint(key, self._schema).of_store(self._store)

    def marginals(self, workload: Sequence[Axes]) -> Iterator[Counts]:
        """Yield the marginals of a workload, in order.

        Equal tables, and tables that differ only in the order of their axes, are counted once.
        """
        keys = [tuple(sorted(axes)) for axes in workload]
        self._count_all(list(dict.fromkeys(keys)))
        for axes, key in zip(workload, keys):
            table = self._cache[key]
            yield table if axes == key else np.transpose(table, [key.index(axis) for axis in axes])
        self._shrink()

    def regrouped(self, schema: Schema, homes: Mapping[str, Codes]) -> CachedEngine:
        return CachedEngine(regrouped(self._store, schema, homes), schema, self.name)

    def viewed(self, schema: Schema) -> CachedEngine:
        grouped = CachedEngine(self._store, schema, self.name)
        for key, table in self._cache.items():
            grouped._keep(key, table)
        return grouped

    def pairs(self, axes: Axes) -> PairCounts:
        """Return all pairwise tables of these axes at once.

        They are not kept, since whoever asks wants scores of them.
        """
        return self._counter.pairs(axes)

    def close(self) -> None:
        self._cache.clear()
        self._tables_with.clear()
        self._store.close()

    # -- planning a batch ------------------------------------------------------------------------------------

    def _count_all(self, keys: list[Axes]) -> None:
        check_cells(keys, self._schema)
        widest_first = sorted(keys, key=len, reverse=True)  # narrower ones may be their projections
        for _, same in groupby(widest_first, key=len):
            self._count_width(list(same))

    def _count_width(self, keys: list[Axes]) -> None:
        binary: list[Axes] = []
        plain: list[Axes] = []
        coarse: dict[Axes, Axes] = {}
        for key in keys:
            if key in self._cache or self._from_wider(key):
                continue
            if not key:
                self._keep(key, np.array(self._store.rows, dtype=np.int64))
            elif len(key) <= MAX_BINARY and all(self._schema.size(axis) == 2 for axis in key):
                binary.append(key)
            elif self._summable(key):
                coarse[key] = tuple(sorted({Axis(axis.attribute) for axis in key}))
            else:
                plain.append(key)
        if self._store.rows * len(binary) < FEW_ONES:
            plain, binary = plain + binary, []
        base = [key for key in dict.fromkeys(coarse.values()) if key not in self._cache and key not in plain]
        self._count_plain(plain + [key for key in base if not self._from_wider(key)])
        if binary:
            self._count(binary, self._counter.binary_tables)
        for key, whole in coarse.items():
            self._keep(key, project(self._cache[whole], whole, key, self._schema))

    def _summable(self, key: Axes) -> bool:
        """Return whether a generalised table comes from adding cells of its small base table, without reading rows."""
        if all(axis.base for axis in key):
            return False
        base = {axis.attribute for axis in key}
        return self._schema.cells([Axis(name) for name in base]) <= max(1024, self._store.rows)

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
        """Count tables that are not generalised; of long tables by way of wider ones, which are kept too."""
        rows = self._store.rows
        self._count(cover(keys, self._schema, COVER_CELLS) if rows >= COVER_ROWS else keys, self._counter.tables)
        for key in keys:
            assert key in self._cache or self._from_wider(key)

    def _count(self, keys: list[Axes], count: Callable[[Sequence[Axes]], list[Counts]]) -> None:
        if keys:
            self.tables_counted += len(keys)
            for key, table in zip(keys, count(keys)):
                self._keep(key, table)

    # -- the cache -------------------------------------------------------------------------------------------

    def _keep(self, key: Axes, table: Counts) -> None:
        self._cache[key] = table
        self._cached_cells += table.size
        if table.size <= self._store.rows:  # larger ones are dearer to project than to count again
            self._widest = max(self._widest, len(key))
            for axis in key:
                self._tables_with.setdefault(axis, set()).add(key)

    def _shrink(self) -> None:
        """Drop the oldest tables until the rest fits; called between batches only."""
        while self._cached_cells > CACHE_CELLS and self._cache:
            key = next(iter(self._cache))
            self._cached_cells -= self._cache.pop(key).size
            for axis in key:
                self._tables_with.get(axis, set()).discard(key)
