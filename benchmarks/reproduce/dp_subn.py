"""DP-SUBN's figures again (Su et al. 2016, Section VII), on Adult split among owners.

    python benchmarks/reproduce/dp_subn.py [--page | --full] [--figure 4] [--plot-only]

All methods are pure ε under replace-one, with t = 1: noise shares are calibrated to K − 1 owners. Each trial is fitted
on 80 % of the rows: its tables are compared with those of the same rows, its SVMs tested on the other 20 %. Noise is
seeded; secure sums are drawn directly from the law of the owners' shares (`benchmarks/federation.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import binary_form
import measures
from battery import Grid, main
from charts import Curve, Figure, Panel
from records import Point
from trials import Data, drawn, fitted, seed_of

import datasets
from federation import forget, parts_of, pooled_fit
from rivals import dist_diff_gen
from understudy.privacy.custodian import ExactTable

PAPER = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
EPSILONS = ("0.05", "0.2", "1.6")  # of the page
OWNERS = (2, 4, 10)
EVERY = (2, 4, 6, 8, 10)
CENTRAL = "central PrivBayes"
ADAPTIVE, SEQUENTIAL = "DP-SUBN, adaptive", "DP-SUBN, sequential"
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    ADAPTIVE: ("dp-subn", {"variant": "adaptive"}),
    SEQUENTIAL: ("dp-subn", {"variant": "sequential"}),
    "DP-SUBN, frontier": ("dp-subn", {"variant": "frontier"}),
    "DP-CCBN": ("dp-ccbn", {}),
    "Independent": ("independent", {}),
}
CURVES = (CENTRAL, *SETTINGS)
TARGETS = {t.attribute: t for t in datasets.TARGETS["adult"]}
MEASURES = {"tvd2": "2-way tables", "tvd3": "3-way tables", "svm education": "education", "svm income": "salary"}


@cache
def parts(repetition: int, kind: str) -> dict[str, ExactTable]:
    """`kind` is K3 or K2 by sex."""
    learn, _ = Data.named("adult").split(repetition)
    count, _, by = kind.removeprefix("K").partition(" by ")
    return parts_of(learn, int(count), repetition, by or None)


def run(points: Sequence[Point], repetition: int) -> dict[Point, float]:
    """All that is asked of one trial."""
    at = points[0]
    if at.kind == "binary":
        return binary_form.run(points, repetition)
    data = Data.named("adult")
    learn, check = data.split(repetition)
    seed = seed_of(at.data, at.kind, at.curve, at.epsilon, repetition)
    if at.curve == "DistDiffGen":
        return {
            p: dist_diff_gen.svm_error(learn, check, TARGETS[p.measure[4:]], float(at.epsilon) / 2, seed)
            for p in points
        }
    if at.curve == CENTRAL:
        fit = fitted(learn, "privbayes", {}, at.epsilon, seed)
    else:
        owned = parts(repetition, at.kind)
        fit = pooled_fit(learn, owned, *SETTINGS[at.curve], at.epsilon, seed)
        forget(owned)
        parts.cache_clear()
    rows = drawn(fit, learn.rows(), seed)
    found = {}
    for point in points:
        if point.measure.startswith("svm"):
            found[point] = measures.svm_error(rows, check, TARGETS[point.measure[4:]])
        else:
            kind, tables = measures.tables_of(point.measure, learn)
            found[point] = measures.table_errors(learn, measures.of_rows(rows, tables), tables, [kind])[kind]
    return found


# -- the figures ---------------------------------------------------------------------------------------------------


def at(curve: str, kind: str, epsilon: str, measure: str) -> Point:
    """Central PrivBayes has no owners: one trial serves every K."""
    return Point("adult", "central" if curve == CENTRAL else kind, curve, epsilon, measure)


def by_epsilon(measure: str, kind: str, curves: Sequence[str], epsilons: Sequence[str]) -> Panel:
    lines = tuple(Curve(c, tuple((float(e), at(c, kind, e, measure)) for e in epsilons)) for c in curves)
    what = "misclassification rate" if measure.startswith("svm") else "total variation distance"
    return Panel(f"{MEASURES[measure]}, {kind.replace('K', 'K = ')}", lines, y=what)


def by_owners(measure: str, owners: Sequence[int], epsilon: str = "0.2") -> Panel:
    lines = tuple(Curve(c, tuple((float(k), at(c, f"K{k}", epsilon, measure)) for k in sorted(owners))) for c in CURVES)
    what = "misclassification rate" if measure.startswith("svm") else "total variation distance"
    return Panel(f"{MEASURES[measure]}, ε = {epsilon}", lines, x="K, owners", y=what, log_x=False)


def figures(grid: Grid) -> list[Figure]:
    epsilons = grid.epsilons(EPSILONS, PAPER)
    owners = EVERY if grid.full else tuple(int(k) for k in grid.values(OWNERS))
    two = (ADAPTIVE, SEQUENTIAL, "DistDiffGen", CENTRAL)
    split = (ADAPTIVE, SEQUENTIAL, "DP-SUBN, frontier", "Independent", CENTRAL)
    some_svms = epsilons if grid.full else epsilons[-2:]
    kinds, some = ("K2 by sex", "K4 by workclass"), ("0.2", "1.6")
    distances, errors = (tuple(m for m in MEASURES if m.startswith(kind)) for kind in ("tvd", "svm"))
    drawings = [
        ("04", "Fig. 4a, b: by budget", tuple(by_epsilon(m, "K3", CURVES, epsilons) for m in distances)),
        ("05", "Fig. 5a, b: by number of owners", tuple(by_owners(m, owners) for m in distances)),
        ("10", "owners that differ", tuple(by_epsilon(m, k, split, some) for k in kinds for m in distances)),
        ("07", "Fig. 7: all 2-way tables of Adult in binary form", (binary_form.panel(epsilons),)),
        ("14", "Fig. 4c, d: by budget", tuple(by_epsilon(m, "K3", CURVES, some_svms) for m in errors)),
        ("06", "Fig. 6: two owners", tuple(by_epsilon(m, "K2", two, epsilons[-2:]) for m in errors)),
        ("15", "Fig. 5c, d: by number of owners", tuple(by_owners(m, owners) for m in errors)),
    ]
    return [Figure(f"figure-{key}", f"DP-SUBN {title}", panels) for key, title, panels in drawings]


if __name__ == "__main__":
    main("dp_subn", figures, run)
