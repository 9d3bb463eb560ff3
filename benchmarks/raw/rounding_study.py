"""Heaped columns, many times: what counting rounding classes costs a single column, and what it gives.

    python benchmarks/raw/rounding_study.py [heaped:8000x24 smooth:8000x24 census covid_testing …] [--promise pure]
        [--epsilon 4] [--runs 10] [--variants "understudy.methods.binned:MIN_SEEN=1e9" base]

`heaped` are the shapes below, `smooth` those of `tail_study.py`, a name is a raw table. All variants see the same
noise; by default the first one buys no classes. Each cell is W1, KS, quantile error, |ln| of the ratio of standard
deviations and the TVD of how round values are, and after it a sign for each: `*` better and `!` worse than the first by
two standard errors. The study behind docs/decisions/0042-rounding-classes.md; nothing here is a release.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import tail_study
from closeness import ROUND
from few_rows import constants
from tail_study import MONEY, Column, Draw, Floats

MOST_DECIMALS = 6


def _heaped(values: Any, g: np.random.Generator, *heaps: tuple[float, float]) -> Any:
    """Return values of which shares are rounded to steps: (share, step), …"""
    found, drawn, below = values.copy(), g.random(len(values)), 0.0
    for share, step in heaps:
        chosen = (drawn >= below) & (drawn < below + share)
        found[chosen], below = np.round(values[chosen] / step) * step, below + share
    return found


def _number(high: float, **more: Any) -> dict[str, Any]:
    return {"kind": "number", "range": [0, high], **more}


HEAPED: dict[str, tuple[dict[str, Any], Draw]] = {
    "incomes": (MONEY, lambda n, g: _heaped(g.lognormal(10.3, 0.8, n), g, (0.3, 5000), (0.3, 1000), (0.2, 100))),
    "assets": (
        {"kind": "integer", "range": [0, 10_000_000]},
        lambda n, g: np.where(g.random(n) < 0.5, _heaped(g.lognormal(10, 1.5, n), g, (0.4, 1e4), (0.3, 1e3)), 0),
    ),
    "prices that end in 49 and 99": (
        {"kind": "integer", "range": [0, 100_000]},
        lambda n, g: _heaped(g.lognormal(7, 0.5, n) + 1, g, (0.5, 50)) - 1,
    ),
    "weights": (_number(300, decimals=1), lambda n, g: _heaped(g.normal(75, 14, n), g, (0.3, 5), (0.3, 1))),
    "minutes": (
        {"kind": "integer", "range": [0, 1440]},
        lambda n, g: _heaped(g.normal(700, 200, n), g, (0.4, 60), (0.3, 15), (0.1, 5)),
    ),
    "five prices": (
        _number(1000, decimals=2),
        lambda n, g: g.choice([9.99, 14.95, 19.99, 49.5, 123.45], n, p=[0.4, 0.2, 0.2, 0.1, 0.1]),
    ),
    "a spike at 137.25": (
        _number(1000, decimals=2), lambda n, g: np.where(g.random(n) < 0.3, 137.25, g.gamma(3, 60, n))
    ),
    "five salaries": (
        {"kind": "integer", "range": [0, 500_000]}, lambda n, g: g.choice([18450, 21375, 26812, 33127, 41208], n)
    ),
    "decimals that nobody declared": (
        _number(1000), lambda n, g: np.round(_heaped(g.lognormal(4, 0.7, n), g, (0.3, 10), (0.4, 1)), 1)
    ),
    "sizes": (
        _number(10),
        lambda n, g: np.round(_heaped(g.lognormal(-0.3, 0.5, n) + 0.2, g, (0.3, 0.5), (0.2, 0.1), (0.2, 0.05)), 2),
    ),
}  # fmt: skip


class Rounded(Column):
    """A column whose distances say how round values are, too."""

    def distances(self, made: Floats) -> list[float]:
        real, places = self.present, 0
        while places < MOST_DECIMALS and not np.allclose(np.round(real, places), real, rtol=0, atol=1e-9):
            places += 1
        written = np.floor(made * 10.0**places + 1e-6) / 10.0**places
        shares = [_classes(values, places) for values in (real, written)]
        return [*super().distances(written), float(np.abs(shares[0] - shares[1]).sum() / 2)]


def _classes(values: Floats, places: int) -> Floats:
    units = np.round(values * 10.0**places).astype(np.int64)
    found = np.full(len(units), len(ROUND))
    for index in reversed(range(len(ROUND))):
        found[units % ROUND[index] == 0] = index
    found[units == 0] = len(ROUND) + 1
    return np.bincount(found, minlength=len(ROUND) + 2) / len(units)


def drawn(name: str, promise: str) -> Iterator[Column]:
    """Yield the columns of a table of shapes, or of a raw table."""
    kind, _, size = name.partition(":")
    if not size:
        yield from tail_study.raw(name, promise)
        return
    shapes = HEAPED if kind == "heaped" else tail_study.SHAPES
    yield from tail_study.generated(*map(int, size.split("x")), promise, shapes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["heaped:8000x24", "smooth:8000x24"])
    parser.add_argument("--promise", default="approximate", choices=list(tail_study.PROMISES))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--variants", nargs="*", default=["understudy.methods.binned:MIN_SEEN=1e9", "base"])
    asked = parser.parse_args()
    for name in asked.tables:
        means = []
        for column in drawn(name, asked.promise):
            rounded, found = Rounded(**vars(column)), []
            for variant in asked.variants:
                with constants(variant):
                    runs = range(asked.runs)
                    trials = [tail_study.trial(rounded, asked.promise, asked.epsilon, True, run) for run in runs]
                found.append(np.asarray(trials))
            print(f"{column.label:34}", *(tail_study.shown(of, found[0]) for of in found), sep=" | ", flush=True)
            means.append([of.mean(axis=0) for of in found])
        whole = np.asarray(means).mean(axis=0)
        print(f"{name + ', mean':34}", *(" ".join(f"{value:.4f}" for value in mean) for mean in whole), sep=" | ")


if __name__ == "__main__":
    main()
