"""The demo table: a made-up census drawn from a Bayesian network that is known, so recovery can be checked.

Inside a bin of the schema raw incomes are lognormal and all other raw values uniform, so the law of the raw values is
known too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Attribute, Booleans, Intervals, Schema

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 50_000
Table = NDArray[np.float64]


class Node(NamedTuple):
    """An attribute of the network: its table has one dimension for each parent, in order, and the child's last."""

    name: str
    parents: tuple[str, ...]
    table: Table


_SCHEMA = """\
# A made-up census of a made-up country. Everything in this file is public; nothing in it was read from the rows.

[table]
name = "people"
rows = {rows}                    # public under "replace-one", and checked
neighbours = "replace-one"

[attributes.person_id]
kind = "id"                     # never read; the output gets fresh numbers

[attributes.age]
kind = "integer"
edges = [16, 18, 21, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 95]

[attributes.sex]
kind = "category"
values = ["Female", "Male"]

[attributes.region]
kind = "category"
values = [
  "Anders", "Brae", "Cormont", "Dunmere", "Elsby", "Farrow", "Galt", "Harrow", "Iver", "Jarn",
  "Kestrel", "Lorne", "Marden", "Norwick", "Ostley", "Pellan", "Quill", "Rosmar", "Selwyn", "Tarn",
]

[attributes.region.taxonomy.North]
Coast = ["Anders", "Brae", "Cormont", "Dunmere"]
Lakes = ["Elsby", "Farrow", "Galt"]

[attributes.region.taxonomy.Middle]
Capital = ["Harrow", "Iver", "Jarn"]
Plain = ["Kestrel", "Lorne", "Marden", "Norwick"]

[attributes.region.taxonomy.South]
Hills = ["Ostley", "Pellan", "Quill"]
Border = ["Rosmar", "Selwyn", "Tarn"]

[attributes.birth_country]
kind = "category"
values = [
  "Home", "Germany", "France", "Poland", "Italy", "Romania", "Turkey", "Syria", "India", "China", "Brazil", "Nigeria",
]
missing = ["unknown"]           # this text in a cell means that nobody knows

[attributes.birth_country.taxonomy]
Europe = ["Germany", "France", "Poland", "Italy", "Romania"]
Asia = ["Turkey", "Syria", "India", "China"]
Elsewhere = ["Brazil", "Nigeria"]

[attributes.marital_status]
kind = "category"
values = ["Single", "Married", "Partnership", "Separated", "Divorced", "Widowed"]
taxonomy = { Partnered = ["Married", "Partnership"], "Once partnered" = ["Separated", "Divorced", "Widowed"] }

[attributes.education]
kind = "category"
values = [
  "No schooling", "Primary", "Lower secondary", "Upper secondary", "Vocational", "Bachelor", "Master", "Doctorate",
]

[attributes.education.taxonomy]
School = { Basic = ["No schooling", "Primary", "Lower secondary"], Full = ["Upper secondary", "Vocational"] }
University = { First = "Bachelor", Second = ["Master", "Doctorate"] }

[attributes.employment]
kind = "category"
values = ["Employee", "Self-employed", "Unemployed", "Student", "Retired", "Homemaker", "Unable"]
taxonomy = { Working = ["Employee", "Self-employed"], "Not working" = ["Unemployed", "Retired", "Homemaker", "Unable"] }

[attributes.occupation]
kind = "category"
values = [
  "Manager", "Engineer", "Physician", "Teacher", "Office clerk", "Care worker", "Shop worker", "Cook", "Craftsperson",
  "Factory worker", "Driver", "Cleaner",
]
missing = true                  # an empty cell: no occupation

[attributes.occupation.taxonomy]
Professional = ["Manager", "Engineer", "Physician", "Teacher"]
Service = ["Office clerk", "Care worker", "Shop worker", "Cook"]
Manual = ["Craftsperson", "Factory worker", "Driver", "Cleaner"]

[attributes.hours_per_week]
kind = "integer"
edges = [1, 10, 20, 30, 35, 40, 45, 50, 60, 80]
points = [20, 40]               # half time and full time have cells of their own
missing = true

[attributes.income]
kind = "integer"                # euros a year
edges = [
  0, 2000, 4000, 6500, 9000, 12000, 15000, 18000, 22000, 26000, 31000, 37000, 45000, 55000, 70000, 100000, 200000,
]
points = [0]                    # many have none
fine = "wavelet"                # the shape inside the bins is published too

[attributes.owns_home]
kind = "boolean"

[attributes.children]
kind = "integer"
range = [0, 8]                  # no bins: one cell a value

[attributes.chronic_illness]
kind = "boolean"
true = "Y"
false = "N"

[attributes.last_doctor_visit]
kind = "date"
edges = [
  2015-01-01, 2020-01-01, 2022-01-01, 2023-01-01, 2023-07-01, 2024-01-01, 2024-04-01, 2024-07-01, 2024-09-01,
  2024-11-01, 2024-12-31,
]
missing = true                  # never, or not remembered

[attributes.commute_km]
kind = "number"
edges = [0, 2, 5, 10, 15, 20, 30, 50, 100]
points = [0]                    # works at home
missing = true

[attributes.remark]
kind = "drop"                   # free text is left out
"""


