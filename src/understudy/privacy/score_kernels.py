"""The inner loops of the scores, on exact integers. Imported late: compiling costs time."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.compiled import compiled


@compiled
def r_deviation(table: Any, rows: int) -> int:  # pragma: no cover - compiled
    """Σ|n·c(x,π) − c(x)·c(π)|: twice n² times the score R."""
    parents, values = table.shape
    column = np.zeros(values, dtype=np.int64)
    for p in range(parents):
        for x in range(values):
            column[x] += table[p, x]
    deviation = 0
    for p in range(parents):
        row = 0
        for x in range(values):
            row += table[p, x]
        for x in range(values):
            deviation += abs(rows * table[p, x] - row * column[x])
    return deviation


@compiled
def r_deviations(gram: Any, first: Any, rows: int) -> Any:  # pragma: no cover - compiled
    """`r_deviation` of every pair of axes, from the Gram matrix of their bit columns (engines.pairs)."""
    axes = len(first) - 1
    out = np.zeros((axes, axes), dtype=np.int64)
    for i in range(axes):
        for j in range(i):
            table = np.zeros((first[i + 1] - first[i] + 1, first[j + 1] - first[j] + 1), dtype=np.int64)
            table[0, 0] = rows
            for u in range(first[i], first[i + 1]):
                table[u - first[i] + 1, 0] = gram[u, u]
                table[0, 0] -= gram[u, u]
            for v in range(first[j], first[j + 1]):
                table[0, v - first[j] + 1] = gram[v, v]
                table[0, 0] -= gram[v, v]
            for u in range(first[i], first[i + 1]):
                for v in range(first[j], first[j + 1]):
                    both = gram[u, v]
                    table[u - first[i] + 1, v - first[j] + 1] = both
                    table[u - first[i] + 1, 0] -= both
                    table[0, v - first[j] + 1] -= both
                    table[0, 0] += both
            out[i, j] = out[j, i] = r_deviation(table, rows)
    return out


@compiled
def f_distance(table: Any, rows: int) -> int:  # pragma: no cover - compiled
    """min over assignments of (n − 2a)⁺ + (n − 2b)⁺: −2n times the score F (Zhang et al. 2017, Section 4.4).

    Each parent configuration gives its zeros to a or its ones to b. States that are dominated (Definition 4.6) are
    dropped, and so are states whose bound cannot beat the best assignment known. The bound is Lagrangian: for
    multipliers p ≤ q, q·g ≥ p(n − 2a) + q(n − 2b) for the side a that would be overfull. All in integers, so exact.
    """
    size = table.shape[0]
    over, under = 0, 0
    for i in range(size):
        if table[i, 0] >= table[i, 1]:
            over += table[i, 0]
        else:
            under += table[i, 1]
    if 2 * over <= rows and 2 * under <= rows:
        return 2 * rows - 2 * (over + under)  # the best possible sum, and neither side wastes any
    first, second = (0, 1) if 2 * over > rows else (1, 0)

    # configurations by how much `second` gains for each unit that `first` gives up, best first
    ratio = np.empty(size, dtype=np.float64)
    for i in range(size):
        give, gain = table[i, first], table[i, second]
        ratio[i] = -1e300 if give == 0 else -gain / give
    order = np.argsort(ratio)

    # the greedy assignment fills `second` until `first` would fall below one half: incumbent and multipliers
    a, b = 0, 0
    for i in range(size):
        a += table[i, first]
    best = max(0, rows - 2 * a) + max(0, rows - 2 * b)
    p, q = 1, 1
    set_multiplier = False
    for k in range(size):
        i = order[k]
        give, gain = table[i, first], table[i, second]
        if 2 * (a - give) < rows and not set_multiplier and give > 0:
            set_multiplier = True
            if gain < give:
                p, q = gain, give
        if 2 * (a - give) < rows:
            # taking it anyway may still be the best; later ones may still fit
            best = min(best, max(0, rows - 2 * (a - give)) + max(0, rows - 2 * (b + gain)))
            continue
        a -= give
        b += gain
        best = min(best, max(0, rows - 2 * a) + max(0, rows - 2 * b))

    rest = np.zeros(size + 1, dtype=np.int64)
    for k in range(size - 1, -1, -1):
        i = order[k]
        rest[k] = rest[k + 1] + max(p * table[i, first], q * table[i, second])

    room = 64
    state_a = np.zeros(room, dtype=np.int64)
    state_b = np.zeros(room, dtype=np.int64)
    count = 1
    for k in range(size):
        i = order[k]
        give, gain = table[i, first], table[i, second]
        if give == 0 and gain == 0:
            continue
        next_a = np.empty(2 * count, dtype=np.int64)
        next_b = np.empty(2 * count, dtype=np.int64)
        kept = 0
        # merge the two shifted, sorted lists (a falling, b rising), dropping dominated states on the way
        u, v = 0, 0
        top = -1
        while u < count or v < count:
            if v >= count or (
                u < count
                and (
                    state_a[u] + give > state_a[v]
                    or (state_a[u] + give == state_a[v] and state_b[u] >= state_b[v] + gain)
                )
            ):
                new_a, new_b = state_a[u] + give, state_b[u]
                u += 1
            else:
                new_a, new_b = state_a[v], state_b[v] + gain
                v += 1
            if new_b <= top:
                continue
            top = new_b
            bound = p * (rows - 2 * new_a) + q * (rows - 2 * new_b) - 2 * rest[k + 1]
            if bound >= q * best:
                continue
            next_a[kept] = new_a
            next_b[kept] = new_b
            kept += 1
        state_a, state_b, count = next_a, next_b, kept
        if count == 0:
            return best
    for s in range(count):
        best = min(best, max(0, rows - 2 * state_a[s]) + max(0, rows - 2 * state_b[s]))
    return best


@compiled
def f_distances(gram: Any, first: Any, rows: int) -> Any:  # pragma: no cover - compiled
    """`f_distance` of every axis (row) given every other (column), from the Gram matrix of at most one bit each."""
    axes = len(first) - 1
    out = np.zeros((axes, axes), dtype=np.int64)
    table = np.zeros((2, 2), dtype=np.int64)
    for i in range(axes):
        ones = gram[first[i], first[i]] if first[i + 1] > first[i] else 0
        for j in range(axes):
            if i == j:
                continue
            given = gram[first[j], first[j]] if first[j + 1] > first[j] else 0
            both = gram[first[i], first[j]] if first[i + 1] > first[i] and first[j + 1] > first[j] else 0
            table[1, 1], table[1, 0] = both, given - both
            table[0, 1], table[0, 0] = ones - both, rows - given - ones + both
            out[i, j] = f_distance(table, rows)
    return out
