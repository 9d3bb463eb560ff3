"""Persons: which rows have one id. Equal texts are one person, and whole numbers are compared as numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines.arrow_parsing import as_texts
from understudy.engines.sources import RowSource
from understudy.errors import DataError

WHOLE = re.compile(r"([+-]?)0*(0|[1-9][0-9]*)(\.0*)?")
HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}")  # what Arrow reads as a whole number, if all others are some


def person_numbers(source: RowSource, column: str, rows: int, known: dict[str, int] | None = None) -> NDArray[np.int64]:
    """Number the persons of an id column: equal ids are one person, whole numbers compared as numbers.

    Ids that are `known` keep their numbers; others are added to them.
    """
    known = {} if known is None else known
    parts = []
    for name, piece in source.pieces([column]):
        _check_type(piece.type, column)
        texts, indices = as_texts(piece, name)
        own = np.asarray([_number(text, known, column) for text in texts.to_pylist()], dtype=np.int64)
        if indices.null_count:
            raise no_id(column)
        parts.append(own[indices.to_numpy(zero_copy_only=False).astype(np.int64)])
    found = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    if len(found) != rows:
        raise DataError("the data was changed while it was read: try again")
    return found


def _check_type(type: Any, column: str) -> None:
    """Refuse ids of which a reader may have made one value of several texts, which it would not have done in a column
    with another text in it: floats (`1e3`, `1000`), booleans (`true`, `TRUE`) and times."""
    import pyarrow as pa

    held = type.value_type if pa.types.is_dictionary(type) else type
    if pa.types.is_floating(held):
        found = "floating-point numbers: some are missing, or a reader made them so"
    elif pa.types.is_boolean(held) or pa.types.is_temporal(held):
        found = "booleans or times: a reader may have made one value of two ids"
    else:
        return
    raise doubtful(column, found)


def doubtful(column: str, found: str) -> DataError:
    """Return the refusal of ids of a type whose equal values may not be one person's."""
    return DataError(f"the ids in {column!r} are {found}. Give them as texts or whole numbers", attribute=column)


def _number(text: str | None, known: dict[str, int], column: str) -> int:
    plain = (text or "").strip()
    if not plain:
        raise no_id(column)
    if whole := WHOLE.fullmatch(plain):
        sign, digits, _ = whole.groups()
        plain = f"-{digits}" if sign == "-" and digits != "0" else digits
    elif HEXADECIMAL.fullmatch(plain):
        plain = str(int(plain, 16))
    return known.setdefault(plain, len(known))


def no_id(column: str) -> DataError:
    """Return the refusal of rows that are nobody's."""
    return DataError(
        f"some rows have no {column!r}, so nobody knows whose they are: give every row the id of what it belongs to",
        attribute=column,
    )
