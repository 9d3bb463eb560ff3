"""Text classes: a public list of patterns, and the class of a cell, which is the first pattern that its text matches.

Two lists: the formats that a cell can be read in (`formats`), and the decade of a date (`decades`). Both are finite and
fixed before any row is read, and a cell has one class, so a histogram over them is a table of counts like any other.
Patterns use what Python, RE2, PostgreSQL and Java write alike: no class such as \\d, no look-around.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from understudy.schema.domain import Codes
from understudy.schema.scales.categories import Categories

MAX_DECIMALS_SEEN = 6
FIRST_DECADE, LAST_DECADE = 180, 209  # the years 1800 to 2099
_DAY, _MONTH, _YEAR = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", "[12][0-9]{3}"
_CLOCK = "([01]?[0-9]|2[0-3]):[0-5][0-9]"
_ZONE = "(Z|[+-][0-9:]+)?"
_SECONDS = ":[0-5][0-9]"
_BLANKS = "[ ]*"
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "?", "-", ".")


@dataclass(frozen=True)
class TextClass:
    """A class of cells: its pattern, and every format that its cells can be read in, as "kind" or "kind:format"."""

    name: str
    pattern: str
    reads: tuple[str, ...] = ()
    decimals: int = 0
    missing: bool = False  # whether the text is a usual word for "no value"


@dataclass(frozen=True)
class TextClasses(Categories):
    """A domain whose codes are the classes of a list; the last one takes what matches no pattern."""

    classes: tuple[TextClass, ...] = ()

    @staticmethod
    def of(classes: Sequence[TextClass]) -> TextClasses:
        """Return the domain of these classes, and one more for every other text."""
        return TextClasses((*(c.name for c in classes), "any other text"), tuple(classes))

    @cached_property
    def _matcher(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?P<c{i}>{c.pattern})" for i, c in enumerate(self.classes)))

    def encode(self, texts: Sequence[str], decimal: str = ".") -> Codes:
        return np.fromiter(map(self.class_of, texts), dtype=np.int32, count=len(texts))

    def class_of(self, text: str) -> int:
        """Return the class of one text."""
        found = self._matcher.fullmatch(text)
        if found is None:
            return len(self.classes)
        return next(i for i in range(len(self.classes)) if found.group(f"c{i}") is not None)


@cache
def formats(decimal: str = ".") -> TextClasses:
    """Return the classes that tell kinds and formats apart. Day and month are told apart where one is above 12."""
    words = [TextClass(f"the text {word!r}", re.escape(word), missing=True) for word in MISSING_WORDS]
    return TextClasses.of([*words, *_numbers(re.escape(decimal)), *_moments()])


def _numbers(point: str) -> list[TextClass]:
    number = ("integer", "number")
    compact = f"{_BLANKS}(19|20)[0-9]{{2}}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01]){_BLANKS}"
    found = [
        TextClass("true or false", "(true|True|TRUE|false|False|FALSE)", ("boolean",)),
        TextClass("digits after a zero", f"{_BLANKS}[+-]?0[0-9]+{_BLANKS}", ("text", *number)),
        TextClass("eight digits that may be a day", compact, (*number, "date:%Y%m%d")),
        TextClass("a whole number", f"{_BLANKS}[+-]?[0-9]{{1,15}}{_BLANKS}", number),
        TextClass("a whole number with a point", f"{_BLANKS}[+-]?[0-9]{{1,15}}{point}0*{_BLANKS}", number),
    ]
    for places in range(1, MAX_DECIMALS_SEEN + 1):
        digits = f"[0-9]{{{places}}}" if places < MAX_DECIMALS_SEEN else f"[0-9]{{{places},}}"
        pattern = f"{_BLANKS}[+-]?[0-9]{{0,15}}{point}{digits}{_BLANKS}"
        found.append(TextClass(f"{places} decimals", pattern, ("number",), places))
    power = f"{_BLANKS}[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)[eE][+-]?[0-9]{{1,2}}{_BLANKS}"
    return [*found, TextClass("a power of ten", power, ("number",), MAX_DECIMALS_SEEN)]


def _moments() -> list[TextClass]:
    """Return the classes of dates, then of datetimes. An ambiguous one comes before the two that are not."""
    iso, slashed = f"{_YEAR}-{_MONTH}-{_DAY}", f"{_YEAR}/{_MONTH}/{_DAY}"
    found = [
        TextClass("year-month-day", iso, ("date",)),
        TextClass("year/month/day", slashed, ("date:%Y/%m/%d",)),
        TextClass("day.month.year", f"{_DAY}[.]{_MONTH}[.]{_YEAR}", ("date:%d.%m.%Y",)),
    ]
    for sign in "/-":
        found += _two_orders("date", sign, "", "")
    found += [
        TextClass("year-month-day and time", f"{iso}[T ]{_CLOCK}({_SECONDS}([.][0-9]+)?)?{_ZONE}", ("datetime",)),
        TextClass("day.month.year and time", f"{_DAY}[.]{_MONTH}[.]{_YEAR} {_CLOCK}", ("datetime:%d.%m.%Y %H:%M",)),
    ]  # fmt: skip
    found += _two_orders("datetime", "/", f" {_CLOCK}", " %H:%M")
    return found + _two_orders("datetime", "/", f" {_CLOCK}{_SECONDS}", " %H:%M:%S")


def _two_orders(kind: str, sign: str, clock: str, clock_format: str) -> list[TextClass]:
    first, second = f"{kind}:%d{sign}%m{sign}%Y{clock_format}", f"{kind}:%m{sign}%d{sign}%Y{clock_format}"
    tail = f"{sign}{_YEAR}{clock}"
    what = f"{sign}, {kind}{clock_format}"
    return [
        TextClass(f"day and month in either order ({what})", f"{_MONTH}{sign}{_MONTH}{tail}", (first, second)),
        TextClass(f"day before month ({what})", f"{_DAY}{sign}{_MONTH}{tail}", (first,)),
        TextClass(f"month before day ({what})", f"{_MONTH}{sign}{_DAY}{tail}", (second,)),
    ]


@cache
def decades() -> TextClasses:
    """Return a class for each decade of a date in any of the formats, the year first or last."""
    time = "([T ][0-9:.+Z-]*)?"
    last = "[0-3]?[0-9][-/.][0-3]?[0-9][-/.]"
    found = []
    for decade in range(FIRST_DECADE, LAST_DECADE + 1):
        year = f"{decade}[0-9]"
        pattern = f"{_BLANKS}({year}[-/]?[01]?[0-9][-/]?[0-3]?[0-9]|{last}{year}){time}{_BLANKS}"
        found.append(TextClass(f"{decade}0 to {decade}9", pattern))
    return TextClasses.of(found)


@cache
def lengths() -> TextClasses:
    """Return a few classes by the length of plain texts: by which the ledger knows a column that is asked nothing."""
    spans = ("{1,2}", "{3,4}", "{5,8}", "{9,}")
    return TextClasses.of([TextClass("empty", ""), *(TextClass(f"plain {span}", f"[ -~]{span}") for span in spans)])
