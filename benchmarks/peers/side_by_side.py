"""Peers side by side in one run, with ours beside them: makes environments, runs what is missing, writes the page.

    python benchmarks/peers/side_by_side.py [--tools mst ours-pure …] [--data nltcs adult] [--epsilon 0.1 0.4 1.6]
                                            [--repetitions N] [--cap 900] [--fresh] [--page-only]

Every run is added to `results.jsonl` at once, so an interrupted comparison is continued by the same command.
A tool that does not finish on a table is not tried there at other epsilons: its cost hardly depends on them, or grows.
Differentially private on both sides, but the figures here are exact: of public data sets, for a benchmark.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import coded
from environments import PACKAGES, make
from peers_page import write
from runs import Run, perform, reference, today
from tools import TOOLS

RESULTS = Path(__file__).resolve().parent / "results.jsonl"
EPSILONS = ("0.1", "0.4", "1.6")
CAP = 900.0  # seconds for one run, by the clock and of CPU, whichever comes later


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def record(run: Run) -> None:
    line = json.dumps(run.as_json(), ensure_ascii=False)
    with RESULTS.open("a") as file:
        file.write(line + "\n")
    print(line, flush=True)


def compare(asked: argparse.Namespace) -> None:
    tables = {name: coded.real(name) for name in asked.data}
    for data, table in tables.items():
        if not any((r["tool"], r["data"]) == ("real", data) for r in recorded()):
            for run in reference(data, table):
                record(run)
    for tool in (t for t in TOOLS if not asked.tools or t.key in asked.tools):
        if tool.environment in PACKAGES:
            make(tool.environment)
        for data in asked.data:
            for epsilon in asked.epsilon:
                before = [r for r in recorded() if (r["tool"], r["data"]) == (tool.key, data)]
                here = [r for r in before if r["epsilon"] == epsilon]
                wanted = 0 if any("failure" in r for r in here) else asked.repetitions or tool.repetitions
                over = next((r["epsilon"] for r in before if "cap" in r), None)
                for _ in range(wanted - len(here)):
                    if over is None:
                        run = perform(tool, data, epsilon, tables[data], asked.cap)
                    else:
                        run = Run(tool.key, data, epsilon, today(), failure=f"not tried: not finished at ε = {over}")
                    record(run)
                    if run.failure:
                        break


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", nargs="*", choices=[t.key for t in TOOLS])
    parser.add_argument("--data", nargs="*", default=["nltcs", "adult"])
    parser.add_argument("--epsilon", nargs="*", default=EPSILONS)
    parser.add_argument("--repetitions", type=int, help="of each cell, in place of the tool's own number")
    parser.add_argument("--cap", type=float, default=CAP)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--page-only", action="store_true")
    asked = parser.parse_args()
    if asked.fresh:
        RESULTS.unlink(missing_ok=True)
    if not asked.page_only:
        compare(asked)
    write(recorded())


if __name__ == "__main__":
    main()
