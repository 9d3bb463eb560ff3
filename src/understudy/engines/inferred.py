"""Columns of inferred types: a cell has the code of its canonical text, whatever type its column came in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from understudy.engines.arrow_parsing import as_texts, is_moment_type
from understudy.errors import DataError
from understudy.schema import Attribute
from understudy.schema.canonical import canonical_number
from understudy.schema.domain import UNFIT, Codes
from understudy.schema.readings import Readings

_REMEMBERED = 100_000


@dataclass(frozen=True)
class InferredCoder:
    """The codes of one attribute's cells; remembers texts that are slow to parse."""

    attribute: Attribute
    decimal: str
    plain: Callable[[str], str]  # of a text that our own output has neutralised
    remembered: dict[str, int] = field(default_factory=dict)

    @cached_property
    def readings(self) -> Readings:
        return Readings(self.attribute, self.decimal)

    def code(self, piece: Any) -> Codes:
        domain = self.attribute.intervals
        if domain is not None and (whole := domain.scale.whole(piece)) is not None:
            return self._code_whole(*whole)
        if domain is not None and (numbers := domain.scale.numbers(piece)) is not None:
            return self._code_numbers(*numbers, domain.scale.misread(piece))
        if is_moment_type(piece.type):  # no list has dates or times: `fault` sees to that
            return self._pick(np.full(1, UNFIT, dtype=np.int32), _zeros(piece))
        texts, indices = as_texts(piece, self.attribute.name, widened=True)
        codes = self._code_texts(texts)
        codes[texts.is_null().to_numpy(zero_copy_only=False)] = self.readings.null_code
        return self._pick(codes, indices)

    def _pick(self, codes: Codes, indices: Any) -> Codes:
        return pick(codes, indices, self.readings.null_code)

    def _code_whole(self, piece: Any, low: int, high: int) -> Codes:
        return self._pick(codes_between(self.attribute, low, high), offsets(piece, low))

    def _code_numbers(self, values: Any, absent: Any, misread: Any) -> Codes:
        codes = self.readings.number_codes(values, absent)
        if misread is not None:
            codes[misread] = UNFIT
        codes[absent] = self.readings.null_code
        return codes

    def _code_texts(self, texts: Any) -> Codes:
        import pyarrow as pa

        if (domain := self.attribute.intervals) is None:
            return self._code_slowly(texts.fill_null("").to_pylist())
        values = domain.scale.plain(texts, domain.format, ".", loose=True)
        slow = np.isnan(values)
        codes = self.readings.number_codes(values, slow)
        if slow.any():
            codes[slow] = self._code_slowly(texts.filter(pa.array(slow)).fill_null("").to_pylist())
        return codes

    def _code_slowly(self, texts: Sequence[str]) -> Codes:
        return np.fromiter(map(self._remember, texts), dtype=np.int32, count=len(texts))

    def _remember(self, text: str) -> int:
        found = self.remembered.get(text)
        if found is None:
            found = self.readings.code(self.plain(text))
            if len(self.remembered) < _REMEMBERED:
                self.remembered[text] = found
        return found


# -- codes by place ------------------------------------------------------------------------------------------


def pick(codes: Codes, indices: Any, null_code: int) -> Codes:
    """Return the code at each index; a null index is an empty cell."""
    table = np.append(codes, np.int32(null_code))
    if indices.null_count:
        indices = indices.cast("int64").fill_null(len(codes))
    picked: Codes = table[indices.to_numpy(zero_copy_only=False)]
    return picked


def codes_between(attribute: Attribute, low: int, high: int) -> Codes:
    """Return the code of each whole number from low to high."""
    values = np.arange(low, high + 1, dtype=np.float64)
    return attribute.encode_numbers(values, np.zeros(len(values), dtype=bool))


def offsets(piece: Any, low: int) -> Any:
    """Return how far each whole number is above the least."""
    import pyarrow.compute as pc

    return pc.subtract(piece.cast("int64"), low)


def _zeros(piece: Any) -> Any:
    """Index 0 for each cell that is not null."""
    import pyarrow as pa

    absent = piece.is_null().to_numpy(zero_copy_only=False)
    return pa.array(np.zeros(len(piece), dtype=np.int64), mask=absent)


# -- columns that hold Python's own objects ------------------------------------------------------------------


def cell_texts(cells: Sequence[Any], name: str) -> Any:
    """Return each cell, by its own type, as its canonical text: a column of objects has no type to be believed."""
    import pyarrow as pa

    remembered: dict[tuple[type, Any], str | None] = {}

    def text(cell: Any) -> str | None:
        if isinstance(cell, str) or cell is None:
            return cell
        try:
            key = (type(cell), cell)
            if key not in remembered and len(remembered) < _REMEMBERED:
                remembered[key] = _cell_text(cell, name)
            return remembered[key] if key in remembered else _cell_text(cell, name)
        except TypeError:  # not hashable, so no text, number, date or boolean
            raise _objects(name) from None

    return pa.array([text(cell) for cell in cells], pa.large_string())


def of_one_type(cells: Sequence[Any]) -> bool:
    """Return whether all cells but nulls are texts, or numbers, or booleans, or dates, or datetimes: Arrow bends the
    rest, and float32 among other numbers."""
    types = {type(cell) for cell in cells if not _is_null(cell)}
    numbers = {found for found in types if issubclass(found, int | float | np.number) and not issubclass(found, bool)}
    narrow = {found for found in numbers if issubclass(found, np.float32 | np.float16)}
    moments = {found for found in types if issubclass(found, datetime)}
    mixed = len(narrow) > 1 or (bool(narrow) and narrow != numbers)
    return len(types - numbers - moments) + bool(numbers) + bool(moments) <= 1 and not mixed


def _cell_text(cell: Any, name: str) -> str | None:
    if isinstance(cell, np.datetime64):
        return None if np.isnat(cell) else str(cell)
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float | Decimal):
        return canonical_number(_as_float(cell))
    if _is_null(cell):
        return None
    if isinstance(cell, date | datetime | time):
        return cell.isoformat()
    raise _objects(name)


def _is_null(cell: Any) -> bool:
    """Return whether it is None, NaN, or what pandas has for them."""
    return type(cell).__name__ in ("NaTType", "NAType", "NoneType") or (isinstance(cell, float) and cell != cell)


def _as_float(number: int | float | Decimal) -> float:
    try:
        return float(number)
    except ValueError:  # a signalling NaN
        return float("nan")
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _objects(name: str) -> DataError:
    return DataError(
        f"column {name!r} holds objects that are no texts, numbers, dates or booleans: convert it to text, or declare "
        'it kind = "drop"',
        attribute=name,
    )
