"""Independent publication (Su et al. 2016, Section VII): every owner fits its own network to its own rows.

Nothing is summed, so nothing is masked: each owner's tables have the whole noise, and the models are mixed in
proportion to the rows. What joint work is measured against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from understudy.methods.dp_subn.binary import MODEL_CELLS
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.network_decision import DEFAULT_SETTINGS
from understudy.methods.toolkit.network_method import NetworkMethod
from understudy.models.mixture import Mixture
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema


@dataclass(frozen=True)
class Independent:
    """`cells` bounds the model of one owner, as for one owner alone."""

    name: ClassVar[str] = "independent"

    cells: int = option(MODEL_CELLS, whole=True, low=1, high=10**8)

    @property
    def _each(self) -> NetworkMethod:
        return NetworkMethod.of(self.name, DEFAULT_SETTINGS, self.cells)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        """Plan for one owner with these rows; with several, each has only its part of them."""
        planned = self._each.plan(schema, budget, rows)
        note = "every owner publishes its own rows: with several, each has only its part of them for the same noise"
        return replace(planned, notes=(*planned.notes, note))

    def fit(self, table: PrivateTable) -> Fit:
        fits = [self._each.fit(owner) for owner in table.owners()]
        if len(fits) == 1:
            return fits[0]
        rows = sum(fit.rows for fit in fits)
        model = Mixture.of(table.schema, [fit.model for fit in fits], [fit.rows for fit in fits])
        facts = {"options": fits[0].facts["options"], "networks": [fit.facts["network"] for fit in fits]}
        notes = dict.fromkeys(note for fit in fits for note in fit.notes)
        return Fit(model, tuple(common_tables([fit.measurements for fit in fits])), rows, facts, tuple(notes))


def common_tables(parts: Sequence[Sequence[Measurement]]) -> list[Measurement]:
    """Return the tables that every owner measured, added up: only these say something about all rows."""
    known: list[dict[Axes, Measurement]] = [{m.axes: m for m in part} for part in parts]
    found = []
    for axes, first in known[0].items():
        if all(axes in part for part in known):
            same = [part[axes] for part in known]
            noise = first.noise.of_variance(sum(m.variance for m in same))
            found.append(replace(first, values=sum((m.values for m in same[1:]), first.values), noise=noise))
    return found
