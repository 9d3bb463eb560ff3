"""PrivBayes' figures again (Zhang, Cormode, Procopiuc, Srivastava, Xiao, ACM TODS 42(4), 2017, Section 6).

    python benchmarks/reproduce/privbayes.py                  a quick look: 3 repetitions, few settings, minutes
    python benchmarks/reproduce/privbayes.py --page           what docs/reproduction.md shows: 10 repetitions
    python benchmarks/reproduce/privbayes.py --full           every epsilon of the paper
    python benchmarks/reproduce/privbayes.py --figure 12 --plot-only

The method under test is the published one (`estimate=paper`, β = 0.3, θ = 4; score F on binary tables, hierarchical
encoding and score R on Adult); `auto` is what understudy does by default. Noise is seeded, from the name of each trial,
so every figure can be had again. BR2000 (Fig. 6, 8, 15, 19) is not among the data sets.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import measures
from battery import Grid, main
from charts import Curve, Figure, Panel
from records import Point
from trials import Data, Wrap, drawn, fitted, scores_of, seed_of

import datasets
from rivals import trainers
from rivals.ablations import BestMarginal, BestNetwork
from rivals.majority import majority_class
from rivals.rival import consistent
from rivals.rows import UnitRows
from understudy.evaluate.classification import Examples
from understudy.evaluate.dependence import network_information, network_of

PAPER = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
WIDE = ("0.05", "0.1", "0.4", "1.6")  # parts of the paper's range, for the page
SPARSE = ("0.1", "0.4", "1.6")
ENDS = ("0.1", "1.6")
BETAS = (0.05, 0.2, 0.3, 0.5, 0.8)
THETAS = (1.0, 3.0, 4.0, 6.0, 12.0)
BINARY = ("nltcs", "acs")
TITLES = {"nltcs": "NLTCS", "acs": "ACS", "adult": "Adult"}
ALPHAS = {"nltcs": (3, 4), "acs": (3, 4), "adult": (2, 3)}
TASKS = {
    "nltcs": ("outside", "money", "bathing", "traveling"),
    "acs": ("dwelling", "mortgage", "multi-generation", "school"),
    "adult": ("sex", "salary", "education", "marital"),
}
ENCODINGS = {
    "Binary-F": {"encoding": "binary", "score": "F"},
    "Gray-F": {"encoding": "gray", "score": "F"},
    "Vanilla-R": {"encoding": "vanilla", "score": "R"},
    "PrivBayes": {},  # Hierarchical-R
}
MWEM_MOST = 0.1  # on ACS: each round goes over 8 million cells, and there are ε/0.05 of them


# -- one trial -----------------------------------------------------------------------------------------------------


def options_of(data: str, curve: str) -> dict[str, Any]:
    """The published method with the paper's constants, or with the one that the curve is named for."""
    score = {"encoding": "vanilla", "score": "F"} if data in BINARY else {"encoding": "hierarchical", "score": "R"}
    chosen = {"estimate": "paper", "beta": 0.3, "theta": 4.0, **score}
    if curve in ENCODINGS:
        return chosen | ENCODINGS[curve]
    name, _, value = curve.partition("=")
    if name in ("beta", "theta"):
        return chosen | {name: float(value)}
    if name == "score":
        return chosen | {"encoding": "vanilla", "score": value}
    return chosen


def wrapping(curve: str, table: Any) -> Wrap | None:
    """Stand-ins that read exact counts, for Fig. 4 (NoPrivacy) and Fig. 11."""
    known = scores_of(table)
    wraps: dict[str, Wrap] = {
        "BestNetwork": partial(BestNetwork, known=known),
        "NoPrivacy": partial(BestNetwork, known=known),
        "BestMarginal": BestMarginal,
    }
    return wraps.get(curve)


def run(points: Sequence[Point], repetition: int) -> dict[Point, float]:
    """All that is asked of one trial: the points share data, kind, curve and epsilon."""
    at = points[0]
    data, seed = Data.named(at.data), seed_of(at.data, at.kind, at.curve, at.epsilon, repetition)
    if at.kind == "network":
        return {at: information(data, at, seed)}
    if at.kind == "tables":
        return table_figures(data, points, seed)
    return svm_figures(data, points, repetition, seed)


def information(data: Data, at: Point, seed: int) -> float:
    """Σ I(X; Π) of the network; on Adult with vanilla encoding, as in the paper."""
    options = options_of(at.data, "score=I" if at.curve == "NoPrivacy" else at.curve)
    fit = fitted(data.whole, "privbayes", options, at.epsilon, seed, wrapping(at.curve, data.whole))
    return network_information(data.whole, network_of(fit.facts, data.schema))


