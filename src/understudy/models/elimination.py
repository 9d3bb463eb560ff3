"""Elimination: the product of several tables with all but some of their variables summed out.

Variables are numbers here, not axes: a report asks for thousands of tables, and comparing names would cost the most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from understudy.schema import Floats

Part = tuple[tuple[int, ...], Floats]  # a table and the number of the variable along each dimension
Check = Callable[[int, Sequence[int]], None]  # refuses a table of so many cells over these variables


def eliminate(parts: Sequence[Part], wanted: tuple[int, ...], check: Check) -> Floats:
    """Sum out one variable after the other, the cheapest first; every size is checked before the first step."""
    left = list(parts)
    for variable in _order(parts, wanted, check):
        touched = [part for part in left if variable in part[0]]
        left = [part for part in left if variable not in part[0]]
        scope = dict.fromkeys(v for labels, _ in touched for v in labels if v != variable)
        left.append((tuple(scope), contract(touched, tuple(scope))))
    return contract(left, wanted)


def _order(parts: Sequence[Part], wanted: tuple[int, ...], check: Check) -> list[int]:
    """Return an elimination order, greedy by the number of cells that a step runs over."""
    sizes = {v: size for labels, table in parts for v, size in zip(labels, table.shape)}
    scopes = [frozenset(labels) for labels, _ in parts]
    hidden = set(sizes).difference(wanted)
    check(math.prod(sizes[v] for v in wanted), wanted)
    merged = {v: _merge(scopes, v) for v in hidden}
    cost = {v: math.prod([sizes[u] for u in merged[v]]) for v in hidden}
    order = []
    while hidden:
        variable = min(hidden, key=lambda v: (cost[v], v))
        check(cost[variable], sorted(merged[variable]))
        scopes = [s for s in scopes if variable not in s] + [merged[variable] - {variable}]
        hidden.remove(variable)
        for v in merged[variable] & hidden:
            merged[v] = _merge(scopes, v)
            cost[v] = math.prod([sizes[u] for u in merged[v]])
        order.append(variable)
    return order


def _merge(scopes: Sequence[frozenset[int]], variable: int) -> frozenset[int]:
    return frozenset().union(*[s for s in scopes if variable in s])


def contract(parts: Sequence[Part], kept: tuple[int, ...]) -> Floats:
    """Return the product of the parts, two at a time, each variable summed out as soon as no later part has it."""
    labels, table = parts[0]
    for i, (others, other) in enumerate(parts[1:], start=2):
        later = set(kept).union(*[scope for scope, _ in parts[i:]])
        scope = tuple(dict.fromkeys(v for v in labels + others if v in later))
        table, labels = _sum_product([(labels, table), (others, other)], scope), scope
    return table if labels == kept else _sum_product([(labels, table)], kept)


def _sum_product(parts: Sequence[Part], kept: tuple[int, ...]) -> Floats:
    short = {v: i for i, v in enumerate(dict.fromkeys(v for labels, _ in parts for v in labels))}
    operands: list[Any] = [item for labels, table in parts for item in (table, [short[v] for v in labels])]
    return np.asarray(np.einsum(*operands, [short[v] for v in kept]), dtype=np.float64)