def demo_schema(rows: int = ROWS) -> Schema:
    """Return the public facts about the demo table."""
    return Schema.from_toml(_SCHEMA.replace("{rows}", str(rows)))


def demo_rows(rows: int, generator: np.random.Generator) -> dict[str, NDArray[np.uint8]]:
    """Return coded rows, drawn from the network parent by parent."""
    codes: dict[str, NDArray[np.uint8]] = {}
    for name, parents, table in demo_network():
        steps = np.cumsum(table, axis=-1)
        steps /= steps[..., -1:]  # the last step is exactly one, so no cell of probability zero is ever drawn
        given = steps[tuple(codes[parent] for parent in parents)]
        codes[name] = (given <= generator.random(rows)[:, None]).sum(axis=-1).astype(np.uint8)
    return {name: codes[name] for name in demo_schema().names}


def demo_table(rows: int, generator: np.random.Generator) -> pa.Table:
    """Return raw rows: every column of the schema, in order, with typed values."""
    import pyarrow as pa

    codes = demo_rows(rows, generator)
    numbers = generator.permutation(10 * rows)[:rows]
    fixed = {"person_id": pa.array([f"P{n:07d}" for n in numbers]), "remark": pa.nulls(rows, pa.string())}
    schema = demo_schema(rows)
    return pa.table(
        {a.name: _column(a, codes[a.name], generator) if a.modelled else fixed[a.name] for a in schema.attributes}
    )


def _column(attribute: Attribute, codes: NDArray[Any], generator: np.random.Generator) -> pa.Array:
    import pyarrow as pa

    values, absent = attribute.decode(codes, generator) if attribute.name != "income" else _incomes(codes, generator)
    if attribute.intervals is not None and not attribute.missing_text:
        return attribute.intervals.scale.to_arrow(values, absent)
    if attribute.domain.flags and attribute.domain != Booleans():  # its own texts
        values = np.asarray(attribute.labels, dtype=object)[codes]
    if attribute.missing_text:
        values, absent = np.where(absent, attribute.missing_text, values), np.zeros_like(absent)
    return pa.array(values, mask=absent)


def _incomes(codes: NDArray[Any], generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return incomes in whole euros, drawn from the law inside each bin; none is missing."""
    domain, uniform = demo_schema()["income"].ordered, generator.random(len(codes))
    drawn = np.zeros(len(codes), dtype=np.int64)
    for code in range(domain.size):
        values = _raw_values(domain, code)
        steps, own = np.cumsum(_density("income", values)), codes == code
        drawn[own] = values[np.searchsorted(steps, uniform[own] * steps[-1], side="right").clip(0, len(values) - 1)]
    return drawn, np.zeros(len(codes), dtype=bool)


def write_demo(folder: Path, generator: np.random.Generator, rows: int = ROWS) -> tuple[Path, Path]:
    """Write people.csv and schema.toml; the paths of both."""
    from pyarrow import csv

    data, schema = folder / "people.csv", folder / "schema.toml"
    folder.mkdir(parents=True, exist_ok=True)
    csv.write_csv(demo_table(rows, generator), data, csv.WriteOptions(quoting_style="needed", quoting_header="needed"))
    demo_schema(rows).save(schema)
    return data, schema


# -- the truth -----------------------------------------------------------------------------------------------


def true_marginal(names: Sequence[str]) -> Table:
    """Return the exact probability table over a few attributes: their ancestors are summed out."""
    network = demo_network()
    needed = set(names)
    for name, parents, _ in reversed(network):
        needed |= set(parents) if name in needed else set()
    place = {node.name: i for i, node in enumerate(network)}
    operands: list[Any] = []
    for name, parents, table in network:
        if name in needed:
            operands += [table, [place[p] for p in (*parents, name)]]
    result: Table = np.einsum(*operands, [place[name] for name in names], optimize="greedy")
    return result


def _density(name: str, values: Table) -> Table:
    """Return relative densities inside one bin: for incomes a median of 24,000 euros and a long tail."""
    if name != "income" or len(values) == 1:
        return np.ones(len(values))
    density: Table = np.exp(-0.5 * (np.log(values / 24_000) / 0.8) ** 2) / values
    return density


def _raw_values(domain: Intervals, code: int) -> Table:
    low, high = domain.bounds(code)
    if low == high:
        return np.asarray([low])
    if not domain.integral:
        return low + (high - low) * (np.arange(1000) + 0.5) / 1000
    whole = np.arange(low, high + 1)
    return whole[~np.isin(whole, domain.points)]


@cache
def demo_network() -> tuple[Node, ...]:
    """Return the true structure and conditional tables, parents before children."""
    from understudy.census import conditionals

    return tuple(Node(name, parents, table) for name, parents, table in conditionals(demo_schema()))