def table_figures(data: Data, points: Sequence[Point], seed: int) -> dict[Point, float]:
    at, real, found = points[0], data.whole, {}
    rows = synthetic(real, at, seed) if at.curve.lower() not in ("uniform", *TABLE_RIVALS) else None
    for point in points:
        kind, tables = measures.tables_of(point.measure, real)
        if rows is not None:
            made = measures.of_rows(rows, tables)
        elif at.curve == "Uniform":
            made = measures.of_nothing(real, tables)
        else:
            made = rival_tables(data, at.curve.lower(), at.epsilon, tables, seed)
        found[point] = measures.table_errors(real, made, tables, [kind])[kind]
    return found


TABLE_RIVALS = ("laplace", "fourier", "contingency", "mwem")


def rival_tables(data: Data, name: str, epsilon: str, tables: Any, seed: int) -> Any:
    """Laplace, Fourier and MWEM are told which tables will be asked for; Contingency clips its full table."""
    options = {} if name == "contingency" else {"alpha": tables.alpha}
    fit = fitted(data.whole, name, options, epsilon, seed)
    if name == "contingency":
        noisy = fit.measurements[-1]
        return measures.of_joint(consistent(noisy.axes, noisy.values).table, tables)
    if name == "mwem":
        return measures.of_joint(fit.model.project(data.schema.names).table, tables)
    return measures.of_model(fit.model, tables)


def synthetic(real: Any, at: Point, seed: int) -> Any:
    """Rows of the published method, of an ablation, or of what understudy does by default."""
    if at.curve == "auto":
        fit = fitted(real, "auto", {}, at.epsilon, seed)
    else:
        fit = fitted(real, "privbayes", options_of(at.data, at.curve), at.epsilon, seed, wrapping(at.curve, real))
    return drawn(fit, real.rows(), seed)


def svm_figures(data: Data, points: Sequence[Point], repetition: int, seed: int) -> dict[Point, float]:
    """Fitted on 80 % of the rows, tested on the others; the rivals' budget is divided by four targets."""
    at = points[0]
    learn, check = data.split(repetition)
    targets = dict(zip(TASKS[data.name], datasets.TARGETS[data.name]))
    wanted = {point: targets[point.measure] for point in points}
    if at.curve == "NoPrivacy":
        return {p: measures.svm_error(learn, check, t) for p, t in wanted.items()}
    if at.curve == "Majority":
        names = ",".join(t.attribute for t in targets.values())
        model: Any = fitted(learn, "majority", {"targets": names}, at.epsilon, seed).model
        winners = {p: majority_class(model, t.attribute, t.label(data.schema)) for p, t in wanted.items()}
        return {p: measures.majority_error(check, t, winners[p]) for p, t in wanted.items()}
    if at.curve in trainers.TRAINERS:
        tasks = [tuple(UnitRows.of(Examples.of(rows, t)) for rows in (learn, check)) for t in targets.values()]
        errors = trainers.errors(at.curve, tasks, float(at.epsilon), np.random.default_rng(seed))
        return {p: dict(zip(targets, errors))[p.measure] for p in points}
    rows = synthetic(learn, at, seed)
    return {p: measures.svm_error(rows, check, t) for p, t in wanted.items()}


# -- the figures ---------------------------------------------------------------------------------------------------


def over_epsilon(
    data: str, kind: str, measure: str, curves: dict[str, str], epsilons: Sequence[str]
) -> tuple[Curve, ...]:
    """Curves by title: the curve of the records that is drawn under it."""
    return tuple(
        Curve(title, tuple((float(e), Point(data, kind, curve, e, measure)) for e in _kept(data, curve, epsilons)),
              dashed=curve in ("NoPrivacy", "BestNetwork", "BestMarginal"))
        for title, curve in curves.items()
    )  # fmt: skip


def _kept(data: str, curve: str, epsilons: Sequence[str]) -> list[str]:
    return [e for e in epsilons if (data, curve) != ("acs", "MWEM") or float(e) <= MWEM_MOST]


def tables_panel(data: str, alpha: int, curves: dict[str, str], epsilons: Sequence[str]) -> Panel:
    lines = over_epsilon(data, "tables", f"tvd{alpha}", curves, epsilons)
    return Panel(f"{TITLES[data]}, Q{alpha}", lines, y="average variation distance")


def svm_panel(data: str, task: str, curves: dict[str, str], epsilons: Sequence[str]) -> Panel:
    return Panel(
        f"{TITLES[data]}, Y = {task}", over_epsilon(data, "svm", task, curves, epsilons), y="misclassification rate"
    )


def parameter_panel(
    data: str, kind: str, measure: str, name: str, values: Sequence[float], epsilons: Sequence[str]
) -> Panel:
    default = {"beta": 0.3, "theta": 4.0}[name]

    def curve(value: float) -> str:
        return "PrivBayes" if value == default else f"{name}={value:g}"

    lines = tuple(
        Curve(f"ε = {e}", tuple((v, Point(data, kind, curve(v), e, measure)) for v in values)) for e in epsilons
    )
    title = f"{TITLES[data]}, {'Q' + measure[3:] if kind == 'tables' else 'Y = ' + measure}"
    y = "average variation distance" if kind == "tables" else "misclassification rate"
    return Panel(title, lines, x={"beta": "β", "theta": "θ"}[name], y=y, log_x=name == "theta")


