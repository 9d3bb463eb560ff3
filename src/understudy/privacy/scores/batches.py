"""Batches of tables to count while scoring: as many at a time as fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from understudy.engines.engine import CountingEngine
from understudy.privacy.noise import as_integers
from understudy.schema import Axes, Integers, Schema

if TYPE_CHECKING:  # it loads the compiler, which `import understudy` does without
    from understudy.engines.pairs import PairCounts

_BATCH = 400  # tables counted at a time: what a batch counts stays in memory until it ends
_BATCH_CELLS = 32_000_000  # 256 MB of counts


@runtime_checkable
class CountsPairs(Protocol):
    """An engine that counts all pairwise tables at once."""

    def pairs(self, axes: Axes) -> PairCounts: ...


def counted(engine: CountingEngine, workload: Sequence[Axes], schema: Schema) -> Iterator[Integers]:
    """Yield the exact table of each of `workload`, counted batch by batch."""
    for batch in batches(engine, workload, schema):
        yield from map(as_integers, engine.marginals(workload[batch]))


def batches(engine: CountingEngine, workload: Sequence[Axes], schema: Schema) -> Iterator[slice]:
    """Yield stretches of so many tables, and of so few cells, that what a batch counts fits into memory.

    An engine for which a pass over the rows is expensive says so, and has all tables of a round to count together.
    """
    at_once = int(getattr(engine, "tables_at_once", _BATCH))
    begin = cells = 0
    for at, axes in enumerate(workload):
        own = schema.cells(axes)
        if at > begin and (at - begin >= at_once or cells + own > _BATCH_CELLS):
            yield slice(begin, at)
            begin, cells = at, 0
        cells += own
    if workload:
        yield slice(begin, len(workload))
