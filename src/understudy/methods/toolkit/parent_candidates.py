"""The parent sets that a round of GreedyBayes may choose from (Zhang et al. 2017, Algorithms 2 and 4): public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from understudy.methods.toolkit.parent_sets import maximal_parent_sets
from understudy.privacy.scores import Pair
from understudy.schema import Axes, Axis, Schema

Candidates = Callable[[Sequence[Axis], Sequence[Axis]], list[Pair]]  # (placed, left) -> options; public


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


class PlainSets:
    """Every set of ungeneralised parents under a size limit, the empty one included: for a score that fines size."""

    def __init__(self, schema: Schema, cells: int, most: int | None) -> None:
        self._schema = schema
        self._cells = cells
        self._most = most
        self._sets: list[tuple[int, Axes]] = [(1, ())]
        self._seen = 0

    def __call__(self, placed: Sequence[Axis], left: Sequence[Axis]) -> list[Pair]:
        widest = self._cells // min(self._schema.size(child) for child in left)
        for axis in placed[self._seen :]:
            size = self._schema.size(axis)
            self._sets += [
                (cells * size, (*parents, axis))
                for cells, parents in self._sets
                if cells * size <= widest and (self._most is None or len(parents) < self._most)
            ]
        self._seen = len(placed)
        options = []
        for child in left:
            room = self._cells // self._schema.size(child)
            options += [Pair(child, parents) for cells, parents in self._sets if cells <= room or not parents]
        return options


class MaximalSets:
    """Every maximal parent set that keeps the table under a size limit (Algorithm 4); none means no parents."""

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


def either(*rules: Candidates) -> Candidates:
    """Return what any of the rules offers, each option once."""

    def offer(placed: Sequence[Axis], left: Sequence[Axis]) -> list[Pair]:
        return list(dict.fromkeys(pair for rule in rules for pair in rule(placed, left)))

    return offer


def view_sizes(schema: Schema, variables: Sequence[Axis]) -> list[list[int]]:
    """Return how many values each variable's attribute has on each level of its taxonomy."""
    levels = {axis: range(schema[axis.attribute].levels) for axis in variables}
    return [[schema.size(Axis(axis.attribute, level)) for level in levels[axis]] for axis in variables]


def any_parents(schema: Schema, variables: Sequence[Axis], cells: int, encoding: str) -> bool:
    """Return whether the size limit leaves room for any edge: an attribute with another's smallest view."""
    full = [schema.size(axis) for axis in variables]
    smallest = full
    if encoding == "hierarchical":
        smallest = [min(sizes) for sizes in view_sizes(schema, variables)]
    order = sorted(range(len(full)), key=lambda i: full[i])[:2]
    return any(full[i] * smallest[j] <= cells for i in order for j in range(len(full)) if i != j)
