"""The dialect of a CSV file: how its cells are set apart and its characters encoded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CsvDialect:
    """How the CSV file is written; output uses the same.

    Without a header, the columns of the file are the attributes of the schema in their order. With `trim`, blanks at
    the ends of every name and every cell are no part of it.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    trim: bool = False


DEFAULT_CSV = CsvDialect()
