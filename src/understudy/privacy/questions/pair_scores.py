"""Pair scores: score R of every pair of axes, measured together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.errors import UsageError
from understudy.privacy.noise import Noise
from understudy.privacy.questions.question import NoisyBlock, NoisyQuery
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axes, Integers, Schema


@dataclass(frozen=True, eq=False)
class PairScores:
    """Score R of every pair of axes with noise on it, a symmetric matrix with zeros on its diagonal. Public."""

    axes: Axes
    values: Integers
    noise: Noise


@dataclass(frozen=True, eq=False)
class AllPairScores(NoisyQuery[PairScores]):
    """Score R of every pair of these axes: below the diagonal, line by line."""

    kind: ClassVar[str] = "scores"
    is_linear: ClassVar[bool] = False

    axes: Axes

    def check(self, schema: Schema) -> None:
        if len(self.axes) < 2 or len(set(self.axes)) < len(self.axes):
            raise UsageError("pairwise scores need two or more different axes")

    def sensitivity(self, schema: Schema) -> Sensitivity:
        """Return ΣΔ and ΣΔ²: each of the w scores moves by at most its own Δ, all of them at once."""
        wide = [axis for axis in self.axes if schema.size(axis) > 2]
        loose, w = math.comb(len(wide), 2), math.comb(len(self.axes), 2)
        moves = []
        if loose:
            moves.append((loose, INDEPENDENCE.sensitivity(Pair(wide[0], (wide[1],)), schema)))
        if w > loose:
            narrow = next(axis for axis in self.axes if axis not in set(wide))
            other = next(axis for axis in self.axes if axis != narrow)
            moves.append((w - loose, INDEPENDENCE.sensitivity(Pair(narrow, (other,)), schema)))
        one_row = Sensitivity(sum(m * step for m, step in moves), sum(m * step**2 for m, step in moves))
        return one_row.times(schema.rows_per_person)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(math.comb(len(self.axes), 2), Fraction(1))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return INDEPENDENCE.all_pairs(engine, self.axes, schema)[np.tril_indices(len(self.axes), -1)]

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> PairScores:
        lower = np.tril_indices(len(self.axes), -1)
        values = np.zeros((len(self.axes), len(self.axes)), dtype=np.int64)
        values[lower] = values.T[lower] = noisy[0].values
        return PairScores(self.axes, values, noisy[0].noise)

    def as_json(self) -> list[Any]:
        return [self.kind, self.axes]
