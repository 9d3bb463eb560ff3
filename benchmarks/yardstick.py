"""What every benchmark shares: a calibration loop, CPU and wall clocks, coded data, and total variation distances."""

from __future__ import annotations

import itertools
import os
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import datasets
from understudy.engines.coding import CodedTable, encode_table
from understudy.engines.sources import open_source
from understudy.schema import Schema


def calibration() -> float:
    """CPU seconds of a fixed numpy loop: divide by it to compare machines."""
    codes = np.random.default_rng(0).integers(0, 4096, 1_000_000)
    start = time.process_time()
    for _ in range(50):
        np.bincount(codes, minlength=4096)
    return time.process_time() - start


@dataclass
class Clock:
    wall: float = 0.0
    cpu: float = 0.0
    _start: tuple[float, float] = field(default=(0.0, 0.0), repr=False)


@contextmanager
def timed(cores: int | None = None) -> Iterator[Clock]:
    """Wall and CPU seconds of a block, on so many cores where the system can tell."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if cores and before:
        os.sched_setaffinity(0, set(sorted(before)[:cores]))
    clock = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield clock
    finally:
        clock.wall, clock.cpu = time.perf_counter() - wall, time.process_time() - cpu
        if cores and before:
            os.sched_setaffinity(0, before)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def coded(name: str) -> tuple[CodedTable, Schema]:
    schema = datasets.schema(name)
    return encode_table(open_source(datasets.path(name), schema.csv), schema), schema


def table(columns: Mapping[str, Any], schema: Schema, names: tuple[str, ...]) -> np.ndarray:
    index = np.zeros(len(columns[names[0]]), dtype=np.int64)
    for name in names:
        index = index * schema[name].size + columns[name]
    return np.bincount(index, minlength=schema.cells(names)) / len(index)


def tvd(real: Mapping[str, Any], synthetic: Mapping[str, Any], schema: Schema, alpha: int, most: int = 300) -> float:
    """Mean total variation distance over all α-way tables, or over `most` fixed random ones where there are more."""
    sets = list(itertools.combinations(schema.names, alpha))
    if len(sets) > most:
        chosen = np.random.default_rng(0).choice(len(sets), most, replace=False)
        sets = [sets[i] for i in chosen]
    return float(np.mean([0.5 * np.abs(table(real, schema, s) - table(synthetic, schema, s)).sum() for s in sets]))
