"""Readings: what a library that infers types may take a cell of text for, and the code of the cell whichever it took.

A reader infers a column's type from all its rows, so one odd cell turns numbers into texts and `01` from 1 into "01".
The code of a cell must not follow. So a cell has one canonical text under every reading (`canonical`), it is coded by
that (`Readings.code`), and an attribute whose declared texts would not survive that is refused (`Readings.fault`), from
the schema alone and so for every content.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.attribute import Attribute
from understudy.schema.domain import UNFIT, Booleans, Categories, Codes, Floats, Intervals
from understudy.schema.moment import parse_moment
from understudy.schema.narrow import Narrow

# what pandas and Arrow read as null in a column of numbers, and Arrow keeps in a column of texts
NULLS = frozenset((
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL", "n/a", "null",
))  # fmt: skip
BOOLEANS = {"false": "0", "true": "1"}  # Arrow makes booleans of 0 and 1 where one cell is `true`
_WORDS = {"f": "0", "n": "0", "no": "0", "t": "1", "y": "1", "yes": "1"}  # booleans to DuckDB's reader, texts to others
_SPACE = " \t\n\v\f\r"
_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?0([xX][0-9a-fA-F]{1,15}|[bB][01]{1,60})")
_NAMED = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?[\d.,'_ \u00a0\u202f]*\d[\d.,'_ \u00a0\u202f]*")
_DAY = re.compile(r"[+-]?\d{1,6}([-/.])\d{1,2}\1\d{1,6}([T ].*)?", re.DOTALL)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(\s?[AaPp][Mm])?")
_YEAR_FIRST = re.compile(r"%Y[^%\w]*%m[^%\w]*%d([^%\w]|T)*(%H[^%\w]*(%M[^%\w]*(%S[^%\w]*)?)?)?")
_SECONDS = 86_400


# -- one text ------------------------------------------------------------------------------------------------


def canonical_number(value: float) -> str | None:
    """The text of a number: whole ones without point, others as Python writes them; None for NaN, a missing number."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if value == math.floor(value) else repr(float(value))


def numeral(text: str, decimal: str = ".") -> float | None:
    """The double that a reader makes of the text, None where it makes none."""
    plain = text.strip(_SPACE)
    if decimal != "." and "." not in plain:
        plain = plain.replace(decimal, ".")
    if _NUMERAL.fullmatch(plain) or _NAMED.fullmatch(plain):
        return float(plain)
    return float(int(plain, 0)) if _WHOLE.fullmatch(plain) else None


def canonical(text: str, decimal: str = ".") -> str | None:
    """The one text of a cell under every reading: None for a null, a number's, 1 and 0 for booleans, or itself."""
    if text in NULLS:
        return None
    number = numeral(text, decimal)
    if number is not None:
        return canonical_number(number)
    return BOOLEANS.get(text.strip(_SPACE).lower(), text)


def is_moment(text: str) -> bool:
    """Whether the text looks like a date or a time of day in any of the usual notations."""
    plain = text.strip(_SPACE)
    return bool(_DAY.fullmatch(plain) or _CLOCK.fullmatch(plain))


