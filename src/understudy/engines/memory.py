"""The in-memory engine: coded columns that fit in memory, one or two bytes a value."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from understudy.engines.cached import CachedEngine
from understudy.engines.store import MemoryStore
from understudy.schema import Schema


class MemoryEngine(CachedEngine):
    """Counts columns of codes, given by name."""

    def __init__(self, columns: dict[str, NDArray[Any]], rows: int, schema: Schema) -> None:
        super().__init__(MemoryStore(columns, rows, schema), schema, "memory")
