"""PrivABN as published (Lan et al. 2021, Algorithms 2 to 5). NOT PRIVATE: a fixture for the figures of its own paper.

The candidate parent sets depend on the rows, the score is in bits and its sensitivity in nats, and conditionals get the
noise of a joint table (methods/privabn/PROOF.md; tests/audit has the counterexamples, and a test that this file finds
the same candidates as the fixture there). Noise is in doubles. Never part of the product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

STAMP = "NOT PRIVATE: as published"
Codes = NDArray[np.int64]
Parents = frozenset[int]


class Scores:
    """I(S, Π) in bits of binary columns, each computed once; rounded, so that ties are ties."""

    def __init__(self, columns: NDArray[np.uint8]) -> None:
        self.columns = columns.astype(np.int64)
        self.rows = columns.shape[1]
        self._known: dict[tuple[int, Parents], float] = {}
        self._groups: dict[Parents, Codes] = {frozenset(): np.zeros(self.rows, dtype=np.int64)}

    def groups(self, parents: Parents) -> Codes:
        """A number for each row, the same for rows that agree on the parents; built from a set with one parent less."""
        if parents not in self._groups:
            smaller = next((parents - {p} for p in parents if parents - {p} in self._groups), None)
            if smaller is None:
                smaller = parents - {max(parents)}
            (added,) = parents - smaller
            code = self.groups(smaller) * 2 + self.columns[added]
            present = np.bincount(code) > 0
            self._groups[parents] = (np.cumsum(present) - 1)[code]
        return self._groups[parents]

    def information(self, child: int, parents: Parents) -> float:
        if (child, parents) not in self._known:
            group = self.groups(parents)
            joint = np.bincount(group * 2 + self.columns[child], minlength=2 * (int(group.max()) + 1)).reshape(-1, 2)
            sizes, own = joint.sum(axis=1), joint.sum(axis=0)
            at, value = np.nonzero(joint)
            counts = joint[at, value]
            bits = (counts / self.rows * np.log2(counts * self.rows / (sizes[at] * own[value]))).sum()
            self._known[child, parents] = round(float(bits), 10)
        return self._known[child, parents]

    def keep_groups(self, wanted: set[Parents]) -> None:
        """Forget the groups of sets that no memory holds any more."""
        self._groups = {p: g for p, g in self._groups.items() if p in wanted or not p}


def sensitivity_in_nats(n: int) -> float:
    return math.log(n) / n + (n - 1) / n * math.log(n / (n - 1))


Memory = dict[tuple[int, int], Parents]


def remember(scores: Scores, memory: Memory, child: int, newest: int, most: int, printed: bool = True) -> list[Parents]:
    """Algorithm 3 as printed goes upward and in place, so that a set that has just got the newest attribute gets it
    again and stays small; downward is what it must have meant."""
    for size in range(1, most + 1) if printed else range(most, 0, -1):
        with_newest = memory.get((child, size - 1), frozenset()) | {newest}
        before = memory.get((child, size), frozenset())
        if scores.information(child, with_newest) >= scores.information(child, before):
            memory[child, size] = with_newest
    return [memory.get((child, size), frozenset()) for size in range(1, most + 1)]


def network(
    scores: Scores, epsilon: float, generator: np.random.Generator, printed: bool = True
) -> list[tuple[int, Parents]]:
    """Algorithm 2: the exponential mechanism over what the memory offers."""
    d = len(scores.columns)
    weight = epsilon / (2 * (d - 1) * sensitivity_in_nats(scores.rows))
    first = int(generator.integers(d))
    pairs: list[tuple[int, Parents]] = [(first, frozenset())]
    left, memory = [i for i in range(d) if i != first], Memory()
    while left:
        omega = [(c, p) for c in left for p in remember(scores, memory, c, pairs[-1][0], len(pairs), printed)]
        values = np.array([weight * scores.information(c, p) for c, p in omega])
        odds = np.exp(values - values.max())
        child, parents = omega[int(generator.choice(len(omega), p=odds / odds.sum()))]
        pairs.append((child, parents))
        left.remove(child)
        scores.keep_groups(set(memory.values()))
    return pairs


def synthetic(
    scores: Scores, pairs: Sequence[tuple[int, Parents]], epsilon: float, generator: np.random.Generator
) -> Mapping[int, Codes]:
    """Algorithm 4: noise on each conditional probability, negative ones to zero, normalised, sampled in order.

    Only configurations that a synthetic row reaches are needed; one that no real row has is 0 and 0 before its noise.
    """
    n, d = scores.rows, len(scores.columns)
    scale = 2 * d / (n * epsilon)
    made: dict[int, Codes] = {}
    for child, parents in pairs:
        order = sorted(parents)
        both = _packed([np.concatenate([scores.columns[p], made[p]]) for p in order], 2 * n)
        _, group = np.unique(both, return_inverse=True)
        real, own = group[:n], group[n:]
        joint = np.bincount(real * 2 + scores.columns[child], minlength=2 * (int(group.max()) + 1)).reshape(-1, 2)
        share = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1)
        noisy = np.maximum(share + generator.laplace(0, scale, share.shape), 0)
        total = noisy.sum(axis=1)
        one = np.where(total > 0, noisy[:, 1] / np.where(total > 0, total, 1), 0.5)
        made[child] = (generator.random(n) < one[own]).astype(np.int64)
    return made


def _packed(columns: Sequence[Codes], rows: int) -> Codes:
    """At most 62 binary columns as one number a row."""
    code = np.zeros(rows, dtype=np.int64)
    for column in columns:
        code = code * 2 + column
    return code


def publish(scores: Scores, epsilon: float, generator: np.random.Generator, printed: bool = True) -> list[Codes]:
    """Algorithm 5: half of ε for each part; the columns in their order."""
    made = synthetic(scores, network(scores, epsilon / 2, generator, printed), epsilon / 2, generator)
    return [made[i] for i in range(len(scores.columns))]
