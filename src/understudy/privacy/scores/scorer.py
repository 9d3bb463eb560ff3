"""The scorer: exact scores of one table's pairs, each counted once. Lives inside a private table and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.privacy.scores.batches import counted
from understudy.privacy.scores.reference_distance import deviation
from understudy.privacy.scores.score import Pair, PairwiseScore, Score
from understudy.schema import Axes, Axis, Integers, Schema


class Scorer:
    """Exact scores. Whatever was counted for all pairs at once is not counted again."""

    def __init__(self, engine: CountingEngine, schema: Schema) -> None:
        self._engine = engine
        self._schema = schema
        self._axes = tuple(Axis(a.name) for a in schema.modelled)
        self._at = {axis: i for i, axis in enumerate(self._axes)}
        self._known: dict[tuple[Score, Pair], int] = {}
        self._all_pairs: dict[Score, Integers] = {}

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the public number of values of each axis."""
        return self._schema.sizes(axes)

    def scores(self, options: Sequence[Pair], score: Score) -> list[int]:
        """Return the score of each pair."""
        known = self._known
        if score in self._all_pairs:
            known.update({(score, pair): edge for pair in options if (edge := self._edge(score, pair)) is not None})
        fresh = list(dict.fromkeys(pair for pair in options if (score, pair) not in known))
        rows = self._engine.rows()
        for pair, counts in zip(fresh, counted(self._engine, [pair.axes for pair in fresh], self._schema)):
            table = np.ascontiguousarray(counts.reshape(-1, self._schema.size(pair.child)))
            known[score, pair] = score.value(table, rows, self._schema)
        return [known[score, pair] for pair in options]

    def deviations(self, options: Sequence[Pair], references: Sequence[Integers]) -> list[int]:
        """Return the distance of each pair's table from its reference. It is not kept, as references change."""
        tables = counted(self._engine, [pair.axes for pair in options], self._schema)
        return [deviation(counts, reference) for counts, reference in zip(tables, references)]

    def edges(self, children: Axes, parents: Axes, score: PairwiseScore) -> Integers:
        """Return the score of each child (row) with each parent (column): all pairs are counted the first time."""
        if score not in self._all_pairs:
            self._all_pairs[score] = score.all_pairs(self._engine, self._axes, self._schema)
        at = self._at
        return np.asarray(self._all_pairs[score][np.ix_([at[c] for c in children], [at[p] for p in parents])])

    def without_parent(self, children: Axes, score: PairwiseScore) -> Integers:
        """Return the score of each child with no parent."""
        if score.without_parent is not None:
            return np.full(len(children), score.without_parent, dtype=np.int64)
        return np.array(self.scores([Pair(axis) for axis in children], score), dtype=np.int64)

    def _edge(self, score: Score, pair: Pair) -> int | None:
        if len(pair.parents) != 1:
            return None
        i, j = self._at.get(pair.child), self._at.get(pair.parents[0])
        return int(self._all_pairs[score][i, j]) if i is not None and j is not None else None
