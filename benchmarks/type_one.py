"""Type I error and power: a two-group comparison and a regression coefficient, on draws combined and on one table.

    python benchmarks/type_one.py run RESULTS.jsonl --width wide --releases 20
    python benchmarks/type_one.py run RESULTS.jsonl --width narrow --uses --epsilon 4 --releases 20
    python benchmarks/type_one.py run RESULTS.jsonl --width narrow --uses --nulls 10 --effects 2 --ways sample
    python benchmarks/type_one.py page RESULTS.jsonl

The demo census with binary columns added to it: some with no link to anything (as a permuted column has none), some
shifted with age just so far that a t-test on the real rows finds it 8 times in 10. `narrow` has so few columns that
most pairs are measured, `wide` so many that most are not; with `--uses` the steward declared the links to age, and they
are measured. For each added column: the difference of mean age between its groups, and its coefficient beside sex in a
linear regression of age. By the combining rules: `draws(20, about=columns)` with multinomial and systematic rows, 60
tables of the same 20 refits, and for a finite population; query: whether the 95 % interval of the difference that
`query "mean(age) by COLUMN"` says, for a sample, leaves zero out; finite query: that for the rows themselves leaves out
the difference that they have; naive: the same analysis of one synthetic table as if
its rows were real. Bound: how often a test would reject that knew the noise of the measured tables exactly, and used
nothing but them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
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
NULL, EFFECT = "g", "h"  # columns are g1, g2, … and h1, h2, …
DRAWN = {
    "sample": ("sample", 20, "multinomial"), "sample 60": ("sample", 60, "multinomial"),
    "systematic": ("sample", 20, "systematic"), "finite": ("finite", 20, "multinomial"),
}  # fmt: skip
WAYS = ("real", "naive", *DRAWN, "query", "finite query")
DETECTED = 2.8  # standard errors that real rows find 8 times in 10
ALPHA = 0.05


@dataclass(frozen=True)
class Setting:
    """One table under one promise."""

    width: str
    epsilon: float
    delta: float
    uses: bool
    nulls: int
    effects: int
    ways: tuple[str, ...]

    @property
    def null_names(self) -> tuple[str, ...]:
        return tuple(f"{NULL}{i}" for i in range(1, self.nulls + 1))

    @property
    def effect_names(self) -> tuple[str, ...]:
        return tuple(f"{EFFECT}{i}" for i in range(1, self.effects + 1))


def made(setting: Setting, seed: int) -> tuple[pd.DataFrame, Schema]:
    """Return the private table with its added columns, and its public schema."""
    width, nulls, effects = setting.width, setting.null_names, setting.effect_names
    generator = np.random.default_rng([seed, 77])
    frame = demo_table(ROWS, generator).to_pandas()[list(WIDTHS[width])]
    age = frame["age"].to_numpy(dtype=np.float64)
    for name in nulls:
        frame[name] = np.where(generator.random(ROWS) < 0.5, "yes", "no")
    slope = DETECTED / np.sqrt(ROWS) / 2  # a shift of DETECTED standard errors between halves
    for name in effects:
        frame[name] = np.where(generator.random(ROWS) < 0.5 + slope * (age - age.mean()) / age.std(), "yes", "no")
    known = {a.name: a for a in demo_schema(rows=ROWS).attributes}
    added = (Attribute(name, Categories(("no", "yes"))) for name in (*nulls, *effects))
    named = tuple(Use(("age", name)) for name in (*nulls, *effects)) if setting.uses else ()
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


def asked(release: Release, name: str, population: str, truth: float) -> float:
    """Return 0 where the interval of the difference, of yes minus no, leaves the truth out, else 1."""
    compared = release.query(f"mean(age) by {name}", 0.95, population=population).comparisons  # type: ignore[arg-type]
    return float(not compared or compared[0].low <= truth <= compared[0].high)


def run(setting: Setting, seed: int) -> list[dict[str, Any]]:
    """Publish one table and test every added column in every way."""
    frame, schema = made(setting, seed)
    with tempfile.TemporaryDirectory() as folder:
        release: Release = publish_seeded(
            frame, schema, seed=seed, epsilon=setting.epsilon, delta=setting.delta, ledger=Path(folder) / "l.db",
            cap="none",
        ).release  # fmt: skip
    one, out = release.sample(ROWS, seed=seed), []
    for name in (*setting.null_names, *setting.effect_names):
        together = measured_together(release.measurements, ("age", name))
        real = two_groups(frame, name)
        best = bound(release, name, real)
        found = {kind: {"real": p_of(analysis(frame, name)), "naive": p_of(analysis(one, name))}
                 for kind, analysis in ANALYSES.items()}  # fmt: skip
        found["two groups"] |= {"query": asked(release, name, "sample", 0.0),
                                "finite query": asked(release, name, "finite", real[0])}  # fmt: skip
        z: dict[str, float] = {}
        for way in setting.ways:
            population, tables, rows_by = DRAWN[way]
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
            own = {way: z[f"{kind} {way}"] for way in setting.ways}
            out.append({"width": setting.width, "seed": seed, "epsilon": setting.epsilon, "delta": setting.delta,
                        "uses": setting.uses, "nulls": setting.nulls, "column": name, "analysis": kind,
                        "measured": together, "p": found[kind], "z": own, "bound": best})  # fmt: skip
    return out


def page(lines: list[dict[str, Any]]) -> str:
    """Return how often each way rejects, in Markdown: nulls and effects, measured, not measured, and all together."""
    head = ["epsilon", "delta", "column", "analysis", "age link", "tests", *WAYS, "bound"]
    out = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for epsilon, delta in sorted({(r["epsilon"], r["delta"]) for r in lines}):
        for words, first in (("null", NULL), ("effect", EFFECT)):
            for kind in ANALYSES:
                tests = [r for r in lines if r["column"].startswith(first) and r["analysis"] == kind
                         and (r["epsilon"], r["delta"]) == (epsilon, delta)]  # fmt: skip
                measured, others = ([r for r in tests if r["measured"] == which] for which in (True, False))
                for link, own in (("measured", measured), ("not measured", others), ("all", tests)):
                    if own and not (link == "all" and len(own) in (len(measured), len(others))):
                        cells = [f"{epsilon:g}", f"{delta:g}", words, kind, link, str(len(own)), *_rejected(own, words)]
                        out.append("| " + " | ".join(cells) + " |")
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
    running.add_argument("--nulls", type=int, default=2, help="Columns with no link to anything.")
    running.add_argument("--effects", type=int, default=2, help="Columns that real rows find 8 times in 10.")
    running.add_argument("--ways", nargs="+", choices=list(DRAWN), default=list(DRAWN), help="Draws to combine.")
    shown.add_argument("results", type=Path)
    given = parser.parse_args()
    if given.verb == "page":
        print(page([json.loads(line) for line in given.results.read_text().splitlines()]))
        return
    setting = Setting(
        given.width, given.epsilon, given.delta, given.uses, given.nulls, given.effects, tuple(given.ways)
    )
    for seed in range(given.first, given.first + given.releases):
        for line in run(setting, seed):
            with given.results.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
