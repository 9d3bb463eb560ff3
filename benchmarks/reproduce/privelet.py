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
from understudy.privacy.measurement import noise_variance
from understudy.privacy.random_source import SystemSource
from understudy.privacy.wavelets import Dimension, binary_tree
from understudy.schema import Attribute, Intervals, Schema
from understudy.testing import SeededSource, publish_seeded

HERE = Path(__file__).parent
EPSILON = 1.0
RANGES = 20_000
QUERIES = 10_000


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
        return noise_variance("laplace", sensitivity / EPSILON)

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


def measured(m: int, low: Any, high: Any, source: SeededSource) -> float:
    """The mean square error of the tight form over these ranges, on noise alone."""
    haar, depth = Dimension("haar", m, binary_tree(m)), int(math.log2(m))
    repeats, found = max(4, min(400, (1 << 22) // m)), []
    for _ in range(repeats):
        noise = source.laplace(np.zeros(m, dtype=np.int64), 2 * depth / EPSILON).astype(float)
        noise[0] = 0  # the public total
        sums = np.concatenate([[0], np.cumsum(invert(noise, haar))])
        found.append(float(((sums[high] - sums[low]) ** 2).mean()))
    return float(np.mean(found))


def lengths() -> list[dict[str, Any]]:
    generator, source, rows = np.random.default_rng(1), SeededSource(2), []
    for depth in range(4, 21):
        m = 1 << depth
        low, high = cuts(m, generator)
        average = {k: float(v.mean()) for k, v in variances(low, high, m).items()}
        every = [np.concatenate(pair) for pair in zip((low, high), hard_cuts(m))]
        worst = {k: float(v.max()) for k, v in variances(*every, m).items()}
        row: dict[str, Any] = {"m": m, "paper's bound": (2 + depth) * (2 + 2 * depth) ** 2 / EPSILON**2}
        row |= {f"worst {k}": v for k, v in worst.items()} | {f"average {k}": v for k, v in average.items()}
        rows.append(row | {"average haar tight, measured": measured(m, low, high, source)})
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
    schema, generator = fine_schema(names, rows), np.random.default_rng(5)
    table = demo_table(rows, np.random.default_rng(4)).select(names)
    asked = [[weights(schema[n], generator) for n in names] for _ in range(QUERIES)]
    left, right = (np.stack([a[i] for a in asked]) for i in (0, 1))
    sizes = tuple(schema[n].size for n in names)
    runs = {
        "privelet": ("privelet", "auto"),
        "haar/nominal": ("privelet", "wavelet"),
        "plain Laplace": ("privelet", "plain"),
    }
    found, truth = [], None
    for epsilon in (0.1, 1):
        tables: dict[str, Any] = {"uniform guess": np.full(sizes, rows / math.prod(sizes))}
        for label, (method, transform) in runs.items():
            done = publish_seeded(
                table, schema, seed=6, epsilon=epsilon, method=method, ledger=_ledger(), transform=transform
            )
            tables[label] = done.release.model.noisy_cells()  # type: ignore[attr-defined]
        bayes = publish_seeded(table, schema, seed=6, epsilon=epsilon, method="privbayes", ledger=_ledger())
        tables["PrivBayes"] = bayes.release.model.project(names).table * rows
        if truth is None:
            exact = publish_seeded(
                table, schema, seed=6, epsilon=9999, method="privelet", ledger=_ledger(), transform="plain"
            )
            truth = _answers(left, np.rint(exact.release.model.noisy_cells()), right)  # type: ignore[attr-defined]
        floor = np.maximum(truth, rows / 1000)  # the usual bound for small answers
        for label, cells in tables.items():
            error = float((np.abs(_answers(left, cells, right) - truth) / floor).mean())
            found.append(
                {"table": " × ".join(names), "epsilon": epsilon, "by": label, "relative error": round(error, 4)}
            )
            print(found[-1], flush=True)
    return found


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


def write_svg(path: Path, rows: list[dict[str, Any]]) -> None:
    """Average variance by length, both on logarithmic scales; the bound dashed, measured points as dots."""
    shown = {"average plain, public total": "#999", "average haar published": "#d08", "average haar tight": "#06c"}
    top = math.log10(max(row["paper's bound"] for row in rows) * 30)
    place = lambda m, v: (60 + 30 * (math.log2(m) - 4), 360 - 330 * math.log10(max(v, 1)) / top)  # noqa: E731
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 400" font-family="sans-serif" font-size="12">']
    for key, colour in (shown | {"paper's bound": "#333"}).items():
        points = [place(row["m"], row[key]) for row in rows if math.log10(row[key]) <= top]
        dash = ' stroke-dasharray="5 4"' if key == "paper's bound" else ""
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{colour}"{dash} points="{line}"/>')
        parts.append(f'<text x="{points[-1][0] + 5:.0f}" y="{points[-1][1]:.0f}" fill="{colour}">{key}</text>')
    for row in rows:
        x, y = place(row["m"], row["average haar tight, measured"])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#06c"/>')
        parts.append(f'<text x="{x:.0f}" y="380" text-anchor="middle">2^{int(math.log2(row["m"]))}</text>')
    for power in range(int(top) + 1):
        parts.append(f'<text x="50" y="{place(16, 10**power)[1]:.0f}" text-anchor="end">1e{power}</text>')
    parts.append('<text x="60" y="20">variance of a range count, epsilon 1, by number of cells (dots: measured)</text>')
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


if __name__ == "__main__":
    speed()
    variance = lengths()
    write_csv(HERE / "privelet.csv", variance)
    write_svg(HERE / "privelet.svg", variance)
    write_csv(
        HERE / "privelet-2d.csv", two_dimensions(("age", "income")) + two_dimensions(("last_doctor_visit", "region"))
    )
