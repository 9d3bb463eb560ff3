"""The shape of an attribute inside its bins: a share for each cell of a fine grid, from noisy details and the model's
own bin totals. Given the bin, the place inside it is taken as independent of all other attributes.

Going down, a node's sum S is split by its noisy difference d into (S ± d)/2. Where the noise is larger than what there
is to see, a split by d alone would be worse than a flat one. So of what d is above the flat split's difference a part
is believed, the larger of two: τ²S²/(τ²S² + σ²), where σ² is the noise's variance and τ² how far the splits of this
level are from flat beyond the noise, all taken together (empirical Bayes); and 1 − 2σ²/(d − d₀)², for a split that
stands out alone (Breiman's garrote). Measured in docs/decisions/0009-fine-shape.md. It is post-processing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.models.model import Rows
from understudy.privacy.questions.details import Details
from understudy.schema import Attribute, Floats, Integers, Schema
from understudy.schema.fine_grid import FineGrid

ALONE = 2.0  # variances that a split must be from flat to be believed for itself


@dataclass(frozen=True, eq=False)
class Shape(ABC):
    """`shares` has one number for each code of `fine`: its part of the coarse code that it lies in."""

    attribute: Attribute
    shares: Floats
    variance: float  # of the noise in one of the numbers that the shares come from

    @property
    @abstractmethod
    def fine(self) -> Attribute:
        """Return the same column on a finer grid."""

    @property
    @abstractmethod
    def home(self) -> Integers:
        """Return the coarse code that each fine code lies in."""

    @abstractmethod
    def adjoint(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return what Σ weight × cell takes from noisy numbers that are simply added up: from each coarse code's own
        count, and by coarse code the squares of what it takes from the noisy numbers inside it."""

    @property
    def measured(self) -> bool:
        """Return whether the shares come from noisy numbers inside bins; else they are a curve through the bins."""
        return True

    @property
    def doubt(self) -> Floats:
        """Return for each coarse code how little its shares are to be believed, from 0 to 1."""
        return np.zeros(self.attribute.size)

    def cells(self, codes: NDArray[np.integer], generator: np.random.Generator) -> Integers:
        """Return a fine code for each coarse one, by the shares of its bin."""
        order, ends, first = self._steps
        drawn = np.searchsorted(ends, codes + generator.random(len(codes)), side="right")
        return np.asarray(order[np.clip(drawn, first[codes], first[codes.astype(np.int64) + 1] - 1)])

    @cached_property
    def _steps(self) -> tuple[Integers, Floats, Integers]:
        """Return fine codes by coarse code, where each one's part of [code, code + 1) ends, where each code's begin."""
        order = np.argsort(self.home, kind="stable")
        first = np.searchsorted(self.home[order], np.arange(self.attribute.size + 1))
        sums = np.concatenate([[0.0], np.cumsum(self.shares[order])])
        begins = np.repeat(sums[first[:-1]], np.diff(first))
        return order, np.minimum(sums[1:] - begins, 1.0) + self.home[order], first

    def gathered(self, weights: Floats) -> Floats:
        """Turn weights of fine codes into weights of coarse ones; further dimensions stay."""
        out = np.zeros((self.attribute.size, *weights.shape[1:]))
        np.add.at(out, self.home, weights * self.shares.reshape(-1, *[1] * (weights.ndim - 1)))
        return out


