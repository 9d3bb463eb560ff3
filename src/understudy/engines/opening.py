"""Opening: data (a frame, a path or an address), a schema and the name of an engine become rows that can be counted.

What can be refused without a charge is refused here: absent columns, cells that do not fit, a wrong row count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from understudy.engines.coding import Misfit
from understudy.engines.engine import OpenEngine
from understudy.errors import UsageError, did_you_mean
from understudy.schema import Schema

ENGINES = ("memory", "mapped")
_ADDRESS = re.compile("([A-Za-z][A-Za-z0-9+.-]+)://")


@dataclass(frozen=True)
class Opened:
    """An engine over rows that fit, and the order of all columns in the source. Whoever opened it closes the engine."""

    engine: OpenEngine
    columns: tuple[str, ...]


def open_engine(data: Any, schema: Schema, engine: str | None = None, master: str | None = None) -> Opened:
    """The engine of this name (None: by the kind of data) over this data, or the first reason why it does not fit.

    An attribute with `fine` is counted on its fine grid too, as one more attribute of the same column.
    """
    from understudy.engines.embedded import open_embedded

    engine_for(data, engine, master)
    return Opened(*open_embedded(data, schema.counted, engine))


def find_misfits(data: Any, schema: Schema, engine: str | None = None, master: str | None = None) -> list[Misfit]:
    """Every reason why `open_engine` would refuse the data."""
    from understudy.engines.coding import misfits
    from understudy.engines.sources import open_source

    engine_for(data, engine, master)
    return misfits(open_source(data, schema.csv), schema)


def engine_for(data: Any, engine: str | None, master: str | None) -> str:
    """The name of the engine that counts this data; an address is never shown, since it may hold a password."""
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}. {did_you_mean(engine, list(ENGINES))}")
    if master is not None:
        raise UsageError("a master goes with the engine spark")
    if scheme := address_scheme(data):
        raise UsageError(f"no engine reads {scheme}:// addresses: name a file")
    return engine or "memory"  # or mapped, by size


def address_scheme(data: Any) -> str | None:
    """`postgresql` of postgresql://…, None for paths and frames."""
    found = _ADDRESS.match(data) if isinstance(data, str) else None
    return found[1].lower() if found else None
