"""Accuracy of every method on the papers' tables, one run a line in results/accuracy.csv, and the page made of them.

    python benchmarks/accuracy.py [adult nltcs acs tpce …] [--methods auto privbayes …] [--runs 5] [--page]

Mean total variation distance of the synthetic rows over all 2-way and 300 fixed random 3- and 4-way tables; on Adult
the papers' four SVM errors. Runs that are in the file are not made again; `auto` is a name for the method it takes.
A line says which commit it is a run of; lines without are of earlier programs.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import datasets
import uses
from paired import groups_lines, worth_lines
from understudy.evaluate.classification import classify
from understudy.methods import METHODS, best_for, method_named
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import ExactTable
from understudy.publishing import run
from yardstick import calibration, coded, timed, tvd

RECORDS = Path(__file__).parent / "results" / "accuracy.csv"
PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
PROMISES = [
    *((epsilon, "1e-9", "add-remove") for epsilon in ("0.1", "0.4", "1.6")),
    *((epsilon, "0", "replace-one") for epsilon in ("0.4", "1.6")),
]
COLUMNS = (
    "table",
    "epsilon",
    "delta",
    "neighbours",
    "method",
    "run",
    "tvd2",
    "tvd3",
    "tvd4",
    "svm",
    "cpu",
    "date",
    "program",
)
COMPARED = ("aim", "priview", "swift", "privbayes", "jtree", "privabn")
# (ε, 1e-9), add-remove, measured before (../shared/design/PEERS.md); 2-way / 3-way (/ 4-way)
MST = {
    ("adult", "0.1"): ".074 / .136", ("adult", "0.4"): ".045 / .093", ("adult", "1.6"): ".036 / .079",
    ("nltcs", "0.1"): ".085 / .139 / .176", ("nltcs", "0.4"): ".085 / .136 / .174",
    ("nltcs", "1.6"): ".086 / .139 / .176", ("acs", "1.6"): ".013 / .034 / .049",
}  # fmt: skip


def takes(method: str, name: str) -> bool:
    return method != "priview" or best_for(datasets.schema(name), {}) == "priview"


def by_auto(name: str, epsilon: str, delta: str) -> str:
    """The method that `auto` takes for this table and budget."""
    return best_for(datasets.schema(name), {}, budget=Budget(epsilon, delta))


def one(name: str, promise: tuple[str, str, str], method: str) -> dict[str, Any]:
    """Publish once with the operating system's entropy and look at the rows."""
    epsilon, delta, neighbours = promise
    table, _ = coded(name)
    schema = datasets.schema(name, neighbours)
    with tempfile.TemporaryDirectory() as folder, timed() as clock:
        done = run(datasets.path(name), schema, Budget(epsilon, delta), method, {}, ledger=Path(folder) / "l.db")
        rows = done.release.sample_codes(table.rows, None, done.release.generator())
    found: dict[str, Any] = {
        f"tvd{alpha}": f"{tvd(table.columns, rows, schema, alpha):.5f}"
        for alpha in ((2, 3, 4) if schema.binary else (2, 3))
    }
    if name == "adult":
        public = datasets.schema(name)
        real, made = (ExactTable(dict(c), table.rows, public) for c in (table.columns, rows))
        errors = [classify(real, made, target, ("svm",)).synthetic["svm"] for target in datasets.TARGETS[name]]
        found["svm"] = " ".join(f"{e:.4f}" for e in errors)
    return found | {"cpu": f"{clock.cpu:.1f}", "date": f"{datetime.now(UTC):%Y-%m-%d}"}


