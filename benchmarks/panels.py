"""People with many rows: histories by [person] against rows as rows, dealt out to people at random.

    python benchmarks/panels.py [nlswork pbcseq InstEval generated] [--epsilon 1 4] [--delta 1e-6] [--runs 3]

The rival is the same table without [person]: rows_per_person = K, rows come back as if each were somebody. To measure
it at all its rows are dealt out to people at random, as many to each as people really have: that is in its favour. Both
are measured on the real rows cut to the first K of each person.

    rows      total variation distance of the number of rows a person
    lag       mean absolute error of the correlation of a number with itself one row before
    moves     mean total variation distance of (value before, value now), over the columns that vary
    columns   mean total variation distance of a column, over rows
    pairs     the same of two columns
    constant  share of people with two values of a constant column
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import datasets
from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.relations.derivation import Histories
from understudy.relations.panel import Panel
from understudy.relations.reading import person_numbers
from understudy.schema import Schema

FOLDER = datasets.ROOT / "people_and_rows"
FLAG = {"kind": "category", "values": ["0", "1"], "missing": ["", "NA"]}
MISSING = ["", "NA"]


def number(low: float, high: float, bins: int = 12, kind: str = "number", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "range": [low, high], "bins": bins, "missing": MISSING} | more


def listed(*values: Any) -> dict[str, Any]:
    return {"kind": "category", "values": [str(v) for v in values], "missing": MISSING}


def schema_of(name: str, person: dict[str, Any], attributes: dict[str, Any]) -> Schema:
    table = {"name": name, "neighbours": "add-remove"}
    return Schema.from_dict({"table": table, "person": person, "attributes": attributes})


def nlswork() -> tuple[Schema, Any]:
    flags = dict.fromkeys(("msp", "nev_mar", "collgrad", "not_smsa", "c_city", "south", "union"), FLAG)
    attributes = {
        "idcode": {"kind": "id"}, "year": {"kind": "integer", "range": [68, 88]},
        "birth_yr": number(40, 55, 8, "integer"), "race": listed(1, 2, 3), "grade": number(0, 18, 6, "integer"),
        **flags,
        "occ_code": listed(*range(1, 14)), "ttl_exp": number(0, 30), "tenure": number(0, 30),
        "hours": number(0, 100, 10, "integer"), "ln_wage": number(0, 5.5),
    }  # fmt: skip
    person = {"id": "idcode", "order": "year", "at_most": 15, "constant": ["birth_yr", "race", "grade", "collgrad"]}
    return schema_of("nlswork", person, attributes), _read("nlswork", attributes)


def pbcseq() -> tuple[Schema, Any]:
    attributes = {
        "id": {"kind": "id"}, "day": {"kind": "integer", "range": [0, 5500]}, "status": listed(0, 1, 2), "trt": FLAG,
        "age": number(20, 90, 7), "sex": listed("f", "m"), "ascites": FLAG, "hepato": FLAG, "spiders": FLAG,
        "edema": listed("0", "0.5", "1"), "stage": listed(1, 2, 3, 4),
        "bili": {"kind": "number", "edges": [0, 0.5, 1, 2, 4, 8, 16, 50]}, "albumin": number(1, 9, 10),
        "platelet": number(0, 1000, 10, "integer"), "protime": number(8, 40, 8),
    }  # fmt: skip
    person = {"id": "id", "order": "day", "at_most": 10, "constant": ["status", "trt", "age", "sex"]}
    return schema_of("pbcseq", person, attributes), _read("pbcseq", attributes)


def insteval() -> tuple[Schema, Any]:
    attributes = {
        "s": {"kind": "id"}, "lectage": {"kind": "integer", "range": [1, 6]}, "studage": listed(2, 4, 6, 8),
        "service": listed(0, 1), "dept": listed(*range(1, 16)), "y": number(1, 5, 5, "integer"),
    }  # fmt: skip
    person = {"id": "s", "order": "lectage", "at_most": 30, "constant": ["studage"]}
    return schema_of("InstEval", person, attributes), _read("InstEval", attributes)


def generated(people: int = 50_000, most: int = 10) -> tuple[Schema, Any]:
    """Known transitions: a state by a Markov chain, an income by a walk whose drift depends on the state."""
    draw = np.random.default_rng(21)
    moves = np.cumsum([[0.85, 0.12, 0.03], [0.25, 0.65, 0.10], [0.05, 0.15, 0.80]], axis=1)
    sex, region = draw.integers(2, size=people), draw.choice(4, people, p=[0.4, 0.3, 0.2, 0.1])
    count = np.minimum(1 + draw.poisson(np.where(sex == 0, 3.0, 5.0)), most)
    state, year = draw.choice(3, people, p=[0.6, 0.3, 0.1]), draw.integers(2000, 2006, people)
    income = np.clip(draw.normal(30 + 5 * region, 10), 0, 99)
    parts: list[dict[str, Any]] = []
    for at in range(most):
        on = count > at
        now = {"year": year, "sex": sex, "region": region, "state": state, "income": np.round(income, 1)}
        parts.append({"id": np.flatnonzero(on)} | {name: column[on] for name, column in now.items()})
        state = (draw.random(people)[:, None] > moves[state]).sum(axis=1)
        income = np.clip(income + draw.normal(np.where(state == 0, 1, -1), 3), 0, 99)
        year = year + draw.choice([1, 2], people, p=[0.8, 0.2])
    frame = pa.table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    attributes = {
        "id": {"kind": "id"}, "year": {"kind": "integer", "range": [2000, 2030]}, "sex": listed(0, 1),
        "region": listed(0, 1, 2, 3), "state": listed(0, 1, 2), "income": number(0, 100, 20),
    }  # fmt: skip
    person = {"id": "id", "order": "year", "at_most": most, "constant": ["sex", "region"]}
    return schema_of("generated", person, attributes), frame


TABLES = {"nlswork": nlswork, "pbcseq": pbcseq, "InstEval": insteval, "generated": generated}


def _read(name: str, attributes: dict[str, Any]) -> Any:
    import pandas as pd

    frame = pd.read_csv(FOLDER / f"{name}.csv.gz", dtype=str, keep_default_na=False, na_values=[])
    for column in attributes:  # 1.0 of a column of whole numbers with gaps
        frame[column] = frame[column].str.replace(r"^(\d+)\.0$", r"\1", regex=True)
    return pa.Table.from_pandas(frame[list(attributes)], preserve_index=False)


# -- measures ------------------------------------------------------------------------------------------------


def histories(frame: Any, panel: Panel) -> Histories:
    """Return the rows in codes, in the order of people, cut to the first K of each."""
    source = open_source(frame, panel.schema.csv, "declared")
    coded = encode_table(source, panel.schema)
    found = Histories.of(panel, coded.columns, person_numbers(source, panel.person.id, coded.rows))
    kept = found.place < panel.person.at_most
    count = np.minimum(found.count, panel.person.at_most)
    return Histories({n: c[kept] for n, c in found.columns.items()}, found.person[kept], found.place[kept], count[kept])


def table_of(rows: Histories, panel: Panel, columns: list[Any], sizes: list[int]) -> Any:
    at = np.zeros(len(columns[0]), dtype=np.int64)
    for codes, size in zip(columns, sizes):
        at = at * size + codes
    return np.bincount(at, minlength=int(np.prod(sizes))) / max(1, len(at))


def distance(one: Any, other: Any) -> float:
    return float(np.abs(one - other).sum() / 2)


def lag(rows: Histories, panel: Panel, name: str) -> float:
    """Return the correlation of the codes of a number with those of the row before; missing left out."""
    later = np.flatnonzero(rows.place > 0)
    codes, absent = rows.columns[name].astype(float), panel.schema[name].missing_code
    before, now = codes[later - 1], codes[later]
    on = (before != absent) & (now != absent)
    if on.sum() < 3 or before[on].std() == 0 or now[on].std() == 0:
        return 0.0
    return float(np.corrcoef(before[on], now[on])[0, 1])


def measures(real: Histories, other: Histories, panel: Panel) -> dict[str, float]:
    schema, most = panel.schema, panel.person.at_most
    numbers = [n for n in panel.varying if schema[n].intervals is not None]
    later, theirs = real.place > 0, other.place > 0

    def moved(rows: Histories, on: Any, name: str) -> Any:
        at = np.flatnonzero(on)
        size = schema[name].size
        return table_of(rows, panel, [rows.columns[name][at - 1], rows.columns[name][at]], [size, size])

    def joint(rows: Histories, names: tuple[str, ...]) -> Any:
        return table_of(rows, panel, [rows.columns[n] for n in names], [schema[n].size for n in names])

    names = [n for n in schema.names if schema[n].size <= 64]
    counts = [np.bincount(r.count[r.place == 0], minlength=most + 1) / (r.place == 0).sum() for r in (real, other)]
    broken = [
        (other.columns[n][1:] != other.columns[n][:-1]) & (other.place[1:] > 0) for n in panel.constants
    ]  # rows after a row with another value
    people = len(np.unique(other.person[1:][np.any(broken, axis=0)])) if broken else 0
    return {
        "rows": distance(*counts),
        "lag": float(np.mean([abs(lag(real, panel, n) - lag(other, panel, n)) for n in numbers])),
        "moves": float(np.mean([distance(moved(real, later, n), moved(other, theirs, n)) for n in panel.varying])),
        "columns": float(np.mean([distance(joint(real, (n,)), joint(other, (n,))) for n in names])),
        "pairs": float(np.mean([distance(joint(real, p), joint(other, p)) for p in itertools.combinations(names, 2)])),
        "constant": people / max(1, int((other.place == 0).sum())),
    }


# -- runs ----------------------------------------------------------------------------------------------------


def published(data: Any, schema: Schema, budget: Budget) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.db"
        made = run(
            data, schema, budget, "auto", {}, ledger=ledger, cap="none", register=False, types="declared", quiet=True
        )
        made.release.save(Path(folder) / "a.zip")
        made.release.write(Path(folder) / "a.parquet")
        from pyarrow import parquet

        return parquet.read_table(Path(folder) / "a.parquet")


def relinked(frame: Any, schema: Schema, budget: Budget, real: Histories) -> Any:
    """Rows as rows, dealt out to people at random, as many to each as people really have."""
    person = schema.person
    assert person is not None
    flat = replace(schema, person=None, rows_per_person=person.at_most, text=None)
    attributes = tuple(a if a.grid is None else a.with_each_value() for a in flat.attributes)
    drawn = published(frame, replace(flat, attributes=attributes), budget)
    counts, generator = real.count[real.place == 0], np.random.default_rng()
    ids = np.repeat(np.arange(len(counts) * 2), np.tile(counts, 2))[: len(drawn)]
    ids = np.concatenate([ids, np.arange(len(drawn) - len(ids)) + 10**7])
    at = drawn.column_names.index(person.id)
    return drawn.set_column(at, person.id, pa.array(generator.permutation(ids)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 4.0])
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--at-most", type=int)
    parser.add_argument("--ours", action="store_true", help="leave the rival out")
    asked = parser.parse_args()
    for name in asked.tables:
        schema, frame = TABLES[name]()
        if asked.at_most:
            person = replace(schema.person, at_most=asked.at_most)  # type: ignore[type-var]
            schema = replace(schema, person=person, rows_per_person=asked.at_most, text=None)
        panel = Panel.of(schema)
        real = histories(frame, panel)
        for epsilon in asked.epsilon:
            budget = Budget(epsilon, asked.delta)
            for way in ("histories",) if asked.ours else ("histories", "rows"):
                found, start = [], time.process_time()
                for _ in range(asked.runs):
                    drawn = (
                        published(frame, schema, budget)
                        if way == "histories"
                        else relinked(frame, schema, budget, real)
                    )
                    found.append(measures(real, histories(drawn, panel), panel))
                cpu = (time.process_time() - start) / asked.runs
                line = " ".join(
                    f"{key} {np.mean([f[key] for f in found]):.3f}±{np.std([f[key] for f in found], ddof=1) / len(found) ** 0.5 if len(found) > 1 else 0:.3f}"  # noqa: E501
                    for key in found[0]
                )
                print(f"{name} K={panel.person.at_most} epsilon {epsilon:g} {way:<9} {line} cpu {cpu:.1f}", flush=True)


if __name__ == "__main__":
    main()
