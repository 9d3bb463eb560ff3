"""The embedded engines: rows of a file or frame, coded by this process, in memory or in mapped files.

Which one it is, and whether the disk has room, follows from the size of the input. The counts are the same, so nothing
of that choice is in a release.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from understudy.engines.delimited import Delimited
from understudy.engines.engine import OpenEngine
from understudy.engines.sources import ParquetFile, RowSource, open_source
from understudy.engines.trust import Types
from understudy.schema import Schema

MAPPED_ROWS = 10_000_000
MEMORY_SHARE = 4  # a coded table that takes more than this part of the free memory is mapped
_CELL = 4  # bytes of a typical cell of text, delimiter included
_GZIP = 6  # how much smaller gzip makes typical tables


def open_embedded(
    data: Any, schema: Schema, engine: str | None = None, types: Types | None = None
) -> tuple[OpenEngine, tuple[str, ...]]:
    """Return the engine (None: by size) over rows that fit, and the order of the source's columns."""
    from understudy.engines.coding import encode_table

    source = open_source(data, schema.csv, types, names=schema.columns)
    rows = expected_rows(source, schema)
    if engine == "mapped" or (engine is None and not fits_in_memory(rows, schema)):
        from understudy.engines.mapped import open_mapped

        return open_mapped(source, schema, coded_bytes(schema, rows or 0)), source.columns
    from understudy.engines.memory import MemoryEngine

    coded = encode_table(source, schema)
    return MemoryEngine(coded.columns, coded.rows, schema), coded.order


def fits_in_memory(rows: int | None, schema: Schema) -> bool:
    """Return whether rows are kept in memory: frames are there already, a file is if it is small there."""
    if rows is None:
        return True
    free = _free_memory()
    return rows < MAPPED_ROWS and (free is None or coded_bytes(schema, rows) * MEMORY_SHARE < free)


def expected_rows(source: RowSource, schema: Schema) -> int | None:
    """Return the public row count, else what the size of the file suggests; None for frames. Never shown."""
    if not isinstance(source, ParquetFile | Delimited):
        return None
    if schema.rows is not None:
        return schema.rows
    if isinstance(source, ParquetFile):
        return source.rows
    size = source.path.stat().st_size * (_GZIP if source.path.suffix.lower() == ".gz" else 1)
    rows = size // (_CELL * len(source.columns))
    return rows if schema.rows_max is None else min(rows, schema.rows_max)


def coded_bytes(schema: Schema, rows: int) -> int:
    """Return how many bytes the column files of so many rows take."""
    bits = [1 if a.size <= 2 else 8 if a.size <= 256 else 16 for a in schema.modelled]
    return rows * sum(bits) // 8 + 8 * len(bits)


def _free_memory() -> int | None:
    """Return the memory that Linux says is available, or all there is elsewhere, in bytes."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # pragma: no cover - Windows
        return None
