"""How long an evaluation takes, beside a plain numpy loop over the same tables, and what the four classifiers reach.

    python benchmarks/evaluation.py [adult] [nltcs] [acs]

Adult's claim: all 455 three-way tables of two tables of 45,222 rows in under 2 s.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import datasets
from understudy.evaluate.classification import MODELS, classify
from understudy.evaluate.distances import compare_sets
from understudy.evaluate.evaluation import evaluate
from understudy.evaluate.tables import table_set
from understudy.privacy.custodian import ExactTable
from understudy.schema import Schema

WAYS = {"adult": (3,), "nltcs": (3, 4), "acs": (3,)}


def resampled(real: ExactTable, seed: int = 1) -> ExactTable:
    """A stand-in of the same size: rows drawn with replacement."""
    rows = np.random.default_rng(seed).integers(0, real.rows(), real.rows())
    return ExactTable({name: real.codes(name)[rows] for name in real.schema.names}, real.rows(), real.schema)


def fresh(table: ExactTable) -> ExactTable:
    """The same rows with nothing counted yet."""
    return ExactTable({n: table.codes(n) for n in table.schema.names}, table.rows(), table.schema)


def plain_loop(real: ExactTable, other: ExactTable, schema: Schema, alpha: int) -> float:
    """The calibration: numpy's bincount, one table at a time."""
    total = 0.0
    sets = list(itertools.combinations(schema.names, alpha))
    for names in sets:
        shape = [schema[n].size for n in names]
        shares = [
            np.bincount(
                np.ravel_multi_index([t.codes(n).astype(np.int64) for n in names], shape), minlength=int(np.prod(shape))
            )
            / t.rows()
            for t in (real, other)
        ]
        total += 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    return total / len(sets)


def timed(work: Callable[[], Any], times: int = 3) -> tuple[float, float, Any]:
    """The best wall and CPU seconds of a few runs, and the last result."""
    walls, cpus, result = [], [], None
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus), result


def run(name: str) -> None:
    schema = datasets.schema(name)
    wall, cpu, real = timed(lambda: ExactTable.original(str(datasets.path(name)), schema), 1)
    other = resampled(real)
    print(f"\n{name}: {real.rows():,} rows × {len(schema.names)}; read and coded in {wall:.2f} s")
    for alpha in WAYS[name]:
        tables = table_set(schema, alpha)
        compare_sets(fresh(real), fresh(other), [table_set(schema, 1)])  # compiles
        wall, cpu, found = timed(lambda t=tables: compare_sets(fresh(real), fresh(other), [t]))  # type: ignore[misc]
        errors = found[alpha]
        many = f"{len(tables.asks):,} {alpha}-way tables, both sides"
        print(f"  {many}: {wall:.2f} s wall, {cpu:.2f} s CPU; mean {errors.mean:.4f}")
        wall, cpu, mean = timed(lambda a=alpha: plain_loop(real, other, schema, a), 1)  # type: ignore[misc]
        print(f"  the same by a numpy bincount loop:  {wall:.2f} s wall, {cpu:.2f} s CPU; mean {mean:.4f}")
        assert abs(errors.mean - mean) < 1e-9
    wall, cpu, _ = timed(lambda: evaluate(fresh(real), fresh(other), schema), 1)
    print(f"  every measure but classifiers: {wall:.2f} s wall, {cpu:.2f} s CPU")
    print(f"  {'target':<46} majority   " + "   ".join(f"{m:>9} real/resample" for m in MODELS))
    for target in datasets.TARGETS[name]:
        wall, cpu, task = timed(lambda t=target: classify(real, other, t), 1)  # type: ignore[misc]
        rates = "   ".join(f"{task.real[m]:>12.4f} / {task.synthetic[m]:.4f}" for m in MODELS)
        print(f"  {str(target)[:46]:<46} {task.majority:8.4f}   {rates}   {wall:.1f} s wall, {cpu:.1f} s CPU")


def main() -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in sys.argv[1:] or list(WAYS):
        if datasets.available(name):
            run(name)
        else:
            print(f"{name}: no data under {datasets.ROOT}")


if __name__ == "__main__":
    main()
