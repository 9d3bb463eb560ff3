"""Any method with details: attributes declared `fine` get the shape inside their bins from a share of the budget.

The method models the coarse bins with the rest of the budget, as it always does; the details follow. What they cost and
how deep they go is a public rule of lengths, row count and budget (docs/decisions/0009-fine-shape.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from understudy.methods.method import Fit, KnownWidth, MethodAround
from understudy.methods.plan import Phase, Plan
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Noise
from understudy.privacy.questions.details import detail_sensitivity
from understudy.privacy.table import PrivateTable
from understudy.schema import Attribute, Schema
from understudy.schema.fine_grid import FineGrid, cells_of

SHARE = Fraction(1, 20)  # of the budget, for each attribute with `fine`
MOST = Fraction(1, 5)  # for all of them
THETA = 8.0  # how many times the expected noise of a detail the average bin must hold to be halved at all
AGAIN = 4  # how many times more rows it takes to halve once more: a halving quarters what a smooth shape has left
PURPOSE = "details"


@dataclass(frozen=True)
class Portion:
    """What one attribute's details cost."""

    attribute: Attribute
    cost: Fraction

    @property
    def grid(self) -> FineGrid:
        grid = self.attribute.finest_grid
        assert grid is not None
        return grid

    def depth(self, schema: Schema, accounting: Accounting, rows: int) -> int:
        """Return the declared depth, else as deep as what is left to see still stands out from the noise."""
        if self.attribute.fine_cells is not None:
            return self.grid.depth
        depth = 0
        while depth < self.grid.depth:
            noise = self.noise(schema, accounting, depth + 1).mean_abs
            if rows < THETA * noise * self.attribute.size * AGAIN**depth:
                break
            depth += 1
        return depth

    def noise(self, schema: Schema, accounting: Accounting, depth: int) -> Noise:
        return accounting.noise_for(detail_sensitivity(depth, schema), self.cost)


def portions(schema: Schema, names: Sequence[str], accounting: Accounting, whole: Fraction) -> tuple[Portion, ...]:
    """Return what each attribute gets; one whose first halving would be lost in noise is left flat, and costs nothing.

    Where the row count is private it is not known beforehand: then every one is halved at least once.
    """
    fine = [schema[name] for name in names if schema[name].fine is not None]
    if not fine:
        return ()
    each = [Portion(attribute, whole * min(SHARE, MOST / len(fine))) for attribute in fine]
    return tuple(p for p in each if schema.rows is None or p.depth(schema, accounting, schema.rows) > 0)


class Detailed(MethodAround):
    """A method, and the details of attributes with `fine`."""

    def widest_table(self, schema: Schema) -> float:
        return self.method.widest_table(schema) if isinstance(self.method, KnownWidth) else math.inf

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        accounting, whole = accounting_of(budget), total_cost(budget)
        taken = portions(schema, self.covered(schema), accounting, whole)
        plan = self.method.plan(schema, budget.shared(1 - sum(p.cost for p in taken) / whole), rows)
        phases = [_phase(p, schema, accounting, plan.rows) for p in taken]
        notes = _flat_notes(schema, self.covered(schema), taken)
        return replace(plan, budget=budget, phases=(*plan.phases, *phases), notes=plan.notes + notes)

    def fit(self, table: PrivateTable) -> Fit:
        schema, accounting, names = table.schema, table.accounting, self.covered(table.schema)
        taken = portions(schema, names, accounting, table.total_cost)
        fit = self.method.fit(table.with_total_cost(table.total_cost - sum(p.cost for p in taken)))
        found = []
        for i, p in enumerate(taken):
            table.progress(PURPOSE, i, len(taken))
            depth = max(1, p.depth(schema, accounting, fit.rows))
            found.append(table.measure_details(p.attribute.name, depth, p.cost, PURPOSE))
        notes = [_said(p, d.depth, table.total_cost) for p, d in zip(taken, found)]
        return replace(fit, details=tuple(found), notes=(*fit.notes, *notes, *_flat_notes(schema, names, taken)))


def _phase(portion: Portion, schema: Schema, accounting: Accounting, rows: int) -> Phase:
    depth = max(1, portion.depth(schema, accounting, rows))
    cells = sum(len(first) for first, _, _ in portion.grid.levels[:depth])
    scale = portion.noise(schema, accounting, depth).scale
    return Phase(PURPOSE, portion.cost, 1, cells, scale, None, _cells(portion.attribute, portion.grid, depth))


def _cells(attribute: Attribute, grid: FineGrid, depth: int) -> str:
    cells = cells_of(grid.domain, depth) - len(grid.domain.points)
    return f"{attribute.name} inside its {grid.domain.bins:,} bins, in {cells:,} cells"


def _said(portion: Portion, depth: int, whole: Fraction) -> str:
    share = float(100 * portion.cost / whole)
    return f"{_cells(portion.attribute, portion.grid, depth)}, for {share:.3g} % of the budget (a public rule)"


def _flat_notes(schema: Schema, names: Sequence[str], taken: Sequence[Portion]) -> tuple[str, ...]:
    measured = {p.attribute.name for p in taken}
    flat = [name for name in names if schema[name].fine is not None and name not in measured]
    return tuple(f"{name} is left flat inside its bins: its shape would be lost in the noise" for name in flat)
