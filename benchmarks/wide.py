"""Wide tables: counting all pairs, publishing hundreds of columns, and the cost against columns and rows.

python benchmarks/wide.py                     what is not in benchmarks/results/wide.csv yet, and wide.svg
python benchmarks/wide.py publish 500         one line of it: so many attributes, a process of its own for peak memory
python benchmarks/wide.py rows 1000000        a hundred attributes and so many rows
python benchmarks/wide.py privbayes 200       PrivBayes, and what its plan said
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import datasets
from understudy.engines.memory import MemoryEngine
from understudy.methods import method_named
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.schema import Attribute, Axis, Categories, Schema
from yardstick import calibration, peak_mb, table, timed

ROWS = 100_000
WIDTHS = (50, 100, 200, 500, 1000)
LENGTHS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
PRIVBAYES = (50, 100, 200, 500)
TASKS = [("publish", d) for d in WIDTHS] + [("rows", n) for n in LENGTHS] + [("privbayes", d) for d in PRIVBAYES]
TASKS += [("pairs", 1000), ("retail", 500)]
COLUMNS = ("task", "attributes", "rows", "delta", "wall", "cpu", "calibration", "planned", "mb", "tvd", "independent",
           "true pairs found", "read s", "structure s", "tables s", "estimation s")  # fmt: skip
RESULTS = Path(__file__).parent / "results"


def wide_schema(names: list[str], rows: int) -> Schema:
    return Schema("wide", tuple(Attribute(name, Categories(("0", "1"))) for name in names), rows=rows)


def tree(attributes: int, rows: int, seed: int = 1) -> tuple[dict[str, np.ndarray], list[tuple[str, str]]]:
    """Each column copies a random earlier one, with 10 to 30 % of its cells flipped; and the true pairs."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, 2, rows).astype(np.uint8)]
    edges = []
    for i in range(1, attributes):
        parent = int(generator.integers(0, i))
        flip = generator.random(rows) < generator.uniform(0.1, 0.3)
        columns.append(columns[parent] ^ flip.astype(np.uint8))
        edges.append((f"a{parent:04}", f"a{i:04}"))
    return {f"a{i:04}": column for i, column in enumerate(columns)}, edges


def distances(real: Any, synthetic: Any, schema: Schema, pairs: list[tuple[str, str]]) -> tuple[float, float]:
    """Mean total variation distance over these pairs: of the synthetic rows, and of independent exact columns."""
    own, alone = [], []
    for pair in pairs:
        exact = table(real, schema, pair).reshape(2, 2)
        own.append(0.5 * np.abs(exact.ravel() - table(synthetic, schema, pair)).sum())
        alone.append(0.5 * np.abs(exact - np.outer(exact.sum(1), exact.sum(0))).sum())
    return float(np.mean(own)), float(np.mean(alone))


# -- one process each --------------------------------------------------------------------------------------------


def count_pairs(attributes: int) -> dict[str, Any]:
    names = [f"a{i:04}" for i in range(attributes)]
    generator = np.random.default_rng(0)
    columns = {name: generator.integers(0, 2, ROWS).astype(np.uint8) for name in names}
    engine = MemoryEngine(columns, ROWS, wide_schema(names, ROWS))
    engine.pairs(tuple(map(Axis, names[:2])))  # compile first
    with timed() as clock:
        counts = engine.pairs(tuple(map(Axis, names)))
    exact = np.bincount(columns[names[1]] * 2 + columns[names[-1]], minlength=4).reshape(2, 2)
    assert (counts.table(1, attributes - 1) == exact).all()
    return {"attributes": attributes, "rows": ROWS, "wall": clock.wall, "cpu": clock.cpu, "mb": peak_mb()}


def publish(
    columns: dict[str, np.ndarray], pairs: list[tuple[str, str]], delta: float, method: str = "privabn", **options: Any
) -> dict[str, Any]:
    rows = len(next(iter(columns.values())))
    schema = wide_schema(list(columns), rows)
    budget = Budget(1, delta)
    planned = method_named(method, options).plan(schema, budget).seconds
    data = pa.table({name: pa.array(column) for name, column in columns.items()})
    with tempfile.TemporaryDirectory() as folder, timed() as clock:
        done = run(data, schema, budget, method, options, ledger=Path(folder) / "ledger.db")
        codes = done.release.sample_codes(rows, None, done.release.generator())
    own, alone = distances(columns, codes, schema, pairs)
    network = done.release.facts.network
    found = {frozenset((line.attribute, parent)) for line in network or () for parent in line.parents}
    true = sum(frozenset(pair) in found for pair in pairs) / len(pairs)
    return {
        "attributes": len(columns), "rows": rows, "delta": delta, "wall": clock.wall, "cpu": clock.cpu,
        "planned": planned, "mb": peak_mb(), "tvd": own, "independent": alone, "true pairs found": true,
        **{f"{k} s": s for k, s in done.seconds.items()},
    }  # fmt: skip


def publish_tree(attributes: int, delta: float, method: str = "privabn") -> dict[str, Any]:
    return publish(*tree(attributes, ROWS), delta, method)


