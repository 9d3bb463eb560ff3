"""Paired trials of one lever: the same tables, budgets and seeds with and without it.

    python benchmarks/paired.py census loans --promise 0.4,1e-9 --variants aim alone "aim single=0.4" --runs 5

A run is one fit in this process with the seeded source (NOT PRIVATE); its figures are mean total variation distances of
as many synthetic rows as there are real ones, over up to 300 fixed pairs and triples. The seed of a run is the same for
all variants. Constants of a module may be set too: "aim understudy.methods.aim.method:THETA=4". `alone` is each column
by itself. Every run is a line of the file given by --records; lines that are there are not run again.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import itertools
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import yardstick
from understudy.demo import demo_rows, demo_schema
from understudy.engines.memory import MemoryEngine
from understudy.methods import method_named
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.schema import Attribute, Axis, Categories, Schema
from understudy.testing import SeededSource

MAX_TABLES = 300
GENERATED = ("hidden", "network", "large", "alone", "tiny", "mixed", "parity", "sum3", "sum4", "binary", "switches")
RESULTS = Path(__file__).parent / "results" / "paired.csv"
GROUPS = RESULTS.with_name("groups.csv")
Columns = Mapping[str, Any]


# -- tables ------------------------------------------------------------------------------------------------------


def generated(name: str) -> tuple[dict[str, Any], list[int]]:
    """Return columns of codes and their sizes: hidden classes, a random network, or nothing at all between columns."""
    kind, width, rows = name.split("-")
    rng = np.random.default_rng(sum(map(ord, name)))
    d, n = int(width), int(rows)
    low, high = {"large": (60, 400), "tiny": (2, 5), "binary": (2, 2), "switches": (2, 2)}.get(kind, (2, 24))
    sizes = np.exp(rng.uniform(np.log(low), np.log(high + 1), d)).astype(int).tolist()
    if kind in ("sum3", "sum4"):
        return _with_sums(rng, sizes, n, int(kind[-1]))
    if kind in ("network", "mixed", "switches"):
        return _network(rng, sizes, n), sizes
    if kind == "parity":
        sizes = [2] * d
        base = rng.integers(0, 2, (d, n))
        for i in range(2, d, 3):  # every third column is the parity of the two before it, nearly always
            base[i] = base[i - 1] ^ base[i - 2] ^ (rng.random(n) < 0.05)
        return {f"c{i}": base[i].astype(np.uint16) for i in range(d)}, sizes
    classes = 1 if kind == "alone" else 6
    hidden = rng.choice(classes, n, p=rng.dirichlet(np.ones(classes) * 2))
    columns = {}
    for i, size in enumerate(sizes):
        common = _skewed(rng, size)
        laws = np.stack([rng.dirichlet(common * size * 0.5 + 1e-3) for _ in range(classes)])
        columns[f"c{i}"] = _drawn(rng, laws[hidden])
    return columns, sizes


def _skewed(rng: np.random.Generator, size: int) -> Any:
    """A law with rare values: a power of the rank, in random order, or a bell over ordered codes."""
    if rng.random() < 0.5:
        law = np.arange(1, size + 1) ** -rng.uniform(0.3, 1.8)
        rng.shuffle(law)
    else:
        law = np.exp(-0.5 * ((np.arange(size) - rng.uniform(0, size)) / (size * rng.uniform(0.08, 0.5))) ** 2) + 1e-4
    return law / law.sum()


def _drawn(rng: np.random.Generator, laws: Any) -> Any:
    return (rng.random((len(laws), 1)) > np.cumsum(laws, axis=1)[:, :-1]).sum(axis=1).astype(np.uint16)


def _network(rng: np.random.Generator, sizes: list[int], n: int) -> dict[str, Any]:
    """Each column depends on one or two earlier ones, through few groups of their values."""
    columns: dict[str, Any] = {}
    for i, size in enumerate(sizes):
        parents = rng.choice(i, min(i, int(rng.integers(0, 3))), replace=False) if i else []
        state = np.zeros(n, dtype=int)
        for p in parents:
            group = rng.integers(0, 4, sizes[p])
            state = state * 4 + group[columns[f"c{p}"]]
        common = _skewed(rng, size)
        laws = np.stack([rng.dirichlet(common * size * 0.4 + 1e-3) for _ in range(4 ** len(parents))])
        columns[f"c{i}"] = _drawn(rng, laws[state])
    return columns


def _with_sums(rng: np.random.Generator, sizes: list[int], n: int, order: int) -> tuple[dict[str, Any], list[int]]:
    """A random network, in which a third of the columns are evenly drawn values and their sum, nearly always: no table
    of fewer than `order` columns shows how they depend on each other."""
    groups = max(1, len(sizes) // (3 * order))
    sizes = sizes[: len(sizes) - groups * order]
    columns = list(_network(rng, sizes, n).values())
    for _ in range(groups):
        size = int(rng.integers(2, 5))
        drawn = rng.integers(0, size, (order, n))
        other = rng.random(n) < 0.1
        drawn[-1] = np.where(other, drawn[-1], drawn[:-1].sum(axis=0) % size)
        columns += [column.astype(np.uint16) for column in drawn]
        sizes += [size] * order
    places = rng.permutation(len(columns))
    return {f"c{i}": columns[at] for i, at in enumerate(places)}, [sizes[at] for at in places]


@dataclass(frozen=True)
class Table:
    """Real rows, their public schema, and the exact tables that a run is compared with, counted once."""

    name: str
    columns: Columns
    schema: Schema  # replace-one

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def under(self, neighbours: str) -> Schema:
        rows = self.rows if neighbours == "replace-one" else None
        return replace(self.schema, rows=rows, neighbours=neighbours, text=None)  # type: ignore[arg-type]

    def sets(self, alpha: int) -> list[tuple[str, ...]]:
        sets = list(itertools.combinations(self.schema.names, alpha))
        if len(sets) <= MAX_TABLES:
            return sets
        chosen = np.random.default_rng(0).choice(len(sets), MAX_TABLES, replace=False)
        return [sets[i] for i in chosen]

    @cached_property
    def exact(self) -> dict[tuple[str, ...], Any]:
        return {s: _shares(self.columns, self.schema, s) for alpha in (1, 2, 3) for s in self.sets(alpha)}

    def tvd(self, made: Columns, alpha: int) -> float:
        sets = self.sets(alpha)
        return float(np.mean([_distance(self.exact[s], _shares(made, self.schema, s)) for s in sets]))


def _shares(columns: Columns, schema: Schema, names: tuple[str, ...]) -> Any:
    """The share of every cell, or of every cell that has a row where there are very many."""
    index = np.zeros(len(columns[names[0]]), dtype=np.int64)
    for name in names:
        index = index * schema[name].size + columns[name]
    if schema.cells(names) <= 1_000_000:
        return np.bincount(index, minlength=schema.cells(names)) / len(index)
    cells, counts = np.unique(index, return_counts=True)
    return cells, counts / len(index)


def _distance(one: Any, other: Any) -> float:
    if not isinstance(one, tuple):
        return float(0.5 * np.abs(one - other).sum())
    _, a, b = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    return float(1 - np.minimum(one[1][a], other[1][b]).sum())


@lru_cache(maxsize=2)
def table(name: str) -> Table:
    if name.startswith("census"):
        schema = demo_schema(rows=int(name.split("-")[1]))
        columns = demo_rows(schema.rows or 1, np.random.default_rng(7))
        kept = [replace(a, fine=None, fine_cells=None) for a in schema.modelled if a.name in columns]
        return Table(name, columns, replace(schema, attributes=tuple(kept), text=None))
    if name.split("-")[0] in GENERATED:
        columns, sizes = generated(name)
        attributes = tuple(Attribute(f"c{i}", Categories(tuple(map(str, range(s))))) for i, s in enumerate(sizes))
        return Table(name, columns, Schema(name, attributes, rows=len(columns["c0"])))
    coded, schema = yardstick.coded(name)
    plain = tuple(replace(a, taxonomy=None) for a in schema.modelled)
    return Table(name, coded.columns, replace(schema, attributes=plain, text=None))


# -- runs --------------------------------------------------------------------------------------------------------


@contextmanager
def constants(settings: Mapping[str, str]) -> Iterator[None]:
    """Set constants of modules, given as module:NAME, for a while."""
    before = []
    for key, text in settings.items():
        module, name = importlib.import_module(key.split(":")[0]), key.split(":")[1]
        before.append((module, name, getattr(module, name)))
        setattr(module, name, type(getattr(module, name))(float(text)))
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


class Alone:
    """Each column by itself, at equal cost."""

    def fit(self, private: Any) -> Any:
        from understudy.methods.method import Fit
        from understudy.methods.toolkit.row_count import count_cost, row_count
        from understudy.models.refit import Design, refit

        _, bought = row_count(private)
        rest = private.total_cost - count_cost(private.schema, private.total_cost)
        measured = private.measure([(Axis(a.name),) for a in private.schema.modelled], rest, "one-way")
        found = refit([*bought, *measured], Design(private.schema))
        return Fit(found.model, (*bought, *measured), found.rows, {})


def one(real: Table, promise: tuple[str, str, str], variant: str, seed: int) -> dict[str, Any]:
    """Fit once and compare."""
    epsilon, delta, neighbours = promise
    name, *words = variant.split()
    settings = dict(word.split("=", 1) for word in words)
    schema = real.under(neighbours)
    method: Any = Alone()
    if name != "alone":
        options = {key: value for key, value in settings.items() if ":" not in key}
        method = method_named(name, options, schema)
    source = SeededSource(seed)
    engine = MemoryEngine(dict(real.columns), real.rows, schema.counted)
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "l.db") as book:
        budget = Budget(epsilon, delta)
        reservation = book.reserve(schema, budget, {"method": name}, unlimited=True, fingerprint="trial")
        private = LocalPrivateTable(schema, engine, reservation, source)
        with constants({key: value for key, value in settings.items() if ":" in key}):
            start = time.process_time()
            fit = method.fit(private)
            cpu = time.process_time() - start
        made = fit.model.sample(real.rows, np.random.default_rng(seed))
    found = {f"tvd{alpha}": real.tvd(made, alpha) for alpha in (1, 2, 3)}
    return found | {"cpu": cpu, "tables": len(fit.facts.get("tables", []))}


FIELDS = ("table", "epsilon", "delta", "neighbours", "variant", "seed", "tvd1", "tvd2", "tvd3", "cpu", "tables")


def records(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, line: dict[str, Any]) -> None:
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in line.items()})


def compared(path: Path, names: list[str], promises: list[str], variants: list[str]) -> str:
    """Return each variant's mean figures, and its ratio to the first variant: paired by seed, with standard error."""
    known: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for r in records(path):
        key = (r["table"], f"{r['epsilon']},{r['delta']},{r['neighbours']}", r["variant"])
        known.setdefault(key, {})[r["seed"]] = r
    lines = []
    cells: dict[str, list[float]] = {}
    for name, promise, variant in itertools.product(names, promises, variants):
        own, base = known.get((name, promise, variant), {}), known.get((name, promise, variants[0]), {})
        if both := sorted(set(own) & set(base)):
            ratios = [_logs([own[s] for s in both], [base[s] for s in both], figure) for figure in ("tvd2", "tvd3")]
            cells.setdefault(variant, []).append(float(np.mean([r.mean() for r in ratios])))
            means = [np.mean([float(own[s][f]) for s in both]) for f in ("tvd1", "tvd2", "tvd3", "cpu", "tables")]
            shown = " ".join(f"{m:.4f}" for m in means[:3]) + " " + " ".join(map(_percent, ratios))
            lines.append(f"{name} {promise} {variant} n={len(both)} {shown} {means[3]:.1f} s {means[4]:.0f} tables")
    for variant, values in cells.items():
        mean, worst, best = (100 * np.expm1(v) for v in (np.mean(values), max(values), min(values)))
        lines.append(
            f"{len(values)} cells, {variant}: {mean:+.1f} % on average, worst {worst:+.1f} %, best {best:+.1f} %"
        )
    return "\n".join(lines)


