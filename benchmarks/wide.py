"""Wide tables: counting all pairs, publishing hundreds of columns, and the cost against the number of columns.

python benchmarks/wide.py                     all of it; figures to benchmarks/results/wide.csv and wide.svg
python benchmarks/wide.py publish 500         one line of it: so many attributes, a process of its own for peak memory
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import datasets
from understudy.engines.memory import MemoryEngine
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.schema import Attribute, Axis, Categories, Schema
from yardstick import calibration, peak_mb, table, timed

ROWS = 100_000
WIDTHS = (50, 100, 200, 500, 1000)
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
    return {"pairs": math.comb(attributes, 2), "wall": clock.wall, "cpu": clock.cpu, "mb": peak_mb()}


def publish(
    columns: dict[str, np.ndarray], pairs: list[tuple[str, str]], delta: float, **options: Any
) -> dict[str, Any]:
    rows = len(next(iter(columns.values())))
    schema = wide_schema(list(columns), rows)
    data = pa.table({name: pa.array(column) for name, column in columns.items()})
    with tempfile.TemporaryDirectory() as folder, timed() as clock:
        ledger = Path(folder) / "ledger.db"
        done = run(data, schema, Budget(1, delta), "privabn", options, ledger=ledger)
        codes = done.release.sample_codes(rows, None, done.release.generator())
    own, alone = distances(columns, codes, schema, pairs)
    network = done.release.facts["network"]
    found = {frozenset((line["attribute"], parent)) for line in network for parent in line["parents"]}
    true = sum(frozenset(pair) in found for pair in pairs) / len(pairs)
    return {
        "attributes": len(columns), "delta": delta, "wall": clock.wall, "cpu": clock.cpu, "mb": peak_mb(), "tvd": own,
        "independent": alone, "true pairs found": true, **{f"{k} s": s for k, s in done.seconds.items()},
    }  # fmt: skip


def publish_tree(attributes: int, delta: float, **options: Any) -> dict[str, Any]:
    return publish(*tree(attributes, ROWS), delta, **options)


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


def apart(*words: Any) -> dict[str, Any]:
    """In a process of its own, so that its peak memory is its own."""
    command = [sys.executable, __file__, *map(str, words)]
    out = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found: dict[str, Any] = json.loads(out)
    return found


def plot(lines: list[dict[str, Any]], file: Path) -> None:
    """CPU seconds against attributes on logarithmic axes, with a line of slope 2 for comparison."""

    def at(x: float, y: float) -> tuple[float, float]:
        return 60 + 340 * math.log(x / 50) / math.log(20), 260 - 220 * math.log(y) / math.log(200)

    seen = [at(line["attributes"], line["cpu"]) for line in lines]
    top = lines[-1]
    slope = [at(x, top["cpu"] * (x / top["attributes"]) ** 2) for x in (top["attributes"] / 8, top["attributes"])]
    marks = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/><text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">'
        f"{line['attributes']}: {line['cpu']:.0f} s</text>"
        for (x, y), line in zip(seen, lines)
    )
    path, guide = (" ".join(f"{x:.1f},{y:.1f}" for x, y in points) for points in (seen, slope))
    file.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="440" height="300" font-family="sans-serif" font-size="11">'
        '<rect width="440" height="300" fill="white"/><text x="60" y="20">PrivABN, 100,000 rows: CPU seconds of a '
        'publication against attributes</text><path d="M60 40V260H410" fill="none" stroke="black"/>'
        f'<polyline points="{guide}" fill="none" stroke="grey" stroke-dasharray="4"/>'
        f'<polyline points="{path}" fill="none" stroke="steelblue"/><g fill="steelblue">{marks}</g>'
        '<text x="60" y="285" fill="grey">logarithmic axes; dashed: quadratic</text></svg>\n'
    )


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    print(f"calibration: {calibration():.2f} s of CPU for 50 bincounts of 1,000,000 codes")
    pairs = apart("pairs", 1000)
    print(f"all {pairs['pairs']:,} pairs of 1,000 columns: {pairs['wall']:.1f} s wall, {pairs['cpu']:.1f} s of CPU")
    print(f"  with a peak of {pairs['mb']:.0f} MB")
    lines = []
    for attributes in WIDTHS:
        lines.append(apart("publish", attributes))
        print({k: round(v, 4) for k, v in lines[-1].items()}, flush=True)
    with (RESULTS / "wide.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[-1]))
        writer.writeheader()
        writer.writerows(lines)
    plot(lines, RESULTS / "wide.svg")
    print("retail, items 0–499:", {k: round(v, 4) for k, v in apart("retail", 500).items()})


if __name__ == "__main__":
    if len(sys.argv) < 3:
        main()
    else:
        what, width = sys.argv[1], int(sys.argv[2])
        delta = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-9
        work = {"pairs": count_pairs}.get(what)
        tasks = {"publish": publish_tree, "retail": publish_retail}
        print(json.dumps(work(width) if work else tasks[what](width, delta)))