def commit() -> str:
    """Return the commit that is checked out."""
    asked = ["git", "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(asked, cwd=PAGE.parent, check=True, capture_output=True, text=True).stdout.strip()


def records() -> list[dict[str, str]]:
    if not RECORDS.exists():
        return []
    with RECORDS.open(newline="") as file:
        return list(csv.DictReader(file))


def append(line: dict[str, Any]) -> None:
    fresh = not RECORDS.exists()
    with RECORDS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(line)


def measure(names: list[str], methods: list[str], runs: int, program: str) -> None:
    done = {(r["table"], r["epsilon"], r["delta"], r["method"], int(r["run"])) for r in records()}
    for number in range(1, runs + 1):
        for name in names:
            for method in methods:
                for epsilon, delta, neighbours in PROMISES:
                    chosen = by_auto(name, epsilon, delta) if method == "auto" else method
                    if not takes(chosen, name) or (name, epsilon, delta, chosen, number) in done:
                        continue
                    found = one(name, (epsilon, delta, neighbours), chosen)
                    head = dict(zip(COLUMNS, (name, epsilon, delta, neighbours, chosen, number)))
                    append(head | found | {"program": program})
                    done.add((name, epsilon, delta, chosen, number))
                    print(head | found, flush=True)


# -- the page --------------------------------------------------------------------------------------------------------


def page() -> str:
    groups: dict[tuple[str, str, str, str], dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for r in records():
        groups[r["table"], r["epsilon"], r["delta"], r["neighbours"]][r["method"]].append(r)
    lines = [
        "# Accuracy of the methods on the papers' tables",
        "",
        "Made by `python benchmarks/accuracy.py --page` from `benchmarks/results/accuracy.csv` "
        f"({max(r['date'] for r in records())}, two shared cores, the operating system's entropy). Mean total "
        "variation distance of as many synthetic rows as there are real ones, over all 2-way and 300 fixed random 3- "
        "and 4-way tables: mean ± standard deviation of a run. **Bold** is what `--method auto` takes, from public "
        "facts alone; a ✗ marks a row where another method is better by more than twice the standard error of the "
        "difference on 2-way tables. The program is the commit that was run; – where it is an earlier one.",
        "",
        "| table | promise | method | program | runs | 2-way | 3-way | 4-way | CPU s | MST |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    order = {name: i for i, name in enumerate(datasets.ROWS)}
    for key in sorted(groups, key=lambda k: (order[k[0]], k[2] == "0", float(k[1]))):
        lines += _rows_of(key, groups[key])
    lines += ["", *worth_lines(), "", *groups_lines(), "", *uses.lines(), "", *_svm(groups)]
    return "\n".join(lines) + "\n"


def _rows_of(key: tuple[str, str, str, str], methods: dict[str, list[dict[str, str]]]) -> list[str]:
    name, epsilon, delta, _ = key
    auto = by_auto(name, epsilon, delta)
    promise = f"({epsilon}, {delta}) add-remove" if delta != "0" else f"{epsilon} replace-one"
    peer = MST.get((name, epsilon), "") if delta != "0" else ""
    lines = []
    for method in (m for m in COMPARED if m in methods):
        found = methods[method]
        shown = [_spread(found, f"tvd{alpha}") for alpha in (2, 3, 4)]
        label = f"**{method}**" if method == auto else method
        if method == auto and any(_beats(methods[other], found) for other in methods if other != auto):
            label += " ✗"
        cpu = np.mean([float(r["cpu"]) for r in found])
        program = ", ".join(dict.fromkeys(r["program"] or "–" for r in found))
        lines.append(
            f"| {name} | {promise} | {label} | {program} | {len(found)} | {' | '.join(shown)} | {cpu:.1f} | {peer} |"
        )
        peer = ""
    return lines


def _spread(found: list[dict[str, str]], column: str) -> str:
    values = [float(r[column]) for r in found if r[column]]
    if not values:
        return ""
    return f"{np.mean(values):.4f}" + (f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else "")


def _beats(one: list[dict[str, str]], other: list[dict[str, str]]) -> bool:
    a, b = ([float(r["tvd2"]) for r in runs] for runs in (one, other))
    if min(len(a), len(b)) < 2:
        return False
    error = np.sqrt(np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b))
    return bool(np.mean(b) - np.mean(a) > 2 * error)


def _svm(groups: Any) -> list[str]:
    """Adult's four SVM errors."""
    table, _ = coded("adult")
    real = ExactTable(dict(table.columns), table.rows, datasets.schema("adult"))
    best = [classify(real, real, target, ("svm",)).real["svm"] for target in datasets.TARGETS["adult"]]
    lines = [
        "## Adult: a linear SVM trained on synthetic rows, tested on real ones",
        "",
        "Misclassification of sex, salary, post-secondary degree (without the number of years at school, which gives "
        "it away) and never married; 80/20 split, C = 1, hinge loss.",
        "",
        "| promise | method | sex | salary | degree | never married |",
        "|---|---|---|---|---|---|",
        f"| none | real rows | {' | '.join(f'{e:.3f}' for e in best)} |",
    ]
    for (name, epsilon, delta, _), methods in sorted(groups.items()):
        if name != "adult":
            continue
        for method in (m for m in COMPARED if m in methods):
            errors = np.mean([[float(e) for e in r["svm"].split()] for r in methods[method]], axis=0)
            promise = f"({epsilon}, {delta})" if delta != "0" else epsilon
            lines.append(f"| {promise} | {method} | {' | '.join(f'{e:.3f}' for e in errors)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["adult", "nltcs", "acs", "tpce"])
    parser.add_argument("--methods", nargs="+", default=list(COMPARED), choices=["auto", *METHODS])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--program", help="the commit that is measured, where this is a copy of it")
    parser.add_argument("--page", action="store_true", help="only write docs/accuracy.md from what was measured")
    asked = parser.parse_args()
    if not asked.page:
        print(f"calibration {calibration():.2f} s of CPU", flush=True)
        for method in asked.methods:
            method_named(method, {}, datasets.schema(asked.names[0]))
        measure(asked.names, asked.methods, asked.runs, asked.program or commit())
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
