"""Files of other programs as sources of rows: SPSS, Stata and SAS files, and Excel sheets. Read whole, as frames.

A cell of a sheet has a type of its own, and a statistics file has doubles for whole numbers; so every cell is coded
by its canonical text, as in a frame. User-missing values of SPSS stay what they are: the schema says that they mean
no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from understudy.engines.delimited import Piece
from understudy.engines.file_guard import unchanged
from understudy.engines.inferred import cell_texts
from understudy.engines.trust import Types
from understudy.errors import DataError, SchemaError
from understudy.schema.codebooks.excel import SUFFIXES as EXCEL
from understudy.schema.codebooks.excel import first_row, sheet_rows
from understudy.schema.codebooks.statistical_files import SUFFIXES as STATISTICAL
from understudy.schema.codebooks.statistical_files import read_metadata, reader_of
from understudy.schema.column_names import numbered

SUFFIXES = (*STATISTICAL, *EXCEL)


@dataclass(frozen=True)
class StatisticalFile:
    """An SPSS, Stata or SAS file. Dates come as dates, everything else as the file stores it."""

    path: Path
    trust: Types = "inferred"
    types: ClassVar[dict[str, Any]] = {}  # none are known before rows are read

    @cached_property
    def columns(self) -> tuple[str, ...]:
        try:
            return tuple(read_metadata(self.path).column_names)
        except SchemaError as error:
            raise DataError(error.message) from None

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        read = reader_of(self.path)
        with unchanged(self.path):
            try:
                columns, _ = read(usecols=list(names), output_format="dict")
            except Exception as error:  # its text may hold a cell
                raise DataError(f"{self.path.name!r} cannot be read to its end ({type(error).__name__})") from None
            for name in names:
                yield name, cell_texts(_plain(columns[name]), name)


def _plain(column: Any) -> list[Any]:
    """Return a column as Python's own values."""
    return column.tolist() if hasattr(column, "tolist") and column.dtype != object else list(column)


@dataclass(frozen=True)
class Sheet:
    """The first sheet of an Excel file; its first row names the columns."""

    path: Path
    trust: Types = "inferred"
    types: ClassVar[dict[str, Any]] = {}  # a column of a sheet has none

    @cached_property
    def columns(self) -> tuple[str, ...]:
        try:
            return numbered(first_row(self.path))
        except SchemaError as error:
            raise DataError(error.message) from None

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        places = {name: self.columns.index(name) for name in names}
        cells: dict[str, list[Any]] = {name: [] for name in names}
        with unchanged(self.path):
            rows = self._rows()
            next(rows, None)
            for row in rows:
                if any(value is not None for value in row[len(self.columns) :]):
                    raise DataError(f"{self.path.name!r} has a row with more cells than its first row has names")
                for name, at in places.items():
                    cells[name].append(row[at] if at < len(row) else None)
        for name in names:
            yield name, cell_texts(cells.pop(name), name)

    def _rows(self) -> Iterator[list[Any]]:
        try:
            yield from sheet_rows(self.path)
        except SchemaError as error:
            raise DataError(error.message) from None


def open_other(path: Path, trust: Types) -> StatisticalFile | Sheet:
    """Open a file by its suffix, one of `SUFFIXES`."""
    return Sheet(path, trust) if path.suffix.casefold() in EXCEL else StatisticalFile(path, trust)
