"""Syntax: the few things that databases write differently. Texts in, SQL out, nothing is run.

A regular expression is given without anchors and always has to match the whole cell. `engines/sql_dialects.py` has the
dialects; scales and engines are handed one of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.errors import UsageError


@dataclass(frozen=True)
class Syntax(ABC):
    """What all dialects have in common; a subclass for each has the rest."""

    name = "sql"
    fence = ""  # keeps a subquery from being merged into the query around it, where that would repeat its work
    tables_at_once = 256  # of one statement
    small = 64  # pieces of a step function that are worth a tree of CASEs
    timestamp = "TIMESTAMP"
    instant = "TIMESTAMPTZ"

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def text(self, text: str) -> str:
        if "\0" in text:
            raise UsageError("a declared value holds a NUL character, which no database compares: take it out")
        return "'" + text.replace("'", "''") + "'"

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE PRECISION)"

    def as_double(self, sql: str) -> str:
        return f"CAST({sql} AS DOUBLE PRECISION)"

    def as_integer(self, sql: str) -> str:
        return f"CAST({sql} AS BIGINT)"

    def parsed_double(self, text: str) -> str:
        """Return the SQL of the double of a text that was found to be a numeral."""
        return self.as_double(text)

    def parsed_integer(self, text: str) -> str:
        return self.as_integer(text)

    def decimal_as_double(self, cell: str) -> str:
        """Return the SQL of the double of a decimal of any length; null for one that is no number."""
        return self.as_double(cell)

    def broken(self, value: str) -> str:
        """Return the SQL of whether a double is no whole number."""
        return f"{value} <> floor({value})"

    def wide_sum(self, sql: str) -> str:
        """Return a sum of BIGINTs that cannot overflow."""
        return f"sum({sql})"

    @abstractmethod
    def as_text(self, sql: str) -> str:
        """Return the SQL of a text that is compared byte by byte, whatever the column's collation says."""

    @abstractmethod
    def divide(self, sql: str, by: int) -> str:
        """Return the SQL of an integer that is not negative divided by a positive one, without rest."""

    @abstractmethod
    def matches(self, cell: str, pattern: str) -> str: ...

    @abstractmethod
    def group(self, cell: str, pattern: str, at: int) -> str: ...

    def contains(self, cell: str, text: str) -> str:
        """Return the SQL of whether a cell holds a text somewhere."""
        return f"strpos({cell}, {self.text(text)}) > 0"

    @abstractmethod
    def digest(self, text: str) -> str:
        """Return the SQL of the first 28 bits of the MD5 digest of a text's UTF-8 bytes, as an integer."""

    def whole_digest(self, text: str) -> str:
        """Return the SQL of the MD5 digest of a text of ASCII characters in hexadecimal, compared byte by byte."""
        return self.as_text(f"md5({text})")

    @abstractmethod
    def days(self, column: str) -> str:
        """Return the SQL of a finite date as days since 1970."""

    @abstractmethod
    def microseconds(self, column: str) -> str:
        """Return the SQL of a timestamp as microseconds since 1970."""

    def finite(self, column: str) -> str | None:
        """Return the SQL of whether a date or timestamp is a day at all; None where it always is."""
        return f"isfinite({column})"

    @abstractmethod
    def pick(self, values: Sequence[int], at: str) -> str:
        """Return the SQL of the value at this place, counted from 0."""

    @abstractmethod
    def step(self, value: str, bounds: Sequence[float], codes: Sequence[int], alias: str) -> tuple[str, str]:
        """Return the SQL of codes[k], k being how many of the `bounds` are at most the value, and a table to join.

        Made for long lists, for which a CASE would be slow.
        """

    def lookup(self, pairs: Sequence[tuple[str, int]], alias: str) -> str:
        """Return the SQL of a table of texts and codes to join with."""
        rows = ", ".join(f"({self.text(key)}, {code})" for key, code in pairs)
        return f"(VALUES {rows}) AS {alias}(k, c)"

    @abstractmethod
    def keys(self, keys: Sequence[str], relation: str) -> str:
        """Return the SQL of how often each key occurs, in one pass over the relation; every row has every key."""
