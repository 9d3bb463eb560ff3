"""The k-marginal score of NIST on a raw table: how much of every table of three columns a synthetic file has right.

    python benchmarks/raw/k_marginal.py [ma2019] [--epsilon 1 10] [--promises approximate pure] [--runs 3]

For each set of k columns, 1 less the total variation distance between the real and the synthetic table; the score is
the mean over all sets, times 1,000. Numbers are cut at the real deciles, where NIST cuts some of them at steps of its
own, so its scores are of nearly the same kind and not the same figure. As many rows are scored as are made.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from closeness import Codes, pairs_of
from run import PROMISES, Cell, Truth, publish
from tables import RawTable, read_texts

from understudy.schema import Schema

RECORDS = Path(__file__).parents[1] / "results" / "k-marginal.jsonl"
K = 3


def k_marginal(real: Sequence[Codes], made: Sequence[Codes], sizes: Sequence[int], k: int = K) -> float:
    """Return the score of columns of codes, from 0 to 1,000: the mean over all sets of k of them.

    >>> same = [np.array([0, 1]), np.array([0, 1]), np.array([1, 0])]
    >>> k_marginal(same, same, [2, 2, 2])
    1000.0
    >>> k_marginal(same, [np.array([0, 0]), np.array([0, 0]), np.array([1, 1])], [2, 2, 2])
    500.0
    """
    alike = []
    for chosen in combinations(range(len(sizes)), k):
        shares = [_shares([columns[i] for i in chosen], [sizes[i] for i in chosen]) for columns in (real, made)]
        alike.append(1 - np.abs(shares[0].sub(shares[1], fill_value=0.0)).sum() / 2)
    return round(1000 * float(np.mean(alike)), 6)


def _shares(columns: Sequence[Codes], sizes: Sequence[int]) -> pd.Series[float]:
    """Return the share of each cell that has rows."""
    cells = np.ravel_multi_index([np.asarray(column) for column in columns], [max(1, size) for size in sizes])
    found, counts = np.unique(cells, return_counts=True)
    return pd.Series(counts / len(cells), index=found)


def score(real: pd.DataFrame, made: pd.DataFrame, schema: Schema) -> float:
    """Return the score of a synthetic table that was read as text."""
    coded = [pair.codes() for pair in pairs_of(real, made, schema)]
    return k_marginal([c[0] for c in coded], [c[1] for c in coded], [c[2] for c in coded])


def record(line: dict[str, Any]) -> None:
    with RECORDS.open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", default="ma2019")
    parser.add_argument("--epsilon", nargs="*", default=["1", "10"])
    parser.add_argument("--promises", nargs="*", default=list(PROMISES), choices=list(PROMISES))
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, table = Path(name), RawTable(asked.table)
        table.write_csv(folder / "real.csv")
        frame, schema = read_texts(folder / "real.csv"), table.schema("plain", "add-remove")
        truth = Truth(table, folder / "real.csv", frame, schema, {})
        again = frame.iloc[np.random.default_rng(0).integers(0, len(frame), len(frame))].reset_index(drop=True)
        head = {"table": asked.table, "k": K, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        record(head | {"form": "resampled", "score": score(frame, again, schema)})
        for run in range(asked.runs):
            for promise in asked.promises:
                for epsilon in asked.epsilon:
                    cell = Cell(asked.table, "plain", promise, epsilon, "main")
                    failure, _ = publish(cell, truth, folder / "out.csv", folder)
                    made = frame[:0] if failure else read_texts(folder / "out.csv")
                    told = {"failure": failure} if failure else {"score": score(frame, made, schema)}
                    record(head | {"form": "plain", "promise": promise, "epsilon": epsilon, "run": run} | told)


if __name__ == "__main__":
    main()
