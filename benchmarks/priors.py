"""A prior, with and without: one random half of a table is last year's, the other is published.

    python benchmarks/priors.py adult salary tpce census-40000 --promise 0.1,1e-9,add-remove --runs 5

Variants: `none`; `release`, last year's release at the same promise; `public`, last year's rows as a public table;
`drifted`, a public table of last year's rows drawn again with weights that three random columns decide; `shuffled`, a
release of last year's rows with every column shuffled; `relabelled`, with the values of every column renamed at random.
Seeded (NOT PRIVATE), paired; figures as in paired.py, whose records and comparison are used.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import paired
from understudy.engines.memory import MemoryEngine
from understudy.methods.aim import Aim
from understudy.methods.toolkit.public_tables import public_prior
from understudy.models.prior import Prior
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.schema import Schema
from understudy.testing import SeededSource

VARIANTS = ("none", "release", "public", "drifted", "shuffled", "relabelled")
RESULTS = Path(__file__).parent / "results" / "priors.csv"
Columns = dict[str, Any]


@lru_cache(maxsize=2)
def halves(name: str) -> tuple[paired.Table, paired.Table]:
    """Return last year's rows and this year's."""
    whole = paired.table(name)
    order = np.random.default_rng(len(name)).permutation(whole.rows)
    parts = np.array_split(order, 2)
    tables = [
        paired.Table(name, {n: np.asarray(c)[part] for n, c in whole.columns.items()},
                     replace(whole.schema, rows=len(part), text=None))
        for part in parts
    ]  # fmt: skip
    return tables[0], tables[1]


def changed(columns: Columns, schema: Schema, variant: str, seed: int) -> Columns:
    """Return rows that are wrong on purpose."""
    rng = np.random.default_rng(seed)
    if variant == "shuffled":
        return {n: rng.permutation(c) for n, c in columns.items()}
    if variant == "relabelled":
        return {n: rng.permutation(schema[n].size)[c].astype(np.asarray(c).dtype) for n, c in columns.items()}
    if variant == "drifted":
        tilt = np.zeros(len(next(iter(columns.values()))))
        for name in rng.choice(list(columns), 3, replace=False):
            tilt += rng.normal(0, 0.4, schema[name].size)[columns[name]]
        weights = np.exp(tilt) / np.exp(tilt).sum()
        drawn = rng.choice(len(weights), len(weights), p=weights)
        return {n: np.asarray(c)[drawn] for n, c in columns.items()}
    return columns


def fit(columns: Columns, schema: Schema, promise: tuple[str, ...], method: Aim, seed: int) -> Any:
    rows = len(next(iter(columns.values())))
    engine = MemoryEngine(dict(columns), rows, schema.counted)
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "l.db") as book:
        reservation = book.reserve(schema, Budget(*promise[:2]), {}, unlimited=True, fingerprint="trial")
        return method.fit(LocalPrivateTable(schema, engine, reservation, SeededSource(seed)))


@lru_cache(maxsize=64)
def prior(name: str, promise: tuple[str, ...], variant: str, seed: int) -> Prior | None:
    if variant == "none":
        return None
    before, _ = halves(name)
    schema = before.under(promise[2])
    columns = changed(dict(before.columns), schema, variant, seed)
    if variant in ("public", "drifted"):
        engine = MemoryEngine(columns, before.rows, schema.counted)
        return public_prior(schema, engine.marginals, before.rows, "trial")
    found = fit(columns, schema, promise, Aim(), 1000 + seed)
    return Prior("release", "trial", found.rows, tuple(m for m in found.measurements if m.axes))


def one(name: str, promise: tuple[str, ...], variant: str, seed: int) -> dict[str, Any]:
    now = halves(name)[1]
    known = prior(name, promise, variant, 0 if variant == "public" else seed)
    start = time.process_time()
    found = fit(dict(now.columns), now.under(promise[2]), promise, Aim(prior=known), seed)
    cpu = time.process_time() - start
    made = found.model.sample(now.rows, np.random.default_rng(seed))
    figures: dict[str, Any] = {f"tvd{alpha}": now.tvd(made, alpha) for alpha in (1, 2, 3)}
    return figures | {"cpu": cpu, "tables": len(found.facts.get("tables", []))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--promise", nargs="+", default=["0.4,1e-9,add-remove"])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--records", type=Path, default=Path(tempfile.gettempdir()) / "understudy-priors.csv")
    asked = parser.parse_args()
    done = {tuple(r[field] for field in paired.FIELDS[:6]) for r in paired.records(asked.records)}
    for name, promise, seed, variant in itertools.product(
        asked.names, asked.promise, range(asked.runs), asked.variants
    ):
        terms = tuple(promise.split(","))
        if (name, *terms, variant, str(seed)) in done:
            continue
        line = dict(zip(paired.FIELDS, (name, *terms, variant, seed)))
        paired.append(asked.records, line | one(name, terms, variant, seed))
    print(paired.compared(asked.records, asked.names, asked.promise, asked.variants))


if __name__ == "__main__":
    main()