# -- the cells of an attribute -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Readings:
    """The code of every cell of one attribute in a column whose type was inferred."""

    attribute: Attribute
    decimal: str = "."

    @cached_property
    def fault(self) -> str | None:
        """Why no column of an inferred type can be coded, in words about the schema; None where it can."""
        domain = self.attribute.domain
        if isinstance(domain, Intervals) and domain.format is not None and not _YEAR_FIRST.fullmatch(domain.format):
            return f"dates written {domain.format!r} are read in more than one way"
        found: dict[str | None, int] = {None: self.null_code}
        if isinstance(domain, Booleans):
            found |= {"0": 0, "1": 1}
        for text in self.declared:
            code, plain = self._declared_code(text), canonical(text, self.decimal)
            if found.setdefault(plain, code) != code:
                return f"{text!r} is read as the same value as another text, or as none"
            if plain is not None and (wrong := self._misread(text)) is not None:
                return f"{text!r} is read as {wrong}"
        return None

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """The texts that the schema lists."""
        domain = self.attribute.domain
        texts: tuple[str, ...] = ()
        if isinstance(domain, Categories):
            texts = domain.values
        elif isinstance(domain, Booleans):
            texts = domain.true + domain.false
        return texts + self.attribute.missing

    @cached_property
    def null_code(self) -> int:
        """A null is the attribute's missing value where the schema declares one, and an empty cell otherwise."""
        return self.attribute.missing_code if self.attribute.missing else int(self.attribute.encode([""])[0])

    def code(self, text: str) -> int:
        """The code of a cell that is this text, or a typed value whose canonical text it is."""
        plain = canonical(text, self.decimal)
        if plain is None:
            return self.null_code
        if plain not in self.known:
            plain = self.words.get(text.strip(_SPACE).lower(), plain)
        if plain in self.known:
            return self.known[plain]
        domain = self.attribute.domain
        if isinstance(domain, Intervals):
            value = self._moment(plain) if domain.kind in ("date", "datetime") else numeral(plain)
            if value is not None:
                return self._number_code(value)
        return UNFIT if self._foreign(text, plain) else self._undeclared

    @cached_property
    def known(self) -> dict[str, int]:
        """The code of the canonical text of each declared text."""
        usual = {"0": 0, "1": 1} if isinstance(self.attribute.domain, Booleans) else {}
        read = {canonical(text, self.decimal): self._declared_code(text) for text in self.declared}
        plain = {text: code for text, code in read.items() if text is not None}
        if not isinstance(self.attribute.domain, Intervals):
            twins = {repr(twin): plain.get(repr(mark)) for twin, mark in self.narrow.meanings.items()}
            usual |= {twin: code for twin, code in twins.items() if code is not None}
        return self._pair | usual | plain

    @cached_property
    def narrow(self) -> Narrow:
        """The float32 and float16 cells that stand for a listed decimal, an edge, a point or a missing code."""
        domain = self.attribute.domain
        listed = [number for text in self.declared if (number := numeral(text, self.decimal)) is not None]
        if not isinstance(domain, Intervals):
            return Narrow(listed)
        return Narrow([*listed, *domain.edges, *domain.points] if domain.kind == "number" else ())

    @cached_property
    def _pair(self) -> dict[str, int]:
        """The codes of booleans in a list with one word for no and one for yes."""
        words = [text for text in self.declared if text.lower() in _WORDS]
        pair = {_WORDS[text.lower()]: self._declared_code(text) for text in words}
        return pair if len(words) == len(pair) == 2 else {}

    @cached_property
    def lists_numbers(self) -> bool:
        """Whether a number is a value of the attribute."""
        numbers = any(numeral(text, self.decimal) is not None for text in self.known)
        return numbers or self.attribute.kind in ("integer", "number")

    @cached_property
    def words(self) -> dict[str, str]:
        """What is a boolean to some readers, where that is a value or a number of the attribute: t, yes."""
        moments = self.attribute.kind in ("date", "datetime")
        return _WORDS if self.lists_numbers and not moments else {}

    @cached_property
    def lists_words(self) -> bool:
        """Whether a declared text is a boolean to some readers and a text to others: F, yes."""
        return any(text.lower() in _WORDS for text in self.declared)

    def _declared_code(self, text: str) -> int:
        return self.attribute.missing_code if text in self.attribute.missing else int(self.attribute.encode([text])[0])

    def _number_code(self, value: float) -> int:
        return int(self.number_codes(np.asarray([value]), np.asarray([False]))[0])

    def number_codes(self, values: Floats, absent: NDArray[np.bool_]) -> Codes:
        """The codes of numbers on the scale of an ordered attribute; `absent` marks those that are none."""
        return self.attribute.encode_numbers(self.narrow.widened(values), absent)

    @cached_property
    def _undeclared(self) -> int:
        """The code of a text that nothing declares: `other`, or none."""
        if isinstance(self.attribute.domain, Intervals):
            return self._number_code(math.inf)
        return int(self.attribute.encode(["\0"])[0])

    def _misread(self, text: str) -> str | None:
        """What a declared text is mistaken for: a value that is also written in another way."""
        domain = self.attribute.domain
        if numeral(text, self.decimal) is not None:
            same = text == canonical(text, self.decimal) and "inf" not in text
            if isinstance(domain, Intervals) and domain.kind in ("integer", "number"):
                same = same and not math.isnan(domain.parse(text))
            return None if same else "a number that is also written in another way"
        if _GROUPED.fullmatch(text):
            return "a number by some and as text by others"
        if not is_moment(text):
            return None
        if isinstance(domain, Intervals) and domain.kind in ("date", "datetime") and not math.isnan(domain.parse(text)):
            return None
        return "a date or a time by some and as text by others"

    def _moment(self, text: str) -> float | None:
        """A date or datetime on the domain's scale, by the declared format or ISO 8601; infinite for a date that is
        not midnight; None where it is no such text."""
        domain = self.attribute.domain
        assert isinstance(domain, Intervals)
        for format in (domain.format, None):
            value = parse_moment(text, domain.kind, format)
            if not math.isnan(value):
                return value
        seconds = parse_moment(text, "datetime", None)
        if math.isnan(seconds):
            return None
        whole = seconds % _SECONDS == 0 and _midnight(text)
        return seconds // _SECONDS if whole else math.inf

    def _foreign(self, text: str, plain: str) -> bool:
        """Whether an undeclared cell may have been a value of another type, which `other` does not take: a reader
        that was told more than we know could have made a declared value of it."""
        if is_moment(text):
            return True
        if self.attribute.kind in ("date", "datetime"):
            return any(character.isdigit() for character in plain)
        if plain in BOOLEANS.values():
            return self.lists_words
        if not self.lists_numbers or numeral(plain) is not None:
            return False
        return _GROUPED.fullmatch(text) is not None


def _midnight(text: str) -> bool:
    """Whether a datetime that is a whole number of days in whole seconds has no fraction either."""
    fraction = re.search(r"[.,](\d+)", text)
    return fraction is None or not fraction[1].strip("0")
