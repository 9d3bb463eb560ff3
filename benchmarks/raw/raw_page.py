"""The page of the raw tables: `docs/raw.md`, from recorded runs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from raw_asked import NAMES as FIGURES
from raw_asked import asked
from raw_asked import show as _show
from raw_peers import CAP

PAGE = Path(__file__).resolve().parents[2] / "docs" / "raw.md"
TERMS = {"approximate": "(ε, 1e-6), add-remove", "pure": "pure ε, replace-one"}
NAMED = {
    "resampled": "resampled real rows", "sdv": "SDV Gaussian copula, not private", "drafted": "20 equal bins",
    "plain": "**plain**", "dpmm": "dpmm PrivBayes",
}  # fmt: skip
INTRODUCTION = """# Raw tables, end to end

Each table is published by `understudy publish` as a steward would, from a schema that was written from its
documentation only (`benchmarks/raw/schemas`), and the synthetic file is compared with the real one at the
resolution of its cells. **plain** is the default, and what `init` drafts: ranges and lists, and nothing about bins,
which a noisy tree finds. **expert** adds edges in steps of 1-2-5, points and the shape inside bins, from the same
documentation. All lines of **plain** and of the expert are of one program, that of 2026-11-19: far tails and codes at
the end of a range ([0040](decisions/0040-far-tails.md)), rounding classes ([0042](decisions/0042-rounding-classes.md)),
shrinkage ([0044](decisions/0044-shrinkage.md)), spikes ([0047](decisions/0047-spikes.md)), found bins that are merged
for pairs ([0038](decisions/0038-merged-groups.md)), columns that few rows have a value in
([0017](decisions/0017-noisy-tree.md)). SLID at (1, 1e-6) was run again after rounds were kept from ending early on it
([0043](decisions/0043-large-budgets.md)); other lines do not depend on that. Nor do the pure lines of **plain**
on rounds that are counted by merged groups (0038): the same number of tables is bought before and after on all nine,
one seed. The expert was run at (1, 1e-6) alone.

dpmm's PrivBayes (PrivTree bins; its proof was not looked at here) and SDV's Gaussian copula (no privacy at all) were
told the same ranges and lists, each in an environment of its own, with {cap} seconds of CPU for a run. google/dpsynth
is on no package registry: its driver (`drivers/dpsynth_mst.py`) runs where it is installed, and it was not run here.

W1: Wasserstein-1 in standard deviations, mean over ordered columns · KS: largest difference of distribution
functions · quantiles: mean error of nine quantiles in standard deviations · ln sd: |ln| of the ratio of standard
deviations · pairs: mean TVD over all pairs of columns, numbers cut at the real deciles · association: mean absolute
difference of Spearman's correlations and Cramér's V · zeros, missing, missing together: mean absolute difference of
shares · rounding: TVD of how round values are · boosting, linear: error of classifiers on real rows, above that of
one trained on real rows · format: share of cells that are written as some cell of the real column is. Mean of the
runs, and in the tables of single data sets ± the standard deviation between runs. Written by
`benchmarks/raw/run.py`.

