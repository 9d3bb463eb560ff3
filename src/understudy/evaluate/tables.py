"""The tables that are compared: all α-way tables of a schema, or a sample of stated size drawn with a stated seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import UsageError
from understudy.privacy.custodian import ExactTable
from understudy.privacy.random_source import seeded_generator
from understudy.schema import Axes, Axis, Schema
from understudy.schema.table_runs import table_runs

MAX_TABLES = 3_000
SEED = 0
BATCH_CELLS = 8_000_000  # laid out at a time; a larger table comes alone


@dataclass(frozen=True)
class TableSet:
    """`workload` out of `of` α-way tables; `seed` is None when they are all there."""

    alpha: int
    workload: tuple[Axes, ...]
    of: int
    seed: int | None


def table_set(schema: Schema, alpha: int, most: int = MAX_TABLES, seed: int = SEED) -> TableSet:
    """Choose tables by the schema and the seed alone: a public choice."""
    names = schema.names
    if not 1 <= alpha <= len(names):
        raise UsageError(f"alpha is the number of attributes of a table, from 1 to {len(names)} here; not {alpha}")
    if most < 1:
        raise UsageError("at least one table must be compared")
    of = math.comb(len(names), alpha)
    if of <= most:
        chosen = list(itertools.combinations(range(len(names)), alpha))
        return TableSet(alpha, tuple(tuple(Axis(names[i]) for i in line) for line in chosen), of, None)
    generator = seeded_generator(seed)
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < most:
        drawn[tuple(sorted(generator.choice(len(names), alpha, replace=False).tolist()))] = None
    return TableSet(alpha, tuple(tuple(Axis(names[i]) for i in line) for line in drawn), of, seed)


def batches(schema: Schema, workload: Sequence[Axes]) -> Iterator[list[Axes]]:
    """Return runs of tables that fit in memory together; a table over the limit comes alone."""
    return table_runs(workload, [schema.cells(axes) for axes in workload], BATCH_CELLS)


def counted(workload: Sequence[Axes], *tables: ExactTable) -> Iterator[tuple[Any, ...]]:
    """Yield, for each ask, its counts in every table, in order."""
    for batch in batches(tables[0].schema, workload):
        yield from zip(*(table.marginals(batch) for table in tables))
