"""Total dependence: score R of all pairs of axes, added up. One number that says how much there is to learn.

Each of the q scores moves by at most its own Δ when a row does, all of them at once, so their sum moves by at most ΣΔ:
the L1 sensitivity of `AllPairScores`. The mean score therefore has the sensitivity of one score, however many pairs
there are. What is cut off at 2^62 moves no further than before. The bound is compared with all small tables in
`tests/unit/privacy/test_dependence.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.privacy.noise import as_integers
from understudy.privacy.questions.pair_scores import AllPairScores
from understudy.privacy.questions.statistics import MAX_FIGURE, NoisyFigure
from understudy.privacy.scores import INDEPENDENCE
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axes, Integers, Schema


@dataclass(frozen=True, eq=False)
class TotalDependence(NoisyFigure):
    """The sum of score R over all pairs of these axes."""

    kind: ClassVar[str] = "dependence"

    axes: Axes

    def check(self, schema: Schema) -> None:
        AllPairScores(self.axes).check(schema)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        moved = AllPairScores(self.axes).sensitivity(schema).l1
        return Sensitivity(moved, moved**2)

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        scores = INDEPENDENCE.all_pairs(engine, self.axes, schema)[np.tril_indices(len(self.axes), -1)]
        return as_integers([min(sum(scores.tolist()), MAX_FIGURE)])  # in Python's unbounded integers

    def as_json(self) -> list[Any]:
        return [self.kind, self.axes]
