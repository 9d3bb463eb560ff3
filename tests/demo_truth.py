"""The truth about the demo table: exact marginals of its network, and means and medians of its raw values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.demo import Table, _density, _raw_values, demo_network, demo_schema


def true_marginal(names: Sequence[str]) -> Table:
    """Return the exact probability table over a few attributes: their ancestors are summed out."""
    network = demo_network()
    needed = set(names)
    for name, parents, _ in reversed(network):
        needed |= set(parents) if name in needed else set()
    place = {node.name: i for i, node in enumerate(network)}
    operands: list[Any] = []
    for name, parents, table in network:
        if name in needed:
            operands += [table, [place[p] for p in (*parents, name)]]
    result: Table = np.einsum(*operands, [place[name] for name in names], optimize="greedy")
    return result


def true_mean(name: str) -> float:
    """Return the mean of an ordered attribute's raw values (days since 1970 for the date), missing ones left out."""
    values, weights = _raw_law(name)
    return float(values @ weights)


def true_median(name: str) -> float:
    """Return the median of the same values; for a number it is exact to a thousandth of its bin."""
    values, weights = _raw_law(name)
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(weights[order]), 0.5)])


def _raw_law(name: str) -> tuple[Table, Table]:
    """Return raw values and their probabilities given that the value is there."""
    attribute, chances = demo_schema()[name], true_marginal([name])
    cells = [_raw_values(attribute.ordered, code) for code in range(attribute.ordered.size)]
    inside = [_density(name, cell) for cell in cells]
    weights = [chance * own / own.sum() for own, chance in zip(inside, chances)]
    flat = np.concatenate(weights)
    return np.concatenate(cells), flat / flat.sum()
