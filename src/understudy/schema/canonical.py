"""Canonical texts: the one text that a cell has under every reading of a library that infers types."""

from __future__ import annotations

import math
import re

# what pandas and Arrow read as null in a column of numbers, and Arrow keeps in a column of texts
NULLS = frozenset((
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL", "n/a", "null",
))  # fmt: skip
BOOLEANS = {"false": "0", "true": "1"}  # Arrow makes booleans of 0 and 1 where one cell is `true`
SPACE = " \t\n\v\f\r"
_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?0([xX][0-9a-fA-F]{1,15}|[bB][01]{1,60})")
_NAMED = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DAY = re.compile(r"[+-]?\d{1,6}([-/.])\d{1,2}\1\d{1,6}([T ].*)?", re.DOTALL)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(\s?[AaPp][Mm])?")


def canonical_number(value: float) -> str | None:
    """Return the text of a number: whole ones without point, others as Python writes them.

    None for NaN, a missing number.
    """
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if value == math.floor(value) else repr(float(value))


def numeral(text: str, decimal: str = ".") -> float | None:
    """Return the double that a reader makes of the text, None where it makes none."""
    plain = text.strip(SPACE)
    if decimal != "." and "." not in plain:
        plain = plain.replace(decimal, ".")
    if _NUMERAL.fullmatch(plain) or _NAMED.fullmatch(plain):
        return float(plain)
    return float(int(plain, 0)) if _WHOLE.fullmatch(plain) else None


def canonical(text: str, decimal: str = ".") -> str | None:
    """Return the one text that a cell has under every reading.

    That is the plain numeral of a number, 1 or 0 for a boolean, None for a null, and else the text itself.
    """
    if text in NULLS:
        return None
    number = numeral(text, decimal)
    if number is not None:
        return canonical_number(number)
    return BOOLEANS.get(text.strip(SPACE).lower(), text)


def is_moment(text: str) -> bool:
    """Return whether the text looks like a date or a time of day in any of the usual notations."""
    plain = text.strip(SPACE)
    return bool(_DAY.fullmatch(plain) or _CLOCK.fullmatch(plain))
