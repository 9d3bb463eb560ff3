"""Marginals: tables of counts, the plainest thing to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.errors import TooLarge, UsageError
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import as_integers
from understudy.privacy.questions.question import MAX_CELLS, NoisyBlock, NoisyQuery
from understudy.privacy.sensitivity import Sensitivity, table_sensitivity
from understudy.schema import Axes, Integers, Schema


@dataclass(frozen=True, eq=False)
class Marginals(NoisyQuery[list[Measurement]]):
    """Counts over each of `workload`, the cost split in shares; the empty one is the row count."""

    kind: ClassVar[str] = "tables"
    is_linear: ClassVar[bool] = True

    workload: Sequence[Axes]
    shares: Sequence[Fraction]

    @staticmethod
    def of(workload: Sequence[Axes], shares: Sequence[Fraction] | None = None) -> Marginals:
        """Return the question with equal shares unless they are given."""
        return Marginals(workload, shares or [Fraction(1, len(workload))] * len(workload))

    def check(self, schema: Schema) -> None:
        for axes in self.workload:
            if (cells := schema.cells(axes)) > MAX_CELLS:
                raise TooLarge(f"a table of {cells:,} cells cannot be measured; the limit is {MAX_CELLS:,}")
        if not self.workload or len(self.shares) != len(self.workload) or sum(self.shares) > 1 or min(self.shares) <= 0:
            raise UsageError("shares of a measurement must be positive and add up to at most 1")

    def sensitivity(self, schema: Schema) -> Sensitivity:
        """Return the sensitivity of one table: each table is charged its own share."""
        return table_sensitivity(schema)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(schema.cells(axes), share) for axes, share in zip(self.workload, self.shares)]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return np.concatenate([as_integers(counts).ravel() for counts in engine.marginals(self.workload)])

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> list[Measurement]:
        return [
            Measurement(axes, block.values.reshape(schema.sizes(axes)), block.noise)
            for axes, block in zip(self.workload, noisy)
        ]

    def as_json(self) -> list[Any]:
        return [self.kind, self.workload, list(map(str, self.shares))]
