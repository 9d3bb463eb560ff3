"""Score R: how far a table is from independence. Σ|n·c(x,π) − c(x)c(π)| = 2n²R.

Zhang et al. 2017, Theorem 5.3, tightened for a binary side. Under add-remove neighbours n is private, so that the score
is on the scale of counts, nR, computed inside with the exact n; so it is from 2^30 rows on, where 2n²R would not fit an
integer of 64 bits. PROOF.md of PrivBayes has the lemmas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.engines.engine import CountingEngine
from understudy.privacy.scores.batches import CountsPairs, counted
from understudy.privacy.scores.score import Pair, PairwiseScore, Table, binary_side
from understudy.schema import Axes, Integers, Schema

R_UNIT = 2**20  # on the scale of counts nR is rounded down to a multiple of 2^-20
WIDE_ROWS = 2**30  # a declared row count from which R is on the scale of counts under replace-one neighbours too
SMALL_DOMAIN = 8  # up to here a pair is faster by bit columns than by a scan
FEW_PAIRS = 100_000_000  # rows × pairs below which a scan is as fast, and needs no loops of its own


class Independence(PairwiseScore):
    """The total variation distance from independence, in units of it: a table whose noise moves one row costs one."""

    name = "R"
    without_parent = 0

    def value(self, table: Table, rows: int, schema: Schema) -> int:
        from understudy.privacy.scores.kernels import r_deviation

        high, low = r_deviation(table, rows)
        return int(_scaled(high, low, rows, schema))

    def sensitivity(self, pair: Pair, schema: Schema) -> int:
        """Return the bound of Theorem 5.3, or the tighter one for a binary side, on the scale of the score.

        Rounding down both sides adds nothing to a bound that is a whole number: |⌊x⌋ − ⌊y⌋| ≤ ⌈|x − y|⌉.
        """
        if schema.rows is None:
            return 2 * R_UNIT  # nR moves by at most 2n/(n+1) < 2
        n = schema.rows
        moves = max(1, 4 * (n - 1)) if binary_side(pair, schema) else 6 * n + 4
        return -(-R_UNIT * moves // (2 * n)) if _on_counts(schema) else moves

    def unit(self, schema: Schema) -> int:
        return R_UNIT if schema.rows is None or _on_counts(schema) else 2 * schema.rows

    def all_pairs(self, engine: CountingEngine, axes: Axes, schema: Schema) -> Integers:
        """Return a symmetric matrix: small domains in one go, the others table by table."""
        rows = engine.rows()
        out, few = _small_pairs(engine, axes, schema)
        rest = [(i, j) for i in range(len(axes)) for j in range(i) if i not in few or j not in few]
        for (i, j), table in zip(rest, counted(engine, [(axes[i], axes[j]) for i, j in rest], schema)):
            out[i, j] = out[j, i] = self.value(np.ascontiguousarray(table), rows, schema)
        return out


def _small_pairs(engine: CountingEngine, axes: Axes, schema: Schema) -> tuple[Integers, set[int]]:
    """Return the scores of pairs of small domains, counted at once where the engine can, and which axes are small."""
    out = np.zeros((len(axes), len(axes)), dtype=np.int64)
    small = [i for i, axis in enumerate(axes) if isinstance(engine, CountsPairs) and schema.size(axis) <= SMALL_DOMAIN]
    if engine.rows() * len(small) ** 2 < FEW_PAIRS:
        return out, set()
    if small:
        from understudy.privacy.scores.kernels import r_deviations

        assert isinstance(engine, CountsPairs)
        counts, rows = engine.pairs(tuple(axes[i] for i in small)), engine.rows()
        high, low = r_deviations(counts.gram, counts.first, rows)
        out[np.ix_(small, small)] = _scaled(high, low, rows, schema)
    return out, set(small)


def _scaled(high: Any, low: Any, rows: int, schema: Schema) -> Integers:
    """Return T = high·2^20 + low as it is, or ⌊2^20·T/2n⌋ on the scale of counts; no step of this passes 2^62."""
    if not _on_counts(schema):
        return np.asarray(high * R_UNIT + low)
    if not rows:
        return np.zeros_like(high)
    whole, rest = np.divmod(high, 2 * rows)
    more, rest = np.divmod(rest * R_UNIT + low, 2 * rows)
    return np.asarray((whole * R_UNIT + more) * R_UNIT + rest * R_UNIT // (2 * rows))


def _on_counts(schema: Schema) -> bool:
    """Return whether R is on the scale of counts: from public facts."""
    return schema.rows is None or schema.rows >= WIDE_ROWS
