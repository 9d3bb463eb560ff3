"""One evaluation statistic of the kernel's list (`privacy.statistics`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from understudy.engines.engine import CountingEngine
from understudy.errors import UsageError
from understudy.privacy.noise import as_integers
from understudy.privacy.questions.question import Integers, NoisyBlock, NoisyQuery
from understudy.privacy.sensitivity import Sensitivity
from understudy.privacy.statistics import NoisyStatistic, Statistic, refusal
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class StatisticQuery(NoisyQuery[NoisyStatistic]):
    """The value of one statistic."""

    kind: ClassVar[str] = "figure"
    is_linear: ClassVar[bool] = False

    statistic: Statistic

    def check(self, schema: Schema) -> None:
        if (reason := refusal(self.statistic, schema)) is not None:
            raise UsageError(reason)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        moved = self.statistic.sensitivity()
        return Sensitivity(moved, moved**2).times(schema.rows_per_person)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(1, Fraction(1))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return as_integers([self.statistic.value(engine)])

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> NoisyStatistic:
        return NoisyStatistic(int(noisy[0].values[0]), noisy[0].noise)

    def as_json(self) -> list[Any]:
        return [self.kind, self.statistic.key]
