"""Score F: how near a table of a binary attribute is to a maximum joint distribution. −min (n−2a)⁺ + (n−2b)⁺ = 2nF.

Zhang et al. 2017, Theorem 4.5. PROOF.md of PrivBayes has the lemmas.
"""

from __future__ import annotations

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.privacy.scores.batches import CountsPairs, counted
from understudy.privacy.scores.score import Pair, PairwiseScore, Table
from understudy.schema import Axes, Integers, Schema

F_ROWS = 2**31  # a declared row count from which F is for few parents: its search may take a state for each row
F_PARENTS = 16  # configurations of those


class MaximumJoint(PairwiseScore):
    """Minus the total variation distance to the nearest maximum joint distribution, in units of it."""

    name = "F"

    def value(self, table: Table, rows: int, schema: Schema) -> int:
        from understudy.privacy.scores.kernels import f_distance

        two = np.zeros((table.shape[0], 2), dtype=np.int64)
        two[:, : table.shape[1]] = table
        return -int(f_distance(two, rows))

    def sensitivity(self, pair: Pair, schema: Schema) -> int:
        return 2  # 2nF: Theorem 4.5, S(F) = 1/n; adding a row moves (n−2a)⁺ + (n−2b)⁺ by at most 2 as well

    def unit(self, schema: Schema) -> int:
        return 2

    def refusal(self, pair: Pair, schema: Schema) -> str | None:
        if (size := schema.size(pair.child)) > 2:
            return f"score F needs a binary attribute and {pair.child} has {size} values: use score R"
        configurations = schema.cells(pair.parents)
        if configurations > F_PARENTS and (schema.rows or schema.rows_max or 0) >= F_ROWS:
            return (
                f"score F takes up to {F_PARENTS} configurations of the parents where there may be {F_ROWS:,} rows or "
                f"more, and these have {configurations:,}: use score R"
            )
        return None

    def all_pairs_refusal(self, schema: Schema) -> str | None:
        if any(attribute.size > 2 for attribute in schema.modelled):
            return "edges are scored by F where every attribute of the model is binary: use score R"
        return None

    def all_pairs(self, engine: CountingEngine, axes: Axes, schema: Schema) -> Integers:
        from understudy.privacy.scores.kernels import f_distances

        rows = engine.rows()
        if isinstance(engine, CountsPairs):
            counts = engine.pairs(axes)
            return np.asarray(-f_distances(counts.gram, counts.first, rows))
        out = np.zeros((len(axes), len(axes)), dtype=np.int64)
        pairs = [(i, j) for i in range(len(axes)) for j in range(i)]
        for (i, j), table in zip(pairs, counted(engine, [(axes[j], axes[i]) for i, j in pairs], schema)):
            out[i, j], out[j, i] = self.value(table, rows, schema), self.value(table.T, rows, schema)
        return out
