"""Hadamard coefficients of counts (Barak et al. 2007): a linear map that can be measured in place of the counts.

Each axis of a table is padded to 2^b codes. The coefficient of a mask is the sum over
rows of (−1)^(number of ones that mask and codes share): every row adds +1 or −1, so it is an integer. The block of an
ask holds the N = Π(2^b − 1) coefficients whose mask is non-zero on each of its axes (for binary axes just one); the
blocks of all subsets of the axes, with the row count for the empty one, give the table back.

Sensitivity of a block. When a row comes or goes every coefficient moves by 1: N in L1, N in squared L2. When a row is
replaced those whose sign flips move by 2. Over the non-zero masks of one axis the sign rows of two different codes have
the product −1, of equal codes M = 2^b − 1; so if the rows differ on the axes T, (N − Π_{i∉T} M_i · (−1)^|T|)/2 signs
flip. That is largest when T is the smallest axis alone: (N + N/M)/2 flips, N + N/M in L1, 2(N + N/M) in squared L2.
tests/unit/privacy/test_hadamard.py checks both by brute force.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import TooLarge
from understudy.privacy.noise import Noise, as_integers
from understudy.privacy.questions.question import MAX_CELLS, NoisyBlock, NoisyQuery
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axes, Integers, Schema


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Noisy Hadamard coefficients of one block: along each of `axes` the masks 1, 2, … Public, once it exists."""

    axes: Axes
    values: Integers
    noise: Noise


@dataclass(frozen=True, eq=False)
class HadamardBlocks(NoisyQuery[list[Coefficients]]):
    """The block of Hadamard coefficients of each of `workload`, all with the same noise."""

    kind: ClassVar[str] = "coefficients"
    is_linear: ClassVar[bool] = True

    workload: Sequence[Axes]

    def check(self, schema: Schema) -> None:
        total = sum(math.prod(block_shape(axes, schema)) for axes in self.workload)
        if not total or max(map(schema.cells, self.workload)) > MAX_CELLS or total > MAX_CELLS:
            raise TooLarge(f"from 1 to {MAX_CELLS:,} coefficients can be measured, of tables of that size")

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return block_sensitivity(self.workload, schema)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(math.prod(block_shape(axes, schema)), Fraction(1)) for axes in self.workload]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return np.concatenate([block(as_integers(counts)).ravel() for counts in engine.marginals(self.workload)])

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> list[Coefficients]:
        return [
            Coefficients(axes, own.values.reshape(block_shape(axes, schema)), own.noise)
            for axes, own in zip(self.workload, noisy)
        ]

    def as_json(self) -> list[Any]:
        return [self.kind, self.workload]


def block_shape(axes: Axes, schema: Schema) -> tuple[int, ...]:
    """Return the number of non-zero masks of each axis; an axis of one value has no bit, so its block is empty."""
    return tuple(_padded(size) - 1 for size in schema.sizes(axes))


def block_sensitivity(workload: Sequence[Axes], schema: Schema) -> Sensitivity:
    """Return how far one person can move these blocks together."""
    l1 = sum(_block_l1(block_shape(axes, schema), schema.neighbours == "replace-one") for axes in workload)
    step = 2 if schema.neighbours == "replace-one" else 1  # by which a coefficient moves, if it moves
    return Sensitivity(l1, step * l1).times(schema.rows_per_person)


def _block_l1(shape: tuple[int, ...], replaced: bool) -> int:
    cells = math.prod(shape)
    return cells + cells // min(shape, default=1) if replaced and cells else cells


def block(counts: Integers) -> Integers:
    """Return the coefficients of the block over all axes of a table of counts: exact integers."""
    values = counts
    for axis in range(counts.ndim):
        values = np.moveaxis(hadamard(np.moveaxis(values, axis, 0))[1:], 0, axis)
    return values


def hadamard(values: NDArray[Any]) -> NDArray[Any]:
    """Return the Walsh–Hadamard transform along the first axis, padded with zeros; twice is 2^b times the identity."""
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
