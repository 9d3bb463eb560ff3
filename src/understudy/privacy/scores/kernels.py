"""The inner loops of the scores, on exact integers. Imported late: compiling costs time.

A product of two counts does not fit 64 bits from 3,037,000,500 rows on. Differences of products are therefore kept as
two integers, high·2^20 + low with 0 ≤ low < 2^20, which is exact for all tables of at most 2^40 rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.compiled import compiled

LIMB = 20  # binary digits of the low part
_MASK = (1 << LIMB) - 1
SMALL_TABLE = 4096  # cells; larger ones are scored by a compiled loop
_WIDEST = 1 << 39  # a multiplier is scaled up to this: from there to 2^40 its products have the finest units


@compiled
def difference(a: Any, x: Any, b: Any, y: Any) -> Any:  # pragma: no cover - compiled
    """Return (high, low) of a·x − b·y; a and b are from 0 to 2^40, x and y at most 2^41 in absolute value."""
    rest = (a & _MASK) * x - (b & _MASK) * y
    return (a >> LIMB) * x - (b >> LIMB) * y + (rest >> LIMB), rest & _MASK


def r_deviation(table: Any, rows: int) -> tuple[int, int]:
    """Return (high, low) of Σ|n·c(x,π) − c(x)·c(π)|, twice n² times the score R.

    Small tables are left to numpy: the same integers, and nothing to compile.
    """
    column = table.sum(axis=0)
    if table.size > SMALL_TABLE:
        high, low = _r_deviation(table.ravel(), column, rows)
        return high, low
    row = table.sum(axis=1, keepdims=True)
    rest = (rows & _MASK) * table - (row & _MASK) * column
    high = (rows >> LIMB) * table - (row >> LIMB) * column + (rest >> LIMB)
    sign = high >> 63
    total_low = int((((rest & _MASK) ^ sign) - sign).sum())
    return int(((high ^ sign) - sign).sum()) + (total_low >> LIMB), total_low & _MASK


def r_deviations(gram: Any, first: Any, rows: int) -> Any:
    """Return (high, low) of `r_deviation` for every pair of axes, from the Gram matrix of their bit columns."""
    axes, widest = len(first) - 1, int(np.diff(first).max(initial=0)) + 1
    out = np.zeros((2, axes, axes), dtype=np.int64)
    _r_deviations(gram, first, rows, np.empty(widest**2, dtype=np.int64), np.empty(widest, dtype=np.int64), out)
    return out


@compiled
def _r_deviation(table: Any, column: Any, rows: int) -> Any:  # pragma: no cover - compiled
    """Return what `r_deviation` does, of a flat table; `column` has the sums of the table's columns."""
    values = len(column)
    total_high, total_low = 0, 0
    for start in range(0, len(table), values):
        row = 0
        for x in range(values):
            row += table[start + x]
        for x in range(values):
            # as `difference` does, of n·c(x,π) and c(x)·c(π)
            rest = (rows & _MASK) * table[start + x] - (row & _MASK) * column[x]
            high = (rows >> LIMB) * table[start + x] - (row >> LIMB) * column[x] + (rest >> LIMB)
            sign = high >> 63  # −1 or 0; the absolute value without a branch
            total_high += (high ^ sign) - sign
            total_low += ((rest & _MASK) ^ sign) - sign
    return total_high + (total_low >> LIMB), total_low & _MASK


@compiled
def _r_deviations(
    gram: Any, first: Any, rows: int, table: Any, column: Any, out: Any
) -> None:  # pragma: no cover - compiled
    """Fill `out` as `r_deviations` says; `table` and `column` are room for the largest table and its columns."""
    for i in range(len(first) - 1):
        parents = first[i + 1] - first[i] + 1
        for j in range(i):
            values = first[j + 1] - first[j] + 1
            column[0] = rows
            for v in range(1, values):
                column[v] = gram[first[j] + v - 1, first[j] + v - 1]
                column[0] -= column[v]
            for v in range(values):
                table[v] = column[v]
            for u in range(1, parents):
                line = first[i] + u - 1
                table[u * values] = gram[line, line]
                for v in range(1, values):
                    both = gram[line, first[j] + v - 1]
                    table[u * values + v] = both
                    table[u * values] -= both
                for v in range(values):
                    table[v] -= table[u * values + v]
            high, low = _r_deviation(table[: parents * values], column[:values], rows)
            out[0, i, j] = out[0, j, i] = high
            out[1, i, j] = out[1, j, i] = low


