"""The types of drawn rows follow the schema alone: no cell of the caller's frame moves them, in any library.

A reader infers the type of a column from its cells, so one `?`, `5.0`, `300` or a wider decimal changes the type of the
column that comes in. It must not change the one that goes out. A frame that is refused has no types to compare.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv as pacsv

from understudy.checking import check_fit
from understudy.engines.opening import PrivateData
from understudy.publishing import publish
from understudy.schema import Schema

ROWS = 12
KINDS = {  # the attribute, cells as usual, and cells one of which takes the place of the first
    "integer": (
        'kind = "integer"\nrange = [0, 99]\nbins = 2\nmissing = ["", "?"]\nother = "missing"',
        ["1", "20"], ["", "?", "5.0", "5.5", "300", "70000", "-1", "99999999999", "1e3", "true", "2024-01-01"],
    ),
    "integer none missing": (
        'kind = "integer"\nrange = [0, 99]\nbins = 2', ["1", "20"], ["5.0", "300", "70000", "-1", "99999999999"],
    ),
    "number": ('kind = "number"\nrange = [0, 99]\nbins = 2', ["1", "20"], ["5.5", "5.0", "1e300", "70000", "-0.001"]),
    "number with gaps": (
        'kind = "number"\nrange = [0, 99]\nbins = 2\nmissing = ["", "?"]\nother = "missing"',
        ["1.25", "20.5"], ["", "?", "7", "1000.125", "1e300", "nan", "inf", "false"],
    ),
    "boolean": ('kind = "boolean"', ["true", "false"], ["1", "0", "True", "TRUE"]),
    "boolean with gaps": (
        'kind = "boolean"\nmissing = ["", "?"]\nother = "missing"', ["true", "false"], ["", "?", "1", "maybe", "2.5"],
    ),
    "boolean in words": ('kind = "boolean"\ntrue = "Y"\nfalse = "N"\nmissing = true', ["Y", "N"], [""]),
    "numbered category": ('kind = "category"\nvalues = ["1", "2"]\nother = "2"', ["1", "2"], ["", "?", "5.0", "300"]),
    "numbered category with gaps": (
        'kind = "category"\nvalues = ["1", "2"]\nmissing = ["", "?"]\nother = "missing"',
        ["1", "2"], ["", "?", "5.0", "300", "1.0", "true"],
    ),
    "category": ('kind = "category"\nvalues = ["a", "b"]\nother = "b"', ["a", "b"], ["", "?", "5", "2024-01-01"]),
    "date": (
        'kind = "date"\nrange = [2000-01-01, 2030-01-01]\nbins = 2\nmissing = ["", "?"]\nother = "missing"',
        ["2001-02-03", "2029-01-01"], ["", "?", "2001-02-03T12:00:00", "1500-01-01", "7", "31.12.2024"],
    ),
    "date written": (
        'kind = "date"\nrange = [2000-01-01, 2030-01-01]\nbins = 2\nformat = "%d.%m.%Y"\nmissing = true',
        ["03.02.2001", "01.01.2029"], ["", "01.01.1500"],
    ),
    "datetime": (
        'kind = "datetime"\nrange = [2000-01-01T00:00:00, 2030-01-01T00:00:00]\nbins = 2\nmissing = ["", "?"]\n'
        'other = "missing"',
        ["2001-02-03T04:05:06", "2029-01-01T00:00:00"],
        ["", "?", "2001-02-03", "2001-02-03T04:05:06.123456", "2001-02-03T04:05:06Z", "1500-01-01T00:00:00"],
    ),
    "time": (
        'kind = "time"\nrange = ["00:00", "23:59"]\nbins = 2\nmissing = ["", "?"]\nother = "missing"',
        ["12:30:00", "08:15:00"], ["", "?", "12:30", "12:30:00.5", "noon", "1", "2024-01-31T12:30:00"],
    ),
    "id": ('kind = "id"', ["1", "2"], ["", "x", "2.5"]),
}  # fmt: skip


def text_of(columns: dict[str, list[str]]) -> io.BytesIO:
    """A CSV file in memory."""
    lines = [",".join(columns), *(",".join(cells) for cells in zip(*columns.values()))]
    return io.BytesIO("\n".join(lines).encode() + b"\n")


def narrow(columns: dict[str, list[str]]) -> pd.DataFrame:
    """Integers in as few bytes as they take."""
    frame = pd.read_csv(text_of(columns))
    numeric = frame.select_dtypes("number").columns
    return frame.assign(**{name: pd.to_numeric(frame[name], downcast="integer") for name in numeric})


def decimals(columns: dict[str, list[str]]) -> pa.Table:
    """Decimals of as few digits as they take; a column that is not all decimals stays text."""

    def array(cells: list[str]) -> pa.Array:
        try:
            return pa.array([Decimal(cell) if cell else None for cell in cells])
        except (ArithmeticError, TypeError, pa.ArrowInvalid):
            return pa.array(cells)

    return pa.table({name: array(cells) for name, cells in columns.items()})


def with_dates(columns: dict[str, list[str]]) -> pd.DataFrame:
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # some cells are no dates
        return pd.read_csv(text_of(columns), parse_dates=[name for name in columns if name in ("date", "datetime")])


READERS: dict[str, Callable[[dict[str, list[str]]], Any]] = {
    "pandas, numpy": lambda columns: pd.read_csv(text_of(columns)),
    "pandas, dates": with_dates,
    "pandas, narrow": narrow,
    "pandas, nullable": lambda columns: pd.read_csv(text_of(columns), dtype_backend="numpy_nullable"),
    "pandas, Arrow": lambda columns: pd.read_csv(text_of(columns), dtype_backend="pyarrow"),
    "pandas, categories": lambda columns: pd.read_csv(text_of(columns)).astype("category"),
    "polars": lambda columns: pl.read_csv(text_of(columns), try_parse_dates=True),
    "polars, categories": lambda columns: pl.read_csv(text_of(columns)).with_columns(
        pl.col(pl.String).cast(pl.Categorical)
    ),
    "pyarrow": lambda columns: pacsv.read_csv(text_of(columns)),
    "pyarrow, decimals": decimals,
}


def types_of(frame: Any) -> dict[str, str]:
    """The type of each column of a frame."""
    types = frame.schema.types if isinstance(frame, pa.Table) else frame.dtypes
    names = frame.column_names if isinstance(frame, pa.Table) else frame.columns
    return dict(zip(names, map(repr, types)))


def schema_of(names: list[str]) -> Schema:
    attributes = "".join(f'[attributes."{name}"]\n{KINDS[name][0]}\n' for name in names)
    return Schema.from_toml(f'[table]\nname = "t"\nrows = {ROWS}\n{attributes}')


def column(name: str, odd: str | None = None) -> list[str]:
    cells = KINDS[name][1] * (ROWS // 2)
    return cells if odd is None else [odd, *cells[1:]]


def accepted(reader: str, name: str, odd: str) -> bool:
    """Whether a frame with this cell is read at all, by the library and by us."""
    columns = {name: column(name, odd), "rows": ["true"] * ROWS}
    schema = Schema.from_toml(
        f'[table]\nname = "t"\nrows = {ROWS}\n[attributes."{name}"]\n{KINDS[name][0]}\n[attributes.rows]\nkind = "boolean"'
    )
    try:
        return not check_fit(PrivateData(READERS[reader](columns)), schema)
    except pl.exceptions.PolarsError:
        return False


@pytest.mark.parametrize("reader", READERS)
def test_no_cell_moves_a_type(reader: str, tmp_path: Path) -> None:
    names = list(KINDS)
    schema = schema_of(names)
    compared = moved = 0

    def types(columns: dict[str, list[str]]) -> dict[str, str]:
        frame = READERS[reader](columns)
        release = publish(
            frame,
            schema,
            epsilon=9,
            method="privbayes",
            ledger=tmp_path / "l.db",
            cap="none",
            degree=0,
            types="declared",
        )
        found = [types_of(release.sample(rows, seed=rows)) for rows in (0, 1, 7)]
        assert type(release.sample(1)) is type(frame) and found[0] == found[1] == found[2]
        return found[0]

    usual = {name: column(name) for name in names}
    before, came = types(usual), types_of(READERS[reader](usual))
    for round in range(max(len(odd) for _, _, odd in KINDS.values())):
        cells = {name: odd[round] for name, (_, _, odd) in KINDS.items() if round < len(odd)}
        cells = {name: cell for name, cell in cells.items() if accepted(reader, name, cell)}
        changed = usual | {name: column(name, cell) for name, cell in cells.items()}
        after = types(changed)
        assert after == before, {name: cells[name] for name in cells if after[name] != before[name]}
        compared += len(cells)
        moved += sum(came[name] != type for name, type in types_of(READERS[reader](changed)).items())
    assert compared >= 25 and moved >= 5, (compared, moved)  # else the law would hold for nothing
