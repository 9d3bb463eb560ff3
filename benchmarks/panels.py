"""People with many rows: histories by [person] against rows as rows, dealt out at random, and against a wide table.

    python benchmarks/panels.py [nlswork pbcseq InstEval generated] [--epsilon 1 4] [--delta 1e-6] [--runs 3]
    python benchmarks/panels.py --at-most 5 --ways histories wide
    python benchmarks/panels.py nlswork pbcseq --ways histories declared --record results/panels_rising.jsonl
    python benchmarks/panels.py --summary      # of what was recorded

`rows` is the same table without [person]: rows_per_person = K, rows come back as if each were somebody. To measure
it at all its rows are dealt out to people at random, as many to each as people really have: that is in its favour.
`wide` is one row a person with the number of rows and K columns a variable, by aim: what is beyond that number is
missing, and a drawn row that lacks a value gets one of another person's. All are measured on the real rows cut to the
first K of each person. `declared` says `strict` and `rising` in [person].

    rows      total variation distance of the number of rows a person
    lag       mean absolute error of the correlation of a number with itself one row before
    moves     mean total variation distance of (value before, value now), over the columns that vary
    columns   mean total variation distance of a column, over rows
    pairs     the same of two columns
    constant  share of people with two values of a constant column
    impossible  share of people whose history breaks a public fact: an order that must rise and stays, an age that
              falls or a constant that changes; nan where there is no fact
"""

from __future__ import annotations

import argparse
import itertools
import json
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
RECORD = Path(__file__).parent / "results" / "panels.jsonl"
RISING = {"nlswork": ("year", "age"), "pbcseq": ("day",), "InstEval": (), "generated": ("year",)}  # public facts


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
        "birth_yr": number(40, 55, 8, "integer"), "age": number(14, 46, 33, "integer"),
        "race": listed(1, 2, 3), "grade": number(0, 18, 6, "integer"),
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
        "impossible": impossible(other, panel),
    }


def impossible(rows: Histories, panel: Panel) -> float:
    """Return the share of people whose history cannot be: the order must rise, other columns of `RISING` not fall."""
    if not (rising := RISING[panel.schema.name]):
        return float("nan")
    wrong = np.zeros(len(rows.place), dtype=bool)
    for name in rising:
        step, absent = np.diff(rows.columns[name].astype(np.int64)), panel.schema[name].missing_code
        known = np.ones(len(step), dtype=bool)
        if panel.schema[name].has_missing:
            known = (rows.columns[name][1:] != absent) & (rows.columns[name][:-1] != absent)
        wrong[1:] |= known & (step <= 0 if name == panel.person.order else step < 0)
    for name in panel.constants:
        wrong[1:] |= rows.columns[name][1:] != rows.columns[name][:-1]
    return len(np.unique(rows.person[wrong & (rows.place > 0)])) / max(1, int((rows.place == 0).sum()))


# -- runs ----------------------------------------------------------------------------------------------------


def publication(data: Any, schema: Schema, budget: Budget, method: str = "auto") -> Any:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.db"
        return run(
            data, schema, budget, method, {}, ledger=ledger, cap="none", register=False, types="declared", quiet=True
        ).release


def drawn_from(release: Any) -> Any:
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as folder:
        release.write(Path(folder) / "a.parquet")
        return parquet.read_table(Path(folder) / "a.parquet")


def declared(schema: Schema) -> Schema:
    """The same with the public facts of `RISING` in the schema: a strict order, and columns that never fall."""
    person, rising = schema.person, RISING[schema.name]
    assert person is not None
    more = tuple(name for name in rising if name != person.order)
    return replace(schema, person=replace(person, strict=person.order in rising, rising=more), text=None)


def relinked(frame: Any, schema: Schema, budget: Budget, real: Histories) -> Any:
    """Rows as rows, dealt out to people at random, as many to each as people really have."""
    person = schema.person
    assert person is not None
    flat = replace(schema, person=None, rows_per_person=person.at_most, text=None)
    attributes = tuple(a if a.grid is None else a.with_each_value() for a in flat.attributes)
    drawn = drawn_from(publication(frame, replace(flat, attributes=attributes), budget))
    counts, generator = real.count[real.place == 0], np.random.default_rng()
    ids = np.repeat(np.arange(len(counts) * 2), np.tile(counts, 2))[: len(drawn)]
    ids = np.concatenate([ids, np.arange(len(drawn) - len(ids)) + 10**7])
    at = drawn.column_names.index(person.id)
    return drawn.set_column(at, person.id, pa.array(generator.permutation(ids)))


