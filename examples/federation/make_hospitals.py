"""Three made-up hospitals: one CSV of strokes each, and the schema they agree on."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

import numpy as np

ROWS = {"charity": 1500, "lindenhof": 900, "seaview": 600}
ARRIVALS = ("ambulance", "referred", "walk-in")
OUTCOMES = ("home", "rehabilitation", "care", "died")


def patients(rows: int, older: float, g: np.random.Generator) -> list[list[object]]:
    age = np.clip(g.normal(68 + older, 13, rows), 18, 105).astype(int)
    severity = np.clip(g.gamma(1.6, 4.5, rows) + 0.08 * (age - 65), 0, 42).astype(int)
    arrival = np.where(severity > 5, np.where(g.random(rows) < 0.85, 0, 1), g.integers(0, 3, rows))
    lysis = (arrival == 0) & (severity > 3) & (g.random(rows) < 0.45)
    risk = severity / 20 + (age - 60) / 60 - 0.3 * lysis + g.normal(0, 0.35, rows)
    outcome = np.digitize(risk, [0.45, 1.0, 1.6])
    sexes = np.where(g.random(rows) < 0.47, "f", "m")
    return [
        [int(a), str(s), ARRIVALS[r], int(v), "yes" if t else "no", OUTCOMES[o]]
        for a, s, r, v, t, o in zip(age, sexes, arrival, severity, lysis, outcome)
    ]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("schema.toml"), folder / "schema.toml")
    generator = np.random.default_rng()
    for older, (name, rows) in enumerate(ROWS.items()):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["age", "sex", "arrival", "severity", "lysis", "outcome"])
            writer.writerows(patients(rows, 2.0 * older, generator))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
