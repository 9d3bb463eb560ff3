"""The shape of one attribute inside its bins (`privacy.details` has the transform and its sensitivity)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from understudy.engines.engine import CountingEngine
from understudy.privacy.details import Details, detail_sensitivity, detailed, finest_grid
from understudy.privacy.noise import as_integers
from understudy.privacy.questions.question import Integers, NoisyBlock, NoisyQuery
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axis, Schema
from understudy.schema.attribute import fine_name


@dataclass(frozen=True, eq=False)
class FineDetails(NoisyQuery[Details]):
    """The shape of one attribute inside its bins, halved `depth` times: left less right, without the bins' totals."""

    kind: ClassVar[str] = "details"
    is_linear: ClassVar[bool] = True

    attribute: str
    depth: int

    def check(self, schema: Schema) -> None:
        finest_grid(schema, self.attribute, self.depth)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return detail_sensitivity(self.depth, schema)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        grid = finest_grid(schema, self.attribute, self.depth)
        return [(sum(len(first) for first, _, _ in grid.levels[: self.depth]), Fraction(1))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        grid = finest_grid(schema, self.attribute, self.depth)
        (counts,) = engine.marginals([(Axis(fine_name(self.attribute)),)])
        return detailed(as_integers(counts), grid, self.depth)

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> Details:
        return Details(self.attribute, self.depth, noisy[0].values, noisy[0].noise)

    def as_json(self) -> list[Any]:
        return [self.kind, self.attribute, self.depth]