def widened(real: Histories, panel: Panel, budget: Budget) -> Histories:
    """A row a person: the constants, the number of rows, and K columns a variable."""
    order, most = panel.person.order, panel.person.at_most
    repeated = (order, *panel.varying)
    sizes = {n: panel.coarse.size if n == order else panel.schema[n].size for n in panel.schema.names}
    first, columns, attributes = real.place == 0, {}, {}
    for name in panel.constants:
        columns[name] = real.columns[name][first].astype(str)
        attributes[name] = number(0, sizes[name] - 1, sizes[name], "integer", missing=[])
    columns["rows"] = real.count[first].astype(str)
    attributes["rows"] = number(1, most, most, "integer", missing=[])
    index = np.cumsum(first) - 1
    for name in repeated:
        codes = panel.unit_map()[real.columns[name]] if name == order else real.columns[name]
        for at in range(most):
            own = np.full(int(first.sum()), "", dtype=object)
            own[index[real.place == at]] = codes[real.place == at].astype(str)
            columns[f"{name}_{at}"] = own
            attributes[f"{name}_{at}"] = number(0, sizes[name] - 1, sizes[name], "integer")
    attributes = {n: a | {"bins": min(a["bins"], 64)} for n, a in attributes.items()}
    schema = Schema.from_dict({"table": {"name": "wide", "neighbours": "add-remove"}, "attributes": attributes})
    data = pa.table({name: pa.array([str(v) for v in column]) for name, column in columns.items()})
    drawn = drawn_from(publication(data, schema, budget, "aim")).to_pandas()
    generator = np.random.default_rng()

    def column(name: str) -> tuple[Any, Any]:
        import pandas as pd

        values = pd.to_numeric(drawn[name], errors="coerce").to_numpy(dtype=float)
        return np.nan_to_num(values, nan=0).astype(np.int64), ~np.isnan(values)

    parts: list[dict[str, Any]] = []
    for at in range(most):
        on = column("rows")[0] > at
        part: dict[str, Any] = {"who": np.flatnonzero(on)}
        for name in panel.schema.names:
            codes, known = column(name if name in panel.constants else f"{name}_{at}")
            if known.any():
                codes = np.where(known, codes, codes[generator.choice(np.flatnonzero(known), len(codes))])
            part[name] = (panel.coarse.draw(codes, generator) if name == order else codes)[on]
        parts.append(part)
    joined = {n: np.concatenate([p[n] for p in parts]) for n in parts[0]}
    by = np.argsort(joined["who"], kind="stable")
    who = joined.pop("who")[by]
    starts = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
    lengths = np.diff(np.append(starts, len(who)))
    place = np.arange(len(who)) - np.repeat(starts, lengths)
    return Histories({n: c[by] for n, c in joined.items()}, who, place, np.repeat(lengths, lengths))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 4.0])
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--at-most", type=int)
    parser.add_argument("--ways", nargs="*", default=["histories", "rows"])
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--summary", action="store_true")
    asked = parser.parse_args()
    if asked.summary:
        return summary(asked.record)
    for name, epsilon, _ in itertools.product(asked.tables, asked.epsilon, range(asked.runs)):
        schema, frame = TABLES[name]()
        if asked.at_most:
            person = replace(schema.person, at_most=asked.at_most)  # type: ignore[type-var]
            schema = replace(schema, person=person, rows_per_person=asked.at_most, text=None)
        panel, budget = Panel.of(schema), Budget(epsilon, asked.delta)
        real = histories(frame, panel)
        setting = {"table": name, "K": panel.person.at_most, "epsilon": epsilon, "delta": asked.delta}
        start, found = time.process_time(), {}
        if "histories" in asked.ways:
            found["histories"] = histories(drawn_from(publication(frame, schema, budget)), panel)
        if "declared" in asked.ways:
            found["declared"] = histories(drawn_from(publication(frame, declared(schema), budget)), panel)
        if "rows" in asked.ways:
            found["rows"] = histories(relinked(frame, schema, budget, real), panel)
        if "wide" in asked.ways:
            found["wide"] = widened(real, panel, budget)
        for way, rows in found.items():
            line = setting | {"way": way, "real impossible": impossible(real, panel)} | measures(real, rows, panel)
            line = {k: rounded(v) for k, v in line.items()}
            with asked.record.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, f"cpu {time.process_time() - start:.0f}", flush=True)


def rounded(value: Any) -> Any:
    """Round figures; null where there is none."""
    if not isinstance(value, float):
        return value
    return None if np.isnan(value) else round(value, 5)


def summary(record: Path) -> None:
    """Print means with standard errors, and how many cells differ by more than two standard errors."""
    runs: dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]] = {}
    for line in map(json.loads, record.read_text().splitlines()):
        line["impossible"] = float("nan") if line["impossible"] is None else line["impossible"]
        runs.setdefault((line["table"], line["K"], line["epsilon"]), {}).setdefault(line["way"], []).append(line)
    keys = ("rows", "lag", "moves", "columns", "pairs", "constant", "impossible")
    for (table, most, epsilon), ways in runs.items():
        for way, lines in ways.items():
            told = " | ".join("{:.3f} ± {:.3f}".format(*spread(lines, key)) for key in keys)
            print(f"| {table}, K {most} | {epsilon:g} | {way} ({len(lines)}) | {told} |")
    for way in ("rows", "wide", "declared"):
        for key in keys:
            counts = [verdict(ways, way, key) for ways in runs.values() if way in ways]
            told = ", ".join(f"{counts.count(word)} {word}" for word in ("better", "level", "worse", "none"))
            print(f"histories against {way}, {key}: {told}")


def spread(lines: list[dict[str, Any]], key: str) -> tuple[float, float]:
    values = [line[key] for line in lines]
    return float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def verdict(ways: dict[str, list[dict[str, Any]]], rival: str, key: str) -> str:
    """Whether histories are better by more than two standard errors."""
    if key == "rows" and rival == "rows":
        return "none"  # dealt out by the real numbers
    ours, theirs = ways["histories"], ways[rival]
    (own, one), (other, two) = spread(ours, key), spread(theirs, key)
    mean, error = other - own, float(np.hypot(one, two))
    if np.isnan(mean):
        return "none"
    return "level" if abs(mean) <= 2 * error else "better" if mean > 0 else "worse"


if __name__ == "__main__":
    main()