The k-marginal score of NIST (k = 3, mean over all triples of 1 - TVD, times 1,000; numbers cut at the real deciles, not
at NIST's steps) of ma2019, plain, mean of 2 or 3 runs (`k_marginal.py`): (1, 1e-6) 851, (10, 1e-6) 892, pure 1 748,
pure 10 868; real rows resampled 953. These are of 2026-11-18, before spikes were found (`DENSITY` is a few values).
"""
FACTS = """Shares of rows in which a fact that the documentation implies is broken (`benchmarks/raw/derived_facts.py`).
Nothing in the schemas says these facts: they hold as far as the model saw the columns together. `[[rules]]` in a schema
make them hold in every row ([rules](guide/rules.md)). Cells outside their list or range: {outside} in the {runs} runs
of `plain` that were looked at.
"""


def write(lines: list[dict[str, Any]]) -> None:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        groups[tuple(line[key] for key in ("table", "label", "form", "promise", "epsilon"))].append(line)
    tables = list(dict.fromkeys(key[0] for key in groups))
    parts = [INTRODUCTION.replace("{cap}", str(CAP)), *asked(lines), "\n## Mean over tables\n", *_means(groups, tables)]
    looked = [line["outside"] for line in lines if line["form"] == "plain" and "outside" in line]
    said = "none" if not any(looked) else f"up to {max(looked):.2%} of them"
    parts += ["\n## Rows that cannot be\n", FACTS.format(outside=said, runs=len(looked)), *_impossible(groups)]
    for table in tables:
        parts += [f"\n## {table}\n", *_one(groups, table)]
    PAGE.write_text("\n".join(parts).rstrip() + "\n")


def _impossible(groups: dict[tuple[str, ...], list[dict[str, Any]]]) -> list[str]:
    """Return a line for each derived fact: how many rows break it, real and by the default under each promise."""
    shown = [(promise, epsilon) for epsilon in ("1", "4") for promise in ("approximate", "pure")]
    names = [f"{TERMS[promise].replace('ε', epsilon, 1)}" for promise, epsilon in shown]
    out = ["| table | broken where | real | " + " | ".join(names) + " |", "|" + "---|" * (3 + len(names))]
    found: dict[tuple[str, str], dict[tuple[str, str], list[tuple[float, float]]]] = {}
    for (table, _, form, promise, epsilon), runs in groups.items():
        for run in runs if form == "plain" else ():
            for fact, (real, made) in run.get("broken", {}).items():
                found.setdefault((table, fact), {}).setdefault((promise, epsilon), []).append((real, made))
    for (table, fact), cells in found.items():
        real = next(iter(cells.values()))[0][0]
        made = [_show(statistics.mean(m for _, m in cells[key])) if key in cells else "–" for key in shown]
        out.append(f"| {table} | `{fact}` | {_show(real)} | {' | '.join(made)} |")
    return out


def _head(first: str) -> list[str]:
    names = [*FIGURES.values(), "CPU s", "runs"]
    return [f"| {first} | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]


def _rows(groups: dict[tuple[str, ...], list[dict[str, Any]]]) -> list[tuple[str, ...]]:
    """Return label, form, promise and epsilon of every row, the floor first."""
    found = dict.fromkeys(key[1:] for key in groups)
    return sorted(found, key=lambda key: (key[2] != "-", key[3], key[2], key[0], key[1]))


def _means(groups: dict[tuple[str, ...], list[dict[str, Any]]], tables: list[str]) -> list[str]:
    """Return a line for each row that every table has."""
    out = _head("")
    for row in _rows(groups):
        runs = [[r for r in groups.get((table, *row), []) if "figures" in r] for table in tables]
        if not all(runs):
            continue
        figures = [statistics.mean(_mean(of, name) for of in runs) for name in FIGURES]
        cpu = statistics.mean(_cpu(of) for of in runs)
        out.append(f"| {_name(row)} | {' | '.join(map(_show, figures))} | {cpu:.0f} | {min(map(len, runs))} |")
    return out


def _one(groups: dict[tuple[str, ...], list[dict[str, Any]]], table: str) -> list[str]:
    out = _head("")
    for row in _rows(groups):
        runs = groups.get((table, *row), [])
        good = [run for run in runs if "figures" in run]
        if good:
            cells = [_cell([run["figures"][name] for run in good]) for name in FIGURES]
            out.append(f"| {_name(row)} | {' | '.join(cells)} | {_cpu(good):.0f} | {len(good)} |")
        elif runs:
            out.append(f"| {_name(row)}: {runs[-1]['failure']} |" + " |" * (len(FIGURES) + 2))
    return out


def _name(row: tuple[str, ...]) -> str:
    label, form, promise, epsilon = row
    if promise == "-":
        return NAMED[form]
    said = f"{NAMED.get(form, form)}, {TERMS[promise]}, ε = {epsilon}"
    return said if label in ("main", "-") else f"{label}: {said}"


def _mean(runs: list[dict[str, Any]], name: str) -> float:
    return statistics.mean(run["figures"][name] for run in runs)


def _cpu(runs: list[dict[str, Any]]) -> float:
    return statistics.mean(run.get("cpu", 0.0) for run in runs)


def _cell(values: list[float]) -> str:
    spread = f" ±{_show(statistics.stdev(values))}" if len(values) > 1 else ""
    return _show(statistics.mean(values)) + spread