def _logs(own: list[dict[str, str]], base: list[dict[str, str]], figure: str) -> Any:
    return np.array([np.log(float(a[figure]) / float(b[figure])) for a, b in zip(own, base)])


def _percent(logs: Any) -> str:
    error = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else 0.0
    return f"{100 * np.expm1(logs.mean()):+.1f} ± {100 * error:.1f} %"


def worth_lines() -> list[str]:
    """Return a section for docs/accuracy.md: AIM before and since it buys the decision for structure, beside columns
    alone, from benchmarks/results/paired.csv. `before` are runs of the program without that purchase."""
    found: dict[tuple[str, ...], dict[str, dict[str, dict[str, str]]]] = {}
    for r in records(RESULTS):
        cell = found.setdefault((r["table"], r["epsilon"], r["delta"], r["neighbours"]), {})
        cell.setdefault(r["variant"], {})[r["seed"]] = r
    lines = [
        "## Levers, with and without",
        "",
        "AIM with and without the purchase of the mean dependence (decision 0025), and each column alone: seeded runs, "
        "paired, from `benchmarks/results/paired.csv`. Pure rows are of the weight 1.4 of decision 0025 unless "
        "decision 0034 names them; the program has 1.0 now. 2-way / 3-way, mean ± standard deviation of a run; `–` "
        "where it was not run.",
        "",
        "| table | promise | runs | columns alone | AIM without | AIM with |",
        "|---|---|---|---|---|---|",
    ]
    for (name, epsilon, delta, neighbours), variants in found.items():
        promise = f"{epsilon} {neighbours}" if delta == "0" else f"({epsilon}, {delta}) {neighbours}"
        shown = [_shown(list(variants.get(v, {}).values())) for v in ("alone", "before", "aim")]
        runs = max(len(seeds) for seeds in variants.values())
        lines.append(f"| {name} | {promise} | {runs} | {' | '.join(shown)} |")
    return lines


