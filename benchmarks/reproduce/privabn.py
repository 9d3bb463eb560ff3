"""PrivABN's figures again (Lan et al. 2021, Section 6), with the published version drawn as what it is: NOT PRIVATE.

    python benchmarks/reproduce/privabn.py [--page | --full] [--figure 1] [--plot-only]

"PrivABN" is ours, pure ε under replace-one; "as published" loses far more than its ε says (methods/privabn/PROOF.md),
and its curve shows what the false guarantee buys. The paper's L1 error as printed compares the j-th original row with
the j-th synthetic one, which have nothing to do with each other: here it is Σ|p − q| over the same tables as L2.
Noise is seeded from each trial's name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jtree
import measures
import numpy as np
from battery import Grid, main
from charts import Curve, Figure, Panel
from records import Point
from trials import Data, drawn, fitted, seed_of

from rivals import published_privabn
from understudy.privacy.custodian import ExactTable

PAPER = ("0.001", "0.005", "0.01", "0.05", "0.1", "1.0")
SOME = ("0.001", "0.01", "0.1", "1.0")  # the part of the range that the page has
FINE = {"nltcs": ("0.1", "0.4", "1.0", "2.0"), "acs": ("0.1", "0.225", "1.0", "2.0")}
RETAIL = ("0.1", "1.0")
TITLES = {"nltcs": "NLTCS", "acs": "ACS"}
BOUND = 0.01
PUBLISHED = "as published: NOT PRIVATE"
MEANT = "as meant: NOT PRIVATE"  # without the slip in the printed search
NOISELESS = "as published, without noise: NOT PRIVATE"
OURS = ("PrivABN", "understudy, by default")
CURVES = (*OURS, MEANT, PUBLISHED, NOISELESS)


@cache
def scores_of(data: str) -> published_privabn.Scores:
    table = Data.named(data).whole
    return published_privabn.Scores(np.stack([table.codes(name) for name in table.schema.names]))


def rows_of(data: Data, at: Point, seed: int) -> ExactTable:
    real = data.whole
    if at.curve not in (MEANT, PUBLISHED, NOISELESS):
        method, options = setting(at)
        return drawn(fitted(real, method, options, at.epsilon, seed), real.rows(), seed)
    epsilon = 1e9 if at.curve == NOISELESS else float(at.epsilon)
    generator = np.random.default_rng(seed)
    made = published_privabn.publish(scores_of(data.name), epsilon, generator, printed=at.curve != MEANT)
    columns = {name: codes.astype(np.uint8) for name, codes in zip(real.schema.names, made)}
    return ExactTable(columns, real.rows(), real.schema)


def setting(at: Point) -> tuple[str, dict[str, Any]]:
    """Ours, or one of the curves of JTree's Fig. 2, whose trials are shared."""
    named = {"PrivABN": "privabn", "understudy, by default": "auto"}
    return (named[at.curve], {}) if at.curve in named else jtree.setting(at.data, at.curve, at.epsilon)


def run(points: Sequence[Point], repetition: int) -> dict[Point, float]:
    """All that is asked of one trial; L1 is twice the total variation."""
    at = points[0]
    data, seed = Data.named(at.data), seed_of(at.data, at.kind, at.curve, at.epsilon, repetition)
    real = data.whole
    model = fitted(real, *setting(at), at.epsilon, seed).model if at.curve == "PriView" else None
    rows = rows_of(data, at, seed) if model is None else None
    found = {}
    for point in points:
        kind, tables = measures.tables_of(point.measure.replace("l1", "tvd"), real)
        made = measures.of_views(model, tables) if rows is None else measures.of_rows(rows, tables)
        value = measures.table_errors(real, made, tables, [kind])[kind]
        found[point] = 2 * value if point.measure.startswith("l1") else value
    return found


# -- the figures ---------------------------------------------------------------------------------------------------


def panel(data: str, norm: str, ways: int, curves: Sequence[str], epsilons: Sequence[str]) -> Panel:
    lines = tuple(
        Curve(c, tuple((float(e), Point(data, "tables", c, e, f"{norm}{ways}x200")) for e in epsilons), "NOT" in c)
        for c in curves
    )
    return Panel(f"{TITLES[data]}, {ways}-way", lines, y=f"{norm.upper()} error", log_y=True)


def by_ways(epsilon: str) -> Panel:
    names = ("PrivABN", "PriView", "PrivBayes", "JTree", "understudy privbayes", "understudy jtree", PUBLISHED)
    curves = tuple(
        Curve(c, tuple((float(k), Point("retail", "tables", c, epsilon, f"l2{k}x200")) for k in (4, 6, 8)), "NOT" in c)
        for c in names
    )
    return Panel(f"Retail, ε = {epsilon}", curves, x="α, of α-way tables", y="L2 error", log_x=False, log_y=True)


def figures(grid: Grid) -> list[Figure]:
    wide = grid.epsilons(SOME, PAPER)
    first = tuple(panel(d, norm, k, CURVES, wide) for norm in ("l1", "l2") for d in TITLES for k in (3, 7, 12))
    second = tuple(panel(d, "l2", 3, CURVES, grid.epsilons(FINE[d])) for d in TITLES)
    return [
        Figure("figure-02", "PrivABN Fig. 2: where the L2 error of 3-way tables falls below 0.01", second),
        Figure("figure-03", "PrivABN Fig. 3: 200 random tables of Retail", tuple(map(by_ways, RETAIL))),
        Figure("figure-01", "PrivABN Fig. 1: 200 random tables", first, 3),
    ]


if __name__ == "__main__":
    main("privabn", figures, run, shared=["jtree"])
