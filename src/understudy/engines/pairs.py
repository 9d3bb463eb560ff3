"""All pairwise tables at once: columns of bits, and how often two bits are both set.

An attribute of m values is m − 1 columns of bits, one for each code but 0. The Gram matrix of all those columns holds
every pairwise table: the cells with a code 0 follow from the totals. The products are AND and popcount on 64 rows at a
time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled
from understudy.engines.kernels import Integers, _popcount

WORDS = 256  # of each column at a time: a thousand columns stay in the second-level cache


@dataclass(frozen=True, eq=False)
class PairCounts:
    """The Gram matrix of the bit columns; those of axis i are first[i] … first[i+1]. Exact: for the kernel alone."""

    rows: int
    first: Integers
    gram: Integers

    def table(self, i: int, j: int) -> Integers:
        """Return the counts over axes i and j, code 0 included."""
        inner = self.gram[self.first[i] : self.first[i + 1], self.first[j] : self.first[j + 1]]
        out = np.empty((inner.shape[0] + 1, inner.shape[1] + 1), dtype=np.int64)
        out[1:, 1:] = inner
        out[1:, 0] = self._own(i) - inner.sum(axis=1)
        out[0, 1:] = self._own(j) - inner.sum(axis=0)
        out[0, 0] = self.rows - out[1:, 0].sum() - self._own(j).sum()
        return out

    def _own(self, i: int) -> Integers:
        return np.diagonal(self.gram)[self.first[i] : self.first[i + 1]]


def gram_of(bits: NDArray[np.uint64], threads: int) -> Integers:
    """Return the Gram matrix of packed bit columns: 64 rows a word, zeros at the end."""
    gram = np.zeros((len(bits), len(bits)), dtype=np.int64)
    # every thread takes lines i, i + threads, …: later lines have more pairs
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda start: _both_set(bits, start, threads, gram), range(threads)))
    gram += np.tril(gram, -1).T
    return gram


@compiled
def _both_set(bits: Any, start: int, step: int, gram: Any) -> None:  # pragma: no cover - compiled
    columns, words = bits.shape
    for begin in range(0, words, WORDS):
        end = min(words, begin + WORDS)
        for i in range(start, columns, step):
            a = bits[i, begin:end]
            for j in range(i + 1):
                b = bits[j, begin:end]
                total = np.uint64(0)
                for w in range(end - begin):
                    total += _popcount(a[w] & b[w])
                gram[i, j] += np.int64(total)
