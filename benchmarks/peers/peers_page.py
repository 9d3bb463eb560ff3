"""The page of the comparison: `docs/peers.md` and the plot beside it, from recorded runs."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import failure
from plot import Line, Panel, draw
from tools import TOOLS, Tool

DOCS = Path(__file__).resolve().parents[2] / "docs"
EPSILONS = ("0.1", "0.4", "1.6")
TITLES = {
    "nltcs": "NLTCS (21,574 × 16, binary)",
    "adult": "Adult (45,222 × 15)",
    "tpce": "TPC-E (40,000 × 24)",
    "salary": "Salary (135,727 × 9, up to 501 values)",
    "loans": "Loans (42,535 × 48, 27 of them with 101 values and more)",
    "fire": "Fire (305,119 × 30, up to 742 values)",
}
TASKS = {
    "nltcs": "getting about outside, managing money, bathing, traveling",
    "adult": "sex, salary > 50K, post-secondary degree, never married",
}
COMMAND = "python benchmarks/peers/side_by_side.py"


@dataclass(frozen=True)
class Cell:
    """All runs of one tool on one table at one epsilon."""

    runs: tuple[dict[str, Any], ...]

    @property
    def done(self) -> list[dict[str, Any]]:
        return [r for r in self.runs if "failure" not in r]

    @property
    def failure(self) -> str | None:
        return next((r["failure"] for r in self.runs if "failure" in r), None)

    def mean(self, key: str, at: int) -> float:
        return statistics.mean(r[key][at] for r in self.done)

    def median(self, key: str) -> float:
        return statistics.median(r[key] for r in self.done)


def write(runs: list[dict[str, Any]]) -> None:
    if not runs:
        return
    (DOCS / "peers.svg").write_text(draw([_panel(data, runs) for data in _data(runs)]))
    parts = [_head(runs), _short(runs)]
    for data in _data(runs):
        parts.append(_section(data, runs))
    (DOCS / "peers.md").write_text("\n\n".join([*parts, _promises(), _notes(runs)]) + "\n")


def _data(runs: list[dict[str, Any]]) -> list[str]:
    return [d for d in TITLES if any(r["data"] == d for r in runs)]


def _cell(runs: Iterable[dict[str, Any]], tool: str, data: str, epsilon: str) -> Cell:
    return Cell(tuple(r for r in runs if (r["tool"], r["data"], r["epsilon"]) == (tool, data, epsilon)))


def _head(runs: list[dict[str, Any]]) -> str:
    dates = sorted({r["date"] for r in runs})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"""# Peers, side by side

Written by `{COMMAND}`.
Measured on {when} on a machine of {os.cpu_count()} cores that was busy with other work. Every tool got the same integer
codes (continuous attributes in 16 equi-width bins) and, where it takes one, the same public domain; it ran in a process
and an environment of its own, numerical libraries on one thread, and made as many rows as it was given.
Ours got no taxonomy, since the others take none. A run may take 15 minutes, by the clock and of CPU, whichever comes
later; one that was given less says so. Errors are means over the runs of a cell (last column), CPU seconds and memory
are medians. With one run a cell, read small differences as noise.

- TVD: mean total variation distance over all 2-way tables / over 300 fixed 3-way tables. Lower is better.
- SVM: misclassification of a linear SVM (C = 1) trained on the synthetic rows, tested on a fifth of the real ones.
- CPU: seconds to fit + to sample, all threads and processes, at the largest ε that ran; ours includes reading
  the file and keeping the ledger.
- MST and AIM on mbi 2.0 run by drivers of ours, since its wheel has no mechanisms. AIM as published: all 3-way tables
  as its workload, 16 rounds an attribute, models up to 80 MB; cut short: pairs, 3 rounds an attribute, up to 4 MB, so
  that it ends within the cap (at ε = 1.6 on NLTCS its rounds end before all pairs that matter are measured).
- **The promises differ**: under add-remove neighbours a person is there or not; under replace-one a person's row
  changes, which is up to twice as far. Pure ε (δ = 0) is more than (ε, 1e-9). Compare rows of the same promise first.

![TVD of 2-way tables by epsilon](peers.svg)"""


def _short(runs: list[dict[str, Any]]) -> str:
    """Ours beside the most accurate peer of the same promise, cell by cell."""
    ours = next(t for t in TOOLS if t.ours and t.promise.delta != "0")
    rivals = [t for t in TOOLS if not t.ours and t.terms == ours.terms]
    lines = [
        f"## In short: {ours.promise.neighbours}, δ = {ours.promise.delta}",
        "",
        "| table | ε | ours: TVD | CPU s | most accurate peer | its TVD | its CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for data in _data(runs):
        for epsilon in EPSILONS:
            own = _cell(runs, ours.key, data, epsilon)
            ran = [(t, cell) for t in rivals if (cell := _cell(runs, t.key, data, epsilon)).done]
            if own.done and ran:
                best, cell = min(ran, key=lambda each: each[1].mean("tvd", 0))
                its = f"{best.title} | {_tvd(cell)} | {_seconds(cell)}"
                lines.append(f"| {TITLES[data].split()[0]} | {epsilon} | {_tvd(own)} | {_seconds(own)} | {its} |")
    return "\n".join([*lines, "", _ratio_to_aim(runs, ours)])


def _ratio_to_aim(runs: list[dict[str, Any]], ours: Tool) -> str:
    """The geometric mean of our errors over those of mbi's AIM, the better of its two settings in each cell."""
    ratios = []
    for data in _data(runs):
        for epsilon in EPSILONS:
            own = _cell(runs, ours.key, data, epsilon)
            aims = [cell for key in ("aim", "aim-short") if (cell := _cell(runs, key, data, epsilon)).done]
            if own.done and aims:
                best = min(aims, key=lambda cell: cell.mean("tvd", 0))
                ratios += [own.mean("tvd", at) / best.mean("tvd", at) for at in (0, 1)]
    mean = statistics.geometric_mean(ratios)
    return (
        f"Over the {len(ratios) // 2} cells in which AIM on mbi ran, ours has {mean:.2f} of the error of the better of "
        "its two settings (geometric mean of 2-way and 3-way ratios)."
    )


