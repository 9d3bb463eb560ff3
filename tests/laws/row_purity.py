"""Row purity: change one row of a file, read it by any library into any engine, and no other row's code moves.

A column of a trial is a base of cells and one odd cell at its end. Each column is read by itself, so that a library
infers its type as it would in a file of its own; then the columns of one attribute go side by side into one table.
"""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from datetime import time as clock
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from understudy.engines.addresses import address_of
from understudy.engines.coding import coder_of, type_misfits
from understudy.engines.duckdb_rows import DuckDBRows
from understudy.engines.sources import open_source
from understudy.engines.sql import coded_rows
from understudy.errors import DataError
from understudy.schema import Attribute, Booleans, Categories, Intervals, Schema, Taxonomy
from understudy.schema.endings import Endings
from understudy.schema.rounding_classes import RoundingClasses
from understudy.schema.taxonomy import Level

Cells = Sequence[str]
Codes = tuple[int, ...]

ODD_CELLS = (
    "", " ", "?", "x", "NA", "N/A", "null", "nan", "NaN", "None", "missing", "inf", "-inf", "1e999", "0", "1", "2", "01",
    "1.0", "1.", ".5", "-1", "+1", " 1", "1 ", "1e3", "1.5", "0x10", "1_000", "1,000", "9007199254740993",
    "99999999999999999999", "-0", "true", "True", "FALSE", "t", "yes", "Y", "2024-01-31", "2024/01/31", "31.01.2024",
    "20240131", "2024-01-31 00:00:00", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00.5", "12:30", "9999-12-31",
    "10000-01-01", "'=x", "\u0663", "\u00e9", "w" * 300,
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """An attribute and columns of it: rows that a custodian might have, some of them written unusually."""

    attribute: Attribute
    bases: tuple[Cells, ...]


def _category(*values: str, **more: Any) -> Attribute:
    return Attribute("a", Categories(values), **more)


_WHOLE = Intervals("integer", (-0.5, 1.5, 4.5, 9.5), points=(3.0,))
_REAL = Intervals("number", (-1.0, 0.5, 0.7, 1.5, 1000.0), points=(1.5,))
_DAYS = Intervals("date", (0.0, 10_000.0, 19_753.0, 19_754.0, 30_000.0))
_TIMES = Intervals("datetime", (0.0, 864_000_000.0, 1_706_659_200.0, 1_706_695_200.0, 2_592_000_000.0))
_CLOCK = Intervals("time", (0.0, 29_700.0, 45_000.0, 45_060.0, 86_340.0), points=(49_500.0,))
_TWO = (("Female", "Male"), ("Female", "", "Male"), ("", ""))
_NUMBERED = (
    ("1", "2", "3"),
    ("1", "", "2"),
    ("1.0", "2", " 3"),
    ("01", "2.", "+1", "1e0"),
    ("x", "1,000", "0x2"),
    ("", ""),
)
_BOOLEAN = (
    ("True", "False"),
    ("True", "", "False"),
    ("true", "FALSE"),
    ("t", "yes", "no"),
    ("t", "f", "Y", "N"),
    ("1", "0"),
    ("1.0", "0"),
    ("", ""),
)
_WHOLES = (("1", "3", "9"), ("1", "", "3"), ("1.0", "3.", "+4"), ("1e0", "1_000", "1,000"), ("2.5", "inf"), ("", ""))
_UNITS = Intervals("number", tuple(1_000_000 + at / 100 for at in range(1001)))
_ROUND = RoundingClasses(
    "number", (-2.3, 60.0), units=(Fraction(10), Fraction(5), Fraction(1), Fraction(1, 10), Fraction(1, 20))
)
_ENDINGS = Endings("number", _ROUND.edges, precision=3, digits=2)
_ROUND_WHOLES = RoundingClasses("integer", (0.0, 1000.0), units=(Fraction(100), Fraction(10), Fraction(5)))
_ROUNDED = (
    ("45.1", "0.7", "12.25", "30"), ("45.1", "", "-2.3"), ("0.1", "12", "60", "0"), ("451e-1", ".7", "12.2500"),
    ("45.09375", "0.10000000149011612", "12.34567"), ("x", "1,5", "70000.3"), ("", ""),
)  # fmt: skip
_REALS = (("0.7", "1.5", "0.3"), ("0.7", "", "2"), ("7e-1", "1.50", ".5"), ("1,5", "?"), ("1e999", "-1"), ("", ""))
_DATES = (
    ("2024-01-31", "2024-02-01"), ("2024-01-31", "", "1999-01-01"), ("2024-01-31 00:00:00", "2024-01-31"),
    ("20240131", "20240201"), ("20240131", ""), ("2024-01-31T10:00:00", "2024-01-31"), ("", ""),
)  # fmt: skip
_MOMENTS = (
    ("2024-01-31T10:00:00", "2024-01-31T09:59:59"), ("2024-01-31 10:00:00", "", "1999-01-01 00:00:00"),
    ("2024-01-31", "2024-02-01"), ("2024-01-31T10:00:00Z", "2024-01-31T12:00:00+02:00"),
    ("2024-01-31T09:59:59.9", "2024-01-31T10:00:00.123456789"), ("", ""),
)  # fmt: skip

_CLOCKS = (
    ("12:30", "13:45", "08:00"), ("12:30:00", "", "09:05:10"), ("9:30:00", "10:30:00"), ("12:30:00.5", "23:59:59.9"),
    ("24:00:00", "12:75", "07:15:00"), ("2024-01-31 12:30:00", "2024-01-31 00:00:00"), ("0815", "1230"),
    ("8:15", "0815"), ("2024-01-01 00:00:00", "2024-01-01 00:00:01"), ("", ""),
)  # fmt: skip

KINDS: dict[str, Kind] = {
    "category, other": Kind(_category("Female", "Male", other="Male"), _TWO),
    "category, missing": Kind(_category("Female", "Male", missing=("",)), _TWO),
    "category, unknown is ?": Kind(_category("Female", "Male", missing=("?",), other="missing"), _TWO),
    "category, numbers": Kind(_category("1", "2", "3", other="3"), _NUMBERED),
    "category, numbers, missing": Kind(_category("1", "2", missing=("", "9")), _NUMBERED),
    "category, numbers to missing": Kind(_category("1", "2", "0", other="missing"), _NUMBERED),
    "category, many numbers": Kind(_category(*map(str, range(60)), other="0"), _NUMBERED),
    "category, leading zero": Kind(_category("01", "02", other="02"), (("01", "02"), ("1", "2"))),
    "category, fractions": Kind(_category("0.5", "1.5", "2", other="2"), (("0.5", "1.50"), ("2.0", "0.5", ""), (".5", "2"))),
    "category, decimals": Kind(_category("0.1", "0.7", "-2.3", "5", other="5"), (("0.1", "0.7"), ("-2.3", "", "0.1", "5"), ("1e-1", ".7", "x"))),
    "category, decimals, missing": Kind(_category("0.1", "0.7", missing=("9.9", "")), (("0.1", "0.7"), ("9.9", "", "0.1"))),
    "boolean, decimals": Kind(Attribute("a", Booleans(("0.1",), ("0.7",)), other="0.7"), (("0.1", "0.7"), ("0.1", ""))),
    "number, decimal edges": Kind(
        Attribute("a", Intervals("number", (-9.0, 0.1, 0.7, 2.3, 9.9, 1000.0), points=(0.3, 4.4)), missing=("", "-9.9")),
        (("0.1", "0.7", "2.3", "9.9"), ("0.3", "4.4", "", "0.7"), ("-9.9", "1", "0.1"), (".7", "23e-1", "x")),
    ),
    "category, padded fractions": Kind(_category("0.50", "1.50", other="1.50"), (("0.50", "1.50"),)),
    "category, large numbers": Kind(
        _category("9007199254740992", "9007199254740994", other="missing"), (("9007199254740993", "9007199254740994"),)
    ),
    "category, True": Kind(_category("True", "False", other="False"), _BOOLEAN),
    "category, true": Kind(_category("true", "false", missing=("",)), _BOOLEAN),
    "category, True and true": Kind(_category("True", "true", other="true"), _BOOLEAN),
    "category, yes": Kind(_category("yes", "no", other="no"), (("yes", "no"), ("yes", ""))),
    "category, NA": Kind(_category("NA", "DE", other="DE"), (("NA", "DE"), ("NA", "NA"))),
    "category, missing NA": Kind(_category("1", "2", missing=("NA",), other="2"), (("1", "NA"), ("1", ""), ("NA", "NA"))),
    "category, dates": Kind(_category("2024-01-31", "2024-02-01", other="missing"), _DATES),
    "category, clock": Kind(_category("12:30", "13:30", other="missing"), (("12:30", "13:30"),)),
    "category, taxonomy": Kind(
        _category("1", "2", "3", other="3", taxonomy=Taxonomy((Level(("low", "high"), (0, 0, 1)),))), _NUMBERED
    ),
    "boolean": Kind(Attribute("a", Booleans(), missing=("",)), _BOOLEAN),
    "boolean, Y": Kind(Attribute("a", Booleans(("Y", "J"), ("N",)), other="N"), (("Y", "N"), ("Y", ""), *_BOOLEAN)),
    "boolean, yes": Kind(Attribute("a", Booleans(("yes",), ("no",)), missing=("?",)), (("yes", "no"), ("yes", ""))),
    "integer": Kind(Attribute("a", _WHOLE), _WHOLES),
    "integer, missing": Kind(Attribute("a", _WHOLE, missing=("",)), _WHOLES),
    "integer, missing -9": Kind(Attribute("a", _WHOLE, missing=("-9", "?")), (*_WHOLES, ("-9", "1"), ("-9.0", "1"))),
    "integer, other": Kind(Attribute("a", _WHOLE, other="missing"), _WHOLES),
    "integer, missing 099": Kind(Attribute("a", _WHOLE, missing=("099",)), (("099", "99"),)),
    "number": Kind(Attribute("a", _REAL, missing=("",)), _REALS),
    "number, other": Kind(Attribute("a", _REAL, other="missing"), _REALS),
    "number, fine units": Kind(Attribute("a", _UNITS, other="missing"), (("1000000.1", "1000005.25", "1000003.7"), ("1000000.12", "", "x"))),
    "number, rounding classes": Kind(Attribute("a", _ROUND, missing=("", "-9.9"), other="missing"), _ROUNDED),
    "number, endings": Kind(Attribute("a", _ENDINGS, missing=("", "-9.9"), other="missing"), _ROUNDED),
    "integer, rounding classes": Kind(Attribute("a", _ROUND_WHOLES, missing=("",), other="missing"), (*_WHOLES, ("350", "70", "5"))),
    "date": Kind(Attribute("a", _DAYS, missing=("", "9999-12-31")), _DATES),
    "date, other": Kind(Attribute("a", _DAYS, other="missing"), _DATES),
    "date, %Y%m%d": Kind(Attribute("a", replace(_DAYS, format="%Y%m%d"), missing=("0",)), (("20240131", "20240201"), ("20240131", ""), ("0", "20240131"))),
    "date, %d.%m.%Y": Kind(Attribute("a", replace(_DAYS, format="%d.%m.%Y"), other="missing"), (("01.02.2024", "03.04.2024"),)),
    "datetime": Kind(Attribute("a", _TIMES, missing=("",)), _MOMENTS),
    "datetime, other": Kind(Attribute("a", _TIMES, other="missing"), _MOMENTS),
    "time": Kind(Attribute("a", _CLOCK, missing=("", "23:59:59")), _CLOCKS),
    "time, other": Kind(Attribute("a", _CLOCK, other="missing"), _CLOCKS),
    "time, %H:%M": Kind(Attribute("a", replace(_CLOCK, format="%H:%M"), missing=("99",)), _CLOCKS),
    "time, %H.%M": Kind(Attribute("a", replace(_CLOCK, format="%H.%M"), other="missing"), (("12.30", "13.45"),)),
}  # fmt: skip


# -- libraries -----------------------------------------------------------------------------------------------


def text_of(cells: Cells, delimiter: str = ",") -> str:
    """A file of two columns, so that an empty cell is no blank line."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows([("a", "z"), *((cell, "z") for cell in cells)])
    return out.getvalue()


def _pandas(**options: Any) -> Callable[[Cells], Any]:
    return lambda cells: pd.read_csv(io.StringIO(text_of(cells)), **options)["a"]


def _python_cells(cells: Cells) -> Any:
    """A column of objects, each as a spreadsheet would have it."""

    def typed(cell: str) -> Any:
        for read in (int, float, datetime.fromisoformat):
            with suppress(ValueError):
                return read(cell)
        return {"": None, "true": True, "false": False}.get(cell.lower(), cell)

    return pd.Series([typed(cell) for cell in cells], dtype=object)


def _narrow(width: str) -> Callable[[Cells], Any]:
    """Numbers kept in few bytes: a column of them, or objects where one is none."""

    def typed(cell: str) -> Any:
        with suppress(ValueError):
            return np.dtype(width).type(cell.strip() or "nan")
        return cell

    def column(cells: Cells) -> Any:
        found = [typed(cell) for cell in cells]
        texts = any(isinstance(cell, str) for cell in found)
        return pd.Series(found, dtype=object if texts else width)

    return column


def _downcast(cells: Cells) -> Any:
    """Doubles where a number is too large for less, else float32; texts where one cell is none."""
    found = pd.read_csv(io.StringIO(text_of(cells)))["a"]
    return pd.to_numeric(found, downcast="float") if found.dtype.kind in "if" else found


def _float32(column: Any) -> Any:
    """Doubles in fewer bytes, unless a whole number would not survive it."""
    if not pa.types.is_float64(column.type):
        return column
    numbers = np.asarray([cell for cell in column.to_pylist() if cell is not None and cell == np.floor(cell)])
    return column if (numbers.astype(np.float32) != numbers).any() else column.cast(pa.float32())


def _polars(cells: Cells, **options: Any) -> Any:
    return pl.read_csv(io.BytesIO(text_of(cells).encode()), infer_schema_length=None, **options)["a"]


def _arrow(cells: Cells) -> Any:
    return arrow_csv.read_csv(io.BytesIO(text_of(cells).encode()))["a"]


@cache
def _duckdb_connection() -> Any:
    import duckdb

    return duckdb.connect(config={"threads": 1})


def _duckdb(cells: Cells) -> Any:
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
        file.write(text_of(cells))
        file.flush()
        found = _duckdb_connection().execute("SELECT * FROM read_csv(?, header = true, delim = ',')", [file.name])
        return found.to_arrow_table()["a"]


LIBRARIES: dict[str, Callable[[Cells], Any]] = {
    "pandas": _pandas(),
    "pandas, nullable": _pandas(dtype_backend="numpy_nullable"),
    "pandas, Arrow types": _pandas(dtype_backend="pyarrow"),
    "pandas, parsed dates": _pandas(parse_dates=["a"]),
    "pandas, Arrow's parser": _pandas(engine="pyarrow"),
    "pandas, no NA": _pandas(keep_default_na=False),
    "pandas, objects": _pandas(dtype=object),
    "pandas, spreadsheet": _python_cells,
    "pandas, categorical": lambda cells: _pandas()(cells).astype("category"),
    "pandas, float32": _narrow("float32"),
    "pandas, float16": _narrow("float16"),
    "pandas, downcast": _downcast,
    "polars, float32": lambda cells: pl.Series(_float32(_polars(cells).to_arrow())),
    "pyarrow, float32": lambda cells: _float32(_arrow(cells).combine_chunks()),
    "polars": _polars,
    "polars, parsed dates": lambda cells: _polars(cells, try_parse_dates=True),
    "polars, categorical": lambda cells: _polars(cells).cast(pl.String).cast(pl.Categorical),
    "pyarrow": _arrow,
    "pyarrow, dictionary": lambda cells: _arrow(cells).combine_chunks().dictionary_encode(),
    "duckdb": _duckdb,
}


def read_columns(library: str, columns: dict[str, Cells]) -> dict[str, Any]:
    """Each column as the library infers it; those that the library itself refuses are left out."""
    found = {}
    for name, cells in columns.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = LIBRARIES[library](cells)
            except Exception:  # its own errors, of many kinds: such a frame does not exist
                continue
    return found


def frame_of(columns: dict[str, Any]) -> Any:
    first = next(iter(columns.values()))
    if isinstance(first, pd.Series):
        return pd.DataFrame(columns)
    if isinstance(first, pl.Series):
        return pl.DataFrame({name: column.rename(name) for name, column in columns.items()})
    return pa.table(columns)


# -- trials --------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What became of the columns of a law table's cell."""

    compared: int = 0  # pairs of columns whose codes agree in every other row
    refused: int = 0  # pairs that were both refused, from the schema alone
    unread: int = 0  # columns that the library or the database does not take
    moved: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        self.compared += other.compared
        self.refused += other.refused
        self.unread += other.unread
        self.moved += other.moved
        return self


@dataclass(frozen=True)
class Trial:
    """One kind, one base, and the odd cells at the end of it; the first column ends with a cell of the base."""

    kind: str
    base: int
    odd: tuple[str, ...]

    @property
    def cells(self) -> Cells:
        return tuple(KINDS[self.kind].bases[self.base]) * 3

    @property
    def columns(self) -> dict[str, Cells]:
        ends = (self.cells[0], *self.odd)
        return {f"b{self.base}c{at}": (*self.cells, end) for at, end in enumerate(ends)}

    def judge(self, codes: dict[str, Codes | str]) -> Tally:
        """Compare every column with the first, in the rows of the base."""
        names = list(self.columns)
        tally = Tally(unread=sum(name not in codes for name in names))
        first = codes.get(names[0])
        for name, end in zip(names[1:], self.odd):
            if first is None or name not in codes:
                continue
            found = codes[name]
            if isinstance(first, str) or isinstance(found, str):
                alike = first == found
                tally.refused += alike
            else:
                alike = first[:-1] == found[:-1]
                tally.compared += alike
            if not alike:
                tally.moved.append(f"{self.kind}, base {self.base}, {end[:20]!r}: {first} and {found}")
        return tally


def schema_of(kind: str, names: Sequence[str]) -> Schema:
    attribute = KINDS[kind].attribute
    return Schema("t", tuple(replace(attribute, name=name) for name in names), neighbours="add-remove")


Reader = Callable[[str, dict[str, Cells], Path], dict[str, "Codes | str"]]  # a kind, its columns, a folder -> codes


def codes_of_source(data: Any, schema: Schema, types: Any = None) -> dict[str, Codes | str]:
    """The codes of every column, also of those that do not fit; of a refused attribute, the message."""
    source = open_source(data, schema.csv, types)
    found: dict[str, Codes | str] = {
        str(m.attribute): m.message.replace(repr(m.attribute), "it") for m in type_misfits(source, schema)
    }
    for attribute in schema.modelled:
        if attribute.name not in found:
            coder = coder_of(attribute, schema.csv.decimal, source.trust)
            try:
                pieces = [coder.code(piece) for _, piece in source.pieces([attribute.name])]
            except DataError as error:
                found[attribute.name] = error.message.replace(repr(attribute.name), "it")
                continue
            found[attribute.name] = tuple(np.concatenate(pieces).tolist())
    return found


def file_reader(suffix: str, delimiter: str = ",") -> Reader:
    def read(kind: str, columns: dict[str, Cells], folder: Path) -> dict[str, Codes | str]:
        found = {}
        for name, cells in columns.items():
            path = folder / f"{name}{suffix}"
            data = text_of(cells, delimiter).encode()
            path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
            schema = Schema("t", (KINDS[kind].attribute,), neighbours="add-remove")
            found[name] = codes_of_source(path, schema)["a"]
        return found

    return read


def frame_reader(library: str, types: Any = None) -> Reader:
    def read(kind: str, columns: dict[str, Cells], folder: Path) -> dict[str, Codes | str]:
        found = read_columns(library, columns)
        return codes_of_source(frame_of(found), schema_of(kind, list(found)), types) if found else {}

    return read


def write_parquet(library: str, columns: dict[str, Any], folder: Path) -> Path:
    """The frame as its library writes it; a column that it does not write is left out."""
    path = folder / "t.parquet"
    frame = frame_of(columns)
    try:
        if isinstance(frame, pd.DataFrame):
            frame.to_parquet(path, index=False)
        elif isinstance(frame, pl.DataFrame):
            frame.write_parquet(path)
        else:
            parquet.write_table(frame, path)
        parquet.read_schema(path)  # polars writes integers that Arrow does not read
        return path
    except Exception:
        if len(columns) == 1:
            raise
        whole = {}
        for name, column in columns.items():
            with suppress(Exception):
                write_parquet(library, {name: column}, folder)
                whole[name] = column
        return write_parquet(library, whole, folder)


def parquet_reader(library: str) -> Reader:
    def read(kind: str, columns: dict[str, Cells], folder: Path) -> dict[str, Codes | str]:
        found = with_rows(read_columns(library, columns), len(next(iter(columns.values()))))
        path = write_parquet(library, found, folder)
        names = [name for name in parquet.read_schema(path).names if name != "row"]
        return codes_of_source(path, schema_of(kind, names)) if names else {}

    return read


def codes_in_place(
    warehouse: Any, schema: Schema, fetch: Callable[[Any, str], list[tuple[int, ...]]]
) -> dict[str, Codes | str]:
    """The codes of every attribute in the order of `row`, a column with the number of each row."""
    by_name = {column.name: column for column in warehouse.columns}
    rows = Attribute("row", Intervals("integer", tuple(at - 0.5 for at in range(200))))
    found: dict[str, Codes | str] = {}
    fits = []
    for attribute in schema.modelled:
        try:
            assert attribute.name in by_name
            coded_rows(warehouse, replace(schema, attributes=(attribute,)))
            fits.append(attribute)
        except DataError as error:
            found[attribute.name] = error.message.replace(repr(attribute.name), "it")
    if fits:
        table = sorted(fetch(warehouse, coded_rows(warehouse, replace(schema, attributes=(rows, *fits)))))
        found |= {a.name: tuple(int(row[at]) for row in table) for at, a in enumerate(fits, 1)}
    return found


def with_rows(columns: dict[str, Any], rows: int) -> dict[str, Any]:
    """A column that says which row is which."""
    first = next(iter(columns.values()))
    numbers = list(range(rows))
    if isinstance(first, pd.Series):
        return {**columns, "row": pd.Series(numbers)}
    return {**columns, "row": pl.Series("row", numbers) if isinstance(first, pl.Series) else pa.array(numbers)}


def duckdb_rows(warehouse: Any, coded: str) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = warehouse._connection.execute(f"SELECT * FROM {coded}").fetchall()
    return found


def duckdb_parquet_reader(library: str) -> Reader:
    def read(kind: str, columns: dict[str, Cells], folder: Path) -> dict[str, Codes | str]:
        found = with_rows(read_columns(library, columns), len(next(iter(columns.values()))))
        path = write_parquet(library, found, folder)
        warehouse = DuckDBRows(path, "inferred")
        try:
            names = [name for name in parquet.read_schema(path).names if name != "row"]
            return codes_in_place(warehouse, schema_of(kind, names), duckdb_rows)
        finally:
            warehouse.close()

    return read


# -- tables whose types were declared ------------------------------------------------------------------------


def declared_column(kind: str, cells: Cells, text: bool) -> Any:
    """The cells in the type that a database's owner would declare for the kind; None where one cannot be of it."""
    if text:
        return pa.array([cell or None for cell in cells], pa.string())
    domain = KINDS[kind].attribute.domain
    if isinstance(domain, Categories):
        type = pa.float64() if any("." in value for value in domain.values) else pa.int64()
    else:
        kinds = {
            "integer": pa.float64(),
            "number": pa.float64(),
            "date": pa.date32(),
            "datetime": pa.timestamp("us"),
            "time": pa.time64("us"),
        }
        type = kinds.get(domain.kind, pa.bool_())
    try:
        if pa.types.is_time(type):  # Arrow casts no text to a time of day
            return pa.array([clock.fromisoformat(cell) if cell else None for cell in cells], type)
        return pa.array([cell or None for cell in cells], pa.string()).cast(type)
    except (pa.ArrowInvalid, ValueError):
        return None


def declared_columns(kind: str, columns: dict[str, Cells], text: bool) -> dict[str, Any]:
    found = {name: declared_column(kind, cells, text) for name, cells in columns.items()}
    kept = {name: column for name, column in found.items() if column is not None}
    return {**kept, "row": pa.array(range(len(next(iter(columns.values())))))} if kept else {}


def duckdb_table_reader(text: bool) -> Reader:
    def read(kind: str, columns: dict[str, Cells], folder: Path) -> dict[str, Codes | str]:
        import duckdb

        found = declared_columns(kind, columns, text)
        if not found:
            return {}
        (folder / "t.db").unlink(missing_ok=True)
        with duckdb.connect(str(folder / "t.db")) as connection:
            connection.register("loaded", pa.table(found))
            connection.execute("CREATE TABLE t AS SELECT * FROM loaded")
        warehouse = DuckDBRows(address_of(f"duckdb:///{folder}/t.db?table=t"))
        try:
            return codes_in_place(warehouse, schema_of(kind, [n for n in found if n != "row"]), duckdb_rows)
        finally:
            warehouse.close()

    return read


def declared_frame_reader(text: bool) -> Reader:
    def read(kind: str, columns: dict[str, Cells], folder: Path) -> dict[str, Codes | str]:
        found = declared_columns(kind, columns, text)
        found.pop("row", None)
        return codes_of_source(pl.DataFrame(found), schema_of(kind, list(found)), "declared") if found else {}

    return read


# -- the law -------------------------------------------------------------------------------------------------


def law(reader: Reader, trials: Sequence[Trial], folder: Path) -> dict[str, Tally]:
    """The tally of each kind."""
    found: dict[str, Tally] = {}
    for trial in trials:
        tally = trial.judge(reader(trial.kind, trial.columns, folder))
        found.setdefault(trial.kind, Tally())
        found[trial.kind] += tally
    return found


def all_trials(odd: Sequence[str] = ODD_CELLS) -> list[Trial]:
    return [Trial(kind, base, tuple(odd)) for kind, found in KINDS.items() for base in range(len(found.bases))]


def some_trials(start: int, odd: int = 6, every: int = 1) -> list[Trial]:
    """Every kind (or every second …) with one base and a few odd cells, other ones for each start."""
    found = []
    for at, (kind, known) in enumerate(list(KINDS.items())[start % every :: every], start):
        cells = tuple(ODD_CELLS[(7 * at + 9 * k) % len(ODD_CELLS)] for k in range(odd))
        found.append(Trial(kind, at % len(known.bases), cells))
    return found
