"""Kind integer: whole numbers."""

from __future__ import annotations

import re
from typing import ClassVar

from understudy.schema.scales.reals import Number
from understudy.schema.scales.scale import ORDERED_KEYS
from understudy.schema.scales.sql_cell import literal


class Integer(Number):
    """Whole numbers; a cell may be written 5.0 too."""

    kind = "integer"
    keys: ClassVar[tuple[str, ...]] = (*ORDERED_KEYS, "step", "heaps")
    words = ("integer", "int", "whole", "count")
    ddl_types = "int integer smallint bigint mediumint tinyint int2 int4 int8"
    file_types = r"u?int\d*|decimal\d*\(\d+, 0\)"
    integral = True
    listable = True
    wanted = "whole numbers"
    _numeral = re.compile(r"\s*[+-]?\d+(\.0*)?\s*")

    def _sql_numeral(self, digit: str, space: str, exponent: str, decimal: str) -> str:
        return f"{space}*([+-]?{digit}+(?:{re.escape(decimal)}0*)?){space}*"

    def cell_pattern(self, format: str | None, decimal: str) -> str | None:
        return f"^[[:space:]]*[+-]?[0-9]+({literal(decimal)}0*)?[[:space:]]*$"
