"""Numerals: Arrow columns as numbers of a domain's scale, plain texts parsed in bulk, and typed cells as text.

`parse_plain` reads a subset of what `Intervals.parse` reads, with the same result, and leaves the rest as NaN.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataError
from understudy.schema import Intervals
from understudy.schema.readings import canonical_number

Floats = NDArray[np.float64]

_PARTS = {
    "Y": "([1-9][0-9]{3})", "m": "(0[1-9]|1[0-2])", "d": "(0[1-9]|[12][0-9]|3[01])",
    "H": "([01][0-9]|2[0-3])", "M": "([0-5][0-9])", "S": "([0-5][0-9])",
}  # fmt: skip
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY = 86_400
_MAX_WHOLE = 1 << 16


# -- text to numbers -----------------------------------------------------------------------------------------


def parse_plain(texts: Any, domain: Intervals, decimal: str, *, loose: bool = False) -> Floats:
    """The number of each plainly written text; NaN where only the schema's own parser can tell.

    `loose` takes fractions and exponents for an integer domain too, as a column of floats would bring them.
    """
    if domain.kind in ("date", "datetime"):
        return _parse_moments(texts, domain)
    point = re.escape(decimal)
    whole = domain.kind == "integer" and not loose
    tail = rf"({point}0+)?" if whole else rf"({point}[0-9]+)?([eE][+-]?[0-9]+)?"
    plain = _only(texts, rf"^-?[0-9]+{tail}$")
    if decimal != ".":
        import pyarrow.compute as pc

        plain = pc.replace_substring(plain, decimal, ".")
    return _cast(plain, "float64", "float64")


def _parse_moments(texts: Any, domain: Intervals) -> Floats:
    import pyarrow.compute as pc

    rule = _moment_rule(domain)
    if rule is None:
        return np.full(len(texts), np.nan)
    pattern, iso = rule
    plain = _only(texts, pattern)
    if iso:
        plain = pc.replace_substring_regex(plain, pattern, iso)
    return _cast(plain, *(("date32", "int32") if domain.kind == "date" else ("timestamp[s]", "int64")))


def _moment_rule(domain: Intervals) -> tuple[str, str | None] | None:
    """A pattern for texts of the declared format, and how its groups make an ISO text (None: they are one)."""
    if domain.format is None:
        day = "-".join(_PARTS[part] for part in "Ymd")
        if domain.kind == "date":
            return f"^{day}$", None
        return f"^{day}[T ]{':'.join(_PARTS[part] for part in 'HMS')}$", None
    parts = re.findall(r"%(.)", domain.format)
    allowed = "Ymd" if domain.kind == "date" else "YmdHMS"
    if len(set(parts)) != len(parts) or not set("Ymd") <= set(parts) <= set(allowed):
        return None
    literals = re.split(r"%.", domain.format)
    pattern = "".join(re.escape(text) + (_PARTS[part]) for text, part in zip(literals, parts)) + re.escape(literals[-1])
    group = {part: rf"\{at}" for at, part in enumerate(parts, 1)}
    iso = "-".join(group[part] for part in "Ymd")
    if domain.kind == "datetime":
        iso += "T" + ":".join(group.get(part, "00") for part in "HMS")
    return f"^{pattern}$", iso


def _only(texts: Any, pattern: str) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, None)


def _cast(texts: Any, type: str, through: str) -> Floats:
    """Texts as numbers; all NaN when Arrow refuses one of them (30 February), for the exact parser to look at."""
    import pyarrow as pa

    try:
        values = texts.cast(type).cast(through).cast("float64")
    except pa.ArrowInvalid:
        return np.full(len(texts), np.nan)
    found: Floats = np.array(values.fill_null(np.nan).to_numpy(zero_copy_only=False))
    found[~np.isfinite(found)] = np.nan
    return found


# -- typed columns -------------------------------------------------------------------------------------------


def as_numbers(piece: Any, kind: str) -> tuple[Floats, NDArray[np.bool_]] | None:
    """A typed column on the scale of the kind, and its nulls; None where the column is not of such a type."""
    import pyarrow as pa

    type = piece.type
    if pa.types.is_dictionary(type) and not _textual(type.value_type):
        return as_numbers(piece.dictionary_decode(), kind)
    if kind in ("integer", "number"):
        if not (pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)):
            return None
        if pa.types.is_decimal(type):
            piece = piece.cast(pa.string())  # by way of text: Arrow's own cast makes 0.7000000000000001 of 0.7
        values = piece.cast("float64", safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return values, np.isnan(values)
    if not (pa.types.is_date(type) or pa.types.is_timestamp(type)):
        return None
    absent = piece.is_null().to_numpy(zero_copy_only=False)
    return _moments(piece, kind), absent


def as_whole(piece: Any, kind: str) -> tuple[Any, int, int] | None:
    """A typed column of few different whole numbers (of days, for dates), with its least and its greatest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "date" and pa.types.is_date32(piece.type):
        piece = piece.cast("int32")
    elif kind not in ("integer", "number") or not pa.types.is_integer(piece.type):
        return None
    found = pc.min_max(piece).as_py()
    low, high = found["min"], found["max"]
    if low is None or max(-low, high) >= 2**53 or high - low >= min(len(piece), _MAX_WHOLE):
        return None
    return piece, low, high


def _moments(piece: Any, kind: str) -> Floats:
    """Days (for dates) or whole seconds; a moment that is not midnight is no date, and NaN."""
    import pyarrow as pa

    if pa.types.is_date32(piece.type):
        days = np.asarray(piece.cast("int32").fill_null(0), dtype=np.float64)
        return days if kind == "date" else days * _DAY
    if pa.types.is_date64(piece.type):
        piece = piece.cast("int64").cast(pa.timestamp("ms"))
    per_second = _PER_SECOND[piece.type.unit]
    ticks = piece.cast("int64").fill_null(0).to_numpy(zero_copy_only=False)
    if kind == "datetime":
        return np.asarray(ticks // per_second, dtype=np.float64)
    return np.where(ticks % (per_second * _DAY) == 0, ticks // (per_second * _DAY), np.nan)


def as_texts(piece: Any, name: str, *, widened: bool = False) -> tuple[Any, Any]:
    """The distinct texts of a column, and which one each cell is.

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
    """The name of a type, without what is inside: the fields of a structure may be cells."""
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
    """As Python writes it; a moment outside Python's years as Arrow writes it, which no schema declares."""
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
    """Whether the column holds numbers, be it by number; None is no type."""
    import pyarrow as pa

    if type is None:
        return False
    held = type.value_type if pa.types.is_dictionary(type) else type
    return bool(pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held))


def is_moment_type(type: Any) -> bool:
    """Whether the column holds dates, timestamps or times of day, be it by number."""
    import pyarrow as pa

    held = type.value_type if pa.types.is_dictionary(type) else type
    return bool(pa.types.is_date(held) or pa.types.is_timestamp(held) or pa.types.is_time(held))


def _textual(type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))
