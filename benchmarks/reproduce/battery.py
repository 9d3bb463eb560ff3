"""The command that every paper shares: run what is missing, draw what there is."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from charts import Figure, write
from records import Point, Records

HERE = Path(__file__).resolve().parent
Run = Callable[[Sequence[Point], int], dict[Point, float]]


@dataclass(frozen=True)
class Grid:
    """How much is run: `quick` takes the ends of every range, `full` every epsilon everywhere."""

    quick: bool = False
    full: bool = False

    def epsilons(self, chosen: Sequence[str], whole: Sequence[str] | None = None) -> tuple[str, ...]:
        """Of a figure; `whole` is the paper's own range where `chosen` is a part of it."""
        if self.quick:
            return (chosen[(len(chosen) - 1) // 2], chosen[-1])
        return tuple(whole if self.full and whole is not None else chosen)

    def values(self, chosen: Sequence[float]) -> tuple[float, ...]:
        return tuple(chosen[:: max(1, len(chosen) // 3)]) if self.quick else tuple(chosen)


def main(
    paper: str,
    figures: Callable[[Grid], list[Figure]],
    run: Run,
    arguments: Sequence[str] | None = None,
    shared: Sequence[str] = (),
) -> None:
    """`shared` are papers whose trials are the same where they have the same name."""
    parser = argparse.ArgumentParser()
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--page", action="store_true", help="the grid of docs/reproduction.md, 10 repetitions")
    how.add_argument("--full", action="store_true", help="every epsilon of the paper, 10 repetitions")
    parser.add_argument("--repetitions", type=int, help="in place of 3, or 10")
    parser.add_argument("--figure", nargs="*", help="4 or figure-04; all without it")
    parser.add_argument("--data", nargs="*", help="only these data sets")
    parser.add_argument("--plot-only", action="store_true", help="draw what has been measured")
    parser.add_argument("--output", type=Path, default=HERE / paper, help="where runs.csv and the figures are")
    asked = parser.parse_args(arguments)
    quick = not (asked.page or asked.full or asked.plot_only)
    known = figures(Grid(quick, asked.full))
    wanted = chosen(known, asked.figure)
    folder = asked.output / "quick" if quick and asked.output == HERE / paper else asked.output
    records = Records.open(folder / "runs.csv", *(HERE / other / "runs.csv" for other in shared if not quick))
    if not asked.plot_only:
        note_machine(folder)
    for figure in wanted:
        if not asked.plot_only:
            perform(figure, known, records, run, asked.repetitions or (3 if quick else 10), asked.data)
        for path in write(figure, records, folder):
            print(path, flush=True)


def note_machine(folder: Path) -> None:
    """When, where and of which version: for the page. $UNDERSTUDY_COMMIT names the version that ran, if not HEAD."""
    import platform

    model = [line for line in _text("/proc/cpuinfo").splitlines() if line.startswith("model name")]
    named = model[0].partition(":")[2].strip() if model else platform.machine()
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    facts = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": os.environ.get("UNDERSTUDY_COMMIT") or head.stdout.strip() or "unknown",
        "machine": f"{os.cpu_count()} cores of {named}, Python {platform.python_version()}",
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""


def chosen(figures: Sequence[Figure], asked: Sequence[str] | None) -> list[Figure]:
    if not asked:
        return list(figures)
    by_number = {int(f.key.removeprefix("figure-")): f for f in figures}
    found = [by_number.get(int(text.removeprefix("figure-"))) for text in asked]
    if None in found:
        raise SystemExit(f"no such figure: there are {', '.join(sorted(f.key for f in figures))}")
    return found  # type: ignore[return-value]


def perform(
    figure: Figure,
    known: Sequence[Figure],
    records: Records,
    run: Run,
    repetitions: int,
    data: Sequence[str] | None = None,
) -> None:
    """Trials of a data set and repetition come together: they share counted tables and the split of the rows. A trial
    is asked for all that any figure wants of it."""
    trials: dict[tuple[str, ...], list[Point]] = {
        point[:4]: [] for point in figure.points if not data or point.data in data
    }
    for point in dict.fromkeys(p for f in known for p in f.points):
        if point[:4] in trials:
            trials[point[:4]].append(point)
    names = list(dict.fromkeys(key[0] for key in trials))
    for name in names:
        for repetition in range(repetitions):
            begin, done = time.process_time(), 0
            for key, points in trials.items():
                missing = [p for p in points if records.missing(p, repetition)]
                if key[0] == name and missing:
                    records.add(run(missing, repetition), repetition)
                    done += 1
            if done:
                spent = time.process_time() - begin
                print(f"{figure.key} {name} repetition {repetition}: {done} trials, {spent:.0f} s of CPU", flush=True)
