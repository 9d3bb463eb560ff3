"""Typed cells as text: the distinct texts of an Arrow column, and what its type says."""

from __future__ import annotations

import re
from typing import Any

from understudy.errors import DataError
from understudy.schema.canonical import canonical_number


def as_texts(piece: Any, name: str, *, widened: bool = False) -> tuple[Any, Any]:
    """Return the distinct texts of a column, and which one each cell is.

    Typed cells have the text a CSV would hold: whole numbers without ".0", booleans true/false, ISO dates. A float32 or
    float16 has its own shortest text, or that of the double it is (`widened`).
    """
    import pyarrow as pa

    try:
        if pa.types.is_duration(piece.type):
            raise pa.ArrowNotImplementedError("a duration has no text of its own")
        if pa.types.is_dictionary(piece.type) and len(piece.dictionary) > len(piece):
            piece = piece.dictionary_decode()  # most of the texts are other pieces'
        encoded = piece if pa.types.is_dictionary(piece.type) else piece.dictionary_encode()
        return _distinct_texts(encoded.dictionary, widened), encoded.indices
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, OverflowError):  # overflow: a time beyond the year 9999
        raise DataError(
            f"column {name!r} has the type {_outer(piece.type)}, which no kind of attribute reads: convert it to text, "
            'numbers, dates or booleans, or declare it kind = "drop"',
            attribute=name,
        ) from None


def _outer(type: Any) -> str:
    """Return the name of a type, without what is inside: the fields of a structure may be cells."""
    return re.split(r"[<\[(:]", str(type))[0]


def _distinct_texts(values: Any, widened: bool) -> Any:
    import pyarrow as pa

    if pa.types.is_floating(values.type):
        numbers = (values if widened else values.cast(pa.large_string())).cast("float64").to_pylist()
        return pa.array([None if n is None else canonical_number(n) for n in numbers], pa.large_string())
    if pa.types.is_decimal(values.type):
        return pa.array([_decimal_text(value) for value in values.to_pylist()], pa.large_string())
    if pa.types.is_timestamp(values.type):
        return pa.array([_moment_text(values[at]) for at in range(len(values))], pa.large_string())
    return values.cast(pa.large_string())


def _decimal_text(value: Any) -> str | None:
    if value is None:
        return None
    return str(int(value)) if value == int(value) else format(value.normalize(), "f")


def _moment_text(value: Any) -> str | None:
    """Return a moment as Python writes it; outside Python's years as Arrow writes it, which no schema declares."""
    import pyarrow as pa

    if not value.is_valid:
        return None
    unit = "us" if value.type.unit == "ns" else value.type.unit
    try:
        found = value.cast(pa.timestamp(unit, value.type.tz), safe=False).as_py()
        return str(found.isoformat())
    except (OverflowError, ValueError):
        return str(value.cast(pa.large_string()).as_py())


def is_numeric_type(type: Any) -> bool:
    """Return whether the column holds numbers, be it by number; None is no type."""
    import pyarrow as pa

    if type is None:
        return False
    held = type.value_type if pa.types.is_dictionary(type) else type
    return bool(pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held))


def is_moment_type(type: Any) -> bool:
    """Return whether the column holds dates, timestamps or times of day, be it by number."""
    import pyarrow as pa

    held = type.value_type if pa.types.is_dictionary(type) else type
    return bool(pa.types.is_date(held) or pa.types.is_timestamp(held) or pa.types.is_time(held))