@dataclass(frozen=True, eq=False)
class HalvedShape(Shape):
    """The shape inside bins that are halved again and again: attributes with `fine`."""

    grid: FineGrid

    @cached_property
    def fine(self) -> Attribute:
        return self.attribute.refined(self.grid)

    @cached_property
    def home(self) -> Integers:
        """Return the coarse code that each fine code lies in; a point and "missing" stay what they are."""
        coarse, domain = self.attribute.ordered, self.fine.ordered
        home = np.full(self.fine.size, self.attribute.missing_code, dtype=np.int64)
        points = np.asarray(domain.points, dtype=np.float64)
        home[domain.encode_numbers(points)] = coarse.encode_numbers(points)
        home[domain.bin_codes] = coarse.bin_codes[self.grid.bin]
        return home

    def adjoint(self, weights: Floats) -> tuple[Floats, Floats]:
        domain, bins = self.fine.ordered, self.attribute.ordered.bin_codes
        coarse = np.zeros(self.attribute.size)
        coarse[self.home] = weights  # points and "missing"; bins follow
        squares = np.zeros(self.attribute.size)
        node = weights[domain.bin_codes].astype(np.float64)  # the weight of the node that begins at this cell
        for first, middle, _ in reversed(self.grid.levels):
            left, right = node[first], node[middle]
            np.add.at(squares, bins[self.grid.bin[first]], ((left - right) / 2) ** 2)
            node[first] = (left + right) / 2
        starts = np.searchsorted(self.grid.bin, np.arange(len(bins)))
        coarse[bins] = node[starts]
        return coarse, squares


Shapes = Mapping[str, Shape]  # by attribute; one that is not there is flat
FLAT: Shapes = {}


def placed_schema(schema: Schema, shapes: Shapes) -> Schema:
    """Return the schema whose attributes with a shape have the cells of their fine grid for values."""
    if not shapes:
        return schema
    own = {name: replace(shape.fine, name=name, read_from=None) for name, shape in shapes.items()}
    return replace(schema, attributes=tuple(own.get(a.name, a) for a in schema.attributes), text=None)


def placed_rows(rows: Rows, shapes: Shapes, generator: np.random.Generator) -> Rows:
    """Return rows of that schema: each value falls into a cell of its bin, by the shape."""
    return rows | {name: shape.cells(rows[name], generator) for name, shape in shapes.items()}


def shape_of(attribute: Attribute, details: Details, counts: Floats) -> HalvedShape:
    """Return the shape inside the bins. `counts` are the model's own for each code: public, non-negative."""
    domain = attribute.ordered
    grid = FineGrid(domain, details.depth)
    fine = attribute.refined(grid)
    shares = np.ones(fine.size)
    shares[fine.ordered.bin_codes] = _shares(grid, details, counts[domain.bin_codes])
    return HalvedShape(attribute, shares, details.noise.variance, grid)


def _shares(grid: FineGrid, details: Details, totals: Floats) -> Floats:
    """Return each cell's part of its bin; a bin without rows is flat."""
    held = np.concatenate([[0.0], np.cumsum(grid.values)])
    starts = np.searchsorted(grid.bin, np.arange(grid.domain.bins + 1))
    empty = totals <= 0
    sums = np.zeros(len(grid.values))  # of the node that begins at this cell
    sums[starts[:-1]] = np.where(empty, 1.0, totals)
    at = 0
    for first, middle, end in grid.levels:
        noisy = details.values[at : at + len(first)].astype(np.float64)
        at += len(first)
        whole, length = sums[first], held[end] - held[first]
        flat = whole * (2 * held[middle] - held[first] - held[end]) / length
        kept = np.where(empty[grid.bin[first]], 0.0, _kept(noisy - flat, whole, details.noise.variance))
        left = (whole + np.clip(flat + kept * (noisy - flat), -whole, whole)) / 2
        sums[first], sums[middle] = left, whole - left
    totals = np.add.reduceat(sums, starts[:-1])
    return np.asarray(sums / totals[grid.bin])


def _kept(above: Floats, whole: Floats, variance: float) -> Floats:
    """Return the part of each difference that is believed."""
    squares = float((whole**2).sum())
    spread = max(0.0, float((above**2 - variance).sum()) / squares) if squares else 0.0
    signal = spread * whole**2
    together = np.divide(signal, signal + variance, out=np.zeros_like(signal), where=signal > 0)
    alone = np.divide(-ALONE * variance, above**2, out=np.full_like(above, -np.inf), where=above != 0)
    return np.maximum(together, np.maximum(0.0, 1.0 + alone))
