"""Type I error and power: a two-group comparison and a regression coefficient, on draws combined and on one table.

    python benchmarks/type_one.py run RESULTS.jsonl --width wide --releases 20
    python benchmarks/type_one.py run RESULTS.jsonl --width narrow --uses --epsilon 4 --releases 20
    python benchmarks/type_one.py page RESULTS.jsonl

The demo census with binary columns added to it: some with no link to anything (as a permuted column has none), some
shifted with age just so far that a t-test on the real rows finds it 8 times in 10. `narrow` has so few columns that
most pairs are measured, `wide` so many that most are not; with `--uses` the steward declared the links to age, and they
are measured. For each added column: the difference of mean age between its groups, and its coefficient beside sex in a
linear regression of age. By the combining rules: `draws(20, about=columns)` with multinomial and systematic rows, 60
tables of the same 20 refits, and for a finite population; query: whether the 95 % interval of the difference that
`query "mean(age) by COLUMN"` says, for a sample, leaves zero out; naive: the same analysis of one synthetic table as if
its rows were real. Bound: how often a test would reject that knew the noise of the measured tables exactly, and used
nothing but them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from understudy.demo import demo_schema, demo_table
from understudy.inference.least_squares import Pooled, measured_together
from understudy.inference.linear import Linear
from understudy.inference.student import tail
from understudy.query.evaluation import evaluate
from understudy.query.queries import Query
from understudy.release import Release
from understudy.schema import Attribute, Categories, Schema
from understudy.schema.uses import Use
from understudy.testing import publish_seeded

ROWS = 5000
WIDTHS = {
    "narrow": ("age", "sex"),
    "wide": ("age", "sex", "region", "marital_status", "education", "employment", "owns_home", "children"),
}
NULLS, EFFECTS = ("g1", "g2"), ("h1", "h2")
DRAWN = {
    "sample": ("sample", 20, "multinomial"), "sample 60": ("sample", 60, "multinomial"),
    "systematic": ("sample", 20, "systematic"), "finite": ("finite", 20, "multinomial"),
}  # fmt: skip
WAYS = ("real", "naive", *DRAWN, "query")
DETECTED = 2.8  # standard errors that real rows find 8 times in 10
ALPHA = 0.05


def made(width: str, seed: int, uses: bool) -> tuple[pd.DataFrame, Schema]:
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
    named = tuple(Use(("age", name)) for name in (*NULLS, *EFFECTS)) if uses else ()
    return frame, Schema(width, (*(known[n] for n in WIDTHS[width]), *added), rows=ROWS, uses=named)


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


ANALYSES = {"two groups": two_groups, "coefficient": coefficient}


def p_of(found: tuple[float, float]) -> float:
    return tail(ROWS - 2.0, abs(found[0]) / np.sqrt(max(found[1], 1e-12)))


def bound(release: Release, name: str, real: tuple[float, float]) -> float | None:
    """Return how often the real difference would be found beside sampling and the noise of the measured tables."""
    query = Query.of_text(f"mean(age) by {name}", release.schema, release.rows, release.shapes)
    pooled = Pooled.of(release.measurements, release.schema, query.names)
    if pooled is None:
        return None
    linear = Linear(query, evaluate(release.model, query), release.rows)
    terms = [*linear.terms(1), *((-factor, weights) for factor, weights in linear.terms(0))]
    z = DETECTED * np.sqrt(real[1]) / np.sqrt(pooled.combined(terms)[1] ** 2 + real[1])
    return float(NormalDist().cdf(z - 1.96) + NormalDist().cdf(-z - 1.96))


def asked(release: Release, name: str) -> float:
    """Return 0 where the interval of the difference leaves zero out, else 1."""
    compared = release.query(f"mean(age) by {name}", 0.95, population="sample").comparisons
    return float(not compared or compared[0].low <= 0 <= compared[0].high)


def run(width: str, seed: int, epsilon: float, delta: float, uses: bool) -> list[dict[str, Any]]:
    """Publish one table and test every added column in every way."""
    frame, schema = made(width, seed, uses)
    with tempfile.TemporaryDirectory() as folder:
        release: Release = publish_seeded(
            frame, schema, seed=seed, epsilon=epsilon, delta=delta, ledger=Path(folder) / "l.db", cap="none"
        ).release
    one, out = release.sample(ROWS, seed=seed), []
    for name in (*NULLS, *EFFECTS):
        together = measured_together(release.measurements, ("age", name))
        best = bound(release, name, two_groups(frame, name))
        found = {kind: {"real": p_of(analysis(frame, name)), "naive": p_of(analysis(one, name))}
                 for kind, analysis in ANALYSES.items()}  # fmt: skip
        found["two groups"]["query"] = asked(release, name)
        z: dict[str, float] = {}
        for way, (population, tables, rows_by) in DRAWN.items():
            draws = release.draws(
                tables, about=["age", name, "sex"], rows_by=rows_by, population=population, seed=seed,  # type: ignore[arg-type]
            )  # fmt: skip
            all_pairs = [{kind: analysis(table, name) for kind, analysis in ANALYSES.items()} for table in draws]
            for kind in ANALYSES:
                pairs = [both[kind] for both in all_pairs]
                combined = draws.combine([q for q, _ in pairs], [v for _, v in pairs])
                found[kind][way] = combined.p_value()
                z[f"{kind} {way}"] = combined.estimate / max(combined.stderr, 1e-12)
        for kind in ANALYSES:
            own = {way: z[f"{kind} {way}"] for way in DRAWN}
            out.append({"width": width, "seed": seed, "epsilon": epsilon, "delta": delta, "uses": uses, "column": name,
                        "analysis": kind, "measured": together, "p": found[kind], "z": own, "bound": best})  # fmt: skip
    return out


def page(lines: list[dict[str, Any]]) -> str:
    """Return how often each way rejects, in Markdown: nulls and effects, measured and not."""
    out = [
        "| epsilon | column | analysis | age link | tests | " + " | ".join(WAYS) + " | bound |",
        "|---" * (6 + len(WAYS)) + "|",
    ]
    links = {(True, True): "declared, measured", (True, False): "measured", (False, False): "not measured",
             (False, True): "declared, not measured"}  # fmt: skip
    for epsilon in sorted({r["epsilon"] for r in lines}):
        for words, names in (("null", NULLS), ("effect", EFFECTS)):
            for kind in ANALYSES:
                for (measured, uses), link in links.items():
                    own = [r for r in lines if r["column"] in names and r["analysis"] == kind
                           and (r["epsilon"], r["measured"], r["uses"]) == (epsilon, measured, uses)]  # fmt: skip
                    if own:
                        shown = f"| {epsilon:g} | {words} | {kind} | {link} | {len(own)} | "
                        out.append(shown + " | ".join(_rejected(own, words)) + " |")
    return "\n".join(out)


def _rejected(own: list[dict[str, Any]], words: str) -> list[str]:
    """Return the percentage that each way rejects, and at the end what no test could exceed."""
    known = [r["bound"] for r in own if r["bound"] is not None]
    best = f"{100 * np.mean(known):.0f}" if known and words == "effect" else "–"
    return [*(_percent([r["p"][way] < ALPHA for r in own if way in r["p"]]) for way in WAYS), best]


def _percent(rejected: list[bool]) -> str:
    return f"{100 * np.mean(rejected):.1f}" if rejected else "–"


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
    running.add_argument("--uses", action="store_true", help="Declare the links to age as uses.")
    shown.add_argument("results", type=Path)
    given = parser.parse_args()
    if given.verb == "page":
        print(page([json.loads(line) for line in given.results.read_text().splitlines()]))
        return
    for seed in range(given.first, given.first + given.releases):
        for line in run(given.width, seed, given.epsilon, given.delta, given.uses):
            with given.results.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
