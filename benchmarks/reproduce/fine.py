"""What `fine = "wavelet"` is worth: six columns of the demo table, incomes with and without details.

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
from understudy.schema import Axis, Intervals, Schema
from understudy.testing import publish_seeded

HERE = Path(__file__).parent
RUNS, RANGES = 3, 2000
METHODS = ("privbayes", "jtree", "privabn")
NAMES = ("age", "sex", "employment", "occupation", "income", "owns_home")


def schemas(rows: int) -> dict[str, Schema]:
    fine = demo_schema(rows).project(NAMES)
    flat = tuple(replace(a, fine=None) for a in fine.attributes)
    return {"flat": replace(fine, attributes=flat), "fine": fine}


def ranges() -> Any:
    """Random ranges of whole euros, uniform over the declared range's quantiles: short where incomes are dense."""
    generator = np.random.default_rng(5)
    ends = np.exp(generator.normal(np.log(24_000), 0.8, (RANGES, 2))).clip(1, 200_000).astype(int)
    return np.sort(ends, axis=1)


def measures(release: Release, table: Any, codes: dict[str, Any], seed: int) -> dict[str, float]:
    """Of synthetic incomes at raw resolution; and what the smaller budget costs all other tables."""
    real = np.asarray(table["income"], dtype=float)
    found = np.asarray(release.sample(len(real), seed=seed)["income"], dtype=float)
    ends = ranges()
    counts = [np.searchsorted(np.sort(x), ends[:, 1]) - np.searchsorted(np.sort(x), ends[:, 0]) for x in (real, found)]
    return {
        "wasserstein": wasserstein(real, found) or 0.0,
        "inside bins": inside_bins(real, found, release.schema),
        "mean off by": abs(float(real.mean() - found.mean())),
        "range counts off by": float(abs(counts[0] - counts[1]).mean()),
        "2-way tvd": two_way(release, codes),
    }


def inside_bins(real: Any, found: Any, schema: Schema) -> float:
    """Wasserstein-1 in each bin alone, weighted by its real rows: what the bins' own error has no part in."""
    domain = schema["income"].domain
    assert isinstance(domain, Intervals)
    own, other = domain.encode_numbers(real), domain.encode_numbers(found)
    parts = [(wasserstein(real[own == c], found[other == c]) or 0.0) * (own == c).mean() for c in range(domain.size)]
    return float(sum(parts))


def two_way(release: Release, codes: dict[str, Any]) -> float:
    """Over all pairs of attributes, the model against the rows."""
    schema, found = release.schema, []
    pairs = list(itertools.combinations(schema.names, 2))
    for a, b in pairs:
        exact = np.zeros(schema.sizes([Axis(a), Axis(b)]))
        np.add.at(exact, (codes[a], codes[b]), 1)
        found.append(abs(release.model.project([a, b]).table - exact / exact.sum()).sum() / 2)
    return float(np.mean(found))


def run(epsilons: list[str]) -> None:
    path = HERE / "fine.csv"
    done = {tuple(row[:3]) for row in csv.reader(path.open(encoding="utf-8"))} if path.exists() else set()
    table = demo_table(ROWS, np.random.default_rng(7)).select(NAMES)
    codes = demo_rows(ROWS, np.random.default_rng(7))  # the same draws, still in codes
    for epsilon, method, seed in itertools.product(epsilons, METHODS, range(RUNS)):
        if (epsilon, method, str(seed)) in done:
            continue
        for bins, release in releases(table, epsilon, method, seed).items():
            depth = release.details[0].depth if release.details else 0
            row = {"epsilon": epsilon, "method": method, "seed": seed, "bins": bins, "halvings": depth}
            row |= measures(release, table, codes, seed)
            fresh = not path.exists()
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerows([list(row)] * fresh)
                writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row.values()])
            print(row, flush=True)


def releases(table: Any, epsilon: str, method: str, seed: int) -> dict[str, Release]:
    """Without `fine`; with it; and with it, the details left out: the same bins, so a fair pair."""
    found = {}
    for label, schema in schemas(ROWS).items():
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "l.db"
            found[label] = publish_seeded(
                table, schema, seed=seed, epsilon=epsilon, method=method, ledger=ledger
            ).release
    return found | {"fine, left out": replace(found["fine"], details=())}


def summary() -> None:
    """Means over the runs, side by side."""
    rows = list(csv.DictReader((HERE / "fine.csv").open(encoding="utf-8")))
    keys = ["wasserstein", "inside bins", "mean off by", "range counts off by", "2-way tvd"]
    for epsilon, method in sorted({(r["epsilon"], r["method"]) for r in rows}):
        own = [r for r in rows if (r["epsilon"], r["method"]) == (epsilon, method)]
        runs = len({r["seed"] for r in own})
        print(f"epsilon {epsilon}, {method}, {runs} runs, {max(r['halvings'] for r in own)} halvings")
        for bins in dict.fromkeys(r["bins"] for r in own):
            means = {key: np.mean([float(r[key]) for r in own if r["bins"] == bins]) for key in keys}
            print(f"  {bins:<16}" + "  ".join(f"{key} {value:.4g}" for key, value in means.items()))


if __name__ == "__main__":
    if sys.argv[1:] != ["summary"]:
        run(sys.argv[1:] or ["0.3", "1", "3"])
    summary()
