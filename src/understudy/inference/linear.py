"""A query's figures as sums of weighted cells, to first order: what least squares and simulations are given.

count, share, sum    Σ w·x                         as they are; a share of a noisy number of rows is a rate
mean, rate           (Σ v·x − m·Σ w·x) / Σ w·x     m the published figure
median, quantile     the same for the share of values below the published quantile, turned back afterwards
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.inference.inside_bins import EVEN_MEAN, SHAPED, mean_deviation, part_deviation, share_deviation
from understudy.inference.least_squares import Terms, Weights
from understudy.query.evaluation import Evaluated, group_weights, joined, stacked_values, values, weigh
from understudy.query.quantiles import Places, of_masses
from understudy.query.queries import Query

Floats = NDArray[np.float64]
OF_GROUP = 0.1  # of the squared error of a bin's shape, the part that each group has for itself


@dataclass(frozen=True, eq=False)
class Linear:
    """One query on one model."""

    query: Query
    found: Evaluated
    rows: int

    @property
    def divides(self) -> bool:
        return self.query.measure in ("mean", "rate", "median", "quantile")

    @property
    def ranked(self) -> bool:
        """Return whether it is a quantile."""
        return self.query.measure in ("median", "quantile")

    @cached_property
    def _both(self) -> tuple[Floats, Floats]:
        return values(self.query, self.found, self.rows)

    @cached_property
    def values(self) -> Floats:
        return np.asarray([self._both[0][codes] for codes in self.query.groups], dtype=np.float64)

    @cached_property
    def counts(self) -> Floats:
        return np.asarray([self._both[1][codes] for codes in self.query.groups], dtype=np.float64)

    # -- terms ---------------------------------------------------------------------------------------------------

    def terms(self, i: int) -> Terms:
        """Return the sums that the i-th figure consists of, to first order; each has a vector for each attribute."""
        query = self.query
        weights = {name: query.selections[name].weights for name in self.found.names}
        if query.measure == "share":
            return self._share_terms(i, self._weights(i, weights))
        if query.measure == "count":
            return [(1.0, self._weights(i, weights))]
        over = 1 / max(float(self.counts[i]), 1.0)
        value = float(np.nan_to_num(self.values[i]))
        if query.measure == "rate":
            whole = group_weights(query, self.found.names)
            return [(over, self._weights(i, weights)), (-value * over, self._weights(i, whole))]
        assert query.of is not None
        selection = query.selections[query.of]
        present = self._weights(i, weights | {query.of: selection.present})
        if self.ranked:
            below = self._weights(i, weights | {query.of: self._below[i]})
            return [(over, below), (-query.at * over, present)]
        moments = self._weights(i, weights | {query.of: selection.moments})
        return [(1.0, moments)] if query.measure == "sum" else [(over, moments), (-value * over, present)]

    def _share_terms(self, i: int, own: Weights) -> Terms:
        """Return a share of all rows; where their number is noisy too, its noise is in both and mostly cancels."""
        if self.query.schema.rows is not None:
            return [(1 / self.rows, own)]
        everyone = [np.ones(len(w)) for w in own]
        return [(1 / self.rows, own), (-float(self.values[i]) / self.rows, everyone)]

    def size(self, i: int) -> Terms:
        """Return the sum of the rows behind the i-th figure."""
        query = self.query
        weights = {name: query.selections[name].weights for name in self.found.names}
        if query.measure == "rate":
            weights = group_weights(query, self.found.names)
        if query.of is not None:
            weights[query.of] = query.selections[query.of].present
        return [(1.0, self._weights(i, weights))]

    def _weights(self, i: int, weights: dict[str, Floats]) -> Weights:
        out = []
        for name in self.found.names:
            w = weights[name]
            if name in self.query.by:
                code = self.query.groups[i][self.query.by.index(name)]
                w = np.where(np.arange(len(w)) == code, w, 0.0)
            out.append(w)
        return out

    def centre(self, i: int, value: float) -> float:
        """Return where the interval is centred, from the least-squares estimate of the terms."""
        if self.ranked:
            return self.query.at + value
        by_rows = self.query.measure == "share" and self.query.schema.rows is None
        return float(self.values[i]) + value if self.divides or by_rows else value

    def centres(self, base: Floats) -> Floats:
        return np.full(len(base), self.query.at) if self.ranked else base

    def sampling(self, terms: Terms, i: int) -> float:
        """Return the variance of the terms if the rows were drawn anew from the model."""
        table = self.found.table
        square = sum(f * g * _contracted(table, [a * b for a, b in zip(v, w)]) for f, v in terms for g, w in terms)
        mean = sum(f * _contracted(table, v) for f, v in terms)
        return max(0.0, self.rows * (square - mean**2))

    # -- figures of another table --------------------------------------------------------------------------------

    def figures(self, tables: Floats, rows: Floats | None = None) -> Floats:
        """Return the figures on each of several stacked tables; of a quantile, the share below the published one."""
        n = np.full(len(tables), float(self.rows)) if rows is None else rows
        codes = np.asarray(self.query.groups, dtype=np.int64).reshape(len(self.query.groups), -1)
        places: tuple[Any, ...] = (slice(None), *codes.T)
        if not self.ranked:
            found = stacked_values(self.query, self.found.names, tables, n)
            return np.asarray(found[places]).reshape(len(tables), -1)
        present = self.query.selections[self.query.of or ""].present
        masses = np.stack([of_masses(self.query, table, self.found.names) for table in tables])
        masses = masses[places].reshape(len(tables), len(self.query.groups), -1)
        below, whole = (masses * np.stack(self._below)).sum(axis=-1), masses @ present
        return np.asarray(np.divide(below, whole, out=np.full_like(below, np.nan), where=whole > 0))

    @cached_property
    def _places(self) -> Places:
        return Places.of(self.query.selections[self.query.of or ""])

    @cached_property
    def _masses(self) -> Floats:
        return of_masses(self.query, self.found.table, self.found.names)

    @cached_property
    def _below(self) -> list[Floats]:
        """Return, for each group, the part of each code below its published quantile."""
        size = self.query.schema[self.query.of or ""].size
        return [
            self._places.gathered(self._places.below(self._masses[codes], self.query.at)[0], size)
            for codes in self.query.groups
        ]

    def inverted(self, centre: Floats, reach: Floats) -> tuple[Floats, Floats] | None:
        """Return an interval of shares below the published quantile as one of the quantile: Woodruff's."""
        if not self.ranked:
            return None
        middle, half = [], []
        for i, codes in enumerate(self.query.groups):
            masses, at = self._masses[codes], self.query.at
            shift = float(centre[i]) - at
            ends = [at - shift - float(reach[i]), at - shift + float(reach[i])]
            if not np.isfinite(ends).all():
                middle.append(math.nan)
                half.append(math.inf)
                continue
            low, high = (self._places.quantile(masses, end) for end in ends)
            _, cell = self._places.below(masses, at)
            width = float(self._places.high[cell] - self._places.low[cell])
            shaped = self.query.selections[self.query.of or ""].inside is not None
            extra = 1.96 * EVEN_MEAN * width * (SHAPED if shaped else 1.0)
            middle.append((low + high) / 2)
            half.append((high - low) / 2 + extra)
        return np.asarray(middle), np.asarray(half)


