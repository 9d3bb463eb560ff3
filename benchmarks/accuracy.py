"""Accuracy of `--method auto` at the papers' budgets, beside what was measured of MST (../shared/design/PEERS.md).

    python benchmarks/accuracy.py [--runs 5] [adult nltcs acs tpce …]

Mean total variation distance of the synthetic rows over all 2-way and 300 fixed random 3- and 4-way tables.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import datasets
from understudy.privacy.budget import Budget
from understudy.publishing import run
from yardstick import calibration, coded, timed, tvd

MST = {
    ("adult", "0.1"): ".074 / .136", ("adult", "0.4"): ".045 / .093", ("adult", "1.6"): ".036 / .079",
    ("nltcs", "0.1"): ".085 / .139 / .176", ("nltcs", "0.4"): ".085 / .136 / .174",
    ("nltcs", "1.6"): ".086 / .139 / .176",
    ("acs", "1.6"): ".013 / .034 / .049",
}  # fmt: skip


def measure(name: str, epsilon: str, delta: str, neighbours: str, runs: int, method: str) -> None:
    table, _ = coded(name)
    schema = datasets.schema(name, neighbours)
    alphas = (2, 3, 4) if schema.binary else (2, 3)
    errors, cpu = [], 0.0
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder, timed() as clock:
            done = run(datasets.path(name), schema, Budget(epsilon, delta), method, {}, ledger=Path(folder) / "l.db")
            rows = done.release.sample_codes(table.rows, None, done.release.generator())
        cpu += clock.cpu / runs
        errors.append([tvd(table.columns, rows, schema, alpha) for alpha in alphas])
    mean, sd = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1 if runs > 1 else 0)
    promise = f"ε {epsilon}" + (f", δ {delta}" if delta != "0" else "")
    figures = " / ".join(f"{m:.4f}" for m in mean)
    spread = " / ".join(f"{s:.4f}" for s in sd)
    peer = MST.get((name, epsilon), "–") if delta != "0" else "–"
    print(f"| {name} | {promise} | {neighbours} | {figures} | {spread} | {peer} | {cpu:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["nltcs", "adult", "acs", "tpce"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--method", default="auto")
    asked = parser.parse_args()
    print(f"calibration {calibration():.2f} s of CPU; {asked.runs} runs; method {asked.method}\n")
    print("| table | promise | neighbours | TVD 2 / 3 (/ 4) | sd | MST, (ε, 1e-9), add-remove | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for name in asked.names:
        for epsilon in ("0.1", "0.4", "1.6"):
            measure(name, epsilon, "1e-9", "add-remove", asked.runs, asked.method)
        for epsilon in ("0.4", "1.6"):
            measure(name, epsilon, "0", "replace-one", asked.runs, asked.method)


if __name__ == "__main__":
    main()
