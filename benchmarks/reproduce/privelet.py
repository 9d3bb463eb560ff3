"""Privelet's figures: the variance of range counts against the paper's bound and plain noise, speed, two dimensions.

python benchmarks/reproduce/privelet.py      writes privelet.csv, privelet.svg and privelet-2d.csv beside this file
"""

from __future__ import annotations

import csv
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from understudy.demo import demo_schema, demo_table
from understudy.models.wavelet_trees import invert
from understudy.privacy.noise import Laplace
from understudy.privacy.questions.wavelets import Dimension, binary_tree
from understudy.privacy.random_source import SystemSource
from understudy.schema import Attribute, Intervals, Schema
from understudy.testing import SeededSource, publish_seeded

HERE = Path(__file__).parent
EPSILON = 1.0
RANGES = 20_000
QUERIES = 10_000
RUNS = 3


# -- one dimension: theory -----------------------------------------------------------------------------------------


def haar_square(low: Any, high: Any, m: int) -> Any:
    """‖u‖² of the ranges [low, high) without the base: on each level two tents, one at each end."""
    total, width = np.zeros(len(low)), 2
    while width <= m:
        ends = [np.minimum(x % width, width - x % width) / width for x in (low, high)]
        same = low // width == high // width
        total += ends[0] ** 2 + ends[1] ** 2 - 2 * same * ends[0] * ends[1]
        width *= 2
    return total


def variances(low: Any, high: Any, m: int) -> dict[str, Any]:
    """Of each range's noise, for the four ways to publish m counts under replace-one and pure epsilon."""
    depth, length = int(math.log2(m)), (high - low).astype(float)
    square = haar_square(low, high, m)

    def one(sensitivity: int) -> float:
        return Laplace(sensitivity / EPSILON).variance

    return {
        "haar tight": one(2 * depth) * square,
        "haar published": one(2 * (1 + depth)) * (square + (length / m) ** 2),
        "plain": one(2) * length,
        "plain, public total": one(2) * (length - length**2 / m),
    }


