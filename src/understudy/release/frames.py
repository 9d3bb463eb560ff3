"""Frames: a typed table in the caller's own library, with the caller's own column types where they hold the values."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from typing import Any

from understudy.errors import UsageError
from understudy.release.cells import cell_texts
from understudy.schema import Attribute, Booleans, Intervals, Schema

_LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class FrameType:
    """A frame library and the type of each column: no row, and no category that stands only in the rows.

    A column without any value has a type of its own (null), which says so and is left out.
    """

    library: str
    types: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(frame: Any) -> FrameType:
        library = type(frame).__module__.split(".")[0]
        if library == "pandas":
            return FrameType(library, {name: _pandas_type(dtype) for name, dtype in frame.dtypes.items()})
        if library == "polars":
            types = {name: _polars_type(dtype) for name, dtype in frame.schema.items() if str(dtype) != "Null"}
            return FrameType(library, types)
        if library == "pyarrow":
            schema = getattr(frame, "schema", frame)
            return FrameType(library, {n: t for n, t in zip(schema.names, schema.types) if str(t) != "null"})
        raise UsageError(f"frames are pandas, polars or pyarrow; this is {type(frame).__qualname__}")

    def under(self, schema: Schema) -> FrameType:
        """The same for columns of this schema, with what a type would tell about the rows left out."""
        return FrameType(self.library, {n: _public_type(t, schema[n]) for n, t in self.types.items()})


def to_frame(table: Any, like: Any = None, schema: Schema | None = None) -> Any:
    """The pyarrow.Table as a frame of the same library as `like`: a FrameType, an example frame or a library's name.

    Without `like`: pandas, else polars, where one is installed. With a schema, columns that were text stay text.
    """
    wanted = _frame_type(like)
    columns = {name: _column(table, name, wanted, schema) for name in table.column_names}
    if wanted.library == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    if wanted.library == "polars":
        import polars as pl

        return pl.DataFrame(columns)
    import pyarrow as pa

    return pa.table(columns)


def _frame_type(like: Any) -> FrameType:
    if like is None:
        like = next((name for name in _LIBRARIES if importlib.util.find_spec(name)), "pyarrow")
    if isinstance(like, FrameType):
        return like
    if not isinstance(like, str):
        return FrameType.of(like)
    if like not in _LIBRARIES:
        raise UsageError(f"there is no frame library {like!r}; known: {', '.join(_LIBRARIES)}")
    return FrameType(like)


def _column(table: Any, name: str, wanted: FrameType, schema: Schema | None) -> Any:
    values, type = table.column(name), wanted.types.get(name)
    if schema is not None and type is not None:
        type = _public_type(type, schema[name])
    if schema is not None and type is not None and _was_text(type, name, schema):
        attribute = schema[name]
        values = cell_texts(values.combine_chunks(), attribute, schema.csv)
    convert = {"pandas": _pandas_column, "polars": _polars_column, "pyarrow": _arrow_column}[wanted.library]
    return convert(values, type)


def _public_type(type: Any, attribute: Attribute) -> Any:
    """The caller's type, where it cannot tell what was in the rows: that numbers were all whole, or (pandas) that no
    integer or boolean was missing. There the schema decides."""
    import numpy as np

    if isinstance(attribute.domain, Intervals) and attribute.domain.kind == "number":
        usual = str(type) in ("float64", "double")  # what numbers are anyway
        return None if usual or str(type).lower().startswith(("int", "uint")) else type
    if not isinstance(type, np.dtype) or not attribute.has_missing:
        return type
    if type.kind in "iuf":
        return type if type == np.float32 else np.dtype(np.float64)
    return np.dtype(object) if type.kind == "b" else type


def _was_text(type: Any, name: str, schema: Schema) -> bool:
    """Whether a column of this type held texts, such as Y/N or 31.12.2024, for an attribute that is not text."""
    domain = schema[name].domain
    if not isinstance(domain, Booleans | Intervals):
        return False
    if str(type) == "object":  # pandas: anything; text where the schema declares how cells are written
        return domain != Booleans() if isinstance(domain, Booleans) else domain.format is not None
    return str(type).lower() in ("str", "string", "large_string", "string_view", "category", "categorical") or str(
        type
    ).startswith(("string[", "dictionary<values=string", "dictionary<values=large_string"))


# -- pandas --------------------------------------------------------------------------------------------------


def _pandas_type(dtype: Any) -> Any:
    return "category" if str(dtype) == "category" else dtype


def _pandas_column(values: Any, dtype: Any) -> Any:
    natural = values.to_pandas(date_as_object=str(dtype) == "object").rename(None)
    if dtype is None or natural.dtype == dtype:
        return natural
    try:
        converted = _pandas_cast(values, natural, dtype)
    except (ValueError, TypeError, OverflowError, NotImplementedError):  # the type cannot hold the values
        return natural
    numeric = getattr(dtype, "kind", "") in "iu"
    held = not numeric or bool((converted.dropna() == natural.dropna()).all())
    return converted if held else natural


def _pandas_cast(values: Any, natural: Any, dtype: Any) -> Any:
    import pandas as pd

    if isinstance(dtype, pd.ArrowDtype):
        return pd.Series(pd.arrays.ArrowExtensionArray(values.cast(dtype.pyarrow_dtype)))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return natural.dt.tz_localize("UTC").astype(dtype)
    if str(dtype) == "bool" and values.null_count:
        raise ValueError("a plain boolean column holds no missing value")
    return natural.astype(dtype)


# -- polars --------------------------------------------------------------------------------------------------


def _polars_type(dtype: Any) -> Any:
    import polars as pl

    return pl.Enum([]) if dtype == pl.Enum else dtype  # an Enum's categories may come from the rows


def _polars_column(values: Any, dtype: Any) -> Any:
    import polars as pl

    natural = pl.Series(pl.from_arrow(values))
    if dtype is None or natural.dtype == dtype:
        return natural
    try:
        if dtype == pl.Enum:
            return natural.cast(pl.Enum(natural.cast(pl.String).unique().drop_nulls().sort()))
        if isinstance(dtype, pl.Datetime) and dtype.time_zone:
            moments = natural.cast(pl.Datetime(dtype.time_unit))
            return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
        return natural.cast(dtype)
    except pl.exceptions.PolarsError:  # the type cannot hold the values
        return natural


# -- pyarrow -------------------------------------------------------------------------------------------------


def _arrow_column(values: Any, type: Any) -> Any:
    import pyarrow as pa

    if type is None:
        return values
    try:
        if pa.types.is_dictionary(type):
            return values.cast(type.value_type).dictionary_encode().cast(type)
        return values.cast(type, safe=not pa.types.is_floating(type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # the type cannot hold the values
        return values
