"""A seeded random source, for tests and for nothing else: whatever it touches is stamped NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.planning import as_schema
from understudy.privacy.budget import Amount, Budget
from understudy.privacy.random_source import Words
from understudy.publishing import Publication, run
from understudy.schema import Integers, Schema


class SeededSource:
    """Ordinary pseudo-random numbers with the right distributions. Not private: anyone with the seed can undo it."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def laplace(self, values: Integers, scale: float) -> Integers:
        """Draw discrete Laplace noise, as the difference of two geometric variables."""
        p = -np.expm1(-1 / scale) if scale > 0 else 1.0
        up, down = self._generator.geometric(p, values.shape), self._generator.geometric(p, values.shape)
        return values + (up - down).astype(np.int64)

    def gaussian(self, values: Integers, scale: float) -> Integers:
        return values + np.rint(self._generator.normal(0, scale, values.shape)).astype(np.int64)

    def permute_and_flip(self, scores: Sequence[int], scale: float) -> int:
        """Choose by the law of permute-and-flip: the largest score plus exponential noise."""
        return self._arg_max(scores, scale, self._generator.exponential(1.0, len(scores)))

    def exponential(self, scores: Sequence[int], scale: float) -> int:
        return self._arg_max(scores, scale, self._generator.gumbel(0.0, 1.0, len(scores)))

    def _arg_max(self, scores: Sequence[int], scale: float, noise: Any) -> int:
        top = max(scores)
        return int(np.argmax([(s - top) / scale + e for s, e in zip(scores, noise)]))

    def below(self, bound: int) -> int:
        return int(self._generator.integers(bound))

    def words(self, count: int) -> Words:
        return self._generator.integers(0, 2**64 - 1, count, dtype=np.uint64, endpoint=True)

    def generator(self) -> np.random.Generator:
        return self._generator


def publish_seeded(
    data: Any,
    schema: Schema,
    *,
    seed: int,
    epsilon: Amount,
    delta: Amount = 0,
    method: str = "auto",
    ledger: Any = None,
    cap: Amount | None = None,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
    prior: Any = None,
    **options: Any,
) -> Publication:
    """Publish repeatably, from a seed: NOT PRIVATE, for tests."""
    budget = Budget(epsilon, delta)
    return run(
        data, as_schema(schema), budget, method, options, ledger=ledger, cap=cap, source=SeededSource(seed),
        engine=engine, master=master, types=types, register=False, prior=prior,
    )  # fmt: skip
