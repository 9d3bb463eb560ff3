"""Columns of inferred types: a cell has the code of its canonical text, whatever type its column came in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines.arrow_parsing import as_texts, is_moment_type
from understudy.engines.cell_coder import CellCoder
from understudy.errors import DataError
from understudy.schema import Intervals
from understudy.schema.canonical import canonical_number
from understudy.schema.domain import UNFIT, Codes, Floats

_REMEMBERED = 100_000


class InferredCoder(CellCoder):
    """The codes of one attribute's cells, by their canonical texts."""

    def _number_codes(self, piece: Any, values: Floats, absent: NDArray[np.bool_]) -> Codes:
        codes = self.readings.number_codes(values, absent)
        if (misread := self.attribute.ordered.scale.misread(piece)) is not None:
            codes[misread] = UNFIT
        return codes

    def _code_others(self, piece: Any) -> Codes:
        if is_moment_type(piece.type):  # no list has dates or times: `fault` sees to that
            absent = piece.is_null().to_numpy(zero_copy_only=False)
            return np.where(absent, self.null_code, UNFIT).astype(np.int32)
        return self._code_texts(*as_texts(piece, self.attribute.name, widened=True))

    def _plain_codes(self, texts: Any, domain: Intervals) -> tuple[Floats, Codes]:
        values = domain.scale.plain(texts, domain.format, ".", loose=True)
        return values, self.readings.number_codes(values, np.isnan(values))

    def _encode(self, texts: Sequence[str]) -> list[int]:
        return [self.readings.code(text) for text in texts]


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

    try:
        return pa.array([text(cell) for cell in cells], pa.large_string())
    except UnicodeEncodeError:  # its message and its `object` hold the cell
        raise DataError(
            f"column {name!r} holds half of a character (a surrogate), which no file can: decode what it was read from "
            "again",
            attribute=name,
        ) from None


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
