"""What every counting engine can do: say how many rows there are, and count tables. Nothing else.

There is no verb for a minimum, a maximum or a row. Distinct texts have an engine of their own, which only the question
of value lists holds: what leaves it has passed a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

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

    def marginals(self, workload: Sequence[Axes]) -> Iterator[Counts]:
        """Yield the marginals of a workload, in order: a table with one dimension for each axis."""
        ...

    def regrouped(self, schema: Schema, homes: Mapping[str, Codes]) -> CountingEngine:
        """Return the same rows under a schema in which these attributes are coarser.

        `homes` has the new code of each old one, in order. The rows are not read again.
        """
        ...

    def viewed(self, schema: Schema) -> CountingEngine:
        """Return the same rows, and what was counted of them, under a schema whose attributes have merged groups."""
        ...


@runtime_checkable
class ForesightedEngine(Protocol):
    """An engine for which a pass over the rows is expensive: it counts in one what will be asked for in several."""

    def foresee(self, workload: Sequence[Axes]) -> None:
        """Count these marginals too when rows are next read, as far as there is room for them."""
        ...


class OpenEngine(CountingEngine, Protocol):
    """An engine as the place that opened it holds it; the kernel only counts."""

    def fingerprint(self, key: bytes) -> str:
        """Return what tells this table from any other to whoever has the key, whatever the order of its rows."""
        ...

    def close(self) -> None:
        """Let go of files, connections and temporary folders. More than once does no harm."""
        ...


@dataclass(frozen=True)
class Grouping:
    """A column whose texts are to be counted: which texts mean "missing", and which never are a value of their own."""

    column: str
    missing: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    counts_missing: bool = False  # whether missing cells are counted apart, and not as part of the rest

    def as_json(self) -> list[Any]:
        return [self.column, list(self.missing), list(self.unlisted), self.counts_missing]


@dataclass(frozen=True, eq=False)
class Groups:
    """The texts of a column that more than so many rows have, with exact counts; all rows, and those missing."""

    texts: list[str]
    counts: Counts
    rows: int
    missing: int
    counts_missing: bool


class GroupingEngine(Protocol):
    """Exact counts of byte-equal texts; only the privacy kernel may hold one."""

    def groups(self, groupings: Sequence[Grouping], above: int) -> Iterator[Groups]:
        """Return for each column, in order, the texts that more than `above` rows have; in one pass over the data.

        A text of more than `MAX_TEXT` characters, or with a NUL, is no value: a rule for each cell.
        """
        ...


MAX_TEXT = 200  # characters of a value that may be listed


def listable(text: str) -> bool:
    """Return whether a text may become a value, by a public rule for each cell."""
    return len(text) <= MAX_TEXT and "\0" not in text
