"""Contingency: one noisy table over all attributes at once, where the whole domain can be laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rivals.released_tables import no_distribution
from rivals.rival import bought_rows, consistent, rival_budget, rival_plan, tables_phase
from understudy.errors import TooLarge
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.row_count import planned_rows
from understudy.models.factor import Factor
from understudy.models.junction_tree import JunctionTree
from understudy.models.model import Evidence, Model, Rows
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

CELLS = 1 << 24


@dataclass(frozen=True)
class Contingency:
    """`clip` says where negative counts become zero: in the full table (a distribution, rows can be drawn), or in each
    table that is asked for (projected first, so that noise cancels; tables only)."""

    name: ClassVar[str] = "contingency"

    clip: str = option("table", choices=("table", "projection"))
    cells: int = option(CELLS, whole=True, low=1, high=20_000_000)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n, ask = planned_rows(schema, rows), whole_domain(schema, self.cells, self.name)
        phase = tables_phase(schema, rival_budget(schema, budget), [ask], n)
        return rival_plan(self.name, schema, budget, n, {"clip": self.clip}, [phase])

    def fit(self, table: PrivateTable) -> Fit:
        ask = whole_domain(table.schema, self.cells, self.name)
        rows, count, rest = bought_rows(table)
        (measured,) = table.measure([ask], rest, "tables")
        model: Model
        if self.clip == "table":
            model = JunctionTree.of_beliefs(table.schema, [consistent(ask, measured.values)])
        else:
            model = NoisyDomain(table.schema, Factor(ask, measured.values.astype(np.float64)), self.name)
        return Fit(model, (*count, measured), rows, {"options": {"clip": self.clip}})


def whole_domain(schema: Schema, limit: int, name: str) -> Axes:
    """All attributes, or a refusal before anything is allocated."""
    axes = tuple(Axis(attribute.name) for attribute in schema.modelled)
    if (cells := schema.cells(axes)) > limit:
        raise TooLarge(
            f"{name} lays out the whole domain: {cells:.3g} cells here, the limit is {limit:,}. "
            "It is for a few small attributes only"
        )
    return axes


@dataclass(frozen=True, eq=False)
class NoisyDomain:
    """The noisy full table; a projection is made non-negative after its cells are added up."""

    schema: Schema
    counts: Factor
    source: str

    def project(self, names: Sequence[str]) -> Factor:
        axes = tuple(self._axis(name) for name in names)
        return consistent(axes, self.counts.project(axes).table)

    def _axis(self, name: str) -> Axis:
        return Axis(self.schema[name].name)  # raises with "did you mean"

    def condition(self, evidence: Evidence) -> Model:
        raise no_distribution(self.source)

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        raise no_distribution(self.source)
