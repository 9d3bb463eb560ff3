"""Dealing rows out to owners, for a trial: at random in equal parts, or by an attribute so that owners differ."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from understudy.engines.sources import delimiter_of, open_source
from understudy.errors import DataError, UsageError
from understudy.privacy.random_source import SystemSource
from understudy.schema import Integers, Schema

_NEVER = 1 << 30  # a cell may be long


def deal(
    data: str, schema: Schema, folder: Path, names: Sequence[str], split: str
) -> tuple[dict[str, Path], dict[str, int | None]]:
    """Write a file for each owner, in a folder of its own, and return the files and how many rows each has."""
    path = Path(data)
    columns = open_source(data, schema.csv, names=schema.columns).columns
    by = split.removeprefix("by:") if split.startswith("by:") else None
    if by is None and split != "random":
        raise UsageError(f"--split is random or by:ATTRIBUTE, not {split!r}")
    if by is not None and by not in columns:
        raise UsageError(f"there is no column {by!r} to split by")
    for name in names:
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    table = _Parquet(path) if path.name.lower().endswith((".parquet", ".pq")) else _Text(path, schema)
    cells = list(table.column(by if by is not None else columns[0]))
    if schema.rows is not None and len(cells) != schema.rows:
        raise DataError("the data does not have as many rows as the schema says")
    if len(cells) < len(names):
        raise DataError(f"there are fewer rows than {len(names)} owners")
    if by is None:
        owner = SystemSource().generator().permutation(np.arange(len(cells)) % len(names))
    else:
        owner = _by_value(cells, len(names), by)
    files = table.write(owner, [folder / name / "rows" for name in names])
    counts = np.bincount(owner, minlength=len(names))
    return dict(zip(names, files)), {name: int(count) for name, count in zip(names, counts)}


def _by_value(cells: list[Any], owners: int, by: str) -> Integers:
    """Return the owner of each row: a value's rows go to one owner, the largest first, to whoever has the fewest."""
    groups = Counter(cells)
    if len(groups) < owners:
        raise UsageError(f"{by} has fewer values than there are owners: split by another attribute, or at random")
    held = [0] * owners
    place: dict[Any, int] = {}
    for value, count in groups.most_common():
        place[value] = held.index(min(held))
        held[place[value]] += count
    return np.array([place[cell] for cell in cells], dtype=np.int64)


class _Text:
    """A delimited file, row by row."""

    def __init__(self, path: Path, schema: Schema) -> None:
        self._path = path
        self._encoding = schema.csv.encoding
        self._delimiter = delimiter_of(path, schema.csv)
        self._declared = None if schema.csv.header else list(schema.columns)
        self._end = ".tsv" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ".csv"

    def column(self, name: str) -> Iterator[str]:
        with self._rows() as rows:
            at = (self._declared or next(rows)).index(name)
            for row in rows:
                if len(row) <= at:
                    raise DataError("a row has fewer cells than the header")
                yield row[at]

    def write(self, owner: Integers, stems: Sequence[Path]) -> list[Path]:
        files = [stem.with_suffix(self._end) for stem in stems]
        with ExitStack() as stack, self._rows() as rows:
            writers = []
            for file in files:
                out: TextIO = stack.enter_context(file.open("w", encoding=self._encoding, newline=""))
                writers.append(csv.writer(out, delimiter=self._delimiter, lineterminator="\n"))
            heads = [next(rows)] if self._declared is None else []
            for writer in writers:
                writer.writerows(heads)
            for number, row in zip(owner.tolist(), rows, strict=True):
                writers[number].writerow(row)
        return files

    @contextmanager
    def _rows(self) -> Iterator[Iterator[list[str]]]:
        opener = gzip.open if self._path.name.lower().endswith(".gz") else open
        before = csv.field_size_limit(_NEVER)  # of the whole process
        try:
            with opener(self._path, "rt", encoding=self._encoding, newline="") as file:
                yield (row for row in csv.reader(file, delimiter=self._delimiter) if row)
        finally:
            csv.field_size_limit(before)


class _Parquet:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self._table = parquet.read_table(path)

    def column(self, name: str) -> list[Any]:
        return list(self._table.column(name).to_pylist())

    def write(self, owner: Integers, stems: Sequence[Path]) -> list[Path]:
        from pyarrow import parquet

        files = [stem.with_suffix(".parquet") for stem in stems]
        for number, file in enumerate(files):
            parquet.write_table(self._table.take(np.flatnonzero(owner == number)), file)
        return files
