"""Type I error and power: a two-group comparison and a regression coefficient, on draws combined and on one table.

    python benchmarks/type_one.py run RESULTS.jsonl --width wide --releases 20
    python benchmarks/type_one.py page RESULTS.jsonl

The demo census with binary columns added to it: some with no link to anything (as a permuted column has none), some
shifted with age just so far that a t-test on the real rows finds it 8 times in 10. `narrow` has so few columns that
most pairs are measured, `wide` so many that most are not. For each added column: the difference of mean age between
its groups, and its coefficient beside sex in a linear regression of age. Combined: `draws(20, about=columns)` by the
combining rules; naive: the same analysis of one synthetic table as if its rows were real.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.demo import demo_schema, demo_table
from understudy.inference.least_squares import measured_together
from understudy.inference.student import tail
from understudy.release import Release
from understudy.schema import Attribute, Categories, Schema
from understudy.testing import publish_seeded

ROWS = 5000
WIDTHS = {
    "narrow": ("age", "sex"),
    "wide": ("age", "sex", "region", "marital_status", "education", "employment", "owns_home", "children"),
}
NULLS, EFFECTS = ("g1", "g2", "g3"), ("h1", "h2")
DETECTED = 2.8  # standard errors that real rows find 8 times in 10
ALPHA = 0.05


def made(width: str, seed: int) -> tuple[pd.DataFrame, Schema]:
    """Return the private table with its added columns, and its public schema."""
    generator = np.random.default_rng([seed, 77])
    frame = demo_table(ROWS, generator).to_pandas()[list(WIDTHS[width])]
    age = frame["age"].to_numpy(dtype=np.float64)
    for name in NULLS:
        frame[name] = np.where(generator.random(ROWS) < 0.5, "yes", "no")
    slope = DETECTED / np.sqrt(ROWS) / 2  # a shift of DETECTED standard errors between halves
    for name in EFFECTS:
        frame[name] = np.where(generator.random(ROWS) < 0.5 + slope * (age - age.mean()) / age.std(), "yes", "no")
    known = {a.name: a for a in demo_schema(rows=ROWS).attributes}
    added = (Attribute(name, Categories(("no", "yes"))) for name in (*NULLS, *EFFECTS))
    return frame, Schema(width, (*(known[n] for n in WIDTHS[width]), *added), rows=ROWS)


def two_groups(frame: Any, name: str) -> tuple[float, float]:
    """Return the difference of mean age between the groups of a column, and its variance."""
    age, yes = frame["age"].to_numpy(dtype=np.float64), (frame[name].astype(str) == "yes").to_numpy()
    one, other = age[yes], age[~yes]
    return float(one.mean() - other.mean()), float(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))


def coefficient(frame: Any, name: str) -> tuple[float, float]:
    """Return the coefficient of a column beside sex in a linear regression of age, and its variance."""
    age = frame["age"].to_numpy(dtype=np.float64)
    yes, sex = ((frame[n].astype(str) == v).to_numpy(dtype=np.float64) for n, v in ((name, "yes"), ("sex", "Male")))
    x = np.column_stack([np.ones(len(age)), yes, sex])
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ age
    return float(beta[1]), float(((age - x @ beta) ** 2).sum() / (len(age) - 3) * inverse[1, 1])


ANALYSES = {"two groups": (two_groups, ()), "coefficient": (coefficient, ("sex",))}


def p_of(found: tuple[float, float]) -> float:
    return tail(ROWS - 2.0, abs(found[0]) / np.sqrt(max(found[1], 1e-12)))


def run(width: str, seed: int, epsilon: float, delta: float) -> list[dict[str, Any]]:
    """Publish one table and test every added column in every way."""
    frame, schema = made(width, seed)
    with tempfile.TemporaryDirectory() as folder:
        release: Release = publish_seeded(
            frame, schema, seed=seed, epsilon=epsilon, delta=delta, ledger=Path(folder) / "l.db", cap="none"
        ).release
    one, out = release.sample(ROWS, seed=seed), []
    for name in (*NULLS, *EFFECTS):
        for kind, (analysis, more) in ANALYSES.items():
            p = {"real": p_of(analysis(frame, name)), "naive": p_of(analysis(one, name))}
            for population in ("sample", "finite"):
                draws = release.draws(20, about=["age", name, *more], population=population, seed=seed)
                pairs = [analysis(table, name) for table in draws]
                p[population] = draws.combine([q for q, _ in pairs], [v for _, v in pairs]).p_value()
            together = measured_together(release.measurements, ("age", name))
            out.append({"width": width, "seed": seed, "epsilon": epsilon, "delta": delta, "column": name,
                        "analysis": kind, "measured": together, "p": p})  # fmt: skip
    return out


def page(lines: list[dict[str, Any]]) -> str:
    """Return how often each way rejects, in Markdown: nulls and effects, measured and not."""
    ways = ("real", "naive", "sample", "finite")
    out = ["| column | analysis | age link | tests | " + " | ".join(ways) + " |", "|---" * 8 + "|"]
    for words, names in (("null", NULLS), ("effect", EFFECTS)):
        for kind in ANALYSES:
            for measured in (True, False):
                own = [r for r in lines if r["column"] in names and r["analysis"] == kind and r["measured"] == measured]
                if own:
                    share = [f"{100 * np.mean([r['p'][w] < ALPHA for r in own]):.1f}" for w in ways]
                    link = "measured" if measured else "not measured"
                    out.append(f"| {words} | {kind} | {link} | {len(own)} | " + " | ".join(share) + " |")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    running, shown = verbs.add_parser("run"), verbs.add_parser("page")
    running.add_argument("results", type=Path)
    running.add_argument("--width", choices=list(WIDTHS), default="wide")
    running.add_argument("--epsilon", type=float, default=1.0)
    running.add_argument("--delta", type=float, default=1e-9)
    running.add_argument("--releases", type=int, default=20)
    running.add_argument("--first", type=int, default=1)
    shown.add_argument("results", type=Path)
    given = parser.parse_args()
    if given.verb == "page":
        print(page([json.loads(line) for line in given.results.read_text().splitlines()]))
        return
    for seed in range(given.first, given.first + given.releases):
        for line in run(given.width, seed, given.epsilon, given.delta):
            with given.results.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
