"""What discovery costs: the same table published on a schema declared by hand and on ones whose parts are bought.

    python benchmarks/raw/bought_schemas.py [--tables mixed HI …] [--ways declared ranges kinds lists all]
                                            [--promises approximate pure] [--rows 5000] [--epsilon 1] [--repetitions 3]

Equal total epsilon for each way. `declared` has ranges and lists from documentation, `ranges` leaves every range open,
`kinds` the whole of every number and date, `lists` every list of values, `all` everything. Errors are measured on the
hand-made schema's cells, so a value that came back as `other` counts as wrong. Added to
`benchmarks/results/bought-schemas.jsonl`; `mixed` and `listed` are generated, the others are raw tables.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from closeness import measures
from tables import NAMES, RawTable, read_texts
from threadpoolctl import threadpool_limits

from understudy.errors import UnderstudyError
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.schema import Schema
from understudy.schema.files import schema_from_dict
from understudy.schema.writing import schema_as_dict

RESULTS = Path(
    os.environ.get("BOUGHT_RESULTS", Path(__file__).resolve().parents[1] / "results" / "bought-schemas.jsonl")
)
WAYS = ("declared", "ranges", "kinds", "lists", "all")
PROMISES = {"approximate": ("add-remove", "1e-6"), "pure": ("replace-one", "0")}
ORDERED = ("integer", "number", "date", "datetime")
GENERATED = ("mixed", "listed")


def generated(name: str, rows: int, seed: int = 17) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a generated table as text, and the bodies of its attributes as one who knows it would declare them."""
    draw = np.random.default_rng(seed)
    class_ = draw.integers(0, 5, rows)
    if name == "listed":
        frame, bodies = {}, {}
        for at, size in enumerate((3, 4, 6, 8, 10, 12, 16, 20)):
            weights = 1 / np.arange(1, size + 1)
            fresh = draw.choice(size, rows, p=weights / weights.sum())
            codes = np.where(draw.random(rows) < 0.5, class_ % size, fresh)
            names = [f"{'abcdefgh'[at]}{code:02d}" for code in range(size)]
            frame[f"list {size}"] = np.asarray(names)[codes]
            bodies[f"list {size}"] = {"kind": "category", "values": names}
        return pd.DataFrame(frame), bodies
    age = np.clip(draw.normal(30 + 8 * class_, 9), 0, 105).astype(int)
    income = np.round(np.exp(draw.normal(8.5 + class_ / 4, 0.6)), 2)
    day = pd.Timestamp("2024-06-30") - pd.to_timedelta(age * 365 + draw.integers(0, 365, rows), unit="D")
    weight = np.round(draw.normal(60 + 5 * class_, 12), 1)
    visits = draw.poisson(1 + class_)
    balance = np.round(draw.normal(200 * (class_ - 2), 500), 2)
    seen = pd.Timestamp("2021-01-01") + pd.to_timedelta(draw.integers(0, 1000, rows), unit="D")
    frame = {
        "age": age.astype(str), "income": [f"{x:.2f}" for x in income], "born": day.strftime("%d/%m/%Y"),
        "weight": [f"{x:.1f}" for x in weight], "visits": visits.astype(str),
        "balance": [f"{x:.2f}" for x in balance], "seen": seen.strftime("%Y-%m-%d"),
    }  # fmt: skip
    bodies = {
        "age": {"kind": "integer", "range": [0, 120]},
        "income": {"kind": "number", "range": [0, 100_000], "decimals": 2},
        "born": {"kind": "date", "range": ["1900-01-01", "2024-12-31"], "format": "%d/%m/%Y"},
        "weight": {"kind": "number", "range": [0, 200], "decimals": 1},
        "visits": {"kind": "integer", "range": [0, 100]},
        "balance": {"kind": "number", "range": [-5000, 5000], "decimals": 2},
        "seen": {"kind": "date", "range": ["2020-01-01", "2024-12-31"]},
    }
    return pd.DataFrame(frame), bodies


def table_of(name: str, rows: int, folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table of so many rows at most, as text, and its hand-made attributes."""
    if name in GENERATED:
        return generated(name, rows)
    raw = RawTable(name)
    path = folder / f"{name}.csv"
    raw.write_csv(path)
    frame = read_texts(path)
    chosen = np.random.default_rng(5).permutation(len(frame))[:rows]
    bodies: dict[str, Any] = schema_as_dict(raw.schema("plain", "add-remove"))["attributes"]
    return frame.iloc[np.sort(chosen)].reset_index(drop=True), bodies


def left_open(body: dict[str, Any], way: str) -> dict[str, Any]:
    """Return an attribute's body with what this way of declaring leaves to be bought."""
    kind, shared = body["kind"], {key: body[key] for key in ("missing",) if key in body}
    if kind in ORDERED and way in ("kinds", "all"):
        return {"kind": "discover", **shared}
    if kind in ORDERED and way == "ranges":
        kept = {key: body[key] for key in ("format", "decimals", "step", "other") if key in body}
        return {"kind": kind, "range": "discover", **shared, **kept}
    if kind in ("category", "boolean") and way == "all":
        return {"kind": "discover", **shared}
    if kind == "category" and way == "lists":
        return {"kind": kind, "values": "discover", **shared}
    return body


def schema_of(bodies: dict[str, Any], rows: int, neighbours: str) -> Schema:
    table: dict[str, Any] = {"name": "bought", "neighbours": neighbours}
    table |= {"rows": rows} if neighbours == "replace-one" else {"rows_max": rows}
    return schema_from_dict({"table": table, "attributes": bodies}, in_file=True)


def perform(name: str, way: str, promise: str, epsilon: str, rows: int, folder: Path) -> dict[str, Any]:
    """Return the line of one run."""
    frame, bodies = table_of(name, rows, folder)
    neighbours, delta = PROMISES[promise]
    truth = schema_of(bodies, len(frame), neighbours)
    opened = schema_of({n: left_open(b, way) for n, b in bodies.items()}, len(frame), neighbours)
    frame.to_csv(folder / "table.csv", index=False)
    (folder / "ledger.db").unlink(missing_ok=True)
    head = {"table": name, "rows": len(frame), "way": way, "promise": promise, "epsilon": epsilon}
    start = time.process_time()
    try:
        made = run(
            folder / "table.csv", opened, Budget(epsilon, delta), "auto", {}, ledger=folder / "ledger.db", cap="none",
            register=False, quiet=True,
        )  # fmt: skip
    except UnderstudyError as error:
        return head | {"failure": str(error)}
    made.release.write(folder / "made.csv")
    again = read_texts(folder / "made.csv")
    for column in frame.columns:
        if column not in again:
            again[column] = ""
    figures = measures(frame, again[list(frame.columns)], truth)
    kept = {key: round(figures[key], 5) for key in ("pairs", "ks", "quantiles", "association")}
    return head | {
        "cpu": round(time.process_time() - start, 1),
        "figures": kept,
        "notes": list(made.release.card.notes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=["mixed"], choices=[*GENERATED, *NAMES])
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--promises", nargs="*", default=list(PROMISES), choices=list(PROMISES))
    parser.add_argument("--epsilon", nargs="*", default=["1"])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--repetitions", type=int, default=3)
    asked = parser.parse_args()
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        for _ in range(asked.repetitions):
            for name in asked.tables:
                for promise in asked.promises:
                    for way in asked.ways:
                        for epsilon in asked.epsilon:
                            line = perform(name, way, promise, epsilon, asked.rows, Path(folder))
                            with RESULTS.open("a") as file:
                                file.write(json.dumps(line) + "\n")
                            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
