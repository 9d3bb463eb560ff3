"""Ancestral sampling: rows of codes from a Bayesian network, chunk by chunk, in compiled loops."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.models.model import Rows
from understudy.models.structural_zeros import spelling, written_code
from understudy.schema.row_major import strides

if TYPE_CHECKING:
    from understudy.models.bayesian_network import BayesianNetwork

CHUNK = 131_072


def sample_network(network: BayesianNetwork, rows: int, generator: np.random.Generator) -> Rows:
    """Draw rows; each chunk has its own child generator, so the number of threads makes no difference."""
    schema = network.schema
    out: Rows = {a.name: np.zeros(rows, dtype=np.uint8 if a.size <= 256 else np.uint16) for a in schema.modelled}
    steps = _steps(network)
    starts = range(0, rows, CHUNK)

    def fill(start: int, own: np.random.Generator) -> None:
        stop = min(start + CHUNK, rows)
        for name, codes in _chunk(steps, stop - start, own).items():
            out[name][start:stop] = _recombined(network, name, codes)

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        list(pool.map(fill, starts, generator.spawn(len(starts))))
    return out


def _steps(network: BayesianNetwork) -> list[tuple[Any, ...]]:
    """Return for each variable where its parents are, what each parent's code adds to the row, and running sums."""
    place = {v: i for i, v in enumerate(network.variables)}
    steps = []
    for c in network.conditionals:
        columns, offsets, parts = [], [0], []
        for parent, size, stride in zip(c.parents, c.table.shape, strides(c.table.shape[:-1])):
            from understudy.models.bayesian_network import base_of

            columns.append(place[base_of(parent)])
            level = network.schema.view_map(parent) if parent.level else np.arange(size)
            parts.append(level.astype(np.int64) * stride)
            offsets.append(offsets[-1] + len(parts[-1]))
        lut = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        cumulative = np.cumsum(c.table.reshape(-1, c.table.shape[-1]), axis=1)
        cumulative /= cumulative[:, -1:]
        arrays = (np.asarray(columns, dtype=np.int64), np.asarray(offsets, dtype=np.int64), lut, cumulative)
        steps.append((c.child, *arrays))
    return steps


def _chunk(steps: list[tuple[Any, ...]], rows: int, generator: np.random.Generator) -> dict[str, dict[int, Any]]:
    from understudy.models.sampling_kernels import draw

    codes = np.zeros((len(steps), rows), dtype=np.uint16)
    out: dict[str, dict[int, NDArray[Any]]] = {}
    for i, (child, columns, offsets, lut, cumulative) in enumerate(steps):
        draw(codes, i, columns, offsets, lut, cumulative, generator.random(rows))
        out.setdefault(child.attribute, {})[child.bit] = codes[i]
    return out


def _recombined(network: BayesianNetwork, name: str, by_bit: dict[int, NDArray[Any]]) -> NDArray[Any]:
    """Return the codes of the attribute from its bits, or as they are."""
    if -1 in by_bit:
        return by_bit[-1]
    bits = spelling(name, network.variables)
    return written_code(network.schema[name], bits, [by_bit[axis.bit] for axis in bits])
