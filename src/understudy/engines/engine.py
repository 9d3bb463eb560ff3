"""What every counting engine can do: say how many rows there are, and count tables. Nothing else.

There is no verb for a minimum, a maximum, distinct values or a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Axes, Schema

Counts = NDArray[np.int64]
Codes = NDArray[np.int64]


class CountingEngine(Protocol):
    """Exact integer counts of coded rows; only the privacy kernel may hold one."""

    @property
    def name(self) -> str: ...

    def rows(self) -> int: ...

    def marginals(self, asks: Sequence[Axes]) -> Iterator[Counts]:
        """One table for each ask, in order, with one dimension for each axis."""
        ...

    def regrouped(self, schema: Schema, homes: Mapping[str, Codes]) -> CountingEngine:
        """Return the same rows under a schema in which these attributes are coarser.

        `homes` has the new code of each old one, in order. The rows are not read again.
        """
        ...


class OpenEngine(CountingEngine, Protocol):
    """An engine as the place that opened it holds it; the kernel only counts."""

    def fingerprint(self, key: bytes) -> str:
        """Return what tells this table from any other to whoever has the key, whatever the order of its rows."""
        ...

    def close(self) -> None:
        """Let go of files, connections and temporary folders. More than once does no harm."""
        ...
