"""Written as read: decimals, dates, booleans, ids and types come back as the schema says, in every kind of output."""

from __future__ import annotations

import csv
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import UsageError
from understudy.publishing import publish
from understudy.release import Release
from understudy.release.frames import to_frame
from understudy.release.writing import decode_chunks, decode_rows, write_table
from understudy.schema import CsvDialect, Schema

SCHEMA = """
[table]
name = "visits"
rows = 500
[attributes.id]
kind = "id"
pattern = "P-{5 digits}"
[attributes.price]
kind = "number"
range = [-20, 99.99]
bins = 6
points = [0]
decimals = 2
missing = ["NA"]
[attributes.dose]
kind = "number"
range = [0, 1]
bins = 3
step = 0.05
[attributes.karnofsky]
kind = "integer"
range = [0, 100]
bins = 4
step = 10
[attributes.born]
kind = "date"
range = ["1930-01-01", "2020-12-31"]
bins = 5
format = "%d.%m.%Y"
[attributes.seen]
kind = "datetime"
range = ["2024-01-01T00:00:00", "2024-12-31T00:00:00"]
bins = 5
format = "%Y-%m-%d %H:%M"
step = 60
[attributes.insured]
kind = "boolean"
true = ["True"]
false = ["False"]
"""


def write_rows(rows: Any, path: Path, schema: Schema, order: tuple[str, ...] | None, generator: Any) -> None:
    write_table(decode_chunks([rows], schema, order, generator), path, schema)


def coded(schema: Schema, count: int = 500) -> dict[str, Any]:
    generator = np.random.default_rng(8)
    return {a.name: generator.integers(0, a.size, count).astype(np.int32) for a in schema.modelled}


def texts(path: Path, delimiter: str = ",") -> dict[str, list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = list(csv.reader(file, delimiter=delimiter))
    return dict(zip(names, map(list, zip(*rows))))


@pytest.mark.parametrize("dialect", [CsvDialect(), CsvDialect(";", "utf-8", ",")])
def test_a_csv_has_the_formats_of_the_schema(tmp_path: Path, dialect: CsvDialect) -> None:
    from dataclasses import replace

    schema = replace(Schema.from_toml(SCHEMA), csv=dialect)
    write_rows(coded(schema), tmp_path / "out.csv", schema, None, np.random.default_rng(1))
    cells = texts(tmp_path / "out.csv", dialect.delimiter)
    point = re.escape(dialect.decimal)
    expected = {
        "id": r"P-\d{5}",
        "price": rf"-?\d+{point}\d\d|NA",
        "dose": rf"[01]({point}\d\d?)?",
        "karnofsky": r"0|[1-9]0|100",
        "born": r"\d\d\.\d\d\.\d{4}",
        "seen": r"2024-\d\d-\d\d \d\d:\d\d",
        "insured": "True|False",
    }
    for name, expression in expected.items():
        assert all(re.fullmatch(expression, text) for text in cells[name]), name
    prices = [Decimal(text.replace(",", ".")) for text in cells["price"] if text != "NA"]
    assert "0.00".replace(".", dialect.decimal) in cells["price"]
    assert min(prices) >= -20 and max(prices) <= Decimal("99.99")
    assert all(Decimal(text.replace(",", ".")) % Decimal("0.05") == 0 for text in cells["dose"])
    assert len(set(cells["id"])) == 500


def test_what_is_written_reads_back_to_the_codes_it_was_drawn_from(tmp_path: Path) -> None:
    schema = Schema.from_toml(SCHEMA)
    rows = coded(schema)
    write_rows(rows, tmp_path / "out.csv", schema, None, np.random.default_rng(1))
    cells = texts(tmp_path / "out.csv")
    for attribute in schema.modelled:
        assert (attribute.encode(cells[attribute.name]) == rows[attribute.name]).all(), attribute.name


def test_frames_and_parquet_hold_the_same_values_in_the_types_of_the_schema(tmp_path: Path) -> None:
    schema = Schema.from_toml(SCHEMA)
    rows = coded(schema)
    table = decode_rows(rows, schema, None, np.random.default_rng(1))
    write_rows(rows, tmp_path / "out.parquet", schema, None, np.random.default_rng(1))
    assert pq.read_table(tmp_path / "out.parquet").cast(table.schema).equals(table)
    assert [str(table.schema.field(name).type) for name in table.column_names] == [
        "string", "double", "double", "int64", "date32[day]", "timestamp[s]", "bool",
    ]  # fmt: skip
    assert all(value.second == 0 for value in table["seen"].to_pylist())
    frames = [to_frame(table, schema, library) for library in ("pandas", "polars", "pyarrow")]
    assert [type(frame) for frame in frames] == [pd.DataFrame, pl.DataFrame, pa.Table]
    for frame in frames:
        dose = [float(value) for value in frame["dose"].to_numpy()]
        assert all(Decimal(repr(value)) % Decimal("0.05") == 0 for value in dose)
        assert {int(value) % 10 for value in frame["karnofsky"].to_numpy()} == {0}
    assert str(frames[0]["id"].dtype) in ("str", "object") and frames[1]["id"].dtype == pl.String


def test_a_pattern_that_a_spreadsheet_or_a_parser_would_take_apart_is_written_safely(tmp_path: Path) -> None:
    lines = '[table]\nname = "t"\nrows = 9\n[attributes.x]\nkind = "boolean"\n[attributes.id]\nkind = "id"\npattern = '
    for pattern, cell in (('"={3 digits}"', r"'=\d{3}"), ("'a,\"{3 digits}'", r'"a,""\d{3}"')):
        schema = Schema.from_toml(lines + pattern)
        write_rows(coded(schema, 9), tmp_path / "out.csv", schema, ("id", "x"), np.random.default_rng(1))
        for line in (tmp_path / "out.csv").read_text().splitlines()[1:]:
            assert re.fullmatch(cell + ",(true|false)", line)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("ids")
    schema = Schema.from_toml(
        '[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.id]\nkind = "id"\npattern = "{2 digits}"\n'
        '[attributes.x]\nkind = "boolean"\n'
    )
    frame = pd.DataFrame({"id": [f"{i:02}" for i in range(90)], "x": [i % 3 == 0 for i in range(90)]})
    return publish(frame, schema, epsilon="0.05", ledger=folder / "ledger.db", save=folder / "r.zip")


def test_a_release_draws_no_more_rows_than_there_are_ids(released: Release) -> None:
    assert released.default_rows == min(released.rows, 100)
    assert len(set(released.sample(100)["id"])) == 100
    assert len(released.sample()) == released.default_rows
    with pytest.raises(UsageError, match="100 distinct ids and 101 rows"):
        released.sample(101)
    assert list(released.sample(50, seed=3)["id"]) == list(released.sample(50, seed=3)["id"])
