"""Columns with spikes at no round value, many times: what a look into leaves that stand out gives, and costs others.

    python benchmarks/raw/spike_study.py [spiked:8000x24 smooth:8000x24 heaped:8000x24 census …] [--promise pure]
        [--epsilon 4] [--runs 8] [--variants "understudy.models.spikes:CLEAR=1e9" base]

`spiked` are the shapes below; the rest is as in `rounding_study.py`, and so are the figures in a cell, but for the
last: in how many runs leaves were looked into. By default the first variant never looks. The study behind
docs/decisions/0047-spikes.md; nothing here is a release.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import rounding_study
import tail_study
from few_rows import constants
from rounding_study import HEAPED, Rounded
from tail_study import MONEY, SHAPES, Draw


def _at(value: float, share: float, draw: Draw) -> Draw:
    """Return draws of which this share is one value."""

    def drawn(n: int, g: np.random.Generator) -> Any:
        return np.where(g.random(n) < share, value, draw(n, g))

    return drawn


def _number(high: float, **more: Any) -> dict[str, Any]:
    return {"kind": "number", "range": [0, high], **more}


def _schooling(n: int, g: np.random.Generator) -> Any:
    return np.round(g.normal(10, 3.5, n))


def _pay(n: int, g: np.random.Generator) -> Any:
    return g.lognormal(9.8, 0.8, n)


def _pay(n: int, g: np.random.Generator) -> Any:
    return g.lognormal(9.8, 0.8, n)


def _bill(n: int, g: np.random.Generator) -> Any:
    return g.lognormal(3.5, 0.7, n)


PAY = {"kind": "integer", "range": [0, 200_000]}
PAY = {"kind": "integer", "range": [0, 200_000]}
SPIKED: dict[str, tuple[dict[str, Any], Draw]] = {
    "a mean written in, 25 %": (_number(20, decimals=4), _at(9.9372, 0.25, _schooling)),
    "a mean written in, 3 %": (_number(20, decimals=4), _at(9.9372, 0.03, _schooling)),
    "a mean, decimals not declared": (_number(20), _at(9.9372, 0.25, _schooling)),
    "a threshold, 10 %": (PAY, _at(15_024, 0.1, _pay)),
    "a threshold, 1 %": (PAY, _at(15_024, 0.01, _pay)),
    "a threshold in a long range": (MONEY, _at(15_024, 0.05, _pay)),
    "prices": (
        _number(200, decimals=2),
        lambda n, g: np.where(g.random(n) < 0.5, g.choice([9.99, 14.95, 19.99, 49.95, 123.45], n), _bill(n, g)),
    ),
    "prices in a long range": (
        _number(5000, decimals=2),
        lambda n, g: np.where(g.random(n) < 0.5, g.choice([9.99, 14.95, 19.99, 49.95, 123.45], n), _bill(n, g)),
    ),
    "prices alone": HEAPED["five prices"],
    "salaries alone": HEAPED["five salaries"],
    "30 % at 137.25": HEAPED["a spike at 137.25"],
    "a median written in": (
        {"kind": "integer", "range": [0, 9_999]}, _at(1_237, 0.15, lambda n, g: g.gamma(2, 800, n))
    ),
    "a narrow column": (MONEY, lambda n, g: g.normal(31_400, 150, n)),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["spiked:8000x24", "smooth:8000x24"])
    parser.add_argument("--promise", default="approximate", choices=list(tail_study.PROMISES))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--variants", nargs="*", default=["understudy.models.spikes:CLEAR=1e9", "base"])
    asked = parser.parse_args()
    for name in asked.tables:
        means = []
        for column in drawn(name, asked.promise):
            rounded, found = Rounded(**vars(column)), []
            for variant in asked.variants:
                with constants(variant):
                    found.append(np.asarray([_trial(rounded, asked, run) for run in range(asked.runs)]))
            print(f"{column.label:34}", *(_shown(of, found[0]) for of in found), sep=" | ", flush=True)
            means.append([of.mean(axis=0) for of in found])
        whole = np.asarray(means).mean(axis=0)
        print(f"{name + ', mean':34}", *(" ".join(f"{value:.4f}" for value in mean) for mean in whole), sep=" | ")


def drawn(name: str, promise: str) -> Any:
    """Yield the columns of a table of shapes, or of a raw table."""
    kind, _, size = name.partition(":")
    shapes = {"spiked": SPIKED, "smooth": SHAPES}.get(kind)
    if shapes is None:
        return rounding_study.drawn(name, promise)
    return tail_study.generated(*map(int, size.split("x")), promise, shapes)


def _trial(column: Rounded, asked: argparse.Namespace, run: int) -> list[float]:
    before = tail_study.looks
    figures = tail_study.trial(column, asked.promise, asked.epsilon, True, run)
    return [*figures, float(tail_study.looks - before)]


def _shown(figures: Any, first: Any) -> str:
    return f"{tail_study.shown(figures[:, :-1], first[:, :-1])} {int(figures[:, -1].sum())}"


if __name__ == "__main__":
    main()
