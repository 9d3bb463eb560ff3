"""From which ε on the L2 error of 3-way tables is below 0.01: ours, under both promises, by bisection on a fine grid.

    python benchmarks/reproduce/privabn_crossing.py

The paper claims 0.4 on NLTCS and 0.225 on ACS. Two runs decide where to look next and five where the bound is met: the
smallest ε of the grid whose mean is below it, and the one before. Runs in privabn/crossing.csv are not made again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import measures
import numpy as np
from records import Point, Records
from trials import Data, Purse, scores_of, seed_of

from understudy.methods import method_named
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import ExactTable
from understudy.privacy.local_table import LocalPrivateTable
from understudy.testing import SeededSource

FILE = Path(__file__).resolve().parent / "privabn" / "crossing.csv"
GRID = (
    "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0",
    "1.2", "1.4", "1.6", "1.8", "2.0", "2.5", "3.0", "4.0", "6.0", "8.0",
)  # fmt: skip
BOUND = 0.01
LOOK, SURE = 2, 5
DATA = ("nltcs", "acs")
METHODS = ("auto", "privabn")
PROMISES = {"pure": "ε, replace-one", "zcdp": "(ε, 1e-9), add-remove"}


def point(data: str, promise: str, method: str, epsilon: str) -> Point:
    return Point(data, promise, method, epsilon, "l23x200")


@cache
def rows_under(data: str, promise: str) -> ExactTable:
    """The rows under a schema with this promise; one object each, so that scores are counted once."""
    real = Data.named(data).whole
    if promise == "pure":
        return real
    schema = replace(real.schema, rows=None, neighbours="add-remove")
    return ExactTable({name: real.codes(name) for name in schema.names}, real.rows(), schema)


def trial(at: Point, repetition: int) -> float:
    real, engine = Data.named(at.data).whole, rows_under(at.data, at.kind)
    schema, seed = engine.schema, seed_of(*at, repetition)
    budget = Budget(at.epsilon) if at.kind == "pure" else Budget(at.epsilon, "1e-9")
    table = LocalPrivateTable(schema, engine, Purse(budget), SeededSource(seed))  # type: ignore[arg-type]
    table._LocalPrivateTable__scorer._known = scores_of(engine)  # type: ignore[attr-defined]
    fit = method_named(at.curve, {}, schema).fit(table)
    rows = ExactTable(fit.model.sample(real.rows(), np.random.default_rng(seed)), real.rows(), real.schema)
    kind, tables = measures.tables_of(at.measure, real)
    return measures.table_errors(real, measures.of_rows(rows, tables), tables, [kind])[kind]


def mean_of(records: Records, at: Point, runs: int) -> float:
    for repetition in range(runs):
        if records.missing(at, repetition):
            records.add({at: trial(at, repetition)}, repetition)
            print(at, repetition, flush=True)
    found = records.mean(at)
    assert found is not None
    return found.mean


def search(records: Records, data: str, promise: str, method: str) -> None:
    low, high = -1, len(GRID)  # above the bound at low, below it at high
    while high - low > 1:
        middle = (low + high) // 2
        met = mean_of(records, point(data, promise, method, GRID[middle]), LOOK) < BOUND
        low, high = (low, middle) if met else (middle, high)
    while high < len(GRID) and mean_of(records, point(data, promise, method, GRID[high]), SURE) >= BOUND:
        high += 1
    while high > 0 and mean_of(records, point(data, promise, method, GRID[high - 1]), SURE) < BOUND:
        high -= 1


def met(records: Records, data: str, promise: str, method: str) -> str:
    """The smallest ε with five runs and a mean below the bound, where the one before is known to be above."""
    known = [(e, records.values.get(point(data, promise, method, e), {})) for e in GRID]
    sure = [(e, sum(v.values()) / len(v)) for e, v in known if len(v) >= SURE]
    below = [(e, mean) for e, mean in sure if mean < BOUND]
    if not below:
        return f"not by {sure[-1][0]} ({sure[-1][1]:.4f})" if sure else "not measured"
    before = [f", {mean:.4f} at {e}" for e, mean in sure if float(e) < float(below[0][0])][-1:]
    return f"{below[0][0]} ({below[0][1]:.4f}{''.join(before)})"


def combinations() -> Iterator[tuple[str, str, str]]:
    return ((data, promise, method) for data in DATA for method in METHODS for promise in PROMISES)


if __name__ == "__main__":
    records = Records.open(FILE)
    for data, promise, method in combinations():
        search(records, data, promise, method)
        print(data, method, PROMISES[promise], met(records, data, promise, method), flush=True)
