"""Small generated tables on which constants are tried: a few hundred rows, documented ranges, half of them lists.

    python benchmarks/raw/few_rows.py --runs 4 --variants base "understudy.models.tree_counts:MIN_BINS=8"

A table has two hidden factors. A number has one of eight laws and a range as documentation has it: round, from 1 to 6
times what the rows need. All variants see the same tables and seeds (the seeded source: NOT PRIVATE), and each line is
a variant's mean, with the standard error of its difference from the first.
"""

from __future__ import annotations

import argparse
import importlib
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from closeness import measures
from numpy.typing import NDArray
from run import PROMISES

from understudy.schema import Schema
from understudy.schema.files import schema_from_dict
from understudy.testing import publish_seeded

Floats = NDArray[np.float64]
TABLES = ("300x10", "418x20", "800x30", "1600x28", "1600x68", "3000x16")
SHOWN = ("w1", "ks", "sd", "pairs", "association")
NORMAL = math.sqrt(2)


def generated(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of a table as texts, and its schema's attributes."""
    rows, width = map(int, name.split("x"))
    rng = np.random.default_rng(sum(map(ord, name)))
    factors = rng.normal(size=(2, rows))
    frame, attributes = {}, {}
    for i in range(width):
        load = rng.normal(0, 0.6, 2) * (rng.random(2) < 0.7)
        place = (load @ factors + rng.normal(size=rows)) / math.sqrt(1 + load @ load)
        texts, body = _list(place, rng) if i % 2 else _number(place, rng)
        if rng.random() < 0.3:
            texts = np.where(rng.random(rows) < rng.uniform(0.02, 0.3), "", texts)
            body["missing"] = [""]
        frame[f"c{i}"], attributes[f"c{i}"] = texts, body
    return pd.DataFrame(frame, dtype=object), attributes


def _list(place: Floats, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    size = int(rng.integers(2, 7))
    cuts = np.quantile(rng.normal(size=2000), np.sort(rng.random(size - 1)))
    values = [chr(97 + k) for k in range(size)]
    return np.asarray(values, dtype=object)[np.searchsorted(cuts, place)], {"kind": "category", "values": values}


def _number(place: Floats, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    share = np.asarray([0.5 * (1 + math.erf(z / NORMAL)) for z in place])
    scale = 10.0 ** rng.uniform(0, 4)
    law = int(rng.integers(8))
    values = {
        0: scale * (4 + place),
        1: scale * np.exp(0.5 * place),
        2: scale * np.exp(1.1 * place),
        3: scale * -np.log(1 - share * 0.999999),
        4: np.where(share < 0.6, 0.0, scale * np.exp(place)),
        5: scale * share,
        6: scale * (10 + place),
        7: scale * np.where(place < 0.3, 2 + 0.4 * place, 6 + place),
    }[law]
    high = _round_up(float(np.quantile(values, 0.999)) * math.exp(rng.uniform(0, math.log(6))))
    values = np.clip(values, 0, high)
    whole = high >= 100
    digits = 0 if whole else 2
    texts = np.asarray([f"{v:.{digits}f}" for v in values], dtype=object)
    return texts, {"kind": "integer" if whole else "number", "range": [0, int(high) if whole else high]}


def _round_up(value: float) -> float:
    unit = 10.0 ** math.floor(math.log10(value))
    return unit * min(k for k in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if k * unit >= value)


@contextmanager
def constants(variant: str) -> Iterator[None]:
    """Set constants of modules while a variant runs: "module:NAME=value module:NAME=value"."""
    before = []
    for part in variant.split() if variant != "base" else ():
        place, value = part.split("=")
        module, name = place.split(":")
        owner = importlib.import_module(module)
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, type(before[-1][2])(value))
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def figures(frame: pd.DataFrame, schema: Schema, drawn: Schema, promise: str, epsilon: str, seed: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        made = publish_seeded(
            frame, schema, seed=seed, epsilon=epsilon, delta=PROMISES[promise][1], ledger=Path(folder) / "l.db"
        )
        path = Path(folder) / "out.csv"
        made.release.sample(len(frame), seed=seed).to_csv(path, index=False)
        found = measures(frame, pd.read_csv(path, dtype=str, keep_default_na=False), drawn)
    return [found[name] for name in SHOWN]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--promises", nargs="*", default=list(PROMISES))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--variants", nargs="*", default=["base"])
    asked = parser.parse_args()
    for promise in asked.promises:
        for name in asked.tables:
            frame, attributes = generated(name)
            neighbours = PROMISES[promise][0]
            table = {"name": "small", "neighbours": neighbours} | (
                {"rows": len(frame)} if neighbours == "replace-one" else {}
            )
            schema = schema_from_dict({"table": table, "attributes": attributes}, in_file=True)
            base: Floats | None = None
            for variant in asked.variants:
                with constants(variant):
                    found = np.asarray(
                        [figures(frame, schema, schema, promise, asked.epsilon, run) for run in range(asked.runs)]
                    )
                base = found if base is None else base
                error = (found - base).std(axis=0, ddof=1) / math.sqrt(asked.runs)
                shown = " ".join(f"{k} {m:.3f}±{e:.3f}" for k, m, e in zip(SHOWN, found.mean(axis=0), error))
                print(f"{promise:12} {name:8} {shown}  {variant}", flush=True)


if __name__ == "__main__":
    main()
