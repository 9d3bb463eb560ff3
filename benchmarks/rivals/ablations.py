"""BestNetwork and BestMarginal (Zhang et al. 2017, Figure 11): PrivBayes with an unlimited budget in one of its phases.

NOT PRIVATE: they read exact counts. A stand-in for the private table, for this figure only; every other verb and the
split of the budget stay as they are, so the gap to PrivBayes is the error of that one phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair, Penalty, Score
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes

BATCH = 400  # tables counted at a time
STAMP = "NOT PRIVATE: reads exact counts"


class _PartlyExact:
    """The private table itself, except for the verb that a subclass answers exactly."""

    def __init__(self, table: PrivateTable, engine: CountingEngine) -> None:
        self._table = table
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


class BestNetwork(_PartlyExact):
    """Choices are the best ones; tables are noisy. `known` keeps scores from one run to the next."""

    def __init__(self, table: PrivateTable, engine: CountingEngine, known: dict[tuple[str, Pair], int] | None = None):
        super().__init__(table, engine)
        self._known = {} if known is None else known

    def choose(
        self,
        options: Sequence[Pair],
        score: Score,
        cost: Fraction,
        purpose: str,
        penalty: Sequence[Penalty] | None = None,
        **_: Any,
    ) -> Pair:
        schema, rows = self._table.schema, self._engine.rows()
        fresh = list(dict.fromkeys(pair for pair in options if (score, pair) not in self._known))
        for begin in range(0, len(fresh), BATCH):
            batch = fresh[begin : begin + BATCH]
            for pair, counts in zip(batch, self._engine.marginals([pair.axes for pair in batch])):
                table = np.ascontiguousarray(counts.reshape(-1, schema.size(pair.child)))
                self._known[score, pair] = score.value(table, rows, schema)
        fines = penalty or [0] * len(options)
        values = [self._known[score, pair] - int(fine) for pair, fine in zip(options, fines)]
        return options[int(np.argmax(np.array(values, dtype=object)))]


class BestMarginal(_PartlyExact):
    """Tables are exact; choices are noisy."""

    def measure(
        self, workload: Sequence[Axes], cost: Fraction, purpose: str, shares: Sequence[Fraction] | None = None
    ) -> list[Measurement]:
        noise = self._table.accounting.noise(0.0)
        return [Measurement(axes, table, noise) for axes, table in zip(workload, self._engine.marginals(workload))]
