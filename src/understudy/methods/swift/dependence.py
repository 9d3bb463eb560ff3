"""Dependence: how far tables are from the product of their columns, by noisy distances and by a model.

A noisy distance has three parts that say nothing: its own noise, what chance makes of rows that come whole, and the
noise in the columns whose product it is a distance from. What has nothing to do with each other adds as squares, so
their squares are taken off. All of it is arithmetic on released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from understudy.methods.toolkit.chance import chance_deviation
from understudy.privacy.questions import NoisyDistances
from understudy.schema import Axes, Axis, Floats, Integers


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of each column, or of its merged groups: shares that add up to 1, and the noise in a cell."""

    shares: Mapping[Axis, Floats]
    noise: Mapping[Axis, float]  # mean absolute, in rows
    rows: float

    def product(self, axes: Axes) -> Floats:
        """Return the expected counts of a table of independent columns."""
        return self.rows * _outer([self.shares[axis] for axis in axes])

    def reference(self, axes: Axes) -> Integers:
        """Return those counts in whole rows."""
        return np.rint(self.product(axes)).astype(np.int64)

    def distance_of_nothing(self, axes: Axes) -> float:
        """Return how far from its reference, in rows, a table of independent columns is expected to be."""
        squares = chance_deviation(self.product(axes)) ** 2
        for axis in axes:
            parts = [np.full_like(self.shares[a], self.noise[a]) if a == axis else self.shares[a] for a in axes]
            squares += _outer(parts) ** 2
        return float(np.sqrt(squares).sum())


def bought_dependence(distances: NoisyDistances, columns: Columns, tables: Sequence[Axes]) -> Floats:
    """Return what noisy distances say of each table's dependence: total variation distances times the rows."""
    nothing = np.array([columns.distance_of_nothing(axes) for axes in tables])
    seen = distances.values.astype(np.float64)
    left = np.sqrt(np.maximum(0.0, seen * np.abs(seen) - nothing**2 - distances.noise.variance))
    return np.asarray(np.rint(left / 2))  # whole rows: the last digit of a float must not decide what is bought


def modelled_dependence(tables: Sequence[Floats], rows: float) -> Floats:
    """Return the same of a model's own tables."""
    return np.rint([rows * 0.5 * float(np.abs(table - _product_of_margins(table)).sum()) for table in tables])


def _product_of_margins(table: Floats) -> Floats:
    every = range(table.ndim)
    return _outer([table.sum(axis=tuple(other for other in every if other != own)) for own in every])


def _outer(parts: Sequence[Floats]) -> Floats:
    return reduce(np.multiply.outer, parts, np.ones(()))


def typical_noise(values: int, groups: int, noise: float) -> float:
    """Return the noise in a cell of so many merged groups of an attribute with that noise in each of its values."""
    return noise * math.sqrt(values / groups)
