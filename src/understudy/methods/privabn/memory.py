"""The paper's memory over in-degree (Algorithm 3), on scores that are already private: pure post-processing.

For each attribute S that is not placed yet and each in-degree i it remembers the best parent set of size i found so
far. A newly placed attribute fa can improve it as dp[S, i−1] ∪ {fa}. Sizes are visited downward: the upward loop of the
paper reuses the dp[S, i−1] it has just changed, so that its "sets of size i" may have fewer than i members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from understudy.methods.privabn.search import Network
from understudy.methods.toolkit.model_room import Room
from understudy.privacy.questions import PairScores
from understudy.privacy.scores import Pair, Penalty
from understudy.schema import Axes, Axis, Schema


@dataclass(frozen=True)
class Worth:
    """What a parent set is worth by noisy pairwise scores: its links, less those inside it, less its noise."""

    scores: PairScores
    schema: Schema
    penalty_per_cell: Penalty

    def __call__(self, child: Axis, parents: Axes) -> int:
        links = sum(self._score(child, parent) for parent in parents)
        shared = sum(self._score(u, v) for u, v in combinations(parents, 2))
        return links - shared - self.penalty_per_cell * self.schema.cells((*parents, child))

    def _score(self, u: Axis, v: Axis) -> int:
        return int(self.scores.values[self._at[u], self._at[v]])

    @cached_property
    def _at(self) -> dict[Axis, int]:
        return {axis: i for i, axis in enumerate(self.scores.axes)}


class Memory:
    """dp[S, i]: the best parent set of size i for attribute S among the placed ones."""

    def __init__(self, worth: Worth, room: Room, degree: int) -> None:
        self._worth = worth
        self._room = room
        self._degree = degree
        self.best: dict[Axis, dict[int, tuple[int, Axes]]] = {}

    def see(self, child: Axis, newest: Axis) -> None:
        known = self.best.setdefault(child, {0: (self._worth(child, ()), ())})
        for size in range(self._degree, 0, -1):
            if size - 1 not in known:
                continue
            parents = (*known[size - 1][1], newest)
            if not self._room.allows(child, parents):
                continue
            worth = self._worth(child, parents)
            if size not in known or worth > known[size][0]:
                known[size] = worth, parents

    def winner(self, left: Sequence[Axis]) -> Pair:
        """Return the pair that is worth most among what may still be offered."""
        found = [
            (worth, child, parents)
            for child in left
            for worth, parents in self.best[child].values()
            if not parents or self._room.allows(child, parents)
        ]
        _, child, parents = max(found, key=lambda item: item[0])
        return Pair(child, parents)


def remembered(variables: Sequence[Axis], first: Axis, worth: Worth, room: Room, degree: int) -> Network:
    """Return the greedy network over released scores; no row is read."""
    left = [axis for axis in variables if axis != first]
    pairs = [Pair(first)]
    memory = Memory(worth, room, degree)
    while left:
        room.add(pairs[-1].axes)
        for child in left:
            memory.see(child, pairs[-1].child)
        pairs.append(memory.winner(left))
        left.remove(pairs[-1].child)
    return Network(tuple(pairs))
