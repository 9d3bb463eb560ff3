"""GreedyBayes (Zhang et al. 2017, Algorithms 2 and 4): a network found by private choices, one attribute at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

from understudy.methods.privbayes.parents import maximal_parent_sets
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

Candidates = Callable[[Sequence[Axis], Sequence[Axis]], list[Pair]]  # (placed, left) -> options; public


def greedy_bayes(
    table: PrivateTable, variables: Sequence[Axis], candidates: Candidates, score: str, cost: Fraction
) -> tuple[Pair, ...]:
    """The first attribute at random, then d−1 choices at cost/(d−1) each."""
    left = list(variables)
    placed = [left.pop(table.pick(len(left), "first attribute"))]
    pairs = [Pair(placed[0])]
    rounds = len(left)
    while left:
        table.progress("structure", len(pairs), rounds + 1)
        pair = table.choose(candidates(placed, left), score, cost / rounds, "structure")
        pairs.append(pair)
        placed.append(pair.child)
        left.remove(pair.child)
    return tuple(pairs)


class FixedDegree:
    """Every parent set of exactly min(k, |V|) placed attributes (Algorithm 2).

    Options are kept from round to round: only sets with the newest attribute are new.
    """

    def __init__(self, degree: int) -> None:
        self._degree = degree
        self._sets: list[Axes] = []
        self._seen = 0
        self._pairs: dict[Axis, list[Pair]] = {}

    def __call__(self, placed: Sequence[Axis], left: Sequence[Axis]) -> list[Pair]:
        k = self._degree
        if len(placed) <= k:
            return [Pair(child, tuple(placed)) for child in left]
        fresh = [
            (*rest, placed[i])
            for i in range(max(self._seen, k - 1), len(placed))
            for rest in combinations(placed[:i], k - 1)
        ]
        self._seen = len(placed)
        for child in left:
            self._pairs.setdefault(child, []).extend(Pair(child, parents) for parents in fresh)
        return [pair for child in left for pair in self._pairs[child]]


class MaximalSets:
    """Every maximal parent set that keeps the table θ-useful (Algorithm 4); none useful means no parents."""

    def __init__(self, schema: Schema, cells: int, generalised: bool, most: int | None) -> None:
        self._schema = schema
        self._cells = cells
        self._generalised = generalised
        self._most = most

    def __call__(self, placed: Sequence[Axis], left: Sequence[Axis]) -> list[Pair]:
        names = [axis.attribute for axis in placed]
        sets: dict[int, tuple[Axes, ...]] = {}
        options = []
        for child in left:
            tau = self._cells // self._schema.size(child)
            if tau not in sets:
                found = maximal_parent_sets(names, tau, self._schema, self._generalised, self._most)
                sets[tau] = found or ((),)
            options += [Pair(child, parents) for parents in sets[tau]]
        return options


def any_parents(schema: Schema, cells: int, generalised: bool) -> bool:
    """Whether the size limit leaves room for a single edge anywhere."""
    smallest = sorted(
        min(schema.size(Axis(a.name, level)) for level in range(a.levels if generalised else 1))
        for a in schema.modelled
    )
    sizes = sorted(a.size for a in schema.modelled)
    return len(sizes) > 1 and sizes[0] * smallest[0 if smallest[0] < sizes[0] else 1] <= cells
