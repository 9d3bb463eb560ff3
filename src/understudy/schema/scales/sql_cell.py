"""A cell in SQL: what a scale writes about a cell of a database column, in the dialect that it is handed.

Texts in, SQL out, nothing is run. A cell that Python's own parsers might read and SQL cannot (digits of another script,
a week date) is unreadable: it is refused before any charge, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from understudy.schema.canonical import BOOLEANS
from understudy.schema.scales.sql_syntax import Syntax
from understudy.schema.scales.sql_types import Type

LONGEST = 100  # characters of a numeral: with an exponent of two digits no double overflows
EXACT = 10**15  # whole numbers up to here are compared as text
SPACE = "[ \\t-\\r\\x1c-\\x1f]"
FAR = "[^\\x01-\\x7f]"  # beyond ASCII
ANY = "(?:.|\\n)*"
_S = "[ \\t-\\r]"
NAN = f"{_S}*[+-]?[nN][aA][nN]{_S}*"
_PLAIN = f"{_S}*([+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]{{1,4}})?){_S}*"
_INFINITE = f"{_S}*[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?{_S}*"
_NEAR = f"[-0-9a-fA-FxX.,'_ +\\t-\\r]|{FAR}"  # what numbers in other notations are made of
NUMBER_LIKE = f"(?:{_NEAR})*(?:[0-9]|{FAR})(?:{_NEAR})*"
MOMENT_LIKE = (
    f"{_S}*[+-]?[0-9]{{1,6}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,6}}(?:[T ]{ANY})?{_S}*"
    f"|{_S}*[0-9]{{1,2}}:[0-9]{{2}}(?:[:.,0-9]*)?{_S}*(?:[AaPp][Mm])?{_S}*"
)


@dataclass(frozen=True)
class SqlNumber:
    """The place of a cell on its scale: stages of named SQL, each over the one before, and which cells of text cannot
    be told."""

    number: str
    read: dict[str, str]
    parts: dict[str, str] = field(default_factory=dict)
    unreadable: str = ""


@dataclass(frozen=True)
class SqlCell:
    """A cell of one column; the names of columns in between end in `at`.

    `words` are booleans to some readers, and the digits that they stand for (inferred types only).
    """

    source: str
    type: Type | None
    at: int
    syntax: Syntax
    decimal: str
    words: Mapping[str, str] = field(default_factory=dict)

    def name(self, letter: str) -> str:
        return f"{letter}{self.at}"

    def is_nan(self, cell: str) -> str:
        return f"{cell} = {self.syntax.double(math.nan)}"

    @property
    def text(self) -> str:
        """Return the SQL of the cell as text."""
        return self.syntax.as_text(self.source)

    @property
    def canonical_text(self) -> str:
        """Return the SQL of the cell as text: of a whole number its digits, whatever their type, and true or false."""
        if self.type == "boolean":
            return f"CASE WHEN {self.source} THEN 'true' WHEN NOT {self.source} THEN 'false' END"
        if self.type in ("text", "integer"):
            return self.text
        source, value = self.wide_source, self._as_number
        absent = f"{source} IS NULL" + (f" OR {self.is_nan(source)}" if self.type in ("real", "double") else "")
        whole, digits = self.whole(value)
        return f"CASE WHEN {absent} THEN NULL WHEN {whole} THEN {digits} ELSE {self.syntax.as_text(source)} END"

    def whole(self, value: str) -> tuple[str, str]:
        """Return the SQL of whether a double is a whole number whose digits are exact, and of these digits."""
        digits = self.syntax.as_text(self.syntax.as_integer(value))
        return f"abs({value}) < {EXACT} AND NOT {self.syntax.broken(value)}", digits

    @property
    def wide_source(self) -> str:
        """Return the column; a float32 as the double that it is, since one odd cell would have made it one."""
        return self.syntax.as_double(self.source) if self.type == "real" else self.source

    @property
    def _as_number(self) -> str:
        """Return a cell of a column of numbers as a double; a decimal by way of its text."""
        if self.type == "decimal":
            return self.syntax.parsed_double(self.text)
        return self.syntax.as_double(self.wide_source)

    def number_of(self, cell: str) -> str:
        """Return the number that a plain numeral or a boolean is, else null. Numbers beyond all doubles are infinite,
        with either sign: none is a value."""
        plain = f"length({cell}) <= {LONGEST} AND {self.syntax.matches(cell, _PLAIN)}"
        number = self.syntax.parsed_double(self.syntax.group(cell, _PLAIN, 1))
        words = " ".join(
            f"WHEN {self.syntax.matches(cell, spelt(word))} THEN {self.syntax.double(float(digit))}"
            for word, digit in (BOOLEANS | dict(self.words)).items()
        )
        infinite = f"WHEN {self.syntax.matches(cell, _INFINITE)} THEN {self.syntax.double(math.inf)}"
        return f"CASE WHEN {plain} THEN {number} {words} {infinite} END"


def spelt(word: str) -> str:
    """Return a pattern for the word in small and capital letters."""
    return f"{_S}*{''.join(f'[{letter}{letter.upper()}]' for letter in word)}{_S}*"


def literal(character: str) -> str:
    """Return a pattern for one character of a format."""
    return f"\\{character}" if character in r"\.^$*+?()[]{}|" else character
