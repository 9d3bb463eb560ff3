"""The figures of the foundation: speed of structure learning and sampling, accuracy of PrivBayes as published.

python benchmarks/foundation.py            (needs the shared data sets; see datasets.py)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import datasets
from understudy.privacy.budget import Budget
from understudy.publishing import Publication, run
from understudy.schema import Attribute, Categories, Schema
from yardstick import calibration, coded, peak_mb, timed, tvd

RUNS = 15  # at 0.4 the runs spread by a tenth


def publish(data: Any, schema: Schema, epsilon: str, **options: Any) -> Publication:
    with tempfile.TemporaryDirectory() as folder:
        return run(data, schema, Budget(epsilon), "privbayes", options, ledger=Path(folder) / "ledger.db")


def line(work: str, reached: str, wanted: str) -> None:
    print(f"| {work} | {reached} | {wanted} |", flush=True)


def structure(name: str, degree: int, wanted: str) -> None:
    schema = datasets.schema(name)
    with timed(cores=1) as clock:
        done = publish(datasets.path(name), schema, "1", score="F", degree=degree, estimate="paper")
    seconds = done.seconds["structure"]
    line(
        f"{name.upper()}, score F, degree {degree}, network learning, one core",
        f"{seconds:.1f} s ({clock.cpu:.1f} CPU in all)",
        wanted,
    )


def wide() -> None:
    """71,236 × 52 with a dependence from column to column, 3 to 12 values each."""
    rows, d = 71_236, 52
    generator = np.random.default_rng(0)
    columns, before = {}, generator.integers(0, 3, rows)
    sizes = [3 + i % 10 for i in range(d)]
    for i, size in enumerate(sizes):
        before = np.where(generator.random(rows) < 0.6, before % size, generator.integers(0, size, rows))
        columns[f"c{i:02}"] = pa.array(before.astype(str))
    names = list(columns)
    attributes = tuple(Attribute(n, Categories(tuple(map(str, range(s))))) for n, s in zip(names, sizes))
    schema = Schema("wide", attributes, rows=rows)
    with timed() as clock:
        publish(
            pa.table(columns), schema, "1", degree=2, encoding="vanilla", estimate="paper", theta="0.01"
        )  # no set left out
    line("71,236 rows × 52 columns, degree 2, two cores", f"{clock.wall:.1f} s wall, {clock.cpu:.1f} CPU", "under 30 s")


def adult() -> Publication:
    schema = datasets.schema("adult")
    publish(datasets.path("adult"), schema, "1.6", encoding="hierarchical", estimate="paper")  # compile first
    with timed() as clock:
        done = publish(datasets.path("adult"), schema, "1.6", score="R", encoding="hierarchical", estimate="paper")
        done.release.sample_codes(45_222, None, done.release.generator())
    line(
        "Adult, hierarchical R, ε 1.6: fit + 45,222 rows", f"{clock.wall:.1f} s wall, {clock.cpu:.1f} CPU", "under 3 s"
    )
    return done


def sampling(release: Any) -> None:
    before = peak_mb()
    with timed() as clock:
        rows = release.sample_codes(10_000_000, None, release.generator())
    size = sum(column.nbytes for column in rows.values()) / 1e6
    used = (peak_mb() - before) / size
    line(
        "10,000,000 rows of the Adult model",
        f"{clock.wall:.1f} s, {used:.1f}× the output's {size:.0f} MB",
        "under 10 s, 3×",
    )


def accuracy(name: str, epsilon: str, alpha: int, wanted: str, **options: Any) -> None:
    table, schema = coded(name)
    errors = []
    for _ in range(RUNS):
        release = publish(datasets.path(name), schema, epsilon, **options).release
        errors.append(tvd(table.columns, release.sample_codes(None, None, release.generator()), schema, alpha, 1000))
    said = " ".join(f"{k}={v}" for k, v in options.items())
    spread = f"{np.mean(errors):.4f} (sd {np.std(errors, ddof=1):.4f}, {RUNS} runs)"
    line(f"{name}, pure ε {epsilon}, replace-one, {said}: mean TVD of all {alpha}-way tables", spread, wanted)


def help_time() -> None:
    command = [sys.executable, "-m", "understudy", "--help"]
    subprocess.run(command, capture_output=True, check=True)
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    line("understudy --help", f"{time.perf_counter() - start:.2f} s", "under 0.5 s")


def main() -> None:
    print(f"calibration: {calibration():.2f} s of CPU for 50 bincounts of 1,000,000 codes\n")
    print("| work | reached | to reach |\n|---|---|---|")
    structure("nltcs", 6, "under 20 s")
    structure("acs", 4, "under 30 s")
    wide()
    sampling(adult().release)
    accuracy("nltcs", "0.4", 3, "0.070", estimate="paper")
    accuracy("nltcs", "1.6", 3, "0.050", estimate="paper")
    accuracy("adult", "1.6", 2, "0.067", score="R", encoding="vanilla", estimate="paper")
    help_time()


if __name__ == "__main__":
    main()
