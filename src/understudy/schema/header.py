"""A header: the names (and declared types) of a private table's columns, which are public. Its rows are not read."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from understudy.errors import UsageError
from understudy.schema.codebook import decode, delimiter_of, read_codebook
from understudy.schema.draft import draft
from understudy.schema.facts import number_of

_LONGEST = 1 << 22  # bytes of a header line; more is no header


@dataclass(frozen=True)
class Header:
    names: tuple[str, ...]
    types: tuple[str, ...] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)  # what the line shows of the CSV dialect


def draft_file(
    data: str | Path,
    codebook: str | Path | None = None,
    ddl: str | Path | None = None,
    public: str | Path | None = None,
) -> str:
    """The draft of a schema.toml for a CSV, TSV or Parquet file, of which only the header is read."""
    if "://" in str(data):  # it may hold a password: not a piece of it is shown
        raise UsageError(
            "a draft is made from a file's header, not from an address. For a table in a database, write the names of "
            "its columns to a file as one line of CSV and its CREATE TABLE statement to another (pg_dump --schema-only "
            "--table NAME): understudy init names.csv --ddl create.sql"
        )
    data = Path(data)
    for option, path in (("--codebook", codebook), ("--ddl", ddl), ("--public", public)):
        if path is not None and Path(path).exists() and data.exists() and Path(path).samefile(data):
            raise UsageError(f"{option} names the private table itself, whose rows must not be read")
    known = read_codebook(Path(codebook)).table if codebook is not None else {}
    header = read_header(data, known)
    name = data.name.split(".", 1)[0] or "table"
    return draft(header.names, header.types, codebook, ddl, public, name, header.settings)


def read_header(path: Path, known: Mapping[str, str] | None = None) -> Header:
    """`known` may hold the delimiter and the encoding; otherwise the line itself shows them."""
    known = known or {}
    try:
        if path.suffix in (".parquet", ".pq"):
            return _parquet(path)
        line = _first_line(path)
    except OSError as error:
        raise UsageError(f"cannot read {path.name!r}: {error.strerror or 'not a table'}") from None
    text, encoding = decode(line)
    if "encoding" in known:
        try:
            text, encoding = line.decode(known["encoding"]).removeprefix("\ufeff"), known["encoding"]
        except (LookupError, UnicodeDecodeError):
            raise UsageError(f"the header of {path.name!r} is not {known['encoding']} text") from None
    delimiter = known.get("delimiter") or ("\t" if ".tsv" in path.suffixes else delimiter_of(text))
    names = next(csv.reader([text], delimiter=delimiter), [])
    _check_names(names, path)
    shown = {"delimiter": delimiter, "encoding": encoding}
    settings = {key: value for key, value in shown.items() if value != {"delimiter": ",", "encoding": "utf-8"}[key]}
    return Header(tuple(names), None, settings)


def _first_line(path: Path) -> bytes:
    with path.open("rb") as probe:
        zipped = probe.read(2) == b"\x1f\x8b"
    with cast(IO[bytes], gzip.open(path, "rb")) if zipped else path.open("rb") as file:
        line = file.readline(_LONGEST)
    if not line.strip():
        raise UsageError(f"{path.name!r} has no header line: its first line must name the columns")
    if line.count(b'"') % 2:  # reading on for the other quote could read rows
        raise UsageError(f"the header of {path.name!r} has an open quote; put the names of the columns on one line")
    return line


def _check_names(names: list[str], path: Path) -> None:
    """A first line of numbers is a row, and must not end up in a draft."""
    numbers = sum(not math.isnan(number_of(name)) for name in names)
    if 2 * numbers >= max(1, len(names)):
        raise UsageError(f"the first line of {path.name!r} looks like a row; it must name the columns")


def _parquet(path: Path) -> Header:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        schema = parquet.read_schema(path)
    except pa.ArrowInvalid:
        raise UsageError(f"{path.name!r} is not a Parquet file") from None
    return Header(tuple(schema.names), tuple(str(typed) for typed in schema.types))
