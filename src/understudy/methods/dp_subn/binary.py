"""What DP-CCBN and the frontier of DP-SUBN share: networks of binary variables, and a model from the tables chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from understudy.methods.privbayes.conditionals import nested_dropped, paper_conditionals
from understudy.methods.row_count import table_megabytes
from understudy.methods.size import SizeLimit
from understudy.models.bayesian_network import BayesianNetwork, without_unused_codes
from understudy.models.model import Model
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

MODEL_CELLS = 150_000  # the triangulated model, as for PrivBayes
THETA = 6.0  # for the degree of the network, as in the paper


def binary_variables(schema: Schema) -> Axes:
    """The attributes, or their bits where any has more than two values (as in the paper)."""
    if schema.binary:
        return tuple(Axis(a.name) for a in schema.modelled)
    return tuple(Axis(a.name, bit=i) for a in schema.modelled for i in range(a.bits))


def whole_attributes(schema: Schema) -> Axes:
    """What is published where no two variables are useful together: bits of one attribute belong together."""
    return tuple(Axis(a.name) for a in schema.modelled)


def chosen_tables(table: PrivateTable, pairs: Sequence[Pair], cost: Fraction, ml: bool) -> list[Measurement]:
    """One secure sum of the network's tables; maximum likelihood needs no table that is inside another."""
    axes = [pair.axes for pair in pairs]
    table.progress("tables", 0, 1)
    return table.measure(nested_dropped(axes) if ml else axes, cost, "tables")


def model_of(
    table: PrivateTable, pairs: Sequence[Pair], measured: Sequence[Measurement], rows: int, size: SizeLimit, cells: int
) -> Model:
    """The model of maximum likelihood, or where that would be too large the paper's product of conditionals."""
    if not size.fits:
        return without_unused_codes(BayesianNetwork(table.schema, paper_conditionals(pairs, measured)))
    from understudy.models.estimation import estimate

    table.progress("estimation", 0, 1)
    return estimate(measured, table.schema, rows, limit=2 * cells)


def network_json(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    return [{"attribute": str(pair.child), "parents": [str(p) for p in pair.parents]} for pair in pairs]


def effort(schema: Schema, rows: int, tables: int, cells: int) -> tuple[float, float]:
    """Megabytes and seconds, roughly, from public sizes: reading, counting so many tables, noise on so many cells."""
    read = rows * len(schema.modelled) * 8e-8
    seconds = 1.0 + read + tables * (3e-5 + rows * 6e-9) + cells * 1.5e-5
    return 200 + table_megabytes(schema, rows) + cells * 24 / 1e6, seconds


def candidates(variables: int, degree: int) -> int:
    """How many AP pairs all rounds of a concurrent construction have together: Σ(d − i)·C(i, k) = C(d + 1, k + 2)."""
    return math.comb(variables + 1, degree + 2)
