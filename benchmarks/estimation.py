"""How long estimation takes and what it gains: exact PrivBayes-like structures, floating-point noise, no privacy.

    python benchmarks/estimation.py [adult] [nltcs] [acs]

The data is read from $UNDERSTUDY_DATA, or ../shared/data beside the repository.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimation import fitted
from understudy.models.factor import Factor
from understudy.models.graph import Graph
from understudy.models.junction_tree import JunctionTree
from understudy.models.model import Rows
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema

DATA = Path(os.environ.get("UNDERSTUDY_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
MODEL_CELLS = 200_000


@dataclass(frozen=True)
class Case:
    """A data set, the size of its tables and the noise on them."""

    name: str
    most_cells: int
    noise: type[Noise]
    scale: float  # per table, so that all tables together cost the budget
    ways: tuple[int, ...] = (2, 3)


CASES = {
    # Replace-one, epsilon 1.6, 70 % for 14 tables: b = 2 · 14 / 1.12.
    "adult": Case("adult", 422, Laplace, 25.0),
    # Gaussian tables of about epsilon 0.4, delta 1e-9 under add-remove (rho 0.0019, 80 %, 11 tables).
    "nltcs": Case("nltcs", 64, Gaussian, 60.0, (2, 3, 4)),
    "acs": Case("acs", 32, Gaussian, 20.0),
}


def load(name: str) -> tuple[Schema, Rows]:
    """The schema and the coded columns of a data set."""
    domain = json.loads((DATA / name / "domain.json").read_text())
    with gzip.open(DATA / name / f"{name}.csv.gz", "rt") as file:
        header, *lines = csv.reader(file)
    attributes = tuple(_attribute(column, domain[column]) for column in header)
    texts = list(zip(*lines))
    rows = {a.name: a.encode(column) for a, column in zip(attributes, texts)}
    return Schema(name, attributes, rows=len(lines)), rows


def _attribute(name: str, facts: int | dict[str, object]) -> Attribute:
    if isinstance(facts, int):
        return Attribute(name, Categories(tuple(str(i) for i in range(facts))))
    if facts["type"] == "discrete":
        return Attribute(name, Categories(tuple(facts["values"])))  # type: ignore[arg-type]
    low, high = float(facts["min"]), float(facts["max"])  # type: ignore[arg-type]
    edges = tuple(np.linspace(low, high, int(facts["privbayes_bins"]) + 1))  # type: ignore[call-overload]
    return Attribute(name, Intervals("number", edges))


def count(rows: Rows, schema: Schema, names: Iterable[str]) -> NDArray[np.float64]:
    names = list(names)
    shape = [schema[name].size for name in names]
    flat = np.zeros(len(rows[names[0]]), dtype=np.int64)
    for name, size in zip(names, shape):
        flat *= size
        flat += rows[name]
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def structure(rows: Rows, schema: Schema, most_cells: int) -> list[tuple[str, ...]]:
    """A PrivBayes-like network on exact counts: greedy parents by mutual information, nested tables dropped."""
    left = list(schema.names)
    graph = Graph.of([], {name: schema[name].size for name in left})
    tables: list[tuple[str, ...]] = []
    chosen = [left.pop(0)]
    while left:
        options = [(x, _parents(rows, schema, x, chosen, most_cells, graph)) for x in left]
        x, parents = max(options, key=lambda option: _information(rows, schema, *option))
        tables.append((*parents, x))
        graph = graph.add(tables[-1])
        left.remove(x)
        chosen.append(x)
    return [t for t in tables if not any(set(t) < set(u) for u in tables)]


def _parents(
    rows: Rows, schema: Schema, x: str, chosen: Sequence[str], most_cells: int, graph: Graph[str]
) -> tuple[str, ...]:
    """The most informative parent first, as long as the table and the triangulated model stay within their limits."""
    parents: tuple[str, ...] = ()
    while True:
        options = [
            tuple(sorted((*parents, p))) for p in chosen
            if p not in parents and schema.cells((*parents, p, x)) <= most_cells
        ]  # fmt: skip
        fitting = [o for o in options if graph.add((*o, x)).triangulated_cells(MODEL_CELLS) <= MODEL_CELLS]
        if not fitting:
            return parents
        parents = max(fitting, key=lambda option: _information(rows, schema, x, option))


_KNOWN: dict[tuple[str, tuple[str, ...]], float] = {}


def _information(rows: Rows, schema: Schema, x: str, parents: tuple[str, ...]) -> float:
    if (x, parents) not in _KNOWN:
        joint = count(rows, schema, (*parents, x))
        joint = joint.reshape(-1, joint.shape[-1]) / joint.sum()
        outer = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
        _KNOWN[x, parents] = float((joint * np.log(np.where(joint > 0, joint / np.maximum(outer, 1e-300), 1))).sum())
    return _KNOWN[x, parents]


def measure(rows: Rows, schema: Schema, tables: Sequence[tuple[str, ...]], case: Case, seed: int) -> list[Measurement]:
    """Floating-point noise, rounded: a benchmark, not a mechanism."""
    generator = np.random.default_rng(seed)
    found = []
    for names in tables:
        exact = count(rows, schema, names)
        draw = generator.laplace if case.noise is Laplace else generator.normal
        values = np.rint(exact + draw(0, case.scale, exact.shape)).astype(np.int64)
        found.append(Measurement(tuple(Axis(name) for name in names), values, case.noise(case.scale)))
    return found


def clipped(measurements: Sequence[Measurement], schema: Schema) -> JunctionTree:
    """The published rule: each table clipped at zero and normalised given the attributes that came before."""
    known: set[Axis] = set()
    logs = []
    for m in measurements:
        table = np.maximum(m.values, 0).astype(np.float64)
        new = tuple(i for i, axis in enumerate(m.axes) if axis not in known)
        given = table.sum(axis=new, keepdims=True) if new else np.ones(1)
        width = math.prod(table.shape[i] for i in new)
        share = np.divide(table, given, out=np.full(table.shape, 1 / width), where=given > 0) if new else np.ones(1)
        logs.append(Factor(m.axes, np.log(np.broadcast_to(np.maximum(share, 1e-300), table.shape))))
        known.update(m.axes)
    return JunctionTree.of(schema, logs)


def distance(model: JunctionTree, rows: Rows, schema: Schema, ways: int) -> float:
    """The mean total variation distance over tables of so many attributes (at most 300 of them)."""
    tables = list(itertools.combinations(schema.names, ways))
    picked = np.random.default_rng(0).permutation(len(tables))[:300]
    found = []
    for i in picked:
        exact = count(rows, schema, tables[i])
        found.append(0.5 * np.abs(model.project(tables[i]).table - exact / exact.sum()).sum())
    return float(np.mean(found))


def sampled_distance(sample: Rows, rows: Rows, schema: Schema, ways: int = 2) -> float:
    found = []
    for names in itertools.combinations(schema.names, ways):
        exact, drawn = count(rows, schema, names), count(sample, schema, names)
        found.append(0.5 * np.abs(drawn / drawn.sum() - exact / exact.sum()).sum())
    return float(np.mean(found))


def run(case: Case) -> None:
    schema, rows = load(case.name)
    n = schema.rows or 0
    tables = structure(rows, schema, case.most_cells)
    measurements = measure(rows, schema, tables, case, seed=1)
    fitted(measurements, schema, n)  # compile
    trace: list[tuple[float, int]] = []
    clock, processor = time.perf_counter(), time.process_time()
    model = fitted(measurements, schema, n, progress=lambda objective, step: trace.append((objective, step))).tree
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    measured = sum(m.values.size for m in measurements)
    print(f"{case.name}: {len(tables)} tables, {measured:,} measured cells, {len(model.cliques)} cliques, "
          f"{model.cells:,} cells; {case.noise.name} {case.scale}")  # fmt: skip
    print(f"  estimation {processor:.2f} s CPU ({clock:.2f} s), {trace[-1][1]} steps, "
          f"objective {trace[0][0]:,.0f} -> {trace[-1][0]:,.1f}")  # fmt: skip
    for label, found in (("clip and normalise", clipped(measurements, schema)), ("least squares", model)):
        figures = " / ".join(f"{distance(found, rows, schema, k):.4f}" for k in case.ways)
        print(f"  {label:20s} TVD {'/'.join(map(str, case.ways))}-way  {figures}")
    report_sampling(model, rows, schema, n)


def report_sampling(model: JunctionTree, rows: Rows, schema: Schema, n: int) -> None:
    exact = distance(model, rows, schema, 2)
    for rounding in ("systematic", "multinomial"):
        model.sample(10, np.random.default_rng(0), rounding)  # compile
        clock = time.perf_counter()
        sample = model.sample(n, np.random.default_rng(2), rounding)
        clock = time.perf_counter() - clock
        added = sampled_distance(sample, rows, schema) - exact
        print(f"  {rounding} sample of {n:,}: {clock:.3f} s, adds {added:+.4f} to the 2-way TVD")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["adult", "nltcs"]:
        run(CASES[name])
