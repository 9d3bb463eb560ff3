"""Column errors: how far an average column will be off, from the prices of a plan alone.

A column is counted by itself, and again as a sum over cells of every table that holds it: precisions add up. A cell of
c rows loses half of the mean absolute noise that is left on average, but not more than c; how the rows of a column are
spread is not public, so they are taken as falling with the rank. Where a plan first buys whether tables of several
columns are worth their noise, it has two outcomes, and each has its chance by how dependent pairs would have to be. The
constants were fitted to generated tables and checked on shared ones (docs/decisions/0026-error-bars.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from understudy.methods.plan import Phase, Plan
from understudy.schema import Floats, Schema

LEFT = 0.86  # of the error so worked out, by estimation
DEPENDENT = 0.08  # mean dependence of pairs that half of all tables have
DIFFERENT = 1.2  # k times as much has one table in 1 + k ** 1.2
DEPENDENCE = "dependence"  # the phase that asks


@dataclass(frozen=True)
class Outcome:
    """What a plan may come to: tables of several columns or columns alone, its chance, and the error of each column."""

    chance: float
    errors: Floats
    tables: bool

    @property
    def error(self) -> float:
        """Return the error of an average column."""
        return float(self.errors.mean())


def column_error(schema: Schema, plan: Plan) -> float:
    """Return the expected total variation distance of an average column: the geometric mean over a plan's outcomes."""
    return math.exp(sum(o.chance * math.log(max(o.error, 1e-9)) for o in column_outcomes(schema, plan)))


def column_outcomes(schema: Schema, plan: Plan) -> tuple[Outcome, ...]:
    """Return what a plan may come to, and the expected total variation distance of each column."""
    phases = {p.name: p for p in plan.phases}
    one, tables = phases.get("one-way"), phases.get("tables")
    if one is None and plan.degree == 0:
        one, tables = tables, None  # tables of one column each
    alone = tables is None or not tables.scale
    both = _errors(schema, plan, _one_way_precision(schema, plan, one, 1.0), None if alone else tables)
    if alone or one is None or DEPENDENCE not in phases:
        return (Outcome(1.0, LEFT * both, not alone),)
    assert tables is not None
    rounds, needed = tables.cost + (phases["structure"].cost if "structure" in phases else 0), phases[DEPENDENCE].needed
    single = _errors(schema, plan, _one_way_precision(schema, plan, one, float((one.cost + rounds) / one.cost)), None)
    chance = 1.0 if needed is None else 1 / (1 + (needed / DEPENDENT) ** DIFFERENT)
    return (Outcome(chance, LEFT * both, True), Outcome(1 - chance, LEFT * single, False))


def _one_way_precision(schema: Schema, plan: Plan, phase: Phase | None, times: float) -> Floats:
    """Return the precision of a cell of each one-way table at so many times its price."""
    sizes = np.asarray([a.size for a in schema.modelled], dtype=np.float64)
    if phase is None or not phase.scale:
        return np.zeros(len(sizes))
    power = plan.accounting.power
    of_largest = times ** (2 / power) / plan.accounting.noise(phase.scale).variance
    prices = (sizes / sizes.max()) ** (power / (power + 1)) if phase.by_size else np.ones(len(sizes))
    return np.asarray(of_largest * prices ** (2 / power))


def _errors(schema: Schema, plan: Plan, one_way: Floats, tables: Phase | None) -> Floats:
    sizes = np.asarray([a.size for a in schema.modelled], dtype=np.float64)
    typical = math.exp(float(np.log(sizes).mean()))
    precision = one_way + (0.0 if tables is None else _from_tables(plan, tables, sizes, typical))
    if not precision.all():
        return np.zeros(len(sizes))
    noise = np.sqrt(2 / (math.pi * precision))
    return np.asarray([_off(size, plan.rows, own) for size, own in zip(sizes, noise)])


def _off(size: float, rows: int, noise: float) -> float:
    """Return the expected distance of a column of so many values with this mean absolute noise in a cell."""
    shares = 1 / np.arange(1.0, size + 1)
    counts = rows * shares / shares.sum()
    return float((counts * noise / (2 * counts + noise)).sum()) / rows


def table_ways(tables: Phase, sizes: Floats) -> int:
    """Return how many columns a plan's largest table has, by its cells: two at least."""
    return min(len(sizes), max(2, round(math.log(max(tables.cells, 2)) / math.log(max(float(sizes.max()), 2)))))


def _from_tables(plan: Plan, tables: Phase, sizes: Floats, typical: float) -> float:
    """Return the precision of a column's cell as a sum over the other columns of all tables that hold it."""
    columns, ways = len(sizes), table_ways(tables, sizes)
    variance = plan.accounting.noise(tables.scale).variance
    found = tables.tables * ways / columns / (variance * typical ** (ways - 1))
    inside = next((p for p in plan.phases if p.name == "two-way" and not p.scale), None)
    if inside is not None and tables.cost:  # where prices add up as squares, it does not matter how many they are
        unit = variance * float(tables.cost) / tables.tables
        found += 2 * float(inside.cost) / (columns * typical * unit)
    return found
