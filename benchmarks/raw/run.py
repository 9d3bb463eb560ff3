"""Raw tables end to end: publish each as a steward would, compare the synthetic file with the real one cell by cell.

    python benchmarks/raw/run.py [--tables adult pbc …] [--forms resampled plain expert dpmm sdv dpsynth]
                                 [--promises approximate pure]
                                 [--epsilon 1 4] [--repetitions 3] [--data FOLDER] [--label TEXT] [--page-only]

Every run is added to `benchmarks/results/raw.jsonl` at once, so an interrupted comparison is continued by the same
command. `--label` names a version of the code, so that two of them can stand side by side. The figures are exact, of
public data sets; nothing here is private but the releases.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from classifiers import errors, split, tasks
from closeness import measures
from derived_facts import broken, outside
from raw_page import write
from raw_peers import PEERS, synthesize
from tables import NAMES, ROOT, Neighbours, RawTable, read_texts
from threadpoolctl import threadpool_limits

from understudy.schema import Schema

RESULTS = Path(os.environ.get("RAW_RESULTS", Path(__file__).resolve().parents[1] / "results" / "raw.jsonl"))
FORMS = ("resampled", "drafted", "plain", "expert", *PEERS)
PROMISES: dict[str, tuple[Neighbours, str]] = {"approximate": ("add-remove", "1e-6"), "pure": ("replace-one", "0")}
PATIENCE = 3600.0  # seconds by the clock for one publication
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Cell:
    """One cell of the comparison."""

    table: str
    form: str
    promise: str
    epsilon: str
    label: str

    def matches(self, line: dict[str, Any]) -> bool:
        return all(line.get(key) == value for key, value in vars(self).items())


@dataclass(frozen=True, eq=False)
class Truth:
    """A real table, read once, and the errors of classifiers that were trained on its rows."""

    table: RawTable
    path: Path
    frame: pd.DataFrame
    schema: Schema
    trained: dict[str, dict[str, float]]

    @staticmethod
    def of(table: RawTable, folder: Path) -> Truth:
        path = folder / f"{table.name}.csv"
        table.write_csv(path)
        frame, schema = read_texts(path), table.schema("drafted", "add-remove")
        train, test = split(len(frame))
        trained = {t.name: errors(frame.iloc[train], frame.iloc[test], schema, t) for t in tasks(table.about)}
        return Truth(table, path, frame, schema, trained)

    def figures(self, made: pd.DataFrame, train: pd.DataFrame | None = None) -> dict[str, float]:
        """Return all measures of a synthetic table; classifiers learn from `train`, or from as many of its rows."""
        known, test = split(len(self.frame))
        learnt = made.iloc[: len(known)] if train is None else train
        out = measures(self.frame, made, self.schema)
        above: dict[str, list[float]] = {}
        for task in tasks(self.table.about):
            found = errors(learnt, self.frame.iloc[test], self.schema, task)
            for kind, error in found.items():
                above.setdefault(kind, []).append(error - self.trained[task.name][kind])
        return out | {kind: float(np.mean(values)) for kind, values in above.items()}

    def impossible(self, made: pd.DataFrame) -> dict[str, Any]:
        """Return the share of cells outside the schema, and of rows that break each derived fact: real, made."""
        real, ours = (broken(frame, self.schema, self.table.about) for frame in (self.frame, made))
        return {"outside": outside(made, self.schema), "broken": {fact: [real[fact], ours[fact]] for fact in real}}


def perform(cell: Cell, truth: Truth, folder: Path, run: int) -> dict[str, Any]:
    """Return the line of one run: its figures, or why there are none."""
    head: dict[str, Any] = {**vars(cell), "date": time.strftime("%Y-%m-%d", time.gmtime())}
    if cell.form == "resampled":
        draw = np.random.default_rng(run)
        again = truth.frame.iloc[draw.integers(0, len(truth.frame), len(truth.frame))]
        known, _ = split(len(truth.frame))
        trained = truth.frame.iloc[draw.choice(known, len(known))]  # the tested rows must not be among them
        return head | {"figures": truth.figures(again.reset_index(drop=True), trained)}
    start, before = time.perf_counter(), _children()
    if cell.form in PEERS:
        (folder / "out.csv").unlink(missing_ok=True)
        epsilon, delta = (cell.epsilon, PROMISES[cell.promise][1]) if PEERS[cell.form].private else ("1", "1e-6")
        told: dict[str, Any] = {}
        failure = synthesize(cell.form, truth.path, truth.schema, folder / "out.csv", epsilon, delta)
    else:
        failure, told = publish(cell, truth, folder / "out.csv", folder)
    spent = {"cpu": round(_children() - before, 1), "wall": round(time.perf_counter() - start, 1)}
    if failure:
        return head | spent | {"failure": failure}
    made = read_texts(folder / "out.csv")
    told_of = {"rows": len(made), "method": told.get("method")} | truth.impossible(made)
    return head | spent | told_of | {"figures": truth.figures(made)}


def publish(cell: Cell, truth: Truth, out: Path, folder: Path) -> tuple[str | None, dict[str, Any]]:
    """Run `understudy publish` in a process of its own; why it failed, or None, and what it said."""
    neighbours, delta = PROMISES[cell.promise]
    schema = folder / "schema.toml"
    for old in folder.glob("ledger*"):
        old.unlink()
    for old in (out, out.with_suffix(".release.zip"), schema):
        old.unlink(missing_ok=True)
    truth.table.schema(cell.form, neighbours).save(schema)  # type: ignore[arg-type]
    command = [sys.executable, "-m", "understudy", "publish", truth.path, "--schema", schema, "--epsilon", cell.epsilon]
    command += ["--delta", delta, "-o", out, "--ledger", folder / "ledger.db", "--json", "--quiet"]
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **ONE_THREAD},
    )
    if done.returncode:
        return (done.stderr.strip() or done.stdout.strip())[-300:], {}
    return None, json.loads(done.stdout)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def record(line: dict[str, Any]) -> None:
    figures = {name: float(f"{value:.4g}") for name, value in line.get("figures", {}).items()}
    text = json.dumps(line | ({"figures": figures} if figures else {}), ensure_ascii=False)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(text + "\n")
    print(text, flush=True)


def cells(asked: argparse.Namespace, table: str) -> list[Cell]:
    once = [form for form in asked.forms if form == "resampled" or (form in PEERS and not PEERS[form].private)]
    found = [Cell(table, form, "-", "-", "-") for form in once]
    return found + [
        Cell(table, form, promise, epsilon, "-" if form in PEERS else asked.label)
        for epsilon in asked.epsilon
        for promise in asked.promises
        for form in asked.forms
        if form not in once and not (form in PEERS and promise == "pure")
    ]


def compare(asked: argparse.Namespace) -> None:
    """Run what is missing: a first run of everything, then a second one."""
    for repetitions in range(1, asked.repetitions + 1):
        _compare(asked, repetitions)


def _compare(asked: argparse.Namespace, repetitions: int) -> None:
    for name in asked.tables:
        table = RawTable(name, asked.data)
        if not table.available:
            print(f"{name}: {table.path} is not there", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            truth: Truth | None = None
            for cell in cells(asked, name):
                done = sum(cell.matches(line) for line in recorded())
                for run in range(done, repetitions):
                    truth = truth or Truth.of(table, Path(folder))
                    record(perform(cell, truth, Path(folder), run))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--forms", nargs="*", default=["resampled", "drafted", "expert"], choices=FORMS)
    parser.add_argument("--promises", nargs="*", default=list(PROMISES), choices=list(PROMISES))
    parser.add_argument("--epsilon", nargs="*", default=["1", "4"])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--data", type=Path, default=ROOT)
    parser.add_argument("--label", default="main")
    parser.add_argument("--page-only", action="store_true")
    asked = parser.parse_args()
    if not asked.page_only:
        with threadpool_limits(1):  # threads that wait for each other are slow on a busy machine
            compare(asked)
    write(recorded())


if __name__ == "__main__":
    main()
