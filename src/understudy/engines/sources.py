"""A source: where private rows come from — a delimited file, a Parquet file or a frame — as Arrow arrays by column."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from understudy.engines.addresses import scheme_of
from understudy.engines.delimited import Delimited, Piece
from understudy.engines.file_guard import unchanged
from understudy.engines.inferred import cell_texts, of_one_type
from understudy.engines.other_programs import SUFFIXES as OTHER_SUFFIXES
from understudy.engines.other_programs import open_other
from understudy.engines.trust import Trust, Types
from understudy.errors import DataError, UsageError
from understudy.schema import CsvDialect
from understudy.schema.delimited_names import has_tabs, is_delimited

PIECE_ROWS = 1 << 20


class RowSource(Protocol):
    """Columns by name. Opening one and asking for `columns` and `types` reads no row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column names, in order: public."""
        ...

    @property
    def types(self) -> dict[str, Any]:
        """Return the declared Arrow type of each column that has one."""
        ...

    @property
    def trust(self) -> Trust:
        """Return whether the types were chosen before any row was seen."""
        ...

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield the cells of these columns and no others; the pieces of a column come in row order."""
        ...


def open_source(
    data: Any, dialect: CsvDialect | None = None, types: Types | None = None, *, names: Sequence[str] = ()
) -> RowSource:
    """Open a path or a frame; names are checked, no row is read.

    The types of a frame or a Parquet file count as inferred from its rows unless the caller declares them. `names` are
    the columns of a delimited file whose dialect says that it has no header.
    """
    if (scheme := scheme_of(data)) is not None:
        raise UsageError(
            f"a {scheme}:// address is read by `publish`, `check`, `party`, and by `evaluate` as the original; "
            "here, name a file"
        )
    trust, is_path = types or "inferred", isinstance(data, str | os.PathLike)
    source = _open_path(Path(data), dialect or CsvDialect(), trust, names) if is_path else _open_frame(data, trust)
    _check_names(source.columns)
    return source


def _check_names(columns: tuple[str, ...]) -> None:
    """Refuse names that are absent or not unique. None is quoted: a first line may be a person's row."""
    first: dict[str, int] = {}
    for at, name in enumerate(columns, 1):
        if not name:
            raise DataError(f"column {at} has no name: every column needs one in the header")
        if first.setdefault(name, at) != at:
            raise DataError(
                f"columns {first[name]} and {at} have the same name: rename one of them. If the first line of the file "
                "is a row, declare `header = false` in [table.csv]"
            )


# -- files ---------------------------------------------------------------------------------------------------


def _open_path(path: Path, dialect: CsvDialect, trust: Types, names: Sequence[str]) -> RowSource:
    if path.is_dir():
        raise UsageError(f"{path.name!r} is a folder: name one CSV, TSV or Parquet file")
    if not path.exists():
        raise UsageError(f"there is no file {str(path)!r}")
    if not os.access(path, os.R_OK):
        raise UsageError(f"the file {path.name!r} may not be read: check its permissions")
    name = path.name.lower()
    if name.endswith((".parquet", ".pq")):
        return ParquetFile(path, trust)
    if is_delimited(name):
        declared = None if dialect.header else tuple(names)
        return Delimited(path, delimiter_of(path, dialect), dialect.encoding, declared, dialect.trim)
    if path.suffix.lower() in OTHER_SUFFIXES:
        return open_other(path, trust)
    raise UsageError(
        f"{path.name!r}: data is read from .csv, .tsv, .txt, .dat, .asc (or these with .gz), .parquet, SPSS, Stata, "
        "SAS and .xlsx files, or frames"
    )


