"""Transforms of counts: the closed list of linear maps that can be measured in place of the counts themselves.

Hadamard (Barak et al. 2007). Each axis of a table is padded to 2^b codes. The coefficient of a mask is the sum over
rows of (−1)^(number of ones that mask and codes share): every row adds +1 or −1, so it is an integer. The block of an
ask holds the N = Π(2^b − 1) coefficients whose mask is non-zero on each of its axes (for binary axes just one); the
blocks of all subsets of the axes, with the row count for the empty one, give the table back.

Sensitivity of a block. When a row comes or goes every coefficient moves by 1: N in L1, N in squared L2. When a row is
replaced those whose sign flips move by 2. Over the non-zero masks of one axis the sign rows of two different codes have
the product −1, of equal codes M = 2^b − 1; so if the rows differ on the axes T, (N − Π_{i∉T} M_i · (−1)^|T|)/2 signs
flip. That is largest when T is the smallest axis alone: (N + N/M)/2 flips, N + N/M in L1, 2(N + N/M) in squared L2.
tests/unit/privacy/test_transforms.py checks both by brute force.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.measurement import Noise
from understudy.privacy.scores import Pair, score_named
from understudy.schema import Axes, Schema

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Noisy Hadamard coefficients of one block: along each of `axes` the masks 1, 2, … Public, once it exists."""

    axes: Axes
    values: Integers
    noise: Noise
    scale: float


def block_shape(axes: Axes, schema: Schema) -> tuple[int, ...]:
    """The non-zero masks of each axis; an axis of one value has no bit, so its block is empty."""
    return tuple(_padded(size) - 1 for size in schema.sizes(axes))


def block_sensitivity(asks: Sequence[Axes], schema: Schema) -> tuple[int, int]:
    """How far one person can move these blocks together, in L1 and in squared L2."""
    l1 = sum(_block_l1(block_shape(axes, schema), schema.neighbours == "replace-one") for axes in asks)
    step = 2 if schema.neighbours == "replace-one" else 1  # by which a coefficient moves, if it moves
    k = schema.rows_per_person
    return k * l1, k * k * step * l1


def _block_l1(shape: tuple[int, ...], replaced: bool) -> int:
    cells = math.prod(shape)
    return cells + cells // min(shape, default=1) if replaced and cells else cells


def block(counts: Integers) -> Integers:
    """The coefficients of the block over all axes of a table of counts: exact integers."""
    values = counts
    for axis in range(counts.ndim):
        values = np.moveaxis(hadamard(np.moveaxis(values, axis, 0))[1:], 0, axis)
    return values


def hadamard(values: NDArray[Any]) -> NDArray[Any]:
    """The Walsh–Hadamard transform along the first dimension, padded with zeros; twice is 2^b times the identity."""
    length = _padded(len(values))
    out = np.zeros((length, *values.shape[1:]), dtype=values.dtype)
    out[: len(values)] = values
    step = 1
    while step < length:
        pairs = out.reshape(length // (2 * step), 2, step, *values.shape[1:])
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(out.shape)
        step *= 2
    return out


def _padded(size: int) -> int:
    return 1 << (size - 1).bit_length()


# -- all pairwise scores -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairScores:
    """Score R of every pair of axes with noise on it, a symmetric matrix with zeros on its diagonal. Public."""

    axes: Axes
    values: Integers
    noise: Noise
    scale: float


def pair_scores_sensitivity(axes: Axes, schema: Schema) -> tuple[int, int]:
    """How far one person can move the vector of all pairwise scores R, in L1 and in squared L2.

    Each of the w scores moves by at most its own Δ, all of them at once: ΣΔ, and ΣΔ² (w·Δ and w·Δ² for equal ones).
    """
    rule = score_named("R")
    wide = [axis for axis in axes if schema.size(axis) > 2]
    loose, w = math.comb(len(wide), 2), math.comb(len(axes), 2)
    parts = []
    if loose:
        parts.append((loose, rule.sensitivity(Pair(wide[0], (wide[1],)), schema)))
    if w > loose:
        narrow = next(axis for axis in axes if axis not in set(wide))
        other = next(axis for axis in axes if axis != narrow)
        parts.append((w - loose, rule.sensitivity(Pair(narrow, (other,)), schema)))
    k = schema.rows_per_person
    return k * sum(m * step for m, step in parts), k * k * sum(m * step**2 for m, step in parts)
