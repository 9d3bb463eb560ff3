"""What was asked of raw tables, and what is true by the recorded runs: a part of `docs/raw.md`."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ASKED = {"w1": 0.016, "pairs": 0.024, "boosting": 0.025}  # of Adult at (1, 1e-6), add-remove
WITHIN = 1.2  # of the expert's schema
BLOCK = ("approximate", "1")
NAMES = {
    "w1": "W1", "ks": "KS", "quantiles": "quantiles", "sd": "ln sd", "pairs": "pairs", "association": "association",
    "zeros": "zeros", "missing": "missing", "missing_pairs": "missing together", "rounding": "rounding",
    "boosting": "boosting", "linear": "linear", "format": "format",
}  # fmt: skip
HIGHER = ("format",)  # the larger the better


@dataclass(frozen=True)
class Runs:
    """The values of one figure in the runs of one table and one form."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.mean(self.values)

    def error(self, other: Runs) -> float:
        """Return the standard error of the mean; a single run is taken to spread as the other's runs do."""
        of = self.values if len(self.values) > 1 else other.values
        return statistics.stdev(of) / math.sqrt(len(self.values)) if len(of) > 1 else 0.0

    @property
    def shown(self) -> str:
        spread = f" ± {show(statistics.stdev(self.values))}" if len(self.values) > 1 else ""
        return show(self.mean) + spread


Figures = Mapping[str, Mapping[str, Runs]]  # by table and figure


def figures_of(lines: list[dict[str, Any]], form: str) -> Figures:
    """Return the figures of all runs of one form at (1, 1e-6), or at the budget that the form has."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["form"] == form and (line["promise"], line["epsilon"]) == BLOCK and "figures" in line:
            for name, value in line["figures"].items():
                found[line["table"]][name].append(value)
    return {table: {name: Runs(tuple(of)) for name, of in figures.items()} for table, figures in found.items()}


def asked(lines: list[dict[str, Any]]) -> list[str]:
    """Return the section: each thing that was asked, and what the runs say."""
    plain, expert, dpmm = (figures_of(lines, form) for form in ("plain", "expert", "dpmm"))
    if not all((plain, expert, dpmm)):
        return []
    rows = [_goal(NAMES[name], plain["adult"][name], goal) for name, goal in ASKED.items()]
    rows += [("mean over tables ahead of dpmm in each figure", _ahead(plain, dpmm))]
    rows += [
        ("no figure of any table behind dpmm's by more than 2 standard errors", _listed(_behind(plain, dpmm))),
        (f"mean over tables within {WITHIN} of the expert's schema", _listed(_beyond(plain, expert))),
    ]
    head = ["| asked, at (1, 1e-6), add-remove | what is true |", "|---|---|"]
    return ["## What was asked, what is true\n", *head, *(f"| {what} | {said} |" for what, said in rows)]


def _goal(name: str, own: Runs, goal: float) -> tuple[str, str]:
    return f"Adult: {name} at most {show(goal)}", f"{'met' if own.mean <= goal else '**not met**'}: {own.shown}"


def _ahead(ours: Figures, theirs: Figures) -> str:
    behind = []
    for name in NAMES:
        own, other = _mean(ours, name), _mean(theirs, name)
        if _worse(name, own, other) > 0:
            behind.append(f"{NAMES[name]} {show(own)} against {show(other)}")
    return _listed(behind)


def _behind(ours: Figures, theirs: Figures) -> list[str]:
    found = []
    for table, figures in ours.items():
        for name, own in figures.items():
            other = theirs[table][name]
            error = math.hypot(own.error(other), other.error(own))
            if _worse(name, own.mean, other.mean) > max(2 * error, 0.0005):
                found.append(f"{table} {NAMES[name]} {own.shown} against {other.shown}")
    return found


def _beyond(ours: Figures, theirs: Figures) -> list[str]:
    found = []
    for name in NAMES:
        own, other = _mean(ours, name), _mean(theirs, name)
        if own > WITHIN * other if name not in HIGHER else other > WITHIN * own:
            found.append(f"{NAMES[name]} {show(own)} against {show(other)}")
    return found


def _worse(name: str, own: float, other: float) -> float:
    return other - own if name in HIGHER else own - other


def _mean(figures: Figures, name: str) -> float:
    return statistics.mean(of[name].mean for of in figures.values())


def _listed(exceptions: list[str]) -> str:
    return "met" if not exceptions else "**not met**: " + "; ".join(exceptions)


def show(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 10 else f"{value:.0f}"
