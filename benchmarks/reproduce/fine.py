"""What `fine = "wavelet"` is worth: the demo table's incomes with and without details, at raw resolution.

python benchmarks/reproduce/fine.py [EPSILON …]    appends to fine.csv beside this file; `summary` reads it
"""

from __future__ import annotations

import csv
import itertools
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.demo import ROWS, demo_rows, demo_schema, demo_table
from understudy.evaluate.raw import wasserstein
from understudy.release import Release
from understudy.schema import Axis, Schema
from understudy.testing import publish_seeded

HERE = Path(__file__).parent
RUNS, RANGES, PAIRS = 3, 2000, 40
METHODS = ("privbayes", "jtree", "privabn")


def schemas(rows: int) -> dict[str, Schema]:
    fine = demo_schema(rows)
    flat = tuple(replace(a, fine=None) for a in fine.attributes)
    return {"flat": replace(fine, attributes=flat, text=None), "fine": fine}


def ranges() -> Any:
    """Random ranges of whole euros, uniform over the declared range's quantiles: short where incomes are dense."""
    generator = np.random.default_rng(5)
    ends = np.exp(generator.normal(np.log(24_000), 0.8, (RANGES, 2))).clip(1, 200_000).astype(int)
    return np.sort(ends, axis=1)


def measures(release: Release, table: Any, codes: dict[str, Any], seed: int) -> dict[str, float]:
    """Wasserstein-1, mean, range counts of synthetic incomes; and what the smaller budget costs the other tables."""
    real = np.asarray(table["income"], dtype=float)
    found = np.asarray(release.sample(len(real), seed=seed)["income"], dtype=float)
    ends = ranges()
    counts = [np.searchsorted(np.sort(x), ends[:, 1]) - np.searchsorted(np.sort(x), ends[:, 0]) for x in (real, found)]
    return {
        "wasserstein": wasserstein(real, found) or 0.0,
        "mean off by": abs(float(real.mean() - found.mean())),
        "range counts off by": float(abs(counts[0] - counts[1]).mean()),
        "2-way tvd": two_way(release, codes),
    }


def two_way(release: Release, codes: dict[str, Any]) -> float:
    """Over some pairs of attributes, the model against the rows."""
    schema, found = release.schema, []
    pairs = list(itertools.combinations(schema.names, 2))
    for a, b in [pairs[i] for i in np.random.default_rng(6).choice(len(pairs), PAIRS, replace=False)]:
        exact = np.zeros(schema.sizes([Axis(a), Axis(b)]))
        np.add.at(exact, (codes[a], codes[b]), 1)
        found.append(abs(release.model.project([a, b]).table - exact / exact.sum()).sum() / 2)
    return float(np.mean(found))


def run(epsilons: list[str]) -> None:
    path = HERE / "fine.csv"
    done = {tuple(row[:4]) for row in csv.reader(path.open(encoding="utf-8"))} if path.exists() else set()
    table = demo_table(ROWS, np.random.default_rng(7))
    codes = demo_rows(ROWS, np.random.default_rng(7))  # the same draws, still in codes
    for epsilon, method, seed in itertools.product(epsilons, METHODS, range(RUNS)):
        for label, schema in schemas(ROWS).items():
            if (epsilon, method, str(seed), label) in done:
                continue
            with tempfile.TemporaryDirectory() as folder:
                release = publish_seeded(
                    table, schema, seed=seed, epsilon=epsilon, method=method, ledger=Path(folder) / "l.db"
                ).release
            depth = release.details[0].depth if release.details else 0
            row = {"epsilon": epsilon, "method": method, "seed": seed, "bins": label, "depth": depth}
            row |= measures(release, table, codes, seed)
            fresh = not path.exists()
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerows([list(row)] * fresh)
                writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row.values()])
            print(row, flush=True)


def summary() -> None:
    """Means over the runs, side by side."""
    rows = list(csv.DictReader((HERE / "fine.csv").open(encoding="utf-8")))
    keys = ["wasserstein", "mean off by", "range counts off by", "2-way tvd"]
    for epsilon, method in sorted({(r["epsilon"], r["method"]) for r in rows}):
        own = [r for r in rows if (r["epsilon"], r["method"]) == (epsilon, method)]
        said = []
        for key in keys:
            flat, fine = (np.mean([float(r[key]) for r in own if r["bins"] == label]) for label in ("flat", "fine"))
            said.append(f"{key} {flat:.4g} -> {fine:.4g}")
        print(f"epsilon {epsilon} {method} ({len(own) // 2} runs, depth {own[-1]['depth']}): {'; '.join(said)}")


if __name__ == "__main__":
    if sys.argv[1:] != ["summary"]:
        run(sys.argv[1:] or ["0.1", "0.3", "1", "3"])
    summary()
