"""Any method with its model error: a small share of the budget buys how far the finished model is from the rows.

A table that was not measured is what the model makes of the others, and no noisy table says how wrong that is. So at
the end three figures are bought: the mean over unmeasured pairs of Σ|c − r|, the largest of them, and the mean over
sampled triples, where r is the model's public table in whole rows. Which tables, what they cost, and whether they are
bought at all is a public rule of the schema, the budget and earlier answers (docs/decisions/0026-error-bars.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from understudy.errors import TooLarge
from understudy.methods.method import Fit, KnownWidth, MethodAround
from understudy.methods.plan import Phase, Plan
from understudy.models.model import Model
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Noise
from understudy.privacy.questions.statistics import (
    LargestDistance,
    NoisyStatistic,
    ReferenceTables,
    SumOfDistances,
    row_distance,
)
from understudy.privacy.sensitivity import Sensitivity
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis, Schema

SHARE = Fraction(1, 100)  # of the budget
ADDING_SHARE = Fraction(1, 50)  # where epsilons add up, and a small share has a large noise
PARTS = {"pairs": Fraction(1, 2), "largest": Fraction(1, 4), "triples": Fraction(1, 4)}  # of that share
MAX_NOISE = 0.05  # standard deviation of the pairs' mean, as a share of the rows, from which on it tells nothing
MIN_ATTRIBUTES = 3  # below, there is no triple
MAX_PAIRS = 300
MAX_TRIPLES = 100
MAX_TABLE_CELLS = 100_000  # of one table that is compared
PURPOSE = "model error"
_SEED = 20260  # of the sample of tables: public, and the same for everyone

Names = tuple[str, ...]


def error_cost(schema: Schema, accounting: Accounting, whole: Fraction) -> Fraction:
    """Return what the three figures cost together; nothing where the noise would hide them, or nothing is to compare.

    Where the row count is private, and its maximum too, they are always bought.
    """
    rows = schema.rows if schema.rows is not None else schema.rows_max
    cost = whole * (ADDING_SHARE if accounting.power == 1 else SHARE)
    if len(schema.modelled) < MIN_ATTRIBUTES:
        return Fraction(0)
    lost = rows is not None and math.sqrt(_noise(schema, accounting, cost).variance) > MAX_NOISE * rows
    return Fraction(0) if lost else cost


def _noise(schema: Schema, accounting: Accounting, cost: Fraction) -> Noise:
    """Return the noise of the pairs' mean, in rows."""
    moved = row_distance(schema) * schema.rows_per_person
    return accounting.noise_for(Sensitivity(moved, moved**2), cost * PARTS["pairs"])


class ModelChecked(MethodAround):
    """A method, and the bought size of what its model leaves out."""

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        accounting, whole = accounting_of(budget), total_cost(budget)
        cost = error_cost(schema, accounting, whole)
        if not cost:
            return self.method.plan(schema, budget, rows)
        plan = self.method.plan(schema, budget.shared(1 - cost / whole), rows)
        detail = "how far unmeasured pairs, and triples, are from the model"
        phase = Phase(PURPOSE, cost, len(PARTS), 1, _noise(schema, accounting, cost).scale, None, detail)
        return replace(plan, budget=budget, phases=(*plan.phases, phase))

    def fit(self, table: PrivateTable) -> Fit:
        cost = error_cost(table.schema, table.accounting, table.total_cost)
        if not cost:
            return self.method.fit(table)
        if isinstance(self.method, KnownWidth) and self.method.widest_table(table.schema) < 3:
            triples = compared(table.schema, (), 3, MAX_TRIPLES)  # no measured table holds one: these are they
            table.foresee([tuple(Axis(name) for name in names) for names in triples])
        fit = self.method.fit(table.with_total_cost(table.total_cost - cost))
        table.progress(PURPOSE, 0, len(PARTS))
        whole = [m for m in fit.measurements if not any(axis.merged for axis in m.axes)]  # groups hide their values
        measured = [tuple(axis.attribute for axis in m.axes) for m in whole]
        pairs = references(fit.model, fit.rows, compared(fit.model.schema, measured, 2, MAX_PAIRS))
        wider = references(fit.model, fit.rows, compared(fit.model.schema, measured, 3, MAX_TRIPLES))
        bought = {
            "pairs": table.measure_statistic(SumOfDistances(pairs), cost * PARTS["pairs"], PURPOSE),
            "largest": table.measure_statistic(LargestDistance(pairs), cost * PARTS["largest"], PURPOSE),
            "triples": table.measure_statistic(SumOfDistances(wider), cost * PARTS["triples"], PURPOSE),
        }
        counts = {"pairs": len(pairs.workload), "largest": 1, "triples": len(wider.workload)}
        figures = {name: _figure(bought[name], counts[name]) for name in PARTS}
        looked_at = {"pairs": pairs.workload, "triples": wider.workload}
        names = {what: [[axis.attribute for axis in axes] for axes in tables] for what, tables in looked_at.items()}
        return replace(fit, facts=fit.facts | {"model_error": figures | {"compared": names}})


def _figure(bought: NoisyStatistic, tables: int) -> dict[str, Any]:
    """Return a mean in rows, with the law of its noise."""
    return {
        "rows": bought.value / tables, "tables": tables, "noise": bought.noise.name,
        "scale": bought.noise.scale / tables,
    }  # fmt: skip


def compared(schema: Schema, measured: Iterable[Sequence[str]], ways: int, most: int) -> list[Names]:
    """Return which tables of so many attributes are compared: those inside no measured table, or a fixed sample.

    Where every one was measured, all of them.
    """
    together = {frozenset(part) for names in measured for part in combinations(sorted(set(names)), ways)}
    fitting = [
        names
        for names in _candidates(schema, ways, 20 * most)
        if math.prod(schema[n].size for n in names) <= MAX_TABLE_CELLS
    ]
    fitting = fitting or [_smallest(schema, ways)]
    found = [names for names in fitting if frozenset(names) not in together] or fitting
    if len(found) <= most:
        return found
    kept = np.random.default_rng(_SEED).permutation(len(found))[:most]
    return [found[i] for i in sorted(kept.tolist())]


def _candidates(schema: Schema, ways: int, most: int) -> list[Names]:
    """Return all tables of so many attributes, or a fixed sample where there are very many."""
    names = schema.names
    if math.comb(len(names), ways) <= most:
        return list(combinations(names, ways))
    generator = np.random.default_rng(_SEED)
    found: set[tuple[int, ...]] = set()
    while len(found) < most:
        found.add(tuple(sorted(generator.choice(len(names), ways, replace=False).tolist())))
    return [tuple(names[i] for i in drawn) for drawn in sorted(found)]


def _smallest(schema: Schema, ways: int) -> Names:
    return tuple(sorted(schema.names, key=lambda name: schema[name].size)[:ways])


def references(model: Model, rows: int, tables: Sequence[Names]) -> ReferenceTables:
    """Return the model's tables in whole rows; one that would take too much to work out is taken as flat."""
    return ReferenceTables(
        tuple(tuple(Axis(name) for name in names) for names in tables),
        tuple(_whole(model, rows, names) for names in tables),
    )


def _whole(model: Model, rows: int, names: Names) -> np.ndarray[Any, np.dtype[np.int64]]:
    shape = tuple(model.schema[name].size for name in names)
    try:
        table = model.project(names).table
    except TooLarge:
        table = np.full(shape, 1 / math.prod(shape))
    return np.rint(rows * np.clip(table, 0, 1)).astype(np.int64)
