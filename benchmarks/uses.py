"""What [[uses]] buy: the error of the tables that they name and of a classifier, with and without them.

    python benchmarks/uses.py census-20000 adult --promise 0.4,1e-9,add-remove --runs 3

Seeded runs of AIM (NOT PRIVATE), paired by seed. `named` is the mean total variation distance of the tables that the
analyses name, `pairs` and `triples` that of all pairs and of 300 triples, `error` the share of real rows that gradient
boosting trained on as many synthetic rows gets wrong; `majority` is what the commonest value of the target gets wrong.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import paired
from understudy.engines.memory import MemoryEngine
from understudy.methods import method_named
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.schema.uses import Use
from understudy.testing import SeededSource

RESULTS = Path(__file__).parent / "results" / "uses.csv"
FIELDS = ("table", "epsilon", "delta", "neighbours", "uses", "seed", "named", "pairs", "triples", "error", "majority")


@dataclass(frozen=True)
class Wanted:
    """The uses of a table."""

    analyses: tuple[str, ...]
    target: str


WANTED = {
    "census-20000": Wanted(
        ("income by sex, education", "chronic_illness by age, sex", "region by owns_home"), "owns_home"
    ),
    "network-12-20000": Wanted(("c3 by c4, c6", "c9 by c10, c1", "c5 by c8"), "c10"),
    "adult": Wanted(("income by sex, race", "marital-status by age", "occupation by sex, income"), "income"),
    "tpce": Wanted(("t01 by t02, t03", "t10 by t11, t22", "t06 by t09"), "t22"),
}  # fmt: skip


def one(name: str, promise: tuple[str, str, str], uses: str, seed: int) -> dict[str, float]:
    """Fit once with the uses named by a word, "none", "analyses", "target" or "both", and compare."""
    real, wanted = paired.table(name), WANTED[name]
    epsilon, delta, neighbours = promise
    asked = [Use.table(text) for text in wanted.analyses] if uses in ("analyses", "both") else []
    asked += [Use((), wanted.target)] if uses in ("target", "both") else []
    schema = replace(real.under(neighbours), uses=tuple(asked))
    engine = MemoryEngine(dict(real.columns), real.rows, schema.counted)
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "l.db") as book:
        reservation = book.reserve(schema, Budget(epsilon, delta), {}, unlimited=True, fingerprint="trial")
        fit = method_named("aim", {}, schema).fit(LocalPrivateTable(schema, engine, reservation, SeededSource(seed)))
        made = fit.model.sample(real.rows, np.random.default_rng(seed))
    named = [tuple(Use.table(text).names) for text in wanted.analyses]
    distance = [
        float(0.5 * np.abs(paired._shares(real.columns, schema, n) - paired._shares(made, schema, n)).sum())
        for n in named
    ]
    wrong, majority = classified(real.columns, made, wanted.target, schema.names)
    return {
        "named": float(np.mean(distance)), "pairs": real.tvd(made, 2), "triples": real.tvd(made, 3),
        "error": wrong, "majority": majority,
    }  # fmt: skip


def classified(real: Any, made: Any, target: str, names: tuple[str, ...]) -> tuple[float, float]:
    """Return what gradient boosting gets wrong on real rows, and what the majority gets wrong."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    features = [name for name in names if name != target]
    train, test = (np.stack([np.asarray(c[n]) for n in features], axis=1) for c in (made, real))
    truth = np.asarray(real[target])
    majority = 1 - np.bincount(truth).max() / len(truth)
    if len(np.unique(made[target])) == 1:
        return float(np.mean(truth != made[target][0])), float(majority)
    fitted = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(train, made[target])
    return float(np.mean(fitted.predict(test) != truth)), float(majority)


def lines() -> list[str]:
    """Return a section for docs/accuracy.md, from benchmarks/results/uses.csv."""
    found: dict[tuple[str, ...], dict[str, list[dict[str, str]]]] = {}
    with RESULTS.open(newline="") as file:
        for r in csv.DictReader(file):
            cell = found.setdefault((r["table"], r["epsilon"], r["delta"], r["neighbours"]), {})
            cell.setdefault(r["uses"], []).append(r)
    out = [
        "## Uses, with and without", "",
        "AIM with `[[uses]]` of three small tables (`analyses`), of a `target`, of both, and with none: seeded runs of "
        "`benchmarks/uses.py`, mean ± standard error. *named*: total variation distance of the three tables; *wrong*: "
        "share of real rows that gradient boosting trained on synthetic ones gets wrong (in brackets: the majority's).",
        "", "| table | promise | uses | runs | named | pairs | triples | wrong |", "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for (name, epsilon, delta, neighbours), variants in found.items():
        promise = f"{epsilon} {neighbours}" if delta == "0" else f"({epsilon}, {delta}) {neighbours}"
        for uses, runs in variants.items():
            shown = [_shown([float(r[f]) for r in runs]) for f in ("named", "pairs", "triples", "error")]
            shown[-1] += f" ({float(runs[0]['majority']):.3f})"
            out.append(f"| {name} | {promise} | {uses} | {len(runs)} | {' | '.join(shown)} |")
    return out


def _shown(values: list[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.4f} ± {error:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--promise", nargs="+", default=["0.4,1e-9,add-remove"])
    parser.add_argument("--uses", nargs="+", default=["none", "analyses", "target", "both"])
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    known = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            known = [tuple(r[f] for f in FIELDS[:6]) for r in csv.DictReader(file)]
    for name in asked.names:
        for promise in asked.promise:
            split = tuple(promise.split(","))
            for seed in range(1, asked.runs + 1):
                for uses in asked.uses:
                    key = (name, *split, uses, str(seed))
                    if key not in known:
                        found = one(name, split, uses, seed)  # type: ignore[arg-type]
                        paired_line = dict(zip(FIELDS, key)) | {k: f"{v:.5g}" for k, v in found.items()}
                        append(paired_line)
                        print(*paired_line.values(), flush=True)
    print("\n".join(lines()))


def append(line: dict[str, str]) -> None:
    """Add a run to the records."""
    fresh = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(line)


if __name__ == "__main__":
    main()