def _contracted(table: Floats, weights: Weights) -> float:
    for w in weights:
        table = np.tensordot(w, table, axes=(0, 0))
    return float(table)


@dataclass(frozen=True, eq=False)
class Inside:
    """What the shape inside bins leaves open in each figure: cut bins, means of bins, and cells that meet a condition
    on several attributes in part."""

    shared: tuple[Floats, ...]  # by figure and code of an attribute: errors that figures have from the same bins
    alone: Floats  # the variance of what each figure has for itself

    @property
    def deviation(self) -> Floats:
        """Return the standard deviation of each figure."""
        return np.asarray(np.sqrt(self._squares + self.alone))

    @property
    def against_first(self) -> Floats:
        """Return the standard deviation of the difference of each figure to the first: the same bin is off alike in
        both, but for a part that groups have of their own."""
        alike = sum(((own - own[:1]) ** 2).sum(axis=1) for own in self.shared)
        apart = self._squares + self._squares[:1]
        return np.asarray(np.sqrt((1 - OF_GROUP) * alike + OF_GROUP * apart + self.alone + self.alone[:1]))

    @property
    def _squares(self) -> Floats:
        return np.asarray(sum(((own**2).sum(axis=1) for own in self.shared), np.zeros(len(self.alone))))

    @staticmethod
    def of(linear: Linear) -> Inside:
        """Work it out for each figure of a query."""
        query, names, table = linear.query, linear.found.names, linear.found.table
        scale = _scale(linear)
        alone, shared = _joint_variance(linear), []
        weights = {name: query.selections[name].weights for name in names}
        for name in names:
            selection = query.selections[name]
            if (selection.whole and not (name == query.of and query.measure in ("mean", "sum"))) or linear.ranked:
                continue
            masses = table.sum(axis=tuple(i for i, other in enumerate(names) if other != name))
            if name == query.of and query.measure in ("mean", "sum"):
                own = mean_deviation(query.schema[name], selection, masses) * (selection.weights > 0)
            else:
                own = share_deviation(query.schema[name], selection, masses)
            if name in query.by:
                alone = alone + weigh(table, names, weights | {name: own}, query.by) ** 2
                continue
            by_code = weigh(table, names, weights | {name: np.ones(len(own))}, [*query.by, name])
            shared.append(scale[:, None] * np.asarray([by_code[codes] for codes in query.groups]) * own)
        return Inside(tuple(shared), scale**2 * np.asarray([alone[codes] for codes in query.groups]))


def _scale(linear: Linear) -> Floats:
    """Return what a share of all rows comes to in each figure."""
    if linear.query.measure == "share":
        return np.ones(len(linear.query.groups))
    divided = linear.query.measure in ("mean", "rate")
    return np.asarray(linear.rows / (np.maximum(linear.counts, 1.0) if divided else np.ones(len(linear.counts))))


def _joint_variance(linear: Linear) -> Floats:
    """Return the variance of each share that cells leave which meet a condition on several attributes in part.

    Such cells are taken as off by chance, each for itself; of means and sums they are left out.
    """
    query, names, table = linear.query, linear.found.names, linear.found.table
    if not query.joint or query.of is not None:
        return np.zeros(tuple(query.schema[n].size for n in query.by))
    parts = joined(np.ones(table.shape), names, query.joint)
    squares = {name: query.selections[name].weights ** 2 for name in names}
    return weigh((table * part_deviation(parts)) ** 2, names, squares, query.by)
