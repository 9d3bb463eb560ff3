"""Moments: what dates, datetimes and times of day have in common, and the texts they are read from."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from datetime import date, datetime, time
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.canonical import BOOLEANS
from understudy.schema.domain import Floats
from understudy.schema.scales.scale import OrderedScale, cast, only
from understudy.schema.scales.sql_cell import ANY, FAR, SPACE, SqlCell, SqlNumber, literal, spelt
from understudy.schema.scales.sql_types import Type

DAY = 86_400
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DIGIT = f"{ANY}(?:[0-9]|{FAR}){ANY}"
_PARTS = {
    "Y": "([1-9][0-9]{3})", "m": "(0[1-9]|1[0-2])", "d": "(0[1-9]|[12][0-9]|3[01])",
    "H": "([01][0-9]|2[0-3])", "M": "([0-5][0-9])", "S": "([0-5][0-9])",
}  # fmt: skip
# names of the parts in SQL; the last three are of a time zone
_NAMES = dict(zip("YmdHMSzoi", ("y", "m", "d", "h", "n", "s", "z", "zh", "zm")))
_CLOCK = {"H": "([01]?[0-9]|2[0-3])", "M": "[0-5]?[0-9]", "S": "[0-5]?[0-9]"}


def seconds_between(format: str) -> float | None:
    """Return the seconds from one text of a format to the next; None where it says seconds, or no time of day."""
    parts = set(re.findall("%(.)", format, re.DOTALL))
    if parts & set("SfTXcrs"):
        return None
    return 60.0 if parts & set("MR") else 3600.0 if parts & set("HI") else None


class Moment(OrderedScale):
    """A scale of days or seconds.

    `letters` are the parts that a format may have (`%Y` is Y) where Arrow and SQL are to read it, `needed` those that
    it must have; other formats are read by Python alone. `arrow` is the type of a written column and the type of its
    numbers. Arrow casts a text of the format `iso` to `read_as` (one of `plain_texts` is one already).
    """

    letters: ClassVar[str] = "YmdHMS"
    needed: ClassVar[str] = "Ymd"
    text_types = ("text", "integer")
    inferred_types: ClassVar[tuple[Type, ...]] = ("text", "integer", "real", "double", "decimal")
    arrow: ClassVar[tuple[str, str]]
    read_as: ClassVar[tuple[str, str]]
    iso: ClassVar[str]
    plain_texts: ClassVar[str]
    example: ClassVar[str]
    sql_plain: ClassVar[tuple[str, str, str]]  # a pattern, one of all that Python might read besides, the letters
    sql_inferred: ClassVar[tuple[str, str]]  # of canonical texts: a pattern, the letters
    days: ClassVar[tuple[dict[str, str], ...]] = ({},)  # patterns of the parts of each kind of day
    misfit_plain: ClassVar[str]
    usual_formats: ClassVar[tuple[str, ...]]  # what a remedy for cells that do not fit tries
    mark: ClassVar[str] = "-"  # what every text in a public file has, where it is to be taken for this kind

    @abstractmethod
    def is_format(self, format: str) -> bool:
        """Return whether a draft takes a column of this format, whose kind nobody names, for this kind."""

    @abstractmethod
    def is_end(self, text: str) -> bool:
        """Return whether a draft takes a range with such an end, whose kind nobody names, for this kind."""

    def parse(self, text: str, format: str | None = None, decimal: str = ".") -> float:
        """Return days or seconds, or NaN; without a format, the text is ISO 8601."""
        try:
            return self.of(_read(text, format)) if format else self.from_iso(text)
        except (ValueError, OverflowError, re.error):
            # overflow: a time zone that leads out of the years 1 to 9999; re.error: a format that names %Y twice
            return math.nan

    @abstractmethod
    def from_iso(self, text: str) -> float:
        """Return the place of an ISO text; raise ValueError where it is none."""

    @abstractmethod
    def of(self, moment: datetime) -> float:
        """Return the place of what a format was read as."""

    @abstractmethod
    def moment(self, value: float) -> date | time:
        """Return the day or time at a place."""

    def show(self, value: float, format: str | None = None, decimal: str = ".") -> str:
        moment = self.moment(value)
        return moment.strftime(format) if format else moment.isoformat()

    def reading(self, text: str, format: str | None) -> float | None:
        value = self.parse(text, format)
        value = self.parse(text) if math.isnan(value) else value
        return None if math.isnan(value) else value

    def position(self, text: str, format: str | None) -> float:
        place = self.parse(text)  # ISO 8601 always; the schema's own format too
        return self.parse(text, format) if math.isnan(place) and format else place

    def from_file(self, value: Any, format: str | None) -> float:
        number = self.position(value.isoformat() if isinstance(value, date | time) else str(value), format)
        if math.isnan(number):
            raise SchemaError(f"a {self.kind} is written {self.example}")
        return number

    def in_file(self, value: float) -> Any:
        return self.show(value)

    # -- Arrow -----------------------------------------------------------------------------------------------

    def plain(self, texts: Any, format: str | None, decimal: str, *, loose: bool = False) -> Floats:
        import pyarrow.compute as pc

        if format is None:
            return cast(only(texts, self.plain_texts), *self.read_as)
        if (parts := self._parts(format)) is None:
            return np.full(len(texts), np.nan)
        pattern = f"^{_filled(format, _PARTS, re.escape)}$"
        group = {part: rf"\{at}" for at, part in enumerate(parts, 1)}
        iso = _filled(self.iso, {part: group.get(part, "00") for part in self.letters}, str)
        return cast(pc.replace_substring_regex(only(texts, pattern), pattern, iso), *self.read_as)

    def _parts(self, format: str) -> list[str] | None:
        """Return the letters of a format that is made of plain numbers, each once; None for any other."""
        parts = re.findall("%(.)", format, re.DOTALL)
        plain = len(set(parts)) == len(parts) and set(self.needed) <= set(parts) <= set(self.letters)
        return parts if plain else None

    def to_arrow(self, values: NDArray[Any], absent: NDArray[np.bool_]) -> Any:
        import pyarrow as pa

        type, through = self.arrow
        return pa.array(values.astype(through), mask=absent).cast(type)

    def cell_texts(self, column: Any, format: str | None, decimal: str, places: int | None) -> Any:
        import pyarrow as pa

        encoded = column.dictionary_encode()
        numbers = encoded.dictionary.cast(self.arrow[1]).to_pylist()
        return pa.array([self.show(number, format) for number in numbers], pa.large_string()).take(encoded.indices)

    # -- SQL -------------------------------------------------------------------------------------------------

    def text_sql(self, cell: SqlCell, format: str | None) -> SqlNumber | None:
        if (rule := self._sql_rule(format)) is None:
            return None
        pattern, loose, letters = rule
        name, names = cell.name("x"), self._names(cell, letters)
        unreadable = f"NOT {cell.syntax.matches(name, pattern)} AND {cell.syntax.matches(name, loose)}"
        parts = self._sql_parts(cell, pattern, names)
        return SqlNumber(self.sql_number(names, cell), {name: cell.text}, parts, unreadable)

    def inferred_sql(self, cell: SqlCell, format: str | None) -> SqlNumber:
        pattern, letters = self.sql_inferred
        if format is not None:
            rule = self._sql_rule(format)
            assert rule is not None  # an ambiguous format was refused
            pattern, _, letters = rule
        names = self._names(cell, letters)
        number = self.sql_number(names, cell) if format is not None else self.sql_canonical_number(names, cell)
        unreadable = cell.syntax.matches(cell.name("x"), "|".join([_DIGIT, *map(spelt, BOOLEANS)]))
        read = {cell.name("x"): cell.canonical_text}
        return SqlNumber(number, read, self._sql_parts(cell, pattern, names), unreadable)

    def _names(self, cell: SqlCell, letters: str) -> dict[str, str]:
        return {letter: cell.name(f"p{_NAMES[letter]}_") for letter in letters}

    def _sql_parts(self, cell: SqlCell, pattern: str, names: dict[str, str]) -> dict[str, str]:
        syntax, source = cell.syntax, cell.name("x")
        found = {}
        for at, (letter, name) in enumerate(names.items(), 1):
            text = f"nullif({syntax.group(source, pattern, at)}, '')"
            part = text if letter == "z" else syntax.parsed_integer(text)
            found[name] = f"CASE WHEN {syntax.matches(source, pattern)} THEN {part} END"
        return found

    @abstractmethod
    def sql_number(self, names: dict[str, str], cell: SqlCell) -> str:
        """Return the SQL of the place of a moment with these parts; null where there is none."""

    @abstractmethod
    def sql_canonical_number(self, names: dict[str, str], cell: SqlCell) -> str:
        """Return the SQL of the place of a canonical text with these parts."""

    def _sql_rule(self, format: str | None) -> tuple[str, str, str] | None:
        """Return a pattern of plainly written moments, one of what Python might read too, and the groups' letters."""
        if format is None:
            return self.sql_plain
        if (letters := self._parts(format)) is None:
            return None
        pieces = re.split("%(.)", format)
        pattern, loose = ("".join(map(each, pieces[0])) for each in (literal, _loosely))
        before = " "
        for letter, after in zip(letters, pieces[2::2]):
            apart = after[:1] != "" and not after[0].isdigit()
            last = letter == letters[-1] and not after and before != ""  # 2020131 is the 31st of January
            width = "{4}" if letter == "Y" else "{1,2}" if apart or last else "{2}"
            before = after
            pattern += f"([0-9]{width})" + "".join(map(literal, after))
            loose += f"(?:[0-9 ]|{FAR}){'{4}' if letter == 'Y' else '{1,2}'}" + "".join(map(_loosely, after))
        return pattern, loose, "".join(letters)

    def cell_pattern(self, format: str | None, decimal: str) -> str | None:
        if format is None:
            return f"^{self.misfit_plain}$"
        if self._parts(format) is None:
            return None
        return f"^({'|'.join(_filled(format, {**day, **_CLOCK}, literal) for day in self.days)})$"


def _filled(format: str, parts: dict[str, str], each: Any) -> str:
    """Return a format with each part in its place, and every other character as `each` makes it."""
    pieces = re.split("%(.)", format)
    return "".join(parts[piece] if at % 2 else "".join(map(each, piece)) for at, piece in enumerate(pieces))


def _loosely(character: str) -> str:
    if character.isspace():
        return f"(?:{SPACE}|{FAR})*"
    if character.isalpha():
        return f"(?:[{character.lower()}{character.upper()}]|{FAR})"
    return literal(character)


def _read(text: str, format: str) -> datetime:
    """Read a text by its format. A day without a year is one of 1900 in every Python; 3.13 would warn of it."""
    if _lacks_year(format):
        return datetime.strptime(f"1900 {text}", f"%Y {format}")
    return datetime.strptime(text, format)


@cache
def _lacks_year(format: str) -> bool:
    signs = set(re.findall("%(.)", format, re.DOTALL))
    return "d" in signs and not signs & {"Y", "y", "G"}
