"""Frames: a typed table in the caller's library.

The type of a column follows from its attribute and the library alone. Of the caller's frame nothing but the name of its
library is kept: the types of its columns may have been inferred from its cells, so that one cell would show in them.

    kind                              pandas                       polars        pyarrow
    integer, id, whole categories     int64                        Int64         int64
      that may be missing             float64
    number                            float64                      Float64       double
    boolean                           bool                         Boolean       bool
      that may be missing             object (True, False, None)
    date                              datetime64[ms]               Date          date32
    datetime                          datetime64[s]                Datetime(ms)  timestamp[s]
    time                              object (datetime.time)       Time          time32[s]
    other categories, id with a
      pattern                         str                          String        string

A category is whole if each of its values is written like an integer, without leading zeros (`cells.are_whole`).
"""

from __future__ import annotations

import importlib.util
from typing import Any

from understudy.errors import UsageError
from understudy.schema import Attribute, Schema

LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(frame: Any) -> str | None:
    """Return the name of the library that a frame belongs to, or None if it is no library that rows are returned in."""
    roots = [kind.__module__.split(".")[0] for kind in type(frame).__mro__]
    return next((root for root in roots if root in LIBRARIES), None)


def to_frame(table: Any, schema: Schema, library: str | None = None) -> Any:
    """Return a pyarrow.Table of decoded rows as a frame of this library.

    Without a library: pandas, else polars, where one is installed.
    """
    library = library or next((name for name in LIBRARIES if importlib.util.find_spec(name)), "pyarrow")
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame({n: _pandas_column(table.column(n), schema[n]) for n in table.column_names})
    if library == "polars":
        import polars as pl

        return pl.DataFrame({name: pl.Series(pl.from_arrow(table.column(name))) for name in table.column_names})
    if library == "pyarrow":
        return table
    raise UsageError(f"there is no frame library {library!r}; known: {', '.join(LIBRARIES)}")


def _pandas_column(values: Any, attribute: Attribute) -> Any:
    """Convert a column to the type that could hold a missing value wherever one is declared, drawn or not."""
    import pyarrow as pa

    column = values.to_pandas(date_as_object=False).rename(None)
    if not attribute.has_missing:
        return column
    if pa.types.is_integer(values.type):
        return column.astype("float64")
    return column.astype("object") if pa.types.is_boolean(values.type) else column