def _seconds(cell: Cell) -> str:
    return f"{cell.median('fit') + cell.median('sample'):.1f}"


def _section(data: str, runs: list[dict[str, Any]]) -> str:
    lines = [
        f"## {TITLES[data]}",
        "",
        f"| tool | neighbours, δ | {' | '.join(f'TVD, ε = {e}' for e in EPSILONS)} | CPU s | memory MB | runs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    real = _cell(runs, "real", data, "-")
    if real.done:
        lines.append(f"| real rows, resampled | – | | | {_tvd(real)} | | | |")
    for tool in TOOLS:
        cells = [_cell(runs, tool.key, data, e) for e in EPSILONS]
        if data in TASKS or any(cell.runs for cell in cells):
            lines.append(f"| {_row(tool, cells, _tvd)} | {_cost(cells)} | {_count(cells)} |")
    if data not in TASKS:
        return "\n".join(lines)
    lines += [
        "",
        f"SVM errors: {TASKS[data]}.",
        "",
        f"| tool | neighbours, δ | {' | '.join(f'ε = {e}' for e in EPSILONS)} |",
        "|---|---|---|---|---|",
    ]
    for key, title in (("real", "trained on real rows"), ("majority", "majority")):
        cell = _cell(runs, key, data, "-")
        if cell.done:
            lines.append(f"| {title} | – | | | {_svm(cell)} |")
    for tool in TOOLS:
        cells = [_cell(runs, tool.key, data, e) for e in EPSILONS]
        if any(cell.done for cell in cells):
            lines.append(f"| {_row(tool, cells, _svm)} |")
    return "\n".join(lines)


def _row(tool: Tool, cells: list[Cell], show: Callable[[Cell], str]) -> str:
    name = f"**{tool.title}**" if tool.ours else tool.title
    return " | ".join([name, tool.terms, *(_shown(tool, cell, show) for cell in cells)])


def _shown(tool: Tool, cell: Cell, show: Callable[[Cell], str]) -> str:
    if cell.done:
        return show(cell)
    if cell.failure is not None:
        return cell.failure.replace("\n", " ").replace("|", "/")
    return "not installed" if failure(tool.environment) else "not run"


def _tvd(cell: Cell) -> str:
    return f"{_decimal(cell.mean('tvd', 0), 4)} / {_decimal(cell.mean('tvd', 1), 4)}"


def _svm(cell: Cell) -> str:
    return " ".join(_decimal(cell.mean("svm", i), 3) for i in range(4))


def _decimal(value: float, places: int) -> str:
    return f"{value:.{places}f}".lstrip("0")


def _cost(cells: list[Cell]) -> str:
    last = next((cell for cell in reversed(cells) if cell.done), None)
    if last is None:
        return "– | –"
    return f"{last.median('fit'):.1f} + {last.median('sample'):.1f} | {last.median('memory'):,.0f}"


def _count(cells: list[Cell]) -> str:
    counts = sorted({len(cell.done) for cell in cells})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def _promises() -> str:
    lines = [
        "## What each tool promises",
        "",
        "| tool | neighbours | δ | is it kept, as far as its code was read |",
        "|---|---|---|---|",
    ]
    lines += [f"| {t.title} | {t.promise.neighbours} | {t.promise.delta} | {t.promise.keeps} |" for t in TOOLS]
    return "\n".join(lines)


def _notes(runs: list[dict[str, Any]]) -> str:
    failed = sorted({(r["tool"], r["data"], r["epsilon"], r["failure"]) for r in runs if "failure" in r})
    lines = ["## What did not run", ""]
    titles = {t.key: t.title for t in TOOLS}
    for tool, data, epsilon, reason in failed:
        lines.append(f"- {titles[tool]} on {data} at ε = {epsilon}: {reason}")
    for tool in TOOLS:
        for data in _data(runs):
            missing = [e for e in EPSILONS if not _cell(runs, tool.key, data, e).runs]
            if missing:
                lines.append(
                    f"- {tool.title} on {data} at ε = {', '.join(missing)}: not run yet (the same command runs it)"
                )
    return "\n".join(lines if len(lines) > 2 else [*lines, "Everything ran."])


def _panel(data: str, runs: list[dict[str, Any]]) -> Panel:
    lines = []
    for tool in TOOLS:
        cells = [(float(e), _cell(runs, tool.key, data, e)) for e in EPSILONS]
        points = tuple((e, cell.mean("tvd", 0)) for e, cell in cells if cell.done)
        if points:
            lines.append(Line(f"{tool.title} ({tool.promise.neighbours}, δ = {tool.promise.delta})", points, tool.ours))
    return Panel(TITLES[data], tuple(lines))
