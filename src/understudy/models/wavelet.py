"""The wavelet model: noisy wavelet coefficients of one table. It answers counts of ranges from few coefficients each,
with an exact standard error; rows and probability tables come from a non-negative table made of the same coefficients.

A sum Σ Π_i w_i(x_i) × cell takes ⊗u_i from the coefficients, where u_i is the adjoint of w_i, so its noise has variance
σ²·Π‖u_i‖². Where the number of rows is public the coefficients are first moved, by least squares, so that their total
is that number; this takes σ²·Π⟨u_i, v_i⟩²/Π‖v_i‖² off, where ⊗v_i is the total's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from understudy.models.factor import Factor
from understudy.models.model import Evidence, Model, Rows
from understudy.models.wavelet_trees import adjoint, invert, inverted, non_negative, single_cells, whole
from understudy.privacy.questions.wavelets import Dimension, Wavelets, dimension
from understudy.schema import Axis, Floats, Schema

if TYPE_CHECKING:
    from understudy.models.junction_tree import JunctionTree
    from understudy.query.answers import Answer
    from understudy.query.queries import Query


@dataclass(frozen=True, eq=False)
class WaveletModel:
    """`schema` has just the attributes of the release; `total` is the public number of rows, None where it is noisy."""

    schema: Schema
    wavelets: Wavelets
    total: int | None

    def __post_init__(self) -> None:
        names = [axis.attribute for axis in self.wavelets.axes]
        assert sorted(names) == sorted(self.schema.names) and all(axis.base for axis in self.wavelets.axes)
        assert self.wavelets.values.shape == tuple(d.coefficients for d in self.dimensions)

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        return tuple(dimension(self.schema, a, k) for a, k in zip(self.wavelets.axes, self.wavelets.kinds, strict=True))

    @cached_property
    def _whole(self) -> list[Floats]:
        return [whole(d) for d in self.dimensions]

    @cached_property
    def coefficients(self) -> Floats:
        """Return the noisy coefficients, moved to the public total where there is one."""
        values = self.wavelets.values.astype(np.float64)
        if self.total is None:
            return values
        place = np.ix_(*[np.flatnonzero(v) for v in self._whole])
        values[place] += (self.total - values[place].sum()) / values[place].size
        return values

    @property
    def count(self) -> int:
        """Return the number of rows: public, or what the coefficients say, but at least 1."""
        if self.total is not None:
            return self.total
        return max(1, round(float(self.coefficients[np.ix_(*[np.flatnonzero(v) for v in self._whole])].sum())))

    # -- as a distribution -----------------------------------------------------------------------------------

    @cached_property
    def distribution(self) -> JunctionTree:
        """Return the non-negative table that rows and probability tables come from."""
        from understudy.models.junction_tree import JunctionTree

        table = non_negative(self.coefficients, self.dimensions, float(self.count))
        return JunctionTree.of_beliefs(self.schema, [Factor(self.wavelets.axes, table).normalised()])

    def project(self, names: Sequence[str]) -> Factor:
        return self.distribution.project(names)

    def condition(self, evidence: Evidence) -> Model:
        return self.distribution.condition(evidence)

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        return self.distribution.sample(rows, generator)

    # -- sums of ranges --------------------------------------------------------------------------------------

    def weighted_sum(self, weights: Mapping[str, Floats]) -> tuple[float, float]:
        """Return Σ Π weight × cell and the variance of its noise; an attribute without weights counts in full."""
        taken = [self._adjoint(axis, weights) for axis in self.wavelets.axes]
        value = self._contracted(taken, {})
        square = math.prod(float(u @ u) for u in taken)
        along = math.prod(float(u @ v) for u, v in zip(taken, self._whole))
        return float(value), float(self._variance(np.asarray(square), np.asarray(along)))

    def grouped_sums(self, weights: Mapping[str, Floats], by: Sequence[str]) -> tuple[Floats, Floats]:
        """Return that sum and its variance for each combination of codes of `by`."""
        axes = self.wavelets.axes
        place = {axis.attribute: i for i, axis in enumerate(axes)}
        taken = [self._adjoint(axis, weights) for axis in axes]
        values = self._contracted(taken, {place[name]: self.dimensions[place[name]] for name in by})
        order = [name for name in place if name in by]
        values = np.transpose(values, [order.index(name) for name in by])
        others = [i for i, axis in enumerate(axes) if axis.attribute not in by]
        square = np.full((), math.prod(float(taken[i] @ taken[i]) for i in others))
        along = np.full((), math.prod(float(taken[i] @ self._whole[i]) for i in others))
        factor = np.ones(())
        for name in by:
            own, base = single_cells(self.dimensions[place[name]])
            square, along = np.multiply.outer(square, own), np.multiply.outer(along, base)
            factor = np.multiply.outer(factor, weights.get(name, np.ones(len(own))))
        return values * factor, self._variance(square, along) * factor**2

    def _adjoint(self, axis: Axis, weights: Mapping[str, Floats]) -> Floats:
        i = self.wavelets.axes.index(axis)
        if axis.attribute not in weights:
            return self._whole[i]
        return adjoint(weights[axis.attribute], self.dimensions[i])

    def _contracted(self, taken: Sequence[Floats], kept: Mapping[int, Dimension]) -> Floats:
        """Return ⟨⊗u, coefficients⟩ over the places where no u is zero; kept dimensions go back to cells instead."""
        places = [np.arange(len(u)) if i in kept else np.flatnonzero(u) for i, u in enumerate(taken)]
        part = self.coefficients[np.ix_(*places)]
        for i in reversed(range(len(taken))):
            if i in kept:
                part = np.moveaxis(invert(np.moveaxis(part, i, 0), kept[i]), 0, i)
            else:
                part = np.tensordot(part, taken[i][places[i]], axes=(i, 0))
        return np.asarray(part)

    def _variance(self, square: Floats, along: Floats) -> Floats:
        known = 0.0 if self.total is None else along**2 / math.prod(float(v @ v) for v in self._whole)
        return np.maximum(self.wavelets.noise.variance * (square - known), 0.0)

    def noisy_cells(self) -> Floats:
        """Return the table itself, negative cells and all: unbiased."""
        return inverted(self.coefficients, self.dimensions)

    # -- queries ---------------------------------------------------------------------------------------------

    def answer(self, query: Query) -> Answer | None:
        """Answer from the coefficients, with the noise that is known."""
        from understudy.query.wavelet_answer import answer

        return answer(self, query)
