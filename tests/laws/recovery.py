"""One process of the recovery law: it runs every case, kills some runs, or takes up runs that another one left behind.

Started by test_recovery.py with a hash seed and thread counts of its own. Noise is drawn from the number of the step,
so that an undisturbed run and a resumed one are the same run if, and only if, they ask the same questions.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from understudy.demo import demo_schema, demo_table
from understudy.engines.memory import MemoryEngine
from understudy.models import pair_marginals
from understudy.models.factor import Factor
from understudy.models.junction_tree import JunctionTree
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable, digest
from understudy.privacy.reservation import Charge, Reservation
from understudy.publishing import run
from understudy.schema import Attribute, Categories, Schema
from understudy.testing import SeededSource

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from rivals.private_rivals import rival_named

ROWS = 600
GENERAL = ("age", "sex", "marital_status", "owns_home", "children", "employment")


@dataclass(frozen=True)
class Case:
    """A method with its options on one of a few small tables."""

    method: str
    options: Mapping[str, Any]
    table: str = "general"
    delta: float = 0
    neighbours: str = "replace-one"
    epsilon: int = 4
    rival: bool = False

    def __str__(self) -> str:
        words = [self.method, *(f"{k}={v}" for k, v in self.options.items()), self.table, self.neighbours]
        return " ".join([*words, "zcdp" if self.delta else "pure"])


_PLAIN = [
    Case("privbayes", {"theta": 4, "cells": 40}),  # the run of the finding
    Case("privbayes", {}),
    Case("privbayes", {"encoding": "binary"}),
    Case("privbayes", {"estimate": "paper", "encoding": "gray"}),
    Case("privbayes", {"score": "I"}),
    Case("privbayes", {}, "binary"),
    Case("privbayes", {"score": "F", "degree": 3, "cells": 60}, "binary"),
    Case("privbayes", {}, "wide", epsilon=40),
    Case("aim", {}),
    Case("swift", {}),
    Case("priview", {}, "binary"),
    Case("jtree", {}),
    Case("jtree", {"merging": "greedy"}, "many"),
    Case("privelet", {}, "ordered"),
    Case("privabn", {"search": "full"}),
    Case("privabn", {"search": "growth"}),
    Case("privabn", {"search": "released"}, "many"),
    Case("dp-subn", {"variant": "adaptive"}),
    Case("dp-subn", {"variant": "sequential"}),
    Case("dp-subn", {"variant": "frontier"}, "binary", epsilon=20),
    Case("dp-ccbn", {"degree": 2, "cells": 60}, "binary"),
    Case("independent", {}, "binary"),
    Case("aim", {}, "fine"),
    *(Case(rival, {}, "binary", rival=True) for rival in ("uniform", "laplace", "fourier", "contingency")),
    Case("mwem", {"rounds": 4}, "binary", rival=True),
    Case("priview-paper", {}, "binary", rival=True),
    Case("majority", {"targets": "n3"}, "binary", rival=True),
]
CASES = {
    str(case): case
    for plain in _PLAIN
    for delta in (0, 1e-9)
    for neighbours in ("replace-one", "add-remove")
    if "I" not in plain.options.values() or neighbours == "replace-one"
    for case in [replace(plain, delta=delta, neighbours=neighbours)]
}


# -- the tables --------------------------------------------------------------------------------------------------


def table_of(kind: str, neighbours: str) -> tuple[pa.Table, Schema]:
    rows = ROWS if neighbours == "replace-one" else None
    if kind in ("general", "ordered", "fine"):
        full = demo_schema(ROWS)
        names = {"general": GENERAL, "ordered": ("age", "income"), "fine": ("age", "sex", "owns_home")}[kind]
        attributes = tuple(full[name] for name in names)
        if kind == "fine":
            attributes = (replace(attributes[0], fine="wavelet"), *attributes[1:])
        data = demo_table(ROWS, np.random.default_rng(7)).select(list(names))
        return data, Schema(kind, attributes, rows=rows, neighbours=neighbours)  # type: ignore[arg-type]
    size, count = {"binary": (2, 8), "wide": (2, 125), "many": (3, 16)}[kind]
    generator = np.random.default_rng(7)
    before = generator.integers(0, size, ROWS)
    columns = {}
    for i in range(count):
        before = np.where(generator.random(ROWS) < 0.8, before, generator.integers(0, size, ROWS))
        columns[f"n{i}"] = before.astype(str)
    labels = tuple(map(str, range(size)))
    attributes = tuple(Attribute(name, Categories(labels)) for name in columns)
    return pa.table(columns), Schema(kind, attributes, rows=rows, neighbours=neighbours)  # type: ignore[arg-type]


# -- one run -----------------------------------------------------------------------------------------------------


class StepSource(SeededSource):
    """Draws that depend on the step alone, however many were drawn before it in this process."""

    def __init__(self) -> None:
        super().__init__(0)

    def at(self, step: int) -> None:
        self._generator = np.random.default_rng([11, step])


@contextmanager
def watched(source: StepSource, asked: list[list[str]], die: tuple[int, str] | None) -> Iterator[None]:
    """Note every question: its purpose and cost, what the journal knows of it, and the whole of it.

    `die` ends the process, as kill -9 would, at the k-th question: "charged", before noise is drawn, or "drawn", with
    the outcome in the journal.
    """
    original = Reservation.charge
    select, measure, journal = LocalPrivateTable._select, LocalPrivateTable._measure, Charge.journal
    whole: list[str] = [""]

    def charge(self: Reservation, purpose: str, cost: Any, ask: str, *more: Any) -> Charge:
        made = original(self, purpose, cost, ask, *more)
        source.at(made.step)
        asked.append([purpose, str(cost), ask, whole[0]])
        if die == (made.step, "charged"):
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    def noted(method: Any) -> Any:
        def wrapped(self: LocalPrivateTable, question: Any, *arguments: Any, **named: Any) -> Any:
            whole[0] = digest(question.as_json())
            return method(self, question, *arguments, **named)

        return wrapped

    def kept(self: Charge, outcome: bytes) -> None:
        journal(self, outcome)
        if die == (self.step, "drawn"):
            os.kill(os.getpid(), signal.SIGKILL)

    with (
        mock.patch.object(Reservation, "charge", charge),
        mock.patch.object(LocalPrivateTable, "_select", noted(select)),
        mock.patch.object(LocalPrivateTable, "_measure", noted(measure)),
        mock.patch.object(Charge, "journal", kept),
    ):
        yield


def perform(case: Case, ledger: Path, die: tuple[int, str] | None = None) -> dict[str, Any]:
    """Run the case to its end, or until it dies; every question, and the noisy tables that came out."""
    data, schema = table_of(case.table, case.neighbours)
    source, asked = StepSource(), []
    budget = Budget(case.epsilon, case.delta)
    with watched(source, asked, die):
        if case.rival:
            fit, resumed = _rival(case, data, schema, budget, ledger, source)
            measured = fit.measurements
        else:
            made = run(data, schema, budget, case.method, case.options, ledger=ledger, cap="none", source=source)
            measured, resumed = made.release.measurements, made.resumed
    return {"asked": asked, "tables": digest([m.values.tolist() for m in measured]), "resumed": resumed}


def _rival(case: Case, data: pa.Table, schema: Schema, budget: Budget, path: Path, source: Any) -> tuple[Any, bool]:
    columns = {name: np.asarray(data[name].to_pylist(), dtype=np.uint8) for name in data.column_names}
    book = Ledger(path)
    reservation = book.reserve(schema, budget, {"method": case.method}, unlimited=True, private=False, fingerprint="t")
    fit = rival_named(case.method, case.options).fit(
        LocalPrivateTable(schema, MemoryEngine(columns, ROWS, schema), reservation, source)
    )
    reservation.finish("0" * 64)
    book.close()
    return fit, reservation.resumed


@contextmanager
def other_rounding(relative: float) -> Iterator[None]:
    """A machine on which every figure of a fitted model comes out a little different."""
    generator = np.random.default_rng(3)
    project, many = JunctionTree.project, pair_marginals.pair_marginals

    def jittered(table: Any) -> Any:
        return table * (1 + relative * generator.uniform(-1, 1, table.shape))

    def one(self: JunctionTree, wanted: Any) -> Factor:
        factor = project(self, wanted)
        return Factor(factor.axes, jittered(factor.table))

    def several(tree: JunctionTree, wanted: Any) -> Any:
        return {axes: jittered(table) for axes, table in many(tree, wanted).items()}

    with (
        mock.patch.object(JunctionTree, "project", one),
        mock.patch.object(pair_marginals, "pair_marginals", several),
    ):
        yield


# -- the process -------------------------------------------------------------------------------------------------


def killed(case: Case, ledger: Path, die: tuple[int, str]) -> bool:
    """Whether a child died where it was told to."""
    child = os.fork()
    if not child:
        try:
            perform(case, ledger, die)
        finally:
            os._exit(9)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def main() -> None:
    job = json.load(sys.stdin)
    os.cpu_count = lambda: job["threads"]  # type: ignore[assignment]
    folder = Path(job["folder"])
    found: dict[str, Any] = {"runs": {}, "killed": [], "resumed": {}}
    rounding = other_rounding(job["rounding"]) if job.get("rounding") else nullcontext()
    with rounding:
        for name in job["cases"]:
            found["runs"][name] = perform(CASES[name], folder / f"{os.getpid()}-{len(found['runs'])}.db")
        for name, step, when, file in job.get("kill", []):
            if killed(CASES[name], folder / file, (step, when)):
                found["killed"].append(file)
        for name, _, _, file in job.get("resume", []):
            found["resumed"][file] = perform(CASES[name], folder / file)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
