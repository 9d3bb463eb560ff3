"""Privelet as a method: one table over one to four attributes, published by its noisy wavelet coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from understudy.errors import UsageError
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan
from understudy.methods.privelet.rule import TransformChoice, decide, total_known
from understudy.methods.toolkit.terms import Terms
from understudy.models.wavelet import WaveletModel
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.questions import MAX_CELLS
from understudy.privacy.questions.wavelets import MAX_DIMENSIONS, Form, wavelet_dimensions, wavelet_sensitivity
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

SECONDS_A_CELL = 1.2e-5


@dataclass(frozen=True)
class Privelet:
    """`attributes` names what the release covers, with commas; all of them where there are four or fewer."""

    name: ClassVar[str] = "privelet"

    attributes: str = option("", text=True)
    form: str = option("tight", choices=("tight", "published"))
    transform: str = option("auto", choices=("auto", "wavelet", "plain"))

    # -- public decisions ------------------------------------------------------------------------------------

    def covered(self, schema: Schema) -> tuple[str, ...]:
        """Return the names in the schema's order; refuse anything odd about them."""
        asked = [name.strip() for name in self.attributes.split(",") if name.strip()] or list(schema.names)
        for name in asked:
            if not schema[name].modelled:
                raise UsageError(f"{name} cannot be covered (kind {schema[name].kind})", attribute=name)
        if len(set(asked)) < len(asked):
            raise UsageError("`attributes` names one of them twice")
        if len(asked) > MAX_DIMENSIONS:
            said = f"{len(asked)} were asked for" if self.attributes else f"this schema has {len(asked)}"
            raise UsageError(
                f"privelet covers one to {MAX_DIMENSIONS} attributes, and {said}: "
                f"choose with --set attributes={','.join(asked[:2])}"
            )
        return tuple(name for name in schema.names if name in asked)

    def decide(self, schema: Schema, accounting: Accounting) -> tuple[Axes, TransformChoice]:
        axes = tuple(Axis(name) for name in self.covered(schema))
        wavelet_dimensions(schema, axes, ["plain"] * len(axes), MAX_CELLS)  # refuses what is too large
        choice = decide(schema, axes, accounting, self._form, self.transform)
        wavelet_dimensions(schema, axes, choice.kinds, MAX_CELLS)
        return axes, choice

    @property
    def _form(self) -> Form:
        return cast(Form, self.form)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        terms = Terms.of(schema, budget, rows)
        axes, choice = self.decide(schema, terms.accounting)
        sensitivity = wavelet_sensitivity(choice.dimensions, schema, self._form)
        noise = terms.accounting.noise_for(sensitivity, terms.total_cost)
        deviation = math.sqrt(choice.spread * noise.variance)
        typical = deviation / noise.deviation_per_scale  # as a scale of one draw
        cells = math.prod(d.coefficients for d in choice.dimensions)
        detail = f"noise {noise.scale:,.4g} in each; shown is an average range count's"
        phase = Phase("coefficients", terms.total_cost, 1, cells, typical, None, detail)
        return terms.plan(
            self.name, self._settled(axes), [phase], cells * SECONDS_A_CELL, cells * 48 / 1e6,
            notes=self._notes(schema, axes, choice),
        )  # fmt: skip

    def _settled(self, axes: Axes) -> dict[str, Any]:
        return {"attributes": ",".join(map(str, axes)), "form": self.form, "transform": self.transform}

    def _notes(self, schema: Schema, axes: Axes, choice: TransformChoice) -> tuple[str, ...]:
        words = {"haar": "Haar wavelets", "nominal": "wavelets of its taxonomy", "plain": "plain counts"}
        said = [f"{a} by {words[d.kind]} ({d.size:,} values)" for a, d in zip(axes, choice.dimensions)]
        notes = [f"{', '.join(said)}: chosen from lengths and the kind of budget alone"]
        if left := len(schema.modelled) - len(axes):
            names = ", ".join(map(str, axes))
            notes.append(f"only {names} published; the other {left} attributes were not counted and have no column")
        return tuple(notes)

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        axes, choice = self.decide(schema, table.accounting)
        table.progress("coefficients", 0, 1)
        noisy = table.measure_wavelet(axes, choice.kinds, table.total_cost, "coefficients", self._form)
        own = schema if len(axes) == len(schema.modelled) else schema.project([axis.attribute for axis in axes])
        model = WaveletModel(own, noisy, schema.rows if total_known(schema, self._form) else None)
        rows = schema.rows if schema.rows is not None else model.count
        facts = {"options": self._settled(axes), "transforms": dict(zip(map(str, axes), choice.kinds))}
        return Fit(model, (), rows, facts, self._notes(schema, axes, choice))
