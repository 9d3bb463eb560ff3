"""Fourier (Barak et al. 2007): noisy Hadamard coefficients of all α-way tables, then the tables from them.

A coefficient is shared by every table that needs it, so tables agree before they are made non-negative. Attributes of
more than two values are written in binary, which is how the papers apply it to tables that are not binary.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rivals.released_tables import ReleasedTables, by_attributes
from rivals.rival import bought_rows, consistent, rival_budget, rival_plan, tables_of
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan
from understudy.methods.toolkit.row_count import planned_rows
from understudy.privacy.budget import Budget
from understudy.privacy.questions.hadamard import block_sensitivity, block_shape, hadamard
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

Block = NDArray[np.float64]
Blocks = Mapping[frozenset[Axis], tuple[Axes, Block]]


@dataclass(frozen=True)
class Fourier:
    """`alpha` attributes in each table."""

    name: ClassVar[str] = "fourier"

    alpha: int = option(2, whole=True, low=1, high=8)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n, own = planned_rows(schema, rows), rival_budget(schema, budget)
        workload = needed_blocks(schema, self.alpha)
        cells = max(int(np.prod(block_shape(axes, schema))) for axes in workload)
        scale = own.accounting.noise.for_cost(block_sensitivity(workload, schema), own.rest).scale
        phase = Phase("coefficients", own.rest, len(workload), cells, scale, detail="noisy Hadamard coefficients")
        return rival_plan(self.name, schema, budget, n, {"alpha": self.alpha}, [phase])

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        workload = needed_blocks(schema, self.alpha)
        rows, count, rest = bought_rows(table)
        blocks = self._blocks(table, workload, rest)
        factors = [
            consistent(axes, table_from_blocks(axes, blocks, rows, schema)) for axes in tables_of(schema, self.alpha)
        ]
        facts = {
            "options": {"alpha": self.alpha},
            "coefficients": sum(values.size for _, values in blocks.values()),
        }
        return Fit(ReleasedTables(schema, by_attributes(factors), self.name), count, rows, facts)

    def _blocks(self, table: PrivateTable, workload: Sequence[Axes], cost: Fraction) -> Blocks:
        measured = table.measure_coefficients(workload, cost, "coefficients")
        return {frozenset(m.axes): (m.axes, m.values.astype(np.float64)) for m in measured}


def needed_blocks(schema: Schema, alpha: int) -> list[Axes]:
    """Every set of one to α attributes that vary; the empty set's coefficient is the row count."""
    axes = [Axis(a.name) for a in schema.modelled if a.size > 1] or [Axis(schema.names[0])]
    tables_of(schema, alpha)  # refuses too many
    widths = range(1, min(alpha, len(axes)) + 1)
    return [chosen for width in widths for chosen in itertools.combinations(axes, width)]


def table_from_blocks(axes: Axes, blocks: Blocks, rows: float, schema: Schema) -> Block:
    """The inverse transform of the table's coefficients, those of its subsets' blocks; padded codes are cut off."""
    sizes = schema.sizes(axes)
    lengths = [(size - 1).bit_length() for size in sizes]
    spectrum = np.zeros([1 << bits for bits in lengths])
    spectrum[(0,) * len(axes)] = rows
    for width in range(1, len(axes) + 1):
        for chosen in itertools.combinations(axes, width):
            if frozenset(chosen) in blocks:
                order, values = blocks[frozenset(chosen)]
                place = tuple(slice(1, None) if axis in chosen else 0 for axis in axes)
                spectrum[place] = np.transpose(values, [order.index(axis) for axis in chosen])
    for i in range(len(axes)):
        spectrum = np.moveaxis(hadamard(np.moveaxis(spectrum, i, 0)), 0, i)
    return spectrum[tuple(slice(size) for size in sizes)] / (1 << sum(lengths))
