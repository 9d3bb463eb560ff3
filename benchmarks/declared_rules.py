"""What rules are worth and what they cost: Adult with the education map declared, and a generated table of loans.

    python benchmarks/declared_rules.py adult [--runs 5] [--epsilon 1] [--delta 0]
    python benchmarks/declared_rules.py loans [--rows 20000]

The operating system's entropy. Prints a line for each run and their means with standard errors.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import datasets
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.schema import Schema
from understudy.schema.rules import Rule
from yardstick import coded, tvd

EDUCATION = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college", "Assoc-voc",
    "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
MAP = Rule('"education-num" = map(education)', tuple((name, i) for i, name in enumerate(EDUCATION, 1)))
LOANS = """
[table]
name = "loans"
rows = {rows}
[attributes.principal]
kind = "integer"
range = [0, 40000]
[attributes.interest]
kind = "number"
range = [0, 9000]
decimals = 2
[attributes.fees]
kind = "number"
range = [0, 500]
decimals = 2
[attributes.total]
kind = "number"
range = [0, 50000]
decimals = 2
[attributes.paid]
kind = "number"
range = [0, 50000]
decimals = 2
[attributes.balance]
kind = "number"
range = [0, 50000]
decimals = 2
[attributes.opened]
kind = "date"
range = [2015-01-01, 2024-12-31]
[attributes.closed]
kind = "date"
range = [2015-01-01, 2024-12-31]
missing = true
[attributes.status]
kind = "category"
values = ["open", "closed", "late"]
"""
LOAN_RULES = (
    "total == principal + interest + fees", "balance == total - paid", "opened <= closed",
    "status == 'closed' implies closed is not missing", "status != 'closed' implies closed is missing",
    "status == 'closed' implies balance < 0.01",
)  # fmt: skip


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.4f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.4f}"


def adult(runs: int, epsilon: str, delta: str) -> None:
    table, _ = coded("adult")
    plain = datasets.schema("adult")
    found: dict[str, list[float]] = {}
    for number in range(1, runs + 1):
        for name, schema in (("plain", plain), ("map", replace(plain, rules=(MAP,), text=None))):
            with tempfile.TemporaryDirectory() as folder:
                start = time.process_time()
                done = run(
                    datasets.path("adult"), schema, Budget(epsilon, delta), "auto", {}, ledger=Path(folder) / "l.db"
                )
                cpu = time.process_time() - start
                rows = done.release.sample_codes(table.rows, None, done.release.generator())
            others = plain.project([n for n in plain.names if n != "education-num"])
            figures = {
                "all pairs": tvd(table.columns, rows, plain, 2),
                "pairs without the number": tvd(table.columns, rows, others, 2),
                "all triples": tvd(table.columns, rows, plain, 3),
                "cpu": cpu,
            }
            print(number, name, {k: round(v, 4) for k, v in figures.items()}, flush=True)
            for key, value in figures.items():
                found.setdefault(f"{name}: {key}", []).append(value)
    for key, values in found.items():
        print(f"{key:<40}{spread(values)}")


def generated_loans(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    principal = np.round(np.exp(rng.normal(8.8, 0.8, rows)) / 25) * 25
    principal = np.minimum(principal, 40_000).astype(int)
    interest, fees = np.round(principal * rng.uniform(0.02, 0.2, rows), 2), np.round(rng.exponential(40, rows), 2)
    fees = np.minimum(fees, 500)
    total = np.round(principal + interest + fees, 2)
    status = rng.choice(["open", "closed", "late"], rows, p=[0.5, 0.4, 0.1])
    paid = np.where(status == "closed", total, np.round(total * rng.beta(2, 2, rows), 2))
    opened = rng.integers(0, 3000, rows)
    closed = np.minimum(opened + rng.integers(30, 1500, rows), 3652)
    day = np.datetime64("2015-01-01")
    ends = [None if s != "closed" else d for s, d in zip(status, (day + closed).astype(object))]
    return {
        "principal": principal, "interest": interest, "fees": fees, "total": total, "paid": paid,
        "balance": np.round(total - paid, 2), "opened": (day + opened).astype(object).tolist(), "closed": ends,
        "status": status.tolist(),
    }  # fmt: skip


def loans(rows: int, epsilon: str, delta: str) -> None:
    table = pa.table(generated_loans(rows))
    plain = Schema.from_toml(LOANS.format(rows=rows))
    for name, rules in (("without rules", ()), ("with rules", tuple(map(Rule, LOAN_RULES)))):
        schema = replace(plain, rules=rules, text=None)
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            done = run(
                table, schema, Budget(epsilon, delta), "auto", {}, ledger=Path(folder) / "l.db", types="declared"
            )
            fit = time.process_time() - start
            start = time.process_time()
            object.__setattr__(done.release, "library", "pandas")
            made = done.release.sample(100_000)
            drawn = time.process_time() - start
        broken = {
            "total": int((abs(made.total - made.principal - made.interest - made.fees) > 0.005).sum()),
            "balance": int((abs(made.balance - made.total + made.paid) > 0.005).sum()),
            "dates": int((made.opened > made.closed).sum()),
            "closed": int(((made.status == "closed") != made.closed.notna()).sum()),
            "paid": int(((made.status == "closed") & (made.balance >= 0.01)).sum()),
        }
        print(
            f"{name}: fit {fit:.1f} s, 100,000 rows {drawn:.1f} s of CPU; rows that break an identity: {broken}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("adult", "loans"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="0")
    given = parser.parse_args()
    if given.what == "adult":
        adult(given.runs, given.epsilon, given.delta)
    else:
        loans(given.rows, given.epsilon, given.delta)
