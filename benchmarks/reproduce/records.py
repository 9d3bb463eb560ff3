"""What was measured: one line a figure, appended at once, so that an interrupted battery can be continued."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

COLUMNS = ("data", "kind", "curve", "epsilon", "measure", "repetition", "value")


class Point(NamedTuple):
    """A point of a curve: what was run on which data, and what was measured of it."""

    data: str
    kind: str  # tables, svm, network
    curve: str
    epsilon: str
    measure: str


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % t interval over repetitions."""

    mean: float
    low: float
    high: float
    runs: int


@dataclass
class Records:
    """Values by point and repetition, backed by a CSV."""

    path: Path
    values: dict[Point, dict[int, float]] = field(default_factory=dict)

    @staticmethod
    def open(path: Path, *others: Path) -> Records:
        """`others` are records of other papers: the same trial with the same seed is not run twice."""
        records = Records(path)
        for source in (*others, path):
            if source.exists():
                with source.open(newline="", encoding="utf-8") as file:
                    for row in csv.DictReader(file):
                        point = Point(*(row[c] for c in COLUMNS[:5]))
                        records.values.setdefault(point, {})[int(row["repetition"])] = float(row["value"])
        return records

    def missing(self, point: Point, repetition: int) -> bool:
        return repetition not in self.values.get(point, {})

    def add(self, found: Mapping[Point, float], repetition: int) -> None:
        fresh = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if fresh:
                writer.writerow(COLUMNS)
            writer.writerows([*point, repetition, f"{value:.6g}"] for point, value in found.items())
        for point, value in found.items():
            self.values.setdefault(point, {})[repetition] = float(f"{value:.6g}")

    def mean(self, point: Point) -> Interval | None:
        found = self.values.get(point)
        return interval(found.values()) if found else None

    def difference(self, first: Point, second: Point, factor: float = 1.0, level: float = 0.95) -> Interval | None:
        """first − factor·second, paired over the repetitions that both have."""
        a, b = self.values.get(first, {}), self.values.get(second, {})
        both = sorted(a.keys() & b.keys())
        return interval([a[r] - factor * b[r] for r in both], level) if both else None


def interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Student's t; of a single value no interval is known."""
    line = np.array(list(values), dtype=np.float64)
    mean, runs = float(line.mean()), len(line)
    if runs < 2:
        return Interval(mean, -math.inf, math.inf, runs)
    from scipy.stats import t

    half = float(t.ppf(0.5 + level / 2, runs - 1)) * float(line.std(ddof=1)) / math.sqrt(runs)
    return Interval(mean, mean - half, mean + half, runs)
