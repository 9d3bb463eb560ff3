"""The truth about the demo table: means and medians of its raw values."""

from __future__ import annotations

import numpy as np

from understudy.demo import Table, _density, _raw_values, demo_schema, true_marginal


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
