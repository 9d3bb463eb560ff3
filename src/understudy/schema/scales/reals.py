"""Kind number: numbers with decimals."""

from __future__ import annotations

import math
import re
import sys
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.canonical import numeral
from understudy.schema.domain import Floats
from understudy.schema.scales.scale import ORDERED_KEYS, OrderedScale, cast, only, whole_or_real
from understudy.schema.scales.sql_cell import FAR, LONGEST, MOMENT_LIKE, NUMBER_LIKE, SPACE, SqlCell, SqlNumber, literal
from understudy.schema.scales.sql_types import NUMBERS, Type

_WORD = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SPACES = "[[:space:]]*"
HIGHEST_OCTAVE = 53  # 2^53 is the end of every range that is looked for
LOWEST_OCTAVE = -20  # a number nearer to 0 than 2^-20 counts as 0


class Number(OrderedScale):
    """Numbers are themselves."""

    kind = "number"
    keys: ClassVar[tuple[str, ...]] = (*ORDERED_KEYS, "step", "decimals", "heaps")
    words: ClassVar[tuple[str, ...]] = ("number", "float", "double", "decimal", "numeric", "real")
    ddl_types = "numeric decimal number real float double money float4 float8"
    file_types = r"float\d*|double|halffloat|decimal.*"
    placeholder = ("0", "100")
    integral = False
    arithmetic = True
    listable = False
    wanted = "numbers"
    noun = "number"
    sql_types = NUMBERS
    sql_reads = "numbers or text"
    inferred_types: ClassVar[tuple[Type, ...]] = ("text", "boolean")
    _numeral: ClassVar[re.Pattern[str]] = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")

    def parse(self, text: str, format: str | None = None, decimal: str = ".") -> float:
        if decimal != ".":
            if "." in text:
                return math.nan
            text = text.replace(decimal, ".")
        if not self._numeral.fullmatch(text):
            return math.nan
        return max(-sys.float_info.max, min(sys.float_info.max, float(text.strip())))  # 1e999 is clamped later

    def show(self, value: float, format: str | None = None, decimal: str = ".") -> str:
        return str(int(value)) if value == math.floor(value) else repr(float(value)).replace(".", decimal)

    def reading(self, text: str, format: str | None) -> float | None:
        return numeral(text)

    def position(self, text: str, format: str | None) -> float:
        return float(text) if _WORD.fullmatch(text) else math.nan

    def from_file(self, value: Any, format: str | None) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SchemaError("`range`, `edges` and `points` hold numbers")
        if not abs(value) <= sys.float_info.max:
            raise SchemaError("`range`, `edges` and `points` hold finite numbers")
        return float(value)

    def in_file(self, value: float) -> Any:
        return whole_or_real(value)

    def search_edges(self) -> tuple[float, ...]:
        """Return where octaves [2^k, 2^(k+1)) begin on either side of 0; one cell around 0, or two of whole numbers."""
        ends = [2.0**k for k in range(0 if self.integral else LOWEST_OCTAVE, HIGHEST_OCTAVE + 1)]
        middle = [0.0] if self.integral else []
        return (*(-end for end in reversed(ends)), *middle, *ends)

    # -- Arrow -----------------------------------------------------------------------------------------------

    def typed_numbers(self, piece: Any) -> tuple[Floats, NDArray[np.bool_]] | None:
        import pyarrow as pa

        type = piece.type
        if not (pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)):
            return None
        if pa.types.is_decimal(type):
            piece = piece.cast(pa.string())  # by way of text: Arrow's own cast makes 0.7000000000000001 of 0.7
        values = piece.cast("float64", safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return values, np.isnan(values)

    def as_integers(self, piece: Any) -> Any | None:
        import pyarrow as pa

        return piece if pa.types.is_integer(piece.type) else None

    def plain(self, texts: Any, format: str | None, decimal: str, *, loose: bool = False) -> Floats:
        import pyarrow.compute as pc

        point = re.escape(decimal)
        tail = rf"({point}0+)?" if self.integral and not loose else rf"({point}[0-9]+)?([eE][+-]?[0-9]+)?"
        found = only(texts, rf"^-?[0-9]+{tail}$")
        return cast(found if decimal == "." else pc.replace_substring(found, decimal, "."), "float64", "float64")

    def to_arrow(self, values: NDArray[Any], absent: NDArray[np.bool_]) -> Any:
        import pyarrow as pa

        return pa.array(values, mask=absent)

    def cell_texts(self, column: Any, format: str | None, decimal: str, places: int | None) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = _fixed(column, places) if places is not None else column.cast(pa.large_string())
        return texts if decimal == "." else pc.replace_substring(texts, ".", decimal)

    # -- SQL -------------------------------------------------------------------------------------------------

    def typed_sql(self, cell: SqlCell) -> SqlNumber:
        name, syntax = cell.name("x"), cell.syntax
        number = syntax.as_double(name)
        if cell.type in ("real", "double"):
            number = f"CASE WHEN NOT {cell.is_nan(name)} THEN {number} END"
        elif cell.type == "decimal":
            number = syntax.decimal_as_double(name)
        return SqlNumber(number, {name: cell.source})

    def text_sql(self, cell: SqlCell, format: str | None) -> SqlNumber | None:
        name, syntax = cell.name("x"), cell.syntax
        plain = self._sql_numeral("[0-9]", SPACE, "{1,2}", cell.decimal)
        loose = self._sql_numeral(f"(?:[0-9]|{FAR})", f"(?:{SPACE}|{FAR})", "+", cell.decimal)
        text = syntax.group(name, plain, 1)
        if cell.decimal != ".":
            text = f"replace({text}, {syntax.text(cell.decimal)}, '.')"
        fits = f"length({name}) <= {LONGEST} AND {syntax.matches(name, plain)}"
        number = f"CASE WHEN {fits} THEN {syntax.parsed_double(text)} END"
        return SqlNumber(number, {name: cell.text}, {}, syntax.matches(name, loose))

    def _sql_numeral(self, digit: str, space: str, exponent: str, decimal: str) -> str:
        point = re.escape(decimal)
        body = f"(?:{digit}+(?:{point}{digit}*)?|{point}{digit}+)"
        return f"{space}*([+-]?{body}(?:[eE][+-]?{digit}{exponent})?){space}*"

    def inferred_sql(self, cell: SqlCell, format: str | None) -> SqlNumber:
        name = cell.name("x")
        unreadable = cell.syntax.matches(name, f"{NUMBER_LIKE}|{MOMENT_LIKE}")
        return SqlNumber(cell.number_of(name), {name: cell.canonical_text}, {}, unreadable)

    def cell_pattern(self, format: str | None, decimal: str) -> str | None:
        point = literal(decimal)
        return f"^{_SPACES}[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?{_SPACES}$"


def _fixed(column: Any, places: int) -> Any:
    """Return the text of each number with so many decimals. Without any declared, a number has the shortest text that
    is read back as it: decoding rounded it to the domain's decimals wherever that stays in the bin."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = 10**places
    nothing, point = (pa.scalar(text, pa.large_string()) for text in ("", "."))
    whole = pc.round(pc.multiply(pc.abs(column), float(unit))).cast(pa.int64())
    below = pc.and_(pc.less(column, 0), pc.greater(whole, 0))
    sign = pc.if_else(below, pa.scalar("-", pa.large_string()), nothing)
    front = pc.divide(whole, unit)
    texts = pc.binary_join_element_wise(sign, front.cast(pa.large_string()), nothing)
    if not places:
        return texts
    rest = pc.utf8_lpad(pc.subtract(whole, pc.multiply(front, unit)).cast(pa.large_string()), places, "0")
    return pc.binary_join_element_wise(texts, rest, point)
