"""Distances between two tables of counts: total variation, L2, the k-marginal score; all exact, for the custodian.

With real counts c of n rows and synthetic counts s of N rows, p = c/n and q = s/N:

    TVD   ½Σ|p − q|, the mean and the maximum over tables      Zhang et al. 2017, Section 6
    L2    √Σ(p − q)², the mean over tables                     PrivABN, Definition 5; JTree, Section 6 (by data size)
    k-marginal score   1000·(1 − mean TVD of k-way tables)     NIST's challenges, on SDNist's scale: a mean L1 distance
                       of 0 scores 1000, of 2 scores 0. No bias penalty and no grouping by place and year
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.tables import BATCH_CELLS, TableSet, batches
from understudy.privacy.custodian import CustodianFigures, Exact, ExactTable
from understudy.privacy.questions.statistics import variation
from understudy.schema import Axes

WORST = 5


@dataclass(frozen=True)
class TableError(CustodianFigures):
    """One table's distances."""

    attributes: tuple[str, ...]
    tvd: float
    l2: float


@dataclass(frozen=True)
class TableErrors(CustodianFigures):
    """The distances of a set of α-way tables."""

    alpha: int
    each: tuple[TableError, ...]
    of: int
    seed: int | None

    @property
    def mean(self) -> Exact:
        return Exact(np.mean([table.tvd for table in self.each]))

    @property
    def max(self) -> Exact:
        return Exact(max(table.tvd for table in self.each))

    @property
    def l2(self) -> Exact:
        return Exact(np.mean([table.l2 for table in self.each]))

    @property
    def k_marginal(self) -> Exact:
        return Exact(1000 * (1 - self.mean))

    @property
    def worst(self) -> tuple[TableError, ...]:
        return tuple(sorted(self.each, key=lambda table: -table.tvd)[:WORST])

    def as_json(self) -> dict[str, Any]:
        worst = [{"attributes": list(t.attributes), "tvd": t.tvd} for t in self.worst]
        facts = {"tables": len(self.each), "of": self.of, "seed": self.seed}
        return {"mean": self.mean, "max": self.max, **facts, "worst": worst}


def compare_sets(original: ExactTable, synthetic: ExactTable, sets: Sequence[TableSet]) -> dict[int, TableErrors]:
    """Compare every set of tables, the widest first: the engine projects narrower tables from wider ones."""
    found = {
        s.alpha: TableErrors(s.alpha, tuple(compare(original, synthetic, s.workload)), s.of, s.seed)
        for s in sorted(sets, key=lambda s: -s.alpha)
    }
    return {s.alpha: found[s.alpha] for s in sets}


def compare(original: ExactTable, synthetic: ExactTable, workload: Sequence[Axes]) -> Iterator[TableError]:
    """Yield the distances of each table, in order."""
    n, m = original.rows(), synthetic.rows()
    for batch in batches(original.schema, workload):
        if original.schema.cells(batch[0]) > BATCH_CELLS:  # too large to lay out
            pairs: Any = [_occupied(original.cells(batch[0]), synthetic.cells(batch[0]))]
        else:
            pairs = zip(original.marginals(batch), synthetic.marginals(batch))
        for axes, (real, other) in zip(batch, pairs):
            l2 = float(np.sqrt(np.square(real / n - other / m).sum()))
            yield TableError(tuple(map(str, axes)), variation(real, n, other, m) / (2 * n * m), l2)


def _occupied(real: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the counts of the cells that hold a row of either table."""
    _, place = np.unique(np.concatenate([real, other]), return_inverse=True)
    size = int(place.max()) + 1
    return np.bincount(place[: len(real)], minlength=size), np.bincount(place[len(real) :], minlength=size)
