"""A public file: a table that is published already, such as last year's. Its values and ranges may be read."""

from __future__ import annotations

import csv
import io
import math
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

from understudy.errors import SchemaError
from understudy.schema.codebook import DELIMITERS, cells_of, decode
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source, number_of
from understudy.schema.header import unpacked
from understudy.schema.scales import MOMENT_SCALES, ordered_scale

MAX_VALUES = 2_000  # a column with more texts than this is no category
_FEW = 12  # whole numbers with so few values may be codes as well as counts; they are listed
_DECIMAL = re.compile(r"[+-]?\d+[.,](\d+)")
_MAX_DECIMALS = 6  # more are no format, but a computed number
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")  # 007 is a text


def read_public(path: Path, names: Sequence[str], headless: bool = False) -> Source:
    """Return what the file shows about the columns it shares with the table."""
    return Source({name: _facts(cells) for name, cells in public_columns(path, names, headless).items()})


def public_columns(path: Path, names: Sequence[str], headless: bool = False) -> dict[str, list[str]]:
    """Read the columns that the file shares with the table, all of one length, as texts; a null is empty.

    Where the table is `headless` (has no header), the public file may lack one too.
    """
    columns = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path, names, headless)
    shared = {name: columns[name] for name in names if name in columns}
    if not shared:
        raise SchemaError(f"the public file {path.name!r} has no column in common with the table")
    return shared


def _csv(path: Path, names: Sequence[str], headless: bool) -> dict[str, list[str]]:
    """Read a CSV by the delimiter under which most names are shared."""
    text = _text(path)
    head = text.split("\n", 1)[0]
    mark = max(DELIMITERS, key=lambda mark: (len({*cells_of(head, mark)} & {*names}), len(cells_of(head, mark))))
    try:
        first, *rest = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row] or [[]]
    except csv.Error:
        raise SchemaError(f"the public file {path.name!r} is not a CSV file: a cell of it is too long") from None
    if headless and not {*first} & {*names} and len(first) == len(names):
        first, rest = list(names), [first, *rest]
    return {head: [row[i] if i < len(row) else "" for row in rest] for i, head in enumerate(first)}


def _text(path: Path) -> str:
    try:
        with unpacked(path) as file:
            return decode(file.read())[0]
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is damaged"
        raise SchemaError(f"cannot read the public file {path.name!r}: {why}") from None


def _parquet(path: Path) -> dict[str, list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.ParquetFile(path).read()  # this one file, whatever its name
        columns = [column.to_pylist() for column in table.columns]
    except (OSError, pa.ArrowException, ValueError, OverflowError):
        raise SchemaError(f"cannot read the public file {path.name!r} as Parquet") from None
    shown = [["" if value is None else str(value) for value in column] for column in columns]
    return dict(zip(table.column_names, shown))


def _facts(cells: list[str]) -> Facts:
    seen = {cell for cell in cells if cell}
    missing = ("",) if "" in cells else ()
    if not seen:
        return Facts()
    kind = _kind(seen)
    values = tuple(sorted(seen, key=_place)) if len(seen) <= MAX_VALUES else None
    if kind is None:
        return Facts(kind="category" if values else None, values=values, missing=missing)
    scale = ordered_scale(kind)
    place = number_of if scale.arithmetic else scale.parse
    low, high = min(seen, key=place), max(seen, key=place)
    if low == high or (scale.whole_numbers and len(seen) <= _FEW):
        return Facts(kind="category", values=values, missing=missing)
    decimals = _decimals(seen) if "decimals" in scale.keys else None
    return Facts(kind=kind, values=values, low=low, high=high, missing=missing, decimals=decimals)


def _decimals(seen: set[str]) -> int | None:
    """Return how many decimals every number is written with, if all have as many."""
    found = {len(match[1]) if (match := _DECIMAL.fullmatch(text)) else 0 for text in seen}
    return found.pop() if len(found) == 1 and 0 < max(found) <= _MAX_DECIMALS else None


def _kind(seen: set[str]) -> Kind | None:
    if all(_WHOLE.fullmatch(text) for text in seen):
        return "integer"
    if all(not math.isnan(number_of(text)) and not re.match(r"0\d", text) for text in seen):
        return "number"
    fits = (s.kind for s in MOMENT_SCALES if all(s.mark in text and not math.isnan(s.parse(text)) for text in seen))
    return next(fits, None)


def _place(text: str) -> tuple[float, str]:
    number = number_of(text)
    return (math.inf if math.isnan(number) else number, text)
