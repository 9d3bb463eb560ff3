"""Text classes: a public list of patterns, and the class of a cell, which is the first pattern that its text matches.

Two lists: the formats that a cell can be read in (`formats`), and the decade of a date (`decades`). Both are finite and
fixed before any row is read, and a cell has one class, so a histogram over them is a table of counts like any other.
A third domain (`digests`) is asked nothing: the ledger recognises a table by it.
Patterns use what Python, RE2, PostgreSQL and Java write alike: no class such as \\d, no look-around.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from understudy.schema.domain import Codes
from understudy.schema.scales.categories import Categories
from understudy.schema.scales.dates import FIRST_DECADE, LAST_DECADE

MAX_DECIMALS_SEEN = 6
_DAY, _MONTH, _YEAR = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", "[12][0-9]{3}"
_CLOCK = "([01]?[0-9]|2[0-3]):[0-5][0-9]"
_ZONE = "(Z|[+-][0-9:]+)?"
_SECONDS = ":[0-5][0-9]"
_BLANKS = "[ ]*"
FLAGS = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"))
WORDS = "words without a digit"
DIGESTS = 65_521  # a prime; a changed text keeps its digest once in so many times
MISSING_WORDS = (
    "", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "?", "-", ".",
    "na", "#N/A", "<NA>", "NaT", "--", "..", "*",
)  # fmt: skip
NO_NUMBER = (  # among numbers or dates they say that there is none; among other words they are values
    "N", "n", "U", "X", "x", "none", "unknown", "Unknown", "UNKNOWN", "missing", "Missing",
    "not applicable", "Not applicable", "not available", "Not available", "Refused", "refused", "DK",
)  # fmt: skip


@dataclass(frozen=True)
class TextClass:
    """A class of cells: its pattern, and every format that its cells can be read in, as "kind" or "kind:format"."""

    name: str
    pattern: str
    reads: tuple[str, ...] = ()
    decimals: int = 0
    missing: bool = False  # whether the text is a usual word for "no value"
    needs: str = ""  # what each of its texts holds: a database looks for it first, which spares it most patterns
    texts: tuple[str, ...] = ()  # all of its texts, where it has only a few


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
    """Return the classes that tell kinds and formats apart, day and month among them where one is above 12."""
    words = [TextClass(f"the text {word!r}", re.escape(word), missing=True, texts=(word,)) for word in MISSING_WORDS]
    said = [TextClass(f"the word {word!r}", re.escape(word), ("text",), texts=(word,)) for word in NO_NUMBER]
    plain = TextClass(WORDS, "[A-Za-z][A-Za-z ._/-]{0,39}", ("text",))
    return TextClasses.of([*words, *_numbers(decimal), *_moments(), *said, plain])


def _numbers(mark: str) -> list[TextClass]:
    point, number = re.escape(mark), ("integer", "number")
    compact = f"{_BLANKS}(19|20)[0-9]{{2}}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01]){_BLANKS}"
    found = [
        *(TextClass(" or ".join(flags), "|".join(flags), ("boolean",), texts=flags) for flags in FLAGS),
        TextClass("digits after a zero", f"{_BLANKS}[+-]?0[0-9]+{_BLANKS}", ("text", *number), needs="0"),
        TextClass("eight digits that may be a day", compact, (*number, "date:%Y%m%d")),
        TextClass("a whole number", f"{_BLANKS}[+-]?[0-9]{{1,15}}{_BLANKS}", number),
        TextClass("a whole number with a point", f"{_BLANKS}[+-]?[0-9]{{1,15}}{point}0*{_BLANKS}", number, needs=mark),
    ]
    for places in range(1, MAX_DECIMALS_SEEN + 1):
        digits = f"[0-9]{{{places}}}" if places < MAX_DECIMALS_SEEN else f"[0-9]{{{places},}}"
        pattern = f"{_BLANKS}[+-]?[0-9]{{0,15}}{point}{digits}{_BLANKS}"
        found.append(TextClass(f"{places} decimals", pattern, ("number",), places, needs=mark))
    power = f"{_BLANKS}[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)[eE][+-]?[0-9]{{1,2}}{_BLANKS}"
    return [*found, TextClass("a power of ten", power, ("number",), MAX_DECIMALS_SEEN)]


def _moments() -> list[TextClass]:
    """Return the classes of dates, then of datetimes. An ambiguous one comes before the two that are not."""
    iso, slashed, pointed = f"{_YEAR}-{_MONTH}-{_DAY}", f"{_YEAR}/{_MONTH}/{_DAY}", f"{_DAY}[.]{_MONTH}[.]{_YEAR}"
    found = [
        TextClass("year-month-day", iso, ("date",), needs="-"),
        TextClass("year/month/day", slashed, ("date:%Y/%m/%d",), needs="/"),
        TextClass("day.month.year", pointed, ("date:%d.%m.%Y",), needs="."),
    ]
    for sign in "/-":
        found += _two_orders("date", sign, "", "")
    iso_time, point_time = f"{iso}[T ]{_CLOCK}({_SECONDS}([.][0-9]+)?)?{_ZONE}", f"{pointed} {_CLOCK}"
    found += [
        TextClass("year-month-day and time", iso_time, ("datetime",), needs=":"),
        TextClass("day.month.year and time", point_time, ("datetime:%d.%m.%Y %H:%M",), needs=":"),
    ]
    found += _two_orders("datetime", "/", f" {_CLOCK}", " %H:%M")
    return found + _two_orders("datetime", "/", f" {_CLOCK}{_SECONDS}", " %H:%M:%S")


def _two_orders(kind: str, sign: str, clock: str, clock_format: str) -> list[TextClass]:
    first, second = f"{kind}:%d{sign}%m{sign}%Y{clock_format}", f"{kind}:%m{sign}%d{sign}%Y{clock_format}"
    tail = f"{sign}{_YEAR}{clock}"
    what, mark = f"{sign}, {kind}{clock_format}", ":" if clock else sign
    orders = (
        ("day and month in either order", _MONTH, _MONTH, (first, second)),
        ("day before month", _DAY, _MONTH, (first,)),
        ("month before day", _MONTH, _DAY, (second,)),
    )
    return [TextClass(f"{name} ({what})", f"{a}{sign}{b}{tail}", reads, needs=mark) for name, a, b, reads in orders]


@cache
def decades() -> TextClasses:
    """Return a class for each decade of a date in any of the formats, the year first or last."""
    time = "([T ][0-9:.+Z-]*)?"
    last = "[0-3]?[0-9][-/.][0-3]?[0-9][-/.]"
    found = []
    for decade in range(FIRST_DECADE, LAST_DECADE + 1):
        year = f"{decade}[0-9]"
        pattern = f"{_BLANKS}({year}[-/]?[01]?[0-9][-/]?[0-3]?[0-9]|{last}{year}){time}{_BLANKS}"
        found.append(TextClass(f"{decade}0 to {decade}9", pattern, needs=str(decade)))
    return TextClasses.of(found)


@dataclass(frozen=True)
class TextDigests(TextClasses):
    """A domain whose code is a digest of the whole text, so that a table with another text is another table."""

    def class_of(self, text: str) -> int:
        """Return the digest of one text: 28 bits of MD5, which every database has, modulo a prime."""
        found = hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False)
        return int(found.hexdigest()[:7], 16) % DIGESTS


@cache
def digests() -> TextDigests:
    """Return the domain by which the ledger recognises a column that is to be discovered; it is asked nothing."""
    return TextDigests(tuple(map(str, range(DIGESTS))))
