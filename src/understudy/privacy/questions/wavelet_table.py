"""The wavelet coefficients of one table (`privacy.wavelets` has the transform and its sensitivity)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from understudy.engines.engine import CountingEngine
from understudy.privacy.noise import as_integers
from understudy.privacy.questions.question import MAX_CELLS, Integers, NoisyBlock, NoisyQuery
from understudy.privacy.sensitivity import Sensitivity
from understudy.privacy.wavelets import (
    Dimension,
    Form,
    Kind,
    Wavelets,
    transformed,
    wavelet_dimensions,
    wavelet_sensitivity,
)
from understudy.schema import Axes, Schema


@dataclass(frozen=True, eq=False)
class WaveletTable(NoisyQuery[Wavelets]):
    """The wavelet coefficients of one table, a kind of transform for each axis."""

    kind: ClassVar[str] = "wavelet"
    is_linear: ClassVar[bool] = True

    axes: Axes
    kinds: Sequence[Kind]
    form: Form = "tight"

    def dimensions(self, schema: Schema) -> tuple[Dimension, ...]:
        """Return how each axis is transformed."""
        return wavelet_dimensions(schema, self.axes, self.kinds, MAX_CELLS)

    def check(self, schema: Schema) -> None:
        self.dimensions(schema)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return wavelet_sensitivity(self.dimensions(schema), schema, self.form)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(math.prod(d.coefficients for d in self.dimensions(schema)), Fraction(1))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        (counts,) = engine.marginals([self.axes])
        return transformed(as_integers(counts), self.dimensions(schema)).ravel()

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> Wavelets:
        values = noisy[0].values.reshape([d.coefficients for d in self.dimensions(schema)])
        return Wavelets(self.axes, tuple(self.kinds), self.form, values, noisy[0].noise)

    def as_json(self) -> list[Any]:
        return [self.kind, self.axes, list(self.kinds), self.form]
