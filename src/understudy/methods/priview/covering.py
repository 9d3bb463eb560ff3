"""Covering designs: few blocks of ℓ attributes such that any t attributes are together in one of them.

Greedy (Gordon, Kuperberg, Patashnik 1995): a block starts from the neediest uncovered set and takes, one at a time, the
attribute that covers most uncovered sets; then blocks that the others make superfluous are dropped. The best of
several tries with ties broken in other ways. A public object: it depends on the number of attributes alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.random_source import seeded_generator

Blocks = tuple[tuple[int, ...], ...]
_WORK = 4_000_000  # of attribute–set comparisons, over all tries


def fewest_blocks(points: int, block: int, strength: int) -> int:
    """Return Schönheim's bound: no design has fewer blocks."""
    count = 1
    for i in reversed(range(min(strength, points))):
        count = math.ceil((points - i) * count / max(1, min(block, points) - i))
    return count


@lru_cache(maxsize=64)
def covering_design(points: int, block: int, strength: int) -> Blocks:
    """Return blocks of at most `block` out of `points` that cover every set of `strength` points."""
    if points <= block:
        return (tuple(range(points)),)
    tries = max(1, min(40, _WORK // (math.comb(points, strength) * points)))
    found = [_greedy(points, block, strength, seeded_generator(i)) for i in range(tries)]
    return min(found, key=len)


def _greedy(points: int, block: int, strength: int, generator: np.random.Generator) -> Blocks:
    """Choose blocks greedily. `open_` is 1 where a set is uncovered, in every order of its members."""
    open_ = np.zeros((points,) * strength, dtype=np.int32)
    for members in itertools.permutations(range(points), strength):
        open_[members] = 1
    blocks: list[tuple[int, ...]] = []
    while open_.any():
        chosen = _next_block(open_, block, generator)
        open_[np.ix_(*[chosen] * strength)] = 0
        blocks.append(tuple(sorted(chosen)))
    return _without_superfluous(blocks, strength)


def _next_block(open_: NDArray[Any], block: int, generator: np.random.Generator) -> list[int]:
    strength, points = open_.ndim, len(open_)
    need = open_.sum(axis=tuple(range(1, strength)))
    ties = generator.random(points)
    sets = np.argwhere(open_)
    chosen = [int(i) for i in sets[np.argmax((need + ties)[sets].sum(axis=1))]]
    while len(chosen) < block:
        gain = open_[np.ix_(range(points), *[chosen] * (strength - 1))].sum(axis=tuple(range(1, strength)))
        rank = gain + 1e-3 * need / (1 + need.max()) + 1e-6 * ties
        rank[chosen] = -1
        chosen.append(int(np.argmax(rank)))
    return chosen


def _without_superfluous(blocks: list[tuple[int, ...]], strength: int) -> Blocks:
    """Remove blocks whose sets are all covered by others, the latest first."""
    times = Counter(chosen for members in blocks for chosen in itertools.combinations(members, strength))
    kept = []
    for members in reversed(blocks):
        sets = list(itertools.combinations(members, strength))
        if all(times[chosen] > 1 for chosen in sets):
            times.subtract(sets)
        else:
            kept.append(members)
    return tuple(reversed(kept))
