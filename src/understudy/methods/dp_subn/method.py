"""DP-SUBN as a method: several owners find one network in turn, then sum its tables.

adaptive     in rounds an owner chooses the pair that the model gets most wrong, and its table is summed (`adaptive`)
sequential   each owner chooses pairs on its own rows; nothing is summed but the chosen tables
frontier     views of all owners' rows show which attributes are correlated, owners choose a first network in turn, and
             the tables of a search frontier around it, summed once in each update round, correct it

Each is one method given a table, which charges whatever a round releases to every owner whose rows are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from understudy.methods.dp_subn import binary
from understudy.methods.dp_subn.adaptive import Adaptive, suits
from understudy.methods.dp_subn.sequential_update import MAX_VARIABLES, SequentialUpdate
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.network_decision import DEFAULT_SETTINGS
from understudy.methods.toolkit.network_method import NetworkMethod
from understudy.methods.toolkit.row_count import planned_rows
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

WORSE = 4  # times the noise of a central choice: then the frontier, whose tables are of all rows


@dataclass(frozen=True)
class DPSUBN:
    """The options of DP-SUBN; `rounds` are the rounds of the adaptive variant, or the frontier's update rounds."""

    name: ClassVar[str] = "dp-subn"

    variant: str = option("auto", choices=("auto", "adaptive", "sequential", "frontier"))
    rounds: int | None = option(None, whole=True, low=1, high=200)
    cells: int = option(binary.MODEL_CELLS, whole=True, low=1, high=10**8)

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        """Plan as for one owner, where a variant is not asked for: how the rows are spread is not known here."""
        variant = variant_for(schema, [planned_rows(schema, rows)]) if self.variant == "auto" else self.variant
        if variant == "adaptive":
            return self._adaptive.plan(self.name, schema, budget, rows)
        if variant == "sequential":
            planned = self._sequential.plan(schema, budget, rows)
            told = "choices are made in turn; where most owners have very few rows the frontier takes over"
            notes = (*planned.notes, told) if self.variant == "auto" else planned.notes
            options = {"variant": "sequential", **planned.options}
            return replace(planned, options=options, notes=notes)
        return self._update.plan(self.name, schema, budget, rows)

    # -- fit -------------------------------------------------------------------------------------------------

    @property
    def _sequential(self) -> NetworkMethod:
        return NetworkMethod.of(self.name, DEFAULT_SETTINGS, self.cells)

    @property
    def _adaptive(self) -> Adaptive:
        return Adaptive(self.rounds, self.cells)

    @property
    def _update(self) -> SequentialUpdate:
        return SequentialUpdate(self.rounds or 1, self.cells)

    def fit(self, table: PrivateTable) -> Fit:
        variant = self.variant
        if variant == "auto":
            variant = variant_for(table.schema, [part.schema.rows for part in table.owners()])
        if variant == "adaptive":
            return self._adaptive.fit(table)
        if variant == "frontier":
            return self._update.fit(table)
        fit = self._sequential.fit(table)
        facts = {**fit.facts, "options": {"variant": "sequential", **fit.facts["options"]}}
        return replace(fit, facts=facts)


def variant_for(schema: Schema, rows: Sequence[int | None]) -> str:
    """Return the variant for this schema and owners with so many rows each: all public. Private counts are taken as
    even.

    Adaptive for general tables that are not too wide. Else sequential, unless half of the owners would choose with more
    than WORSE times the noise of a central choice: an owner has n_k of n rows and at most ⌈T/K⌉ of T turns, so n/n_k
    times the noise of the score, ⌈T/K⌉/T of it by its larger part of the budget.
    """
    if suits(schema):
        return "adaptive"
    turns = len(schema.modelled) - 1
    if not turns or len(binary.binary_variables(schema)) > MAX_VARIABLES:
        return "sequential"
    counts = [count or 1 for count in rows]
    most = -(-turns // len(counts))
    noise = sorted(sum(counts) / count * most / turns for count in counts)
    return "frontier" if noise[len(noise) // 2] > WORSE else "sequential"