def publish_rows(rows: int, delta: float) -> dict[str, Any]:
    """A hundred attributes; always a tree, since the degree would change with the rows."""
    return publish(*tree(100, rows), delta, degree=1)


def publish_retail(items: int, delta: float) -> dict[str, Any]:
    """Items 0, 1, … as a declared list: taking the top sellers from the rows would be a query of its own."""
    import gzip

    file = datasets.ROOT / "retail" / "retail.dat.gz"
    baskets = gzip.decompress(file.read_bytes()).decode().splitlines()
    rows = np.zeros((len(baskets), items), dtype=np.uint8)
    for i, basket in enumerate(baskets):
        for item in map(int, basket.split()):
            if item < items:
                rows[i, item] = 1
    columns = {f"i{item:04}": np.ascontiguousarray(rows[:, item]) for item in range(items)}
    joint = rows.T.astype(np.float32) @ rows / len(rows) - np.outer(rows.mean(0), rows.mean(0))
    strongest = np.argsort(-np.abs(np.tril(joint, -1)).ravel())[:200]  # for the yardstick only
    pairs = [(f"i{k % items:04}", f"i{k // items:04}") for k in map(int, strongest)]
    return publish(columns, pairs, delta)


# -- all of it ---------------------------------------------------------------------------------------------------


def one(task: str, number: int, delta: float) -> dict[str, Any]:
    """A line of the file; the calibration loop runs just before, so that a busy machine shows."""
    loop = calibration()
    work: dict[str, Callable[[], dict[str, Any]]] = {
        "pairs": lambda: count_pairs(number),
        "publish": lambda: publish_tree(number, delta),
        "rows": lambda: publish_rows(number, delta),
        "privbayes": lambda: publish_tree(number, delta, "privbayes"),
        "retail": lambda: publish_retail(number, delta),
    }
    return {"task": task, "calibration": loop, **work[task]()}


def apart(*words: Any) -> dict[str, Any]:
    """In a process of its own, so that its peak memory is its own."""
    command = [sys.executable, __file__, *map(str, words)]
    out = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found: dict[str, Any] = json.loads(out)
    return found


def panel(lines: list[dict[str, Any]], key: str, left: int, slope: int, title: str) -> str:
    """CPU seconds on logarithmic axes, with a line of this slope for comparison."""
    points = sorted((float(line[key]), float(line["cpu"])) for line in lines)
    low, high = points[0][0], points[-1][0]

    def at(x: float, y: float) -> tuple[float, float]:
        return left + 320 * math.log(x / low) / math.log(high / low), 260 - 220 * math.log(y) / math.log(200)

    seen = [at(x, y) for x, y in points]
    guide = [at(x, max(1.0, points[-1][1] * (x / high) ** slope)) for x in np.geomspace(low, high, 40)]
    marks = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/><text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">'
        f"{value:,.0f}: {cpu:.1f} s</text>"
        for (x, y), (value, cpu) in zip(seen, points)
    )
    path, dashed = (" ".join(f"{x:.1f},{y:.1f}" for x, y in line) for line in (seen, guide))
    return (
        f'<text x="{left}" y="20">{title}</text><path d="M{left} 40V260H{left + 340}" fill="none" stroke="black"/>'
        f'<polyline points="{dashed}" fill="none" stroke="grey" stroke-dasharray="4"/>'
        f'<polyline points="{path}" fill="none" stroke="steelblue"/><g fill="steelblue">{marks}</g>'
    )


def plot(lines: list[dict[str, Any]], file: Path) -> None:
    """Two panels: against attributes, and against rows."""
    wide, long = ([line for line in lines if line["task"] == task] for task in ("publish", "rows"))
    loops = [float(line["calibration"]) for line in (*wide, *long)]
    file.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="860" height="300" font-family="sans-serif" font-size="11">'
        '<rect width="860" height="300" fill="white"/>'
        + panel(wide, "attributes", 60, 2, "PrivABN, 100,000 rows: CPU seconds against attributes; dashed: quadratic")
        + panel(long, "rows", 480, 1, "PrivABN, 100 attributes, a tree: CPU seconds against rows; dashed: linear")
        + f'<text x="60" y="285" fill="grey">logarithmic axes; a calibration loop beside each took {min(loops):.2f} '
        f"to {max(loops):.2f} s of CPU</text></svg>\n"
    )


def main() -> None:
    path = RESULTS / "wide.csv"
    lines: list[dict[str, Any]] = list(csv.DictReader(path.open())) if path.exists() else []
    known = {(line["task"], int(float(line["rows" if line["task"] == "rows" else "attributes"]))) for line in lines}
    for task, number in TASKS:
        if (task, number) in known:
            continue
        lines.append(apart(task, number))
        print(lines[-1], flush=True)
        fresh = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in lines[-1].items()})
    plot(lines, RESULTS / "wide.svg")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        main()
    else:
        delta = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-9
        print(json.dumps(one(sys.argv[1], int(sys.argv[2]), delta)))
