"""Adult in binary form, and its 2-way tables from views: NOCD against PriView (Su et al. 2016, Fig. 7).

Views are measured alike, made consistent and non-negative by PriView's own steps, and a 2-way table is a part of the
first view that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from charts import Curve, Panel
from records import Point
from trials import Data, UnwrittenReservation, seed_of

from rivals.priview import consistent_views
from rivals.published_nocd import published_grid
from understudy.methods.dp_subn.nocd import covering_views
from understudy.methods.priview.covering import covering_design
from understudy.models.factor import Factor
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import ExactTable
from understudy.privacy.local_table import LocalPrivateTable
from understudy.schema import Attribute, Axes, Axis, Categories, Schema
from understudy.testing import SeededSource

CURVES = ("NOCD, least error of the pairs", "NOCD, least error of the views", "NOCD, the paper's parameters", "PriView")
BITS = Categories(("0", "1"))


@cache
def bits() -> ExactTable:
    whole = Data.named("adult").whole
    axes = [Axis(a.name, bit=i) for a in whole.schema.modelled for i in range(a.bits)]
    columns = {f"b{j}": whole.schema.view_map(axis)[whole.codes(axis.attribute)] for j, axis in enumerate(axes)}
    schema = Schema("bits", tuple(Attribute(name, BITS) for name in columns), rows=whole.rows())
    return ExactTable({n: c.astype(np.uint8) for n, c in columns.items()}, whole.rows(), schema)


@cache
def views(curve: str) -> tuple[Axes, ...]:
    names = bits().schema.names
    if curve == "PriView":
        design = covering_design(len(names), 8, 2)
    elif "paper" in curve:
        design = published_grid(len(names)).views()
    else:
        design = covering_views(len(names), "pairs" if "pairs" in curve else "views")
    return tuple(tuple(Axis(names[i]) for i in view) for view in design)


def run(points: Sequence[Point], repetition: int) -> dict[Point, float]:
    at, table = points[0], bits()
    seed = seed_of(at.data, at.kind, at.curve, at.epsilon, repetition)
    private = LocalPrivateTable(table.schema, table, UnwrittenReservation(Budget(at.epsilon)), SeededSource(seed))  # type: ignore[arg-type]
    measured = private.measure(views(at.curve), Fraction(at.epsilon), "tables")
    found = consistent_views(measured, table.schema, table.rows())
    error = [0.5 * np.abs(real - made).sum() for real, made in zip(_real(), _pairs(found, table.schema))]
    return {point: float(np.mean(error)) for point in points}


@cache
def _real() -> list[np.ndarray]:
    table = bits()
    workload = [tuple(map(Axis, pair)) for pair in combinations(table.schema.names, 2)]
    return [counts / table.rows() for counts in table.marginals(workload)]


def _pairs(found: Sequence[Factor], schema: Schema) -> Iterator[np.ndarray]:
    home: dict[frozenset[Axis], Factor] = {}
    for view in found:
        for pair in combinations(view.axes, 2):
            home.setdefault(frozenset(pair), view)
    for pair in combinations(map(Axis, schema.names), 2):
        table = home[frozenset(pair)].project(pair).table
        yield Factor(pair, np.maximum(table, 0)).normalised().table


def panel(epsilons: Sequence[str]) -> Panel:
    lines = tuple(Curve(c, tuple((float(e), Point("adult", "binary", c, e, "tvd2")) for e in epsilons)) for c in CURVES)
    return Panel("52 bits, 1,326 tables", lines, y="total variation distance", log_y=True)
