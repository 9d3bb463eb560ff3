"""Back from wavelet coefficients: sums at any level of the trees, what a weighted sum takes from each coefficient, and
a non-negative table. Post-processing of noisy coefficients; the trees are those of `privacy.questions.wavelets`.

Going down a tree, a node's sum S is shared by its children: (S ± d)/2 for two with the difference d; for three or more,
each child's own noisy sum less what all of them together are above S, in equal parts (the paper's mean subtraction).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.questions.wavelets import Dimension, Step
from understudy.schema import Floats

# -- down the tree: coefficients to sums ------------------------------------------------------------------------


def invert(values: Floats, dimension: Dimension, depth: int | None = None) -> Floats:
    """Return the sums of the nodes `depth` steps below the root along the first dimension; of all leaves by default."""
    if dimension.kind == "plain":
        return values.sum(axis=0, keepdims=True) if depth == 0 else values
    sums, at = values[:1], 1
    down = list(reversed(dimension.steps))
    for step in down if depth is None else down[:depth]:
        sums = _children(step, sums, values[at : at + step.coefficients])
        at += step.coefficients
    return sums


def inverted(values: Floats, dimensions: Sequence[Dimension], depths: Sequence[int | None] | None = None) -> Floats:
    """Invert along every dimension."""
    for i, dimension in enumerate(dimensions):
        part = invert(np.moveaxis(values, i, 0), dimension, depths[i] if depths else None)
        values = np.moveaxis(part, 0, i)
    return values


def _children(step: Step, sums: Floats, own: Floats) -> Floats:
    out = np.empty((len(step.order), *sums.shape[1:]))
    lone, two, more = step.sizes == 1, step.sizes == 2, step.sizes > 2
    out[step.order[step.starts[lone]]] = sums[lone]
    difference, noisy = own[: len(step.first)], own[len(step.first) :]
    out[step.first] = (sums[two] + difference) / 2
    out[step.second] = (sums[two] - difference) / 2
    if more.any():
        sizes = step.sizes[more]
        surplus = _wide(sizes, sums) * (sums[more] - np.add.reduceat(noisy, np.cumsum(sizes) - sizes, axis=0))
        out[step.many] = noisy + np.repeat(surplus, sizes, axis=0)
    return out


def _wide(sizes: NDArray[np.intp], like: Floats) -> Floats:
    """Return 1/f for each parent, with the other dimensions left to broadcasting."""
    return np.asarray(1 / sizes).reshape(-1, *[1] * (like.ndim - 1))


# -- up the tree: weights of cells to weights of coefficients --------------------------------------------------


def adjoint(weights: Floats, dimension: Dimension) -> Floats:
    """Return what Σ weight × cell takes from each coefficient: the transpose of `invert`. A node's weight is its
    children's mean; a coefficient's is what its child is above that. A range has at most two of them on each level."""
    if dimension.kind == "plain":
        return weights
    parts = []
    for step in dimension.steps:
        mean = _wide(step.sizes, weights) * np.add.reduceat(weights[step.order], step.starts, axis=0)
        above = weights[step.many] - np.repeat(mean[step.sizes > 2], step.sizes[step.sizes > 2], axis=0)
        parts.append(np.concatenate([(weights[step.first] - weights[step.second]) / 2, above]))
        weights = mean
    return np.concatenate([weights, *reversed(parts)])


def whole(dimension: Dimension) -> Floats:
    """Return the coefficients that add up to the total: all cells of a plain dimension, the base of a tree."""
    if dimension.kind == "plain":
        return np.ones(dimension.size)
    base = np.zeros(dimension.coefficients)
    base[0] = 1
    return base


def single_cells(dimension: Dimension) -> tuple[Floats, Floats]:
    """Return, for each cell alone, the squared length of its adjoint, and that vector's product with `whole`."""
    if dimension.kind == "plain":
        return np.ones(dimension.size), np.ones(dimension.size)
    square, base = np.ones(1), np.ones(1)
    for step in reversed(dimension.steps):
        share = 1 / step.sizes
        own = np.where(step.sizes == 2, 0.25, 1 - share)
        below, at_base = np.empty(len(step.order)), np.empty(len(step.order))
        below[step.order] = np.repeat(own + square * share**2, step.sizes)
        at_base[step.order] = np.repeat(base * share, step.sizes)
        square, base = below, at_base
    return square, base


# -- non-negative, from the root down ----------------------------------------------------------------------------


def non_negative(values: Floats, dimensions: Sequence[Dimension], total: float) -> Floats:
    """Return a table without negative cells that adds up to `total`, near to the noisy sums, the coarse ones first.

    Dimensions take turns, the one whose tree is least unfolded next. Each node's sum, by then non-negative, is shared
    by its children: the nearest point to their noisy sums that adds up to it.
    """
    heights = [1 if d.kind == "plain" else len(d.steps) for d in dimensions]
    depths = [0] * len(dimensions)
    table = np.full((1,) * len(dimensions), max(0.0, total))
    while depths != heights:
        i = min(range(len(dimensions)), key=lambda j: depths[j] / max(1, heights[j]) if depths[j] < heights[j] else 2)
        depths[i] += 1
        noisy = np.moveaxis(inverted(values, dimensions, depths), i, 0)
        table = np.moveaxis(_shared(_step(dimensions[i], depths[i]), np.moveaxis(table, i, 0), noisy), 0, i)
    return table


def _step(dimension: Dimension, depth: int) -> Step:
    if dimension.kind == "plain":
        return Step(np.arange(dimension.size), np.zeros(1, dtype=np.intp))
    return dimension.steps[-depth]


def _shared(step: Step, sums: Floats, noisy: Floats) -> Floats:
    out = np.empty(noisy.shape)
    lone, two, more = step.sizes == 1, step.sizes == 2, step.sizes > 2
    out[step.order[step.starts[lone]]] = sums[lone]
    left = (sums[two] + noisy[step.first] - noisy[step.second]) / 2
    out[step.first] = np.clip(left, 0, sums[two])
    out[step.second] = sums[two] - out[step.first]
    if more.any():
        out[step.many] = _nearest(noisy[step.many], step.sizes[more], sums[more])
    return out


def _nearest(noisy: Floats, sizes: NDArray[np.intp], sums: Floats) -> Floats:
    """Project onto the simplex of each parent's sum (Michelot 1986): drop what falls below zero, until none does."""
    starts = np.cumsum(sizes) - sizes
    active = np.ones(noisy.shape, dtype=bool)
    while True:
        surplus = np.add.reduceat(np.where(active, noisy, 0), starts, axis=0) - sums
        off = np.repeat(surplus / np.add.reduceat(active, starts, axis=0, dtype=np.intp), sizes, axis=0)
        kept = active & (noisy >= off)
        if (kept == active).all():
            return np.where(active, noisy - off, 0)
        active = kept
