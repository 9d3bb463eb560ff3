"""Copies: whether a file that is called public holds the cells of the private table.

Only the answer leaves this file, and only the custodian meets it, as a refusal. The cells of a column are compared as a
multiset of digests, so the order of rows and columns, dialect, compression and container make no difference.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from understudy.engines.other_programs import SUFFIXES as OTHER_SUFFIXES
from understudy.engines.other_programs import open_other
from understudy.errors import DataError, UsageError
from understudy.schema.facts import number_of
from understudy.schema.header import Header, unpacked

_CHUNK = 1 << 20
_EMPTY = frozenset(("", "nan", "nat", "na", "n/a", "<na>", "null", "none"))
_MOMENT = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([t ]\d{1,2}:\d\d(:\d\d(\.\d+)?)?)?z?")


@dataclass(frozen=True)
class CellDigests:
    """The number of rows and, of each column, the sum of its cells' digests: equal for the same cells in any order."""

    rows: int
    columns: tuple[int, ...]

    @staticmethod
    def of(rows: Iterable[Sequence[str]], width: int, at_most: int | None = None) -> CellDigests:
        """Read up to one row more than `at_most`, which is enough to know that there are more."""
        count, sums = 0, [0] * width
        for row in rows:
            count += 1
            if at_most is not None and count > at_most:
                break
            for at, cell in enumerate(row):
                sums[at] += _digest(cell)
        return CellDigests(count, tuple(total % (1 << 128) for total in sums))

    def resembles(self, other: CellDigests) -> bool:
        """Return whether there are as many rows, and over half of the columns have the same cells."""
        same = sum(one == two for one, two in zip(self.columns, other.columns))
        return self.rows == other.rows > 0 and 2 * same > len(self.columns)


@lru_cache(1 << 16)
def _digest(cell: str) -> int:
    text = canonical(cell).encode(errors="replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest())


def canonical(cell: str) -> str:
    """Return one text for the ways in which a program may have written the same cell.

    Two different cells may become one text: the question is about a whole table, and not all its rows coincide so.
    """
    text = cell.strip().casefold()
    if text in _EMPTY:
        return ""
    if text in ("true", "false"):
        return "1.0" if text == "true" else "0.0"
    if _MOMENT.fullmatch(text):  # a date without regard to the order of its parts, midnight without its zeros
        return "-".join(sorted(part.lstrip("0") for part in re.split(r"\D+", text) if part.strip("0")))
    number = number_of(text)
    return text if math.isnan(number) else repr(number + 0.0)


def holds_the_same_bytes(data: Path, other: Path) -> bool:
    """Return whether two files have the same content, compressed or not."""
    try:
        with unpacked(data) as one, unpacked(other) as two:
            while (chunk := one.read(_CHUNK)) == two.read(_CHUNK):
                if not chunk:
                    return True
    except (OSError, EOFError, zlib.error):
        pass  # whoever reads the file next says what is wrong with it
    return False


def holds_the_same_cells(data: Path, header: Header, public: Mapping[str, list[str]]) -> bool:
    """Return whether the table has the public file's cells in over half of the columns that both have and that vary.

    A copy with one column changed, or with its columns shuffled each on its own, gives the same values and ranges away.
    """
    names = [name for name, cells in public.items() if len(set(cells)) > 1] or list(public)
    told = CellDigests.of(zip(*(public[name] for name in names)), len(names))
    try:
        readings = _readings(data, header, names)
        return any(told.resembles(CellDigests.of(rows, len(names), told.rows)) for rows in readings)
    except (OSError, EOFError, zlib.error, csv.Error, ValueError, OverflowError):
        raise UsageError(
            f"{data.name!r} cannot be read to its end, so it is not known whether the public file is a copy of it: "
            "repair the table, or leave --public out"
        ) from None


def _readings(data: Path, header: Header, names: Sequence[str]) -> Iterator[Iterator[Sequence[str]]]:
    """Yield readings of the table's rows.

    A text of unknown encoding is read as UTF-8 and as cp1252, as public files are.
    """
    if data.name.lower().endswith((".parquet", ".pq")):
        yield _parquet_rows(data, names)
        return
    if data.suffix.lower() in OTHER_SUFFIXES:
        yield _other_rows(data, names)
        return
    declared = header.settings.get("encoding")
    for encoding in ("utf-8-sig", "cp1252") if declared is None else (declared,):
        yield _text_rows(data, header, names, encoding)


def _text_rows(path: Path, header: Header, names: Sequence[str], encoding: str) -> Iterator[list[str]]:
    """Yield the cells of these columns, read forgivingly; blank lines are no rows."""
    places = [header.names.index(name) for name in names]
    with unpacked(path) as raw, io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="") as text:
        rows = (row for row in csv.reader(text, delimiter=header.settings.get("delimiter", ",")) if row)
        if "header" not in header.settings:
            next(rows, None)
        for row in rows:
            yield [row[at] if at < len(row) else "" for at in places]


def _other_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a file of another program."""
    try:
        columns = dict(open_other(path, "inferred").pieces(names))
    except DataError:
        raise ValueError from None
    yield from zip(*(["" if cell is None else cell for cell in columns[name].to_pylist()] for name in names))


def _parquet_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(columns=list(names)):
            columns = [batch.column(name).to_pylist() for name in names]
            yield from zip(*(["" if cell is None else str(cell) for cell in column] for column in columns))
