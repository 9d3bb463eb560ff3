"""PriView (Qardaji, Yang, Li 2014), for binary tables: noisy views from a covering design, made consistent and
non-negative, and any table from them by maximum entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rivals.released_tables import no_distribution
from rivals.rival import (
    RivalBudget,
    bought_rows,
    check_binary,
    rival_budget,
    rival_plan,
    tables_phase,
)
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.priview.covering import covering_design, fewest_blocks
from understudy.methods.toolkit.row_count import planned_rows
from understudy.models.consistency import Agreement
from understudy.models.factor import MAX_CELLS, Factor, check_cells
from understudy.models.model import Evidence, Model, Rows
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

BLOCK = 8  # attributes in a view: the paper's choice for binary tables
TRIPLES_BELOW = 0.003  # the paper's bound on a view's expected error, relative to n
_LEAST = 1.0  # a count this far below zero is rippled
_TOLERANCE = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PriView:
    """`strength`: views cover all pairs (2), all triples (3), or triples where the noise allows it (0)."""

    name: ClassVar[str] = "priview-paper"

    strength: int = option(0, whole=True, low=0, high=3)
    block: int = option(BLOCK, whole=True, low=2, high=16)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        check_binary(schema, self.name)
        n, own = planned_rows(schema, rows), rival_budget(schema, budget)
        views = self.views(schema, own, n)
        options = {"views": len(views), "block": self.block}
        return rival_plan(self.name, schema, budget, n, options, [tables_phase(schema, own, views, n)])

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        check_binary(schema, self.name)
        rows, count, rest = bought_rows(table)
        views = self.views(schema, RivalBudget(table.accounting, table.total_cost - rest, rest), rows)
        measured = table.measure(views, rest, "tables")
        model = Views(schema, consistent_views(measured, schema, rows))
        facts = {"options": {"block": self.block}, "views": [[str(a) for a in axes] for axes in views]}
        return Fit(model, (*count, *measured), rows, facts)

    def views(self, schema: Schema, own: RivalBudget, rows: int) -> list[Axes]:
        if self.strength:
            return self._design(schema, self.strength)
        least = fewest_blocks(len(schema.names), self.block, 3)
        if self._error(schema, own, rows, least) > TRIPLES_BELOW:
            return self._design(schema, 2)
        triples = self._design(schema, 3)
        return triples if self._error(schema, own, rows, len(triples)) <= TRIPLES_BELOW else self._design(schema, 2)

    def _error(self, schema: Schema, own: RivalBudget, rows: int, views: int) -> float:
        """The expected L2 error of one view, relative to n, when so many are measured."""
        noise = table_noise(schema, own.accounting, own.rest / views)
        cells = 2 ** min(self.block, len(schema.names))
        return float(np.sqrt(cells * noise.variance) / rows)

    def _design(self, schema: Schema, strength: int) -> list[Axes]:
        names = schema.names
        wanted = min(strength, self.block, len(names))
        return [tuple(Axis(names[i]) for i in block) for block in covering_design(len(names), self.block, wanted)]


# -- consistency and non-negativity ------------------------------------------------------------------------------


def consistent_views(measured: Sequence[Measurement], schema: Schema, rows: int) -> tuple[Factor, ...]:
    """Views of total n that agree on what they share, rippled, and brought to agree again."""
    tables = [m.axes for m in measured]
    agreement = Agreement.of(tables, [m.variance for m in measured], schema)
    ends = np.cumsum([m.values.size for m in measured])[:-1]
    flat = np.concatenate([_of_total(m.values.astype(np.float64), rows).ravel() for m in measured])
    flat = agreement.project(flat)
    parts = [ripple(part.reshape(schema.sizes(axes))) for part, axes in zip(np.split(flat, ends), tables)]
    flat = agreement.project(np.concatenate([part.ravel() for part in parts]))
    return tuple(Factor(axes, part.reshape(schema.sizes(axes))) for part, axes in zip(np.split(flat, ends), tables))


def _of_total(values: Floats, rows: float) -> Floats:
    moved: Floats = values + (rows - values.sum()) / values.size
    return moved


def ripple(values: Floats, least: float = _LEAST, most: int = 1_000) -> Floats:
    """A count below −least becomes zero and its neighbours (one attribute flipped) pay for it in equal parts; again,
    until none is left. The total stays."""
    values = values.copy()
    wide = [axis for axis in range(values.ndim) if values.shape[axis] == 2]
    for _ in range(most if wide and values.sum() > 0 else 0):
        debt = np.where(values < -least, values, 0.0)
        if not debt.any():
            break
        values -= debt
        for axis in wide:
            values += np.flip(debt, axis) / len(wide)
    return values


# -- reconstruction ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Views:
    """Consistent views; a table that no view holds is the one of maximum entropy among those that agree with them."""

    schema: Schema
    views: tuple[Factor, ...]

    @cached_property
    def _scopes(self) -> list[frozenset[Axis]]:
        return [frozenset(view.axes) for view in self.views]

    def project(self, names: Sequence[str]) -> Factor:
        axes = tuple(Axis(self.schema[name].name) for name in names)
        check_cells(self.schema.cells(axes), axes, MAX_CELLS)
        return maximum_entropy(axes, self._known(frozenset(axes)), self.schema)

    def _known(self, wanted: frozenset[Axis]) -> list[Factor]:
        """What the views say about the wanted attributes, the largest parts only."""
        homes: dict[frozenset[Axis], Factor] = {}
        for scope, view in zip(self._scopes, self.views):
            if scope & wanted:
                homes.setdefault(scope & wanted, view)
        largest = [part for part in homes if not any(part < other for other in homes)]
        parts = [homes[part].project(sorted(part)) for part in largest]
        return [Factor(f.axes, np.maximum(f.table, 0)).normalised() for f in parts]

    def condition(self, evidence: Evidence) -> Model:
        raise no_distribution("priview")

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        raise no_distribution("priview")


def maximum_entropy(axes: Axes, known: Sequence[Factor], schema: Schema, most: int = 300) -> Factor:
    """Iterative proportional fitting from the uniform table: each step makes one projection right."""
    table = np.full(schema.sizes(axes), 1 / schema.cells(axes))
    for _ in range(most):
        worst = 0.0
        for factor in known:
            own = Factor(axes, table).project(factor.axes).table
            worst = max(worst, float(np.abs(own - factor.table).max()))
            ratio: Any = np.divide(factor.table, own, out=np.zeros_like(own), where=own > 0)
            table = table * Factor(factor.axes, ratio).expand(axes)
        if worst < _TOLERANCE or len(known) == 1:
            break
    return Factor(axes, table).normalised()