def delimiter_of(path: Path, dialect: CsvDialect) -> str:
    """Return the declared delimiter; a .tsv file has tabs unless the schema declares something unusual."""
    tabs = has_tabs(path.name) and dialect.delimiter == ","
    return "\t" if tabs else dialect.delimiter


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file."""

    path: Path
    trust: Types = "inferred"

    @property
    def _place(self) -> Path:
        """Return the file's absolute path: Arrow takes a name that begins with ~ for a home folder."""
        return self.path.absolute()

    @cached_property
    def _schema(self) -> Any:
        from pyarrow import parquet

        with self._told():
            return parquet.read_schema(self._place)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._schema.names)

    @property
    def types(self) -> dict[str, Any]:
        return dict(zip(self._schema.names, self._schema.types))

    @property
    def rows(self) -> int:
        """Return the row count of the footer: for choosing an engine and checking the disk, never shown."""
        from pyarrow import parquet

        with self._told():
            return int(parquet.read_metadata(self._place).num_rows)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        from pyarrow import parquet

        texts = [name for name in names if _is_text(self.types[name])]  # come as the file has them: distinct, numbered
        with (
            unchanged(self.path),
            self._told(),
            # buffering ahead would hold the bytes of the whole file by its end
            parquet.ParquetFile(self._place, read_dictionary=texts, pre_buffer=False) as file,
        ):
            for batch in file.iter_batches(batch_size=1 << 17, columns=list(names)):
                for name in names:
                    column = batch.column(name)
                    column.validate(full=True)  # a damaged page may number texts that are not there
                    yield name, column

    @contextmanager
    def _told(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError):  # a name in a damaged footer may be no text
            raise DataError(
                f"{self.path.name!r} cannot be read as Parquet: it is damaged, cut off or another format"
            ) from None


def _is_text(type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


# -- frames --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """A pandas, polars or pyarrow frame (anything narwhals holds in memory)."""

    frame: Any  # narwhals.DataFrame
    trust: Types = "inferred"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    @cached_property
    def types(self) -> dict[str, Any]:
        import pyarrow as pa

        found, empty = {}, self.frame.head(0)
        for name in self.columns:
            with suppress(pa.ArrowException):  # a type that Arrow does not have
                found[name] = empty.get_column(name).to_arrow().type
        return {name: type for name, type in found.items() if not pa.types.is_null(type)}

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        for name in names:
            column = self._column(name)
            for chunk in getattr(column, "chunks", [column]):
                for start in range(0, len(chunk), PIECE_ROWS):
                    yield name, chunk.slice(start, PIECE_ROWS)

    def _column(self, name: str) -> Any:
        import pyarrow as pa

        column = self.frame.get_column(name)
        objects = _holds_objects(column.to_native())
        if objects and self.trust == "inferred":
            return cell_texts(column.to_list(), name)
        if objects and not of_one_type(column.to_list()):
            raise _mixed(name)
        try:
            return column.to_arrow()
        except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
            # the library's message holds the cell: it is never passed on
            if self.trust == "inferred":
                return cell_texts(column.to_list(), name)
            raise _mixed(name) from None


def _mixed(name: str) -> DataError:
    return DataError(
        f"column {name!r} mixes cells of different types: convert it to one type, for example text", attribute=name
    )


def _holds_objects(column: Any) -> bool:
    """Return whether a column holds Python's objects, other than texts alone: Arrow would take the first one's type for
    all (of pandas), or their addresses (of polars)."""
    if not type(column).__module__.startswith("pandas"):
        return str(column.dtype if hasattr(column, "dtype") else "") == "Object"
    from pandas.api.types import infer_dtype

    held = getattr(column.dtype, "categories", column)  # a categorical's distinct cells
    return str(held.dtype) == "object" and infer_dtype(held, skipna=True) not in ("string", "empty")


def _open_frame(data: Any, trust: Types) -> RowSource:
    import narwhals as nw

    if type(data).__module__.startswith("pandas") and not all(isinstance(n, str) for n in getattr(data, "columns", ())):
        raise DataError("a column's name is not text: rename the frame's columns to texts")
    try:
        return Frame(nw.from_native(_arrow_table(data), eager_only=True), trust)
    except nw.exceptions.DuplicateError:
        raise DataError("two columns have the same name: rename one of them") from None
    except TypeError:
        raise UsageError(
            f"data is a path, or a pandas, polars or pyarrow frame in memory; this is {type(data).__qualname__}"
            " (call .collect() on a lazy frame)"
        ) from None


def _arrow_table(data: Any) -> Any:
    """Record batches, and strangers that speak Arrow, as a table; other frames as they are."""
    import pyarrow as pa

    known = type(data).__module__.split(".")[0] in ("pandas", "polars", "narwhals", "modin", "cudf")
    if isinstance(data, pa.Table) or known:
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    return pa.table(data) if hasattr(data, "__arrow_c_stream__") else data