def groups_lines() -> list[str]:
    """Return a section for docs/accuracy.md: AIM before merged groups and one-way shares by size, and with them."""
    found: dict[tuple[str, ...], dict[str, list[dict[str, str]]]] = {}
    for r in records(GROUPS):
        cell = found.setdefault((r["table"], r["epsilon"], r["delta"], r["neighbours"]), {})
        cell.setdefault(r["variant"], []).append(r)
    lines = [
        "## Merged groups and one-way shares by size, with and without",
        "",
        "Seeded runs, paired, from `benchmarks/results/groups.csv` (decisions 0036, 0038): AIM of commit 52fad1f, AIM "
        "with both, each column alone. 2-way / 3-way, mean ± standard deviation of a run.",
        "",
        "| table | promise | runs | columns alone | before | with both |",
        "|---|---|---|---|---|---|",
    ]
    for (name, epsilon, delta, neighbours), variants in found.items():
        promise = f"{epsilon} {neighbours}" if delta == "0" else f"({epsilon}, {delta}) {neighbours}"
        shown = [_shown(variants.get(v, [])) for v in ("alone", "before", "groups")]
        lines.append(f"| {name} | {promise} | {len(variants['groups'])} | {' | '.join(shown)} |")
    return lines


def _shown(runs: list[dict[str, str]]) -> str:
    if not runs:
        return "–"
    texts = []
    for figure in ("tvd2", "tvd3"):
        values = [float(r[figure]) for r in runs]
        texts.append(f"{np.mean(values):.4f}" + (f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""))
    return " / ".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--promise", nargs="+", default=["0.4,1e-9,add-remove"])
    parser.add_argument("--variants", nargs="+", default=["aim"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--records", type=Path, default=Path(tempfile.gettempdir()) / "understudy-paired.csv")
    asked = parser.parse_args()
    done = {tuple(r[field] for field in FIELDS[:6]) for r in records(asked.records)}
    for name in asked.names:
        for promise in asked.promise:
            split = tuple(promise.split(","))
            for seed in range(1, asked.runs + 1):
                for variant in asked.variants:
                    key = (name, *split, variant, str(seed))
                    if key not in done:
                        found = one(table(name), split, variant, seed)  # type: ignore[arg-type]
                        append(asked.records, dict(zip(FIELDS, key)) | found)
    print(compared(asked.records, asked.names, asked.promise, asked.variants))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
