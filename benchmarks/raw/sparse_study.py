"""Short ranges that few rows have a value in: each value's cell as it was measured, against drawn to a smooth shape.

    python benchmarks/raw/sparse_study.py [--runs 8] [--clear 8 15 24 50] [--laplace]

A column of 12, 30 or 60 whole numbers, a cell each, is missing in most rows. Its noisy one-way table is refitted by the
edition before and by the newest one; figures are of the cells against the rows that were drawn: W1 and ln of standard
deviations in those of the column, KS and total variation. `--clear` is how many standard deviations of a cell's noise
the rows with a value are.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from noisy_tree import Floats

from understudy.models.edition import Edition
from understudy.models.refit import Design, refit
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.schema import Axis, Schema

NOISE, ROWS_OVER_VALUES = 30.0, 5
SIZES = (12, 30, 60)
EDITIONS = (Edition.SHRUNK, Edition.SPARSE)
TABLE = '[table]\nname = "t"\nrows = {rows}\n[attributes.x]\nkind = "integer"\nrange = [0, {last}]\nmissing = ["NA"]\n'


def laws(size: int) -> dict[str, Floats]:
    """Return shares of the cells: humps, steps, heaps, and codes that have no shape at all."""
    x = np.arange(size)

    def hump(place: float, width: float) -> Floats:
        return np.asarray(np.exp(-((x - place * size) ** 2) / 2 / (width * size) ** 2))

    many = hump(0.2, 0.15)
    found = {
        "even": np.ones(size), "hump": hump(0.6, 0.15), "narrow": hump(0.3, 0.05), "late": 1.0 * (x >= 0.6 * size),
        "falling": np.exp(-x / (size * 0.15)), "half zero": np.where(x == 0, many.sum(), many),
        "two humps": hump(0.2, 0.06) + 0.6 * hump(0.75, 0.08), "season": 1 + 0.5 * np.sin(x / size * 2 * np.pi),
        "heaped": hump(0.5, 0.2) * np.where(x % 5 == 0, 3.0, 0.5), "at the end": hump(1.0, 0.1),
        "codes": np.random.default_rng(size).dirichlet(np.full(size, 0.4)),
    }  # fmt: skip
    return {name: law / law.sum() for name, law in found.items()}


def figures(real: Floats, made: Floats) -> list[float]:
    x = np.arange(len(real))
    below = np.abs(np.cumsum(made) - np.cumsum(real))
    spreads = [math.sqrt(law @ (x - law @ x) ** 2) for law in (real, made)]
    return [
        below.sum() / spreads[0], below.max(), np.abs(real - made).sum() / 2,
        abs(math.log(max(spreads[1], 0.05) / spreads[0])),
    ]  # fmt: skip


def errors(law: Floats, clear: float, noise: Noise, generator: np.random.Generator) -> list[list[float]]:
    """Return the figures of one draw by each edition."""
    present = int(clear * math.sqrt(noise.variance))
    rows = ROWS_OVER_VALUES * present
    schema = Schema.from_toml(TABLE.format(rows=rows, last=len(law) - 1))
    counts = np.append(generator.multinomial(present, law), rows - present)
    if isinstance(noise, Laplace):
        drawn = generator.laplace(0, noise.scale, len(counts))
    else:
        drawn = generator.normal(0, math.sqrt(noise.variance), len(counts))
    measured = Measurement((Axis("x"),), np.rint(counts + drawn).astype(np.int64), noise)
    found = []
    for edition in EDITIONS:
        made = refit([measured], Design(schema, edition=edition)).model.project(["x"]).table[:-1]
        made = made / made.sum() if made.sum() > 0 else np.full(len(law), 1 / len(law))
        found.append(figures(counts[:-1] / present, made))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--clear", nargs="*", type=float, default=[8, 15, 24, 50])
    parser.add_argument("--laplace", action="store_true")
    asked = parser.parse_args()
    noise: Noise = Laplace(NOISE / math.sqrt(2)) if asked.laplace else Gaussian(NOISE)
    generator = np.random.default_rng(48)
    for clear in asked.clear:
        every = []
        for size in SIZES:
            for name, law in laws(size).items():
                found = np.mean([errors(law, clear, noise, generator) for _ in range(asked.runs)], axis=0)
                every.append(found)
                print(f"{clear:>4g} {size:>3} {name:12} {_shown(found)}", flush=True)
        print(f"{clear:>4g} all {'':12} {_shown(np.mean(every, axis=0))}", flush=True)


def _shown(found: Floats) -> str:
    return " → ".join(" / ".join(f"{value:.3f}" for value in of) for of in found)


if __name__ == "__main__":
    main()