def same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


OURS = {"understudy, by default": "auto"}
ONE_TASK = {"nltcs": ("tvd4", "outside"), "acs": ("tvd4", "dwelling"), "adult": ("tvd3", "sex")}


def figures(grid: Grid) -> list[Figure]:
    ends = grid.epsilons(ENDS, PAPER)
    wide = {"nltcs": grid.epsilons(WIDE, PAPER), "acs": ends, "adult": grid.epsilons(WIDE, PAPER)}
    every = {"nltcs": grid.epsilons(PAPER), "acs": ends, "adult": grid.epsilons(PAPER)}
    betas, thetas = grid.values(BETAS), grid.values(THETAS)
    scores = {"F": "score=F", "R": "score=R", "I": "score=I", "NoPrivacy": "NoPrivacy"}
    encodings = {"Hierarchical-R" if k == "PrivBayes" else k: k for k in ENCODINGS}
    baselines = {
        "nltcs": same("PrivBayes", "Laplace", "Fourier", "Contingency", "MWEM", "Uniform") | OURS,
        "acs": same("PrivBayes", "Laplace", "Fourier", "Contingency", "MWEM", "Uniform") | OURS,
        "adult": same("PrivBayes", "Laplace", "Fourier", "Uniform") | OURS,
    }
    learners = same("PrivBayes", "PrivateERM", "PrivateERM (Single)", "PrivateSVM", "PrivGene", "Majority", "NoPrivacy")

    tuned = list(ONE_TASK) if grid.full else ["nltcs", "adult"]

    def tuning(name: str, values: Sequence[float]) -> tuple[Panel, ...]:
        return tuple(
            parameter_panel(d, kind, measure, name, values, ends)
            for d, both in ((d, ONE_TASK[d]) for d in tuned)
            for kind, measure in zip(("tables", "svm"), both)
        )

    def tables(*names: str) -> tuple[Panel, ...]:
        return tuple(tables_panel(d, a, baselines[d], wide[d]) for d in names for a in ALPHAS[d])

    def learners_of(name: str) -> dict[str, str]:
        """PrivGene takes 9 s for the four targets of Adult and 12 s for those of ACS: `--full` only, and so is ours."""
        if grid.full:
            return learners | OURS
        return {t: c for t, c in learners.items() if name == "nltcs" or c != "PrivGene"}

    def classifiers(name: str) -> tuple[Panel, ...]:
        return tuple(svm_panel(name, task, learners_of(name), ends) for task in TASKS[name])

    information = tuple(
        Panel(
            TITLES[d],
            over_epsilon(d, "network", "bits", {t: c for t, c in scores.items() if d in BINARY or t != "F"}, every[d]),
            y="sum of mutual information (bits)",
        )
        for d in TITLES
    )
    sources = tuple(
        make(d, which, same("PrivBayes", "BestNetwork", "BestMarginal"), ends)
        for d in tuned
        for make, which in ((tables_panel, ALPHAS[d][1]), (svm_panel, TASKS[d][0]))
    )
    return [
        Figure("figure-04", "PrivBayes Fig. 4: score functions", information, 3),
        Figure("figure-12", "PrivBayes Fig. 12: α-way tables of NLTCS", tables("nltcs")),
        Figure("figure-14", "PrivBayes Fig. 14: α-way tables of Adult", tables("adult")),
        Figure("figure-05", "PrivBayes Fig. 5: encodings, α-way tables of Adult",
               tuple(tables_panel("adult", a, encodings, wide["adult"]) for a in ALPHAS["adult"])),
        Figure("figure-07", "PrivBayes Fig. 7: encodings, SVMs on Adult",
               tuple(svm_panel("adult", t, encodings, ends) for t in TASKS["adult"])),
        Figure("figure-16", "PrivBayes Fig. 16: SVMs on NLTCS", classifiers("nltcs")),
        Figure("figure-18", "PrivBayes Fig. 18: SVMs on Adult", classifiers("adult")),
        Figure("figure-11", "PrivBayes Fig. 11: source of error", sources),
        Figure("figure-09", "PrivBayes Fig. 9: choice of β", tuning("beta", betas)),
        Figure("figure-10", "PrivBayes Fig. 10: choice of θ", tuning("theta", thetas)),
        Figure("figure-13", "PrivBayes Fig. 13: α-way tables of ACS", tables("acs")),
        Figure("figure-17", "PrivBayes Fig. 17: SVMs on ACS", classifiers("acs")),
    ]  # fmt: skip


if __name__ == "__main__":
    main("privbayes", figures, run)
