"""JTree's figures again (Chen, Xiao, Zhang, Xu, KDD 2015, Section 5).

    python benchmarks/reproduce/jtree.py [--page | --full] [--figure 2] [--plot-only]

"JTree" is ours with its edge selection repaired and the published end (consistency, thresholding, clique-wise
sampling; half of ε for the tree at 0.1, else 0.1 of it); "understudy jtree" is the method as it comes. The published
selection leaks and is not drawn. PrivBayes is the published one as that paper set it, β = 0.5 and θ = 4. Noise is
seeded from each trial's name. AOL and BR2000 are not among the data sets.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import measures
import numpy as np
from battery import Grid, main
from charts import Curve, Figure, Panel
from records import Point
from trials import Data, drawn, fitted, seed_of

import datasets
from rivals import trainers
from rivals.rows import UnitRows
from understudy.evaluate.classification import Examples

PAPER = ("0.2", "0.5", "0.8", "1.0")
ENDS = ("0.2", "1.0")  # the part of the range that the page has
RETAIL = ("0.1", "1.0")
WAYS = (4, 6, 8)
TITLES = {"adult": "Adult", "tpce": "TPC-E", "retail": "Retail"}
TASKS = ("sex", "salary", "education", "marital")
METHODS = ("JTree", "PrivBayes", "understudy jtree", "understudy privbayes")


def setting(data: str, curve: str, epsilon: str) -> tuple[str, dict[str, Any]]:
    """The method and its options."""
    if curve == "JTree":
        return "jtree", {"estimate": "paper", "beta": 0.5 if epsilon == "0.1" else 0.1 / float(epsilon)}
    if curve == "PrivBayes":
        score = {"score": "F", "encoding": "vanilla"} if data == "retail" else {"score": "R"}
        return "privbayes", {"estimate": "paper", "beta": 0.5, "theta": 4.0, **score}
    if curve == "PriView":
        return "priview-paper", {}
    return curve.removeprefix("understudy "), {}


def run(points: Sequence[Point], repetition: int) -> dict[Point, float]:
    """All that is asked of one trial."""
    at = points[0]
    data, seed = Data.named(at.data), seed_of(at.data, at.kind, at.curve, at.epsilon, repetition)
    if at.kind == "svm":
        return svm_figures(data, points, repetition, seed)
    real = data.whole
    fit = fitted(real, *setting(at.data, at.curve, at.epsilon), at.epsilon, seed)
    rows = None if at.curve == "PriView" else drawn(fit, real.rows(), seed)
    found = {}
    for point in points:
        kind, tables = measures.tables_of(point.measure, real)
        made = measures.of_views(fit.model, tables) if rows is None else measures.of_rows(rows, tables)
        found[point] = measures.table_errors(real, made, tables, [kind])[kind]
    return found


def svm_figures(data: Data, points: Sequence[Point], repetition: int, seed: int) -> dict[Point, float]:
    """Fitted on 80 % of the rows, tested on the others."""
    at = points[0]
    learn, check = data.split(repetition)
    targets = dict(zip(TASKS, datasets.TARGETS["adult"]))
    if at.curve == "PrivateSVM":
        tasks = [tuple(UnitRows.of(Examples.of(rows, t)) for rows in (learn, check)) for t in targets.values()]
        errors = dict(
            zip(targets, trainers.errors("PrivateSVM", tasks, float(at.epsilon), np.random.default_rng(seed)))
        )
        return {p: errors[p.measure] for p in points}
    rows = learn
    if at.curve != "NoPrivacy":
        fit = fitted(learn, *setting(at.data, at.curve, at.epsilon), at.epsilon, seed)
        rows = drawn(fit, learn.rows(), seed)
    return {p: measures.svm_error(rows, check, targets[p.measure]) for p in points}


# -- the figures ---------------------------------------------------------------------------------------------------


def by_ways(epsilon: str) -> Panel:
    curves = tuple(
        Curve(curve, tuple((float(k), Point("retail", "tables", curve, epsilon, f"l2{k}x200")) for k in WAYS))
        for curve in ("JTree", "PriView", *METHODS[1:])
    )
    return Panel(f"Retail, ε = {epsilon}", curves, x="k, of k-way tables", y="L2 error", log_x=False, log_y=True)


def over_epsilon(
    data: str, kind: str, measure: str, curves: Sequence[str], epsilons: Sequence[str]
) -> tuple[Curve, ...]:
    return tuple(
        Curve(c, tuple((float(e), Point(data, kind, c, e, measure)) for e in epsilons), dashed=c == "NoPrivacy")
        for c in curves
    )


def figures(grid: Grid) -> list[Figure]:
    epsilons = grid.epsilons(ENDS, PAPER)
    tables = tuple(
        Panel(f"{TITLES[d]}, {k}-way", over_epsilon(d, "tables", f"tvd{k}", METHODS, epsilons), log_x=False,
              y="average variation distance")
        for d in ("adult", "tpce") for k in (2, 3)
    )  # fmt: skip
    learners = (*METHODS, "PrivateSVM", "NoPrivacy")
    svms = tuple(
        Panel(f"Adult, Y = {task}", over_epsilon("adult", "svm", task, learners, epsilons), log_x=False,
              y="misclassification rate")
        for task in TASKS
    )  # fmt: skip
    return [
        Figure("figure-02", "JTree Fig. 2: L2 error of 200 random tables of Retail", tuple(map(by_ways, RETAIL))),
        Figure("figure-03", "JTree Fig. 3: all 2- and 3-way tables", tables),
        Figure("figure-04", "JTree Fig. 4: SVMs on Adult", svms),
    ]


if __name__ == "__main__":
    main("jtree", figures, run)