@compiled
def f_distance(table: Any, rows: int) -> Any:  # pragma: no cover - compiled
    """Return the minimum over assignments of (n − 2a)⁺ + (n − 2b)⁺: −2n times the score F (Zhang et al. 2017, 4.4).

    Each parent configuration gives its zeros to a or its ones to b. For multipliers p ≤ q every assignment is worth at
    least (p(n − 2a) + q(n − 2b))/q, where a is the side that would be overfull. The best assignment by that bound is
    the start; moving one configuration away from it raises q times the bound by 2·|p·c0 − q·c1|. Configurations are
    looked at in the order of this price, cheapest first. A state that is dominated (Definition 4.6), or whose bound
    says that it cannot beat the best assignment known, is dropped. All in integers, and a price is rounded down: exact.
    """
    over, under = 0, 0
    for i in range(len(table)):
        if table[i, 0] >= table[i, 1]:
            over += table[i, 0]
        else:
            under += table[i, 1]
    if 2 * over <= rows and 2 * under <= rows:
        return 2 * rows - 2 * (over + under)  # the best possible sum, and neither side wastes any
    first, second = (0, 1) if 2 * over > rows else (1, 0)
    p, q = _multipliers(table[:, first], table[:, second], rows)
    price, step_a, step_b, a, b = _start(table[:, first], table[:, second], p, q)
    high, low = difference(q, 2 * b - rows, p, rows - 2 * a)  # −q times the bound of the start
    best = max(0, rows - 2 * a) + max(0, rows - 2 * b)
    state_a, state_b = np.array([a]), np.array([b])
    spent = np.zeros(1, dtype=np.int64)
    for i in np.argsort(price):
        room = _room(q, best, high, low)
        if price[i] > room:
            return best  # what is left to look at costs at least as much
        state_a, state_b, spent, best = _widened(
            state_a, state_b, spent, best, rows, step_a[i], step_b[i], price[i], room
        )
    return best


@compiled
def _room(q: Any, best: Any, high: Any, low: Any) -> Any:  # pragma: no cover - compiled
    """Return the largest price, in units of 2^20, at which an assignment may still be worth best − 1 or less."""
    up, down = difference(q, best - 1, 0, 0)
    return (up + high + ((down + low) >> LIMB)) >> 1


@compiled
def _multipliers(give: Any, gain: Any, rows: int) -> Any:  # pragma: no cover - compiled
    """Return p ≤ q for the tightest bound: what the second side gains for each unit that the first gives up, where the
    first would fall below one half if configurations went over in the order of that ratio. Scaled up to 39 digits."""
    ratio = np.empty(len(give), dtype=np.float64)
    left = 0
    for i in range(len(give)):
        ratio[i] = -1e300 if give[i] == 0 else -gain[i] / give[i]
        left += give[i]
    p, q = 1, 1
    for i in np.argsort(ratio):
        if 2 * (left - give[i]) < rows:
            if gain[i] < give[i]:
                p, q = gain[i], give[i]
            break
        left -= give[i]
    while q < _WIDEST:
        p, q = 2 * p, 2 * q
    return p, q


@compiled
def _start(give: Any, gain: Any, p: int, q: int) -> Any:  # pragma: no cover - compiled
    """Return each configuration's price in units of 2^20 and what moving it changes; and a and b of the start."""
    size = len(give)
    price, step_a, step_b = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    a, b = 0, 0
    for i in range(size):
        high, low = difference(p, give[i], q, gain[i])
        if high >= 0:  # worth at least as much to the first side
            price[i], step_a[i], step_b[i] = high, -give[i], gain[i]
            a += give[i]
        else:
            price[i], step_a[i], step_b[i] = -high - (low > 0), give[i], -gain[i]
            b += gain[i]
    return price, step_a, step_b, a, b


@compiled
def _widened(
    state_a: Any, state_b: Any, spent: Any, best: int, rows: int, step_a: int, step_b: int, price: int, room: int
) -> Any:  # pragma: no cover - compiled
    """Return the states with and without one more move, in the order of falling a and rising b, and the best value."""
    count = len(state_a)
    next_a, next_b = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64)
    next_spent = np.empty(2 * count, np.int64)
    kept, stay, move, top = 0, 0, 0, -1
    while stay < count or move < count:
        take = stay >= count
        if not take and move < count:
            ahead = state_a[move] + step_a - state_a[stay]
            take = ahead > 0 or (ahead == 0 and state_b[move] + step_b > state_b[stay])
        if take:
            new_a, new_b, new_spent = state_a[move] + step_a, state_b[move] + step_b, spent[move] + price
            move += 1
        else:
            new_a, new_b, new_spent = state_a[stay], state_b[stay], spent[stay]
            stay += 1
        if new_b <= top or new_spent > room:
            continue
        top = new_b
        best = min(best, max(0, rows - 2 * new_a) + max(0, rows - 2 * new_b))
        next_a[kept], next_b[kept], next_spent[kept] = new_a, new_b, new_spent
        kept += 1
    return next_a[:kept], next_b[:kept], next_spent[:kept], best


@compiled
def f_distances(gram: Any, first: Any, rows: int) -> Any:  # pragma: no cover - compiled
    """Return `f_distance` of every axis (row) given every other (column), from the Gram matrix of one bit each."""
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
