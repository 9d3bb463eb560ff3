"""A draft for a frame: from the names and types of its columns. Types were often inferred, so they are asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.errors import UsageError
from understudy.schema.codebooks import read_codebook, read_object
from understudy.schema.column_names import check_names
from understudy.schema.draft import drafted
from understudy.schema.facts import Source
from understudy.schema.files import parse_schema
from understudy.schema.table import Schema


def draft_frame(data: Any, codebook: Any, ddl: str | Path | None, name: str) -> Schema:
    """Return the draft of a schema; `Schema.draft` says what it does."""
    return parse_schema(draft_text(data, codebook, ddl, name))


def draft_text(data: Any, codebook: Any = None, ddl: str | Path | None = None, name: str = "table") -> str:
    """Return the draft as the text of a schema.toml."""
    names, types = _columns(data)
    book = _book(codebook)
    vouched = frozenset(known.strip().casefold() for known in (book.attributes if book else ()))
    listed = isinstance(data, list | tuple)
    if not listed:  # a frame that was read from a file without a header has a person's row for names
        check_names(names, "the list of columns of the frame", vouched)
    return drafted(names, types, book, ddl, table_name=name, origin="declared" if listed else "footer").text


def _book(codebook: Any) -> Source | None:
    if codebook is None:
        return None
    return read_codebook(Path(codebook)) if isinstance(codebook, str | Path) else read_object(codebook)


def _columns(data: Any) -> tuple[list[str], list[str] | None]:
    if isinstance(data, list | tuple) and all(isinstance(name, str) for name in data):
        return list(data), None
    if isinstance(data, str | Path):
        raise UsageError("a draft for a file is made by `understudy init FILE`; in Python, draft from a frame")
    names, types = getattr(data, "column_names", None), None
    if names is None:
        names = list(getattr(data, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        raise UsageError("a draft is made from a pandas, polars or pyarrow frame whose columns have texts for names")
    schema = getattr(data, "schema", None)
    if schema is not None and hasattr(schema, "types"):  # pyarrow
        types = [str(typed) for typed in schema.types]
    elif hasattr(data, "dtypes"):
        held = data.dtypes
        types = [str(typed).lower() for typed in (held if isinstance(held, list) else held.tolist())]
    return list(names), types


def without_schema(data: Any) -> UsageError:
    """Say what is missing, and show a draft: of a frame, from the names and types of its columns; no row is read."""
    need = (
        "a schema is a Schema or the path of a schema.toml, and `publish` needs a schema: the range or the list of "
        "values of each column, from public knowledge."
    )
    if isinstance(data, str | Path):
        return UsageError(f"{need} Begin with `understudy init {Path(data).name}`, or Schema.draft(frame) in Python")
    try:
        draft = draft_text(data)
    except UsageError:  # no frame either
        return UsageError(f"{need} Begin with `understudy init DATA`, or Schema.draft(frame) in Python")
    return UsageError(
        f"{need} Begin with this draft (schema = Schema.draft(frame)), settle each point in `confirm` with "
        f'schema.edit("age", range=(0, 120)), and pass it on:\n\n{draft}'
    )
