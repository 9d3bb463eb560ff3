"""Coverage: how often 95 % intervals of random queries hold the true answer, and how wide they are.

    python benchmarks/coverage.py run RESULTS.jsonl --tables adult acs --epsilons 0.5 1 4 --releases 3 --queries 200
    python benchmarks/coverage.py page RESULTS.jsonl

Every release is drawn from a seed. A query names one to three attributes and lets through a random half of the values
of each (a random range of an ordered one); classes are by what was measured together. Truth is the exact answer on the
same rows. Beside coverage, the file keeps the actual distance of 1-, 2- and 3-way tables, for the forecast.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "raw"))

from tables import RawTable

import datasets
from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.inference.least_squares import measured_together
from understudy.release import Release
from understudy.schema import Intervals, Schema
from understudy.testing import publish_seeded

CODED = {"adult": 45_222, "acs": 47_461, "loans": 42_535, "tpce": 40_000, "salary": 135_727, "nltcs": 21_574}
RAW = ("census", "ma2019", "yrbss", "HI", "SLID", "nhefs")
WIDE = 16  # attributes of a coded table that are kept, so that one run takes seconds
CLASSES = ("one-way", "measured pairs", "unmeasured pairs", "triples")


def source(name: str, neighbours: str, folder: Path) -> tuple[Path, Schema]:
    """Return the file and the public schema of a table."""
    if name in CODED:
        datasets.ROWS[name] = CODED[name]
        schema = datasets.schema(name, neighbours)
        return datasets.path(name), schema
    raw = RawTable(name)
    path = folder / f"{name}.csv"
    if not path.exists():
        raw.write_csv(path)
    return path, raw.schema("expert", neighbours)  # type: ignore[arg-type]


def condition(schema: Schema, name: str, generator: np.random.Generator) -> tuple[str, Any]:
    """Return a random condition on an attribute as text, and which codes it lets through."""
    attribute = schema[name]
    size = attribute.size
    domain = attribute.domain
    if isinstance(domain, Intervals) and domain.bins >= 2:
        edges = domain.edges
        low, high = sorted(generator.choice(len(edges), 2, replace=False).tolist())
        allowed = np.zeros(size, dtype=bool)
        inside = [c for b, c in enumerate(domain.bin_codes) if low <= b < high]
        allowed[inside] = True
        points = np.asarray(sorted(domain.points))
        is_bin = np.zeros(domain.size, dtype=bool)
        is_bin[domain.bin_codes] = True
        last = high == len(edges) - 1
        within = (points >= edges[low]) & ((points <= edges[high]) if last else (points < edges[high]))
        allowed[np.flatnonzero(~is_bin)[within]] = True
        return (
            f'"{name}" >= {domain.show(edges[low])} and "{name}" {"<=" if last else "<"} {domain.show(edges[high])}',
            allowed,
        )
    allowed = generator.random(size) < 0.5
    if attribute.has_missing:
        allowed[attribute.missing_code] = False
    if not allowed.any():
        allowed[0] = True
    quote = lambda text: "'" + text.replace("'", "''") + "'"  # noqa: E731
    listed = ", ".join(quote(attribute.labels[c]) for c in np.flatnonzero(allowed))
    return f'"{name}" in ({listed})', allowed


def tables_of(release: Release, kind: str, generator: np.random.Generator) -> tuple[str, ...] | None:
    names = release.schema.names
    for _ in range(200):
        ways = {"one-way": 1, "triples": 3}.get(kind, 2)
        chosen = tuple(names[i] for i in sorted(generator.choice(len(names), ways, replace=False).tolist()))
        if np.prod([release.schema[n].size for n in chosen]) > 20_000:
            continue
        together = measured_together(release.measurements, chosen)
        if kind == "one-way" or together == (kind == "measured pairs"):
            return chosen
    return None


def asked(release: Release, rows: Any, kind: str, queries: int, generator: np.random.Generator) -> dict[str, Any]:
    inference = release.inference()
    hits, widths, errors, seconds = [], [], [], time.process_time()
    while len(hits) < queries:
        chosen = tables_of(release, kind, generator)
        if chosen is None:
            return {}
        for _ in range(5):
            parts = [condition(release.schema, name, generator) for name in chosen]
            text = "count where " + " and ".join(words for words, _ in parts)
            if len(text) > 4000:
                break
            answer = release.answer(text, inference, 0.95)
            truth = int(np.logical_and.reduce([allowed[rows[n]] for n, (_, allowed) in zip(chosen, parts)]).sum())
            if answer.interval is None or answer.value is None:
                return {}
            low, high = answer.interval
            hits.append(low - 0.5 <= truth <= high + 0.5)
            widths.append(high - low)
            errors.append(answer.value - truth)
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    return {
        "coverage": float(np.mean(hits)), "width": float(np.median(widths)), "rmse": rmse, "queries": len(hits),
        "seconds": round(time.process_time() - seconds, 2),
    }  # fmt: skip


def distances(release: Release, rows: Any) -> dict[str, float]:
    found = {}
    for ways in (1, 2, 3):
        sets = [s for s in combinations(release.schema.names, ways)
                if np.prod([release.schema[n].size for n in s]) <= 200_000]  # fmt: skip
        if len(sets) > 60:
            sets = [sets[i] for i in np.random.default_rng(0).choice(len(sets), 60, replace=False)]
        apart = []
        for names in sets:
            index = np.zeros(len(rows[names[0]]), dtype=np.int64)
            for name in names:
                index = index * release.schema[name].size + rows[name]
            table = release.model.project(names).table
            real = np.bincount(index, minlength=table.size).reshape(table.shape) / len(index)
            apart.append(0.5 * np.abs(real - table).sum())
        found[str(ways)] = float(np.mean(apart))
    return found


def run_one(
    name: str, epsilon: float, delta: float, neighbours: str, seed: int, queries: int, keep: Path
) -> dict[str, Any]:
    path, schema = source(name, neighbours, keep)
    file = keep / f"{name}-{epsilon}-{delta}-{neighbours}-{seed}.release.zip"
    if not file.exists():
        with tempfile.TemporaryDirectory() as folder:
            made = publish_seeded(
                path, schema, seed=seed, epsilon=epsilon, delta=delta, ledger=Path(folder) / "l.db", cap="none"
            )
        made.release.save(file)
    release = Release.open(file)
    rows = encode_table(open_source(path, schema.csv), release.schema).columns
    began = time.process_time()
    release.inference().refits  # noqa: B018
    out: dict[str, Any] = {
        "table": name, "epsilon": epsilon, "delta": delta, "neighbours": neighbours, "seed": seed,
        "refit_seconds": round(time.process_time() - began, 2), "distances": distances(release, rows),
        "bought": {k: v for k, v in (release.model_error or {}).items() if k != "compared"},
        "rows": release.rows,
    }  # fmt: skip
    generator = np.random.default_rng([seed, 3])
    out["classes"] = {kind: asked(release, rows, kind, queries, generator) for kind in CLASSES}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    running = verbs.add_parser("run")
    running.add_argument("results", type=Path)
    running.add_argument("--tables", nargs="+", default=["adult", "acs", "census", "loans", "ma2019"])
    running.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1, 4])
    running.add_argument("--deltas", nargs="+", type=float, default=[0.0, 1e-9])
    running.add_argument("--neighbours", default="replace-one")
    running.add_argument("--releases", type=int, default=3)
    running.add_argument("--queries", type=int, default=200)
    running.add_argument("--keep", type=Path, default=None, help="Folder in which releases are kept.")
    page = verbs.add_parser("page")
    page.add_argument("results", type=Path)
    given = parser.parse_args()
    if given.verb == "page":
        print(summary([json.loads(line) for line in given.results.read_text().splitlines()]))
        return
    keep = given.keep or Path(tempfile.mkdtemp())
    keep.mkdir(exist_ok=True, parents=True)
    for seed in range(1, given.releases + 1):
        for name in given.tables:
            for epsilon in given.epsilons:
                for delta in given.deltas:
                    found = run_one(name, epsilon, delta, given.neighbours, seed, given.queries, keep)
                    with given.results.open("a") as file:
                        file.write(json.dumps(found) + "\n")
                    said = {k: v.get("coverage") for k, v in found["classes"].items()}
                    print(name, epsilon, delta, seed, said, flush=True)


def summary(lines: list[dict[str, Any]]) -> str:
    """Return coverage by table and promise, pooled over releases, as a table in Markdown."""
    cells: dict[tuple[str, float, float], list[dict[str, Any]]] = {}
    for line in lines:
        cells.setdefault((line["table"], line["epsilon"], line["delta"]), []).append(line)
    out = ["| table | epsilon | delta | releases | " + " | ".join(CLASSES) + " |", "|---" * (4 + len(CLASSES)) + "|"]
    for (name, epsilon, delta), found in sorted(cells.items()):
        shown = [_cell([f["classes"].get(kind) for f in found]) for kind in CLASSES]
        out.append(f"| {name} | {epsilon:g} | {delta:g} | {len(found)} | " + " | ".join(shown) + " |")
    return "\n".join([*out, "| all | | | | " + " | ".join(_pooled(lines, kind) for kind in CLASSES) + " |"])


def _cell(found: list[Any]) -> str:
    known = [f for f in found if f]
    if not known:
        return "–"
    ratio = np.median([f["width"] / max(f["rmse"], 1e-9) for f in known])
    return f"{100 * np.mean([f['coverage'] for f in known]):.0f} ({ratio:.1f})"


def _pooled(lines: list[dict[str, Any]], kind: str) -> str:
    known = [f["classes"][kind]["coverage"] for f in lines if f["classes"].get(kind)]
    return f"{100 * np.mean(known):.1f}" if known else "–"


if __name__ == "__main__":
    main()