def cuts(m: int, generator: np.random.Generator) -> tuple[Any, Any]:
    """All ranges of a small domain, else random ones."""
    if m <= 128:
        return np.triu_indices(m + 1, 1)
    ends = np.sort(generator.integers(0, m + 1, (RANGES, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    return ends[:, 0], ends[:, 1]


def hard_cuts(m: int) -> tuple[Any, Any]:
    """Ranges whose ends are far from every dyadic cut (near a third of a block), and half and whole ranges."""
    near = {0, m // 2, m} | {round(m * i / 24) + d for i in range(25) for d in (-1, 0, 1)}
    points = np.array(sorted(p for p in near if 0 <= p <= m))
    low, high = np.triu_indices(len(points), 1)
    return points[low], points[high]


# -- one dimension: measured ---------------------------------------------------------------------------------------


def measured(m: int, source: SeededSource, asked: dict[str, tuple[Any, Any]]) -> dict[str, float]:
    """Mean square errors on noise alone, over the ranges of each name: the tight Haar form, and plain noise."""
    haar, depth = Dimension("haar", m, binary_tree(m)), int(math.log2(m))
    repeats = min(1000, max(60, (1 << 24) // m))
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        noise = source.laplace(np.zeros(m, dtype=np.int64), 2 * depth / EPSILON).astype(float)
        noise[0] = 0  # the public total
        plain = source.laplace(np.zeros(m, dtype=np.int64), 2 / EPSILON)
        for way, cells in (("haar tight", invert(noise, haar)), ("plain", plain)):
            sums = np.concatenate([[0], np.cumsum(cells)])
            for what, (low, high) in asked.items():
                found.setdefault(f"{what} {way}, measured", []).append(float(((sums[high] - sums[low]) ** 2).mean()))
    return {key: float(np.mean(values)) for key, values in found.items()}


def hardest(low: Any, high: Any, variance: Any) -> tuple[Any, Any]:
    """The range of the largest variance, alone."""
    at = int(variance.argmax())
    return low[at : at + 1], high[at : at + 1]


def lengths() -> list[dict[str, Any]]:
    generator, source, rows = np.random.default_rng(1), SeededSource(2), []
    for depth in range(4, 21):
        m = 1 << depth
        low, high = cuts(m, generator)
        average = {k: float(v.mean()) for k, v in variances(low, high, m).items()}
        every = [np.concatenate(pair) for pair in zip((low, high), hard_cuts(m))]
        all_worst = variances(*every, m)
        worst = {k: float(v.max()) for k, v in all_worst.items()}
        row: dict[str, Any] = {"m": m, "paper's bound": (2 + depth) * (2 + 2 * depth) ** 2 / EPSILON**2}
        row |= {f"worst {k}": v for k, v in worst.items()} | {f"average {k}": v for k, v in average.items()}
        asked = {"average": (low, high), "worst": hardest(*every, all_worst["haar tight"])}
        seen = measured(m, source, asked)
        seen["worst plain, measured"] = measured(m, source, {"worst": (np.zeros(1, int), np.full(1, m))})[
            "worst plain, measured"
        ]
        rows.append(row | seen)
        print("  ".join(f"{k} {v:.4g}" for k, v in rows[-1].items()), flush=True)
    return rows


def speed() -> None:
    """2^20 cells there and back; the exact noise apart."""
    m, counts = 1 << 20, np.random.default_rng(3).integers(0, 9, 1 << 20)
    begin = time.process_time()
    haar = Dimension("haar", m, binary_tree(m))
    exact = haar.forward(counts)
    there = time.process_time()
    noisy = SystemSource().laplace(exact, 40.0)
    drawn = time.process_time()
    invert(noisy.astype(float), haar)
    back = time.process_time()
    print(f"2^20 cells, CPU seconds: forward {there - begin:.3f}, noise {drawn - there:.2f}, back {back - drawn:.3f}")


# -- two dimensions --------------------------------------------------------------------------------------------------


def fine_schema(names: tuple[str, str], rows: int) -> Schema:
    """The demo table's columns in finer cells: years of age, steps of 500 euros, days."""
    full = demo_schema(rows)
    edges = {"age": range(16, 97), "income": range(0, 200_001, 500), "last_doctor_visit": None}
    attributes = []
    for name in names:
        own = full[name]
        if edges.get(name, ()) is None and isinstance(own.domain, Intervals):
            days = range(int(own.domain.edges[0]), int(own.domain.edges[-1]) + 1)
            own = Attribute(name, Intervals(own.kind, tuple(map(float, days))), missing=own.missing)
        elif name in edges:
            own = Attribute(name, Intervals(own.kind, tuple(map(float, edges[name] or ()))), missing=own.missing)
        attributes.append(own)
    return Schema("people", tuple(attributes), rows=rows)


def weights(attribute: Attribute, generator: np.random.Generator) -> Any:
    """A random range of an ordered attribute, or a random value or group."""
    if isinstance(attribute.domain, Intervals):
        low, high = np.sort(generator.choice(attribute.domain.size + 1, 2, replace=False))
        return ((np.arange(attribute.size) >= low) & (np.arange(attribute.size) < high)).astype(float)
    from understudy.schema import Axis

    view = attribute.view_map(Axis(attribute.name, int(generator.integers(attribute.levels))))
    return (view == generator.integers(view.max() + 1)).astype(float)


def two_dimensions(names: tuple[str, str], rows: int = 50_000) -> list[dict[str, Any]]:
    """Average relative errors of random range counts, each way RUNS times with noise of its own."""
    schema, generator = fine_schema(names, rows), np.random.default_rng(5)
    table = demo_table(rows, np.random.default_rng(4)).select(names)
    asked = [[weights(schema[n], generator) for n in names] for _ in range(QUERIES)]
    left, right = (np.stack([a[i] for a in asked]) for i in (0, 1))
    truth = _answers(left, _exact_table(table, schema), right)
    floor = np.maximum(truth, rows / 1000)  # the usual bound for small answers
    found = []
    for epsilon in (0.1, 1):
        for label, cells in published(table, schema, epsilon).items():
            errors = [float((np.abs(_answers(left, own, right) - truth) / floor).mean()) for own in cells]
            row = {"table": " × ".join(names), "epsilon": epsilon, "by": label, "runs": len(cells)}
            row |= {"relative error": round(float(np.mean(errors)), 4)}
            found.append(row | {"lowest": round(min(errors), 4), "highest": round(max(errors), 4)})
            print(found[-1], flush=True)
    return found


def published(table: Any, schema: Schema, epsilon: float) -> dict[str, list[Any]]:
    """Tables of counts, by every way to publish them."""
    names, rows = schema.names, table.num_rows
    found: dict[str, list[Any]] = {"uniform guess": [np.full(sizes_of(schema), rows / math.prod(sizes_of(schema)))]}
    for seed in range(RUNS):
        for label, transform in (("privelet", "auto"), ("haar/nominal", "wavelet"), ("plain Laplace", "plain")):
            done = publish_seeded(
                table, schema, seed=seed, epsilon=epsilon, method="privelet", ledger=_ledger(), transform=transform
            )
            found.setdefault(label, []).append(done.release.model.noisy_cells())  # type: ignore[attr-defined]
        bayes = publish_seeded(table, schema, seed=seed, epsilon=epsilon, method="privbayes", ledger=_ledger())
        found.setdefault("PrivBayes", []).append(bayes.release.model.project(names).table * rows)
    return found


def sizes_of(schema: Schema) -> tuple[int, ...]:
    return tuple(a.size for a in schema.modelled)


def _exact_table(table: Any, schema: Schema) -> Any:
    from understudy.engines.coding import encode_table
    from understudy.engines.sources import open_source

    coded = encode_table(open_source(table), schema).columns
    cells = np.zeros(sizes_of(schema))
    np.add.at(cells, tuple(coded[name] for name in schema.names), 1)
    return cells


def _answers(left: Any, cells: Any, right: Any) -> Any:
    return ((left @ cells) * right).sum(axis=1)


def _ledger() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp()) / "ledger.db"


# -- files -----------------------------------------------------------------------------------------------------------


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


SHOWN = {"plain": "#888", "plain, public total": "#bbb", "haar published": "#c2185b", "haar tight": "#0a5fb4"}


def write_svg(path: Path, rows: list[dict[str, Any]]) -> None:
    """Average and worst variance by length, on logarithmic scales; the bound dashed, measured points as dots."""
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1180 430" font-family="sans-serif" font-size="12">']
    parts.append('<rect width="1180" height="430" fill="white"/>')
    for i, kind in enumerate(("average", "worst")):
        parts += _panel(rows, kind, 60 + 590 * i)
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def _panel(rows: list[dict[str, Any]], kind: str, left: int) -> list[str]:
    low, high = 1.0, 7.2  # powers of ten

    def place(m: int, v: float) -> tuple[float, float]:
        return left + 24 * (math.log2(m) - 4), 380 - 320 * (math.log10(v) - low) / (high - low)

    lines = {f"{kind} {key}": colour for key, colour in SHOWN.items()} | {"paper's bound": "#333"}
    names, parts = {}, []
    for power in range(int(low), int(high) + 1):
        y = place(16, 10.0**power)[1]
        parts.append(f'<path d="M{left - 6} {y:.1f}h400" stroke="#eee"/>')
        parts.append(f'<text x="{left - 10}" y="{y + 4:.0f}" text-anchor="end">1e{power}</text>')
    for key, colour in lines.items():
        points = [place(row["m"], row[key]) for row in rows]
        dash = ' stroke-dasharray="5 4"' if key == "paper's bound" else ""
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6"{dash} points="{drawn}"/>')
        names[key.removeprefix(f"{kind} ")] = (points[-1], colour)
    below = math.inf
    for name, ((x, y), colour) in sorted(names.items(), key=lambda item: -item[1][0][1]):
        below = min(y + 4, below - 14)  # one label under another never
        parts.append(f'<text x="{x + 8:.0f}" y="{below:.0f}" fill="{colour}">{name}</text>')
    for row in rows:
        for key, colour in (("haar tight", "#0a5fb4"), ("plain", "#888")):
            x, y = place(row["m"], row[f"{kind} {key}, measured"])
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        if math.log2(row["m"]) % 2 == 0:
            parts.append(f'<text x="{x:.0f}" y="402" text-anchor="middle">2^{int(math.log2(row["m"]))}</text>')
    title = f"{kind} variance of a range count, epsilon 1, by number of cells (dots: measured)"
    return [*parts, f'<text x="{left}" y="24" font-weight="bold">{title}</text>']


if __name__ == "__main__":
    speed()  # CPU seconds of this machine
    variance = lengths()
    write_csv(HERE / "privelet.csv", variance)
    write_svg(HERE / "privelet.svg", variance)
    write_csv(
        HERE / "privelet-2d.csv", two_dimensions(("age", "income")) + two_dimensions(("last_doctor_visit", "region"))
    )
