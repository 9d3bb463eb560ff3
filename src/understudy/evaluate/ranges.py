"""Random range-count queries (Privelet's yardstick): how many rows fall in a box, in the original and in the stand-in.

A query holds conditions on one to three attributes: a range of an ordered attribute, a node of a category's taxonomy.
The relative error is |estimate − truth| / max(truth, sanity bound), the bound at 0.1 % of the rows (Xiao et al. 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.tables import SEED, counted
from understudy.privacy.custodian import CustodianFigures, ExactTable
from understudy.privacy.random_source import seeded_generator
from understudy.schema import Attribute, Axes, Axis, Schema

QUERIES = 1_000
CONDITIONS = 3
SANITY = 0.001
MAX_CELLS = 1_000_000  # of the table a query is answered from; it sheds conditions until it fits


@dataclass(frozen=True, eq=False)
class RangeQuery:
    """The codes that each attribute may have."""

    axes: Axes
    allowed: tuple[NDArray[np.bool_], ...]

    def count(self, table: NDArray[np.int64]) -> int:
        for mask in self.allowed:
            table = table[mask].sum(axis=0)  # the first dimension goes each time
        return int(table)


@dataclass(frozen=True)
class RangeErrors(CustodianFigures):
    """Errors of the queries; the absolute one in shares of the rows."""

    queries: int
    seed: int
    sanity: float
    mean_absolute: float
    mean_relative: float
    median_relative: float
    p95_relative: float

    def as_json(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__dataclass_fields__}


def range_errors(
    original: ExactTable, synthetic: ExactTable, queries: Sequence[RangeQuery], seed: int = SEED
) -> RangeErrors:
    """Return errors of range counts; those of the stand-in are scaled to the original's rows."""
    n = original.rows()
    truth = _answers(original, queries)
    estimate = _answers(synthetic, queries) * (n / synthetic.rows())
    absolute = np.abs(estimate - truth)
    relative = absolute / np.maximum(truth, SANITY * n)
    return RangeErrors(
        len(queries), seed, SANITY, float(absolute.mean() / n), float(relative.mean()), float(np.median(relative)),
        float(np.quantile(relative, 0.95)),
    )  # fmt: skip


def _answers(table: ExactTable, queries: Sequence[RangeQuery]) -> NDArray[np.float64]:
    tables = counted([query.axes for query in queries], table)
    return np.asarray([query.count(counts) for query, (counts,) in zip(queries, tables)], dtype=np.float64)


def random_queries(schema: Schema, count: int = QUERIES, seed: int = SEED) -> list[RangeQuery]:
    """Return queries drawn from the schema and the seed: public."""
    generator = seeded_generator(seed)
    return [_query(schema, generator) for _ in range(count)]


def _query(schema: Schema, generator: np.random.Generator) -> RangeQuery:
    width = int(generator.integers(1, min(CONDITIONS, len(schema.names)) + 1))
    chosen = generator.choice(len(schema.names), width, replace=False)
    names = [schema.names[i] for i in chosen]
    while len(names) > 1 and schema.cells(names) > MAX_CELLS:
        names.pop()
    names.sort()
    return RangeQuery(tuple(Axis(n) for n in names), tuple(_condition(schema[n], generator) for n in names))


def _condition(attribute: Attribute, generator: np.random.Generator) -> NDArray[np.bool_]:
    if attribute.intervals is not None:
        values = attribute.size - attribute.has_missing
        low, high = sorted(generator.integers(0, values, 2).tolist())
        codes = np.arange(attribute.size)
        inside: NDArray[np.bool_] = (codes >= low) & (codes <= high)
        return inside
    axes = [Axis(attribute.name, level) for level in range(attribute.levels)]
    nodes = [(axis, node) for axis in axes for node in range(attribute.view_size(axis))]
    axis, node = nodes[int(generator.integers(len(nodes)))]
    below: NDArray[np.bool_] = attribute.view_map(axis) == node
    return below
