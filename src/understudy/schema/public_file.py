"""A public file: a table that is published already, such as last year's. Its values and ranges may be read."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path

from understudy.errors import SchemaError
from understudy.schema.codebook import decode, delimiter_of
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source, number_of
from understudy.schema.moment import parse_moment

MOST_VALUES = 2_000  # a column with more texts than this is no category
_FEW = 12  # whole numbers with so few values may be codes as well as counts; they are listed
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")  # 007 is a text


def read_public(path: Path, names: Sequence[str], delimiter: str | None = None) -> Source:
    """What the file shows about the columns it shares with the table."""
    columns = _parquet(path) if path.suffix == ".parquet" else _csv(path, delimiter)
    shared = [name for name in names if name in columns]
    if not shared:
        raise SchemaError(f"the public file {path.name!r} has no column in common with the table")
    return Source({name: _facts(columns[name]) for name in shared})


def _csv(path: Path, delimiter: str | None) -> dict[str, list[str]]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SchemaError(f"cannot read the public file {path.name!r}: {error.strerror}") from None
    text, _ = decode(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    mark = delimiter_of(text.split("\n", 1)[0]) if delimiter is None else delimiter
    records = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    heads, rows = next(records, []), list(records)
    return {head: [row[i] for row in rows if i < len(row)] for i, head in enumerate(heads)}


def _parquet(path: Path) -> dict[str, list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowInvalid):
        raise SchemaError(f"cannot read the public file {path.name!r} as Parquet") from None
    return {
        name: ["" if value is None else str(value) for value in table[name].to_pylist()] for name in table.column_names
    }


def _facts(cells: list[str]) -> Facts:
    seen = {cell for cell in cells if cell}
    missing = ("",) if "" in cells else ()
    if not seen:
        return Facts()
    kind = _kind(seen)
    values = tuple(sorted(seen, key=_place)) if len(seen) <= MOST_VALUES else None
    if kind is None:
        return Facts(kind="category" if values else None, values=values, missing=missing)
    place = (lambda text: parse_moment(text, str(kind), None)) if kind in ("date", "datetime") else number_of
    low, high = min(seen, key=place), max(seen, key=place)
    span = low != high and not (kind == "integer" and len(seen) <= _FEW)
    return Facts(
        kind=kind if span else "category",
        values=values,
        low=low if span else None,
        high=high if span else None,
        missing=missing,
    )


def _kind(seen: set[str]) -> Kind | None:
    if all(_WHOLE.fullmatch(text) for text in seen):
        return "integer"
    if all(not math.isnan(number_of(text)) and not re.match(r"0\d", text) for text in seen):
        return "number"
    kinds: tuple[Kind, ...] = ("date", "datetime")
    for kind in kinds:
        if all(not math.isnan(parse_moment(text, kind, None)) and "-" in text for text in seen):
            return kind
    return None


def _place(text: str) -> tuple[float, str]:
    number = number_of(text)
    return (math.inf if math.isnan(number) else number, text)
