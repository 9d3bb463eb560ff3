"""What DP-CCBN and the frontier of DP-SUBN share: networks of binary variables, and a model from the tables chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from understudy.methods.toolkit.estimator import Estimator, MaximumLikelihood, NetworkConditionals, nested_dropped
from understudy.methods.toolkit.size_limit import SizeLimit
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

MODEL_CELLS = 150_000  # the triangulated model, as for PrivBayes
THETA = 6.0  # for the degree of the network, as in the paper


def binary_variables(schema: Schema) -> Axes:
    """Return the attributes, or their bits where any has more than two values (as in the paper)."""
    if schema.binary:
        return tuple(Axis(a.name) for a in schema.modelled)
    return tuple(Axis(a.name, bit=i) for a in schema.modelled for i in range(a.bits))


def whole_attributes(schema: Schema) -> Axes:
    """Return what is published where no two variables are useful together: bits of one attribute belong together."""
    return tuple(Axis(a.name) for a in schema.modelled)


def chosen_tables(table: PrivateTable, pairs: Sequence[Pair], cost: Fraction, ml: bool) -> list[Measurement]:
    """Measure the network's tables in one secure sum; maximum likelihood needs no table that is inside another."""
    axes = [pair.axes for pair in pairs]
    table.progress("tables", 0, 1)
    return table.measure(nested_dropped(axes) if ml else axes, cost, "tables")


def estimator_of(pairs: Sequence[Pair], size: SizeLimit, cells: int) -> Estimator:
    """Return maximum likelihood, or where that would be too large the paper's product of conditionals."""
    return MaximumLikelihood(2 * cells) if size.fits else NetworkConditionals(tuple(pairs))


def effort(rows: int, tables: int, cells: int) -> tuple[float, float]:
    """Return seconds and megabytes, roughly: counting so many tables, noise on so many cells."""
    return tables * (3e-5 + rows * 6e-9) + cells * 1.5e-5, cells * 24 / 1e6


def candidates(variables: int, degree: int) -> int:
    """Return how many AP pairs all rounds of a concurrent construction have: Σ(d − i)·C(i, k) = C(d + 1, k + 2)."""
    return math.comb(variables + 1, degree + 2)
