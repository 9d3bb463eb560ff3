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
from understudy.schema.canonical import BOOLEANS, SPACE, canonical, is_moment, numeral
from understudy.schema.domain import UNFIT, Codes, Floats
from understudy.schema.endings import Endings
from understudy.schema.narrow_floats import NarrowFloats, WrittenDecimals
from understudy.schema.rounding_classes import RoundingClasses
from understudy.schema.scales import OrderedScale
from understudy.schema.text_classes import TextClasses

_WORDS = {"f": "0", "n": "0", "no": "0", "t": "1", "y": "1", "yes": "1"}  # booleans to DuckDB's reader, texts to others
_GROUPED = re.compile(r"[+-]?[\d.,'_ \u00a0\u202f]*\d[\d.,'_ \u00a0\u202f]*")


@dataclass(frozen=True)
class Readings:
    """The code of every cell of one attribute in a column whose type was inferred."""

    attribute: Attribute
    decimal: str = "."

    @property
    def _scale(self) -> OrderedScale | None:
        return self.attribute.intervals.scale if self.attribute.intervals is not None else None

    @property
    def _format(self) -> str | None:
        return self.attribute.intervals.format if self.attribute.intervals is not None else None

    @property
    def _arithmetic(self) -> bool:
        """Return whether the attribute has numbers."""
        return self._scale is not None and self._scale.arithmetic

    @property
    def _temporal(self) -> bool:
        """Return whether the attribute has dates or times."""
        return self._scale is not None and not self._scale.arithmetic

    @property
    def _flags(self) -> dict[str, int]:
        return {"0": 0, "1": 1} if self.attribute.domain.flags else {}

    @cached_property
    def fault(self) -> str | None:
        """Return why no column of an inferred type can be coded, in words about the schema; None where it can."""
        if isinstance(self.attribute.domain, TextClasses):
            return "how cells are written is to be discovered, and is changed"
        if self._scale is not None and self._format is not None and self._scale.ambiguous(self._format):
            return f"{self._scale.writings} written {self._format!r} are read in more than one way"
        found: dict[str | None, int] = dict([(None, self.null_code), *self._flags.items()])
        for text in self.declared:
            code, plain = self._declared_code(text), canonical(text, self.decimal)
            if found.setdefault(plain, code) != code:
                return f"{text!r} is read as the same value as another text, or as none"
            if plain is not None and (wrong := self._misread(text)) is not None:
                return f"{text!r} is read as {wrong}"
        return None

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """Return the texts that the schema lists."""
        return self.attribute.domain.texts + self.attribute.missing

    @cached_property
    def null_code(self) -> int:
        """Return the code of a null: the missing value where the schema declares one, an empty cell otherwise."""
        return self.attribute.missing_code if self.attribute.missing else int(self.attribute.encode([""])[0])

    def code(self, text: str) -> int:
        """Return the code of a cell that is this text, or a typed value whose canonical text it is."""
        plain = canonical(text, self.decimal)
        if plain is None:
            return self.null_code
        if plain not in self.known:
            plain = self.words.get(text.strip(SPACE).lower(), plain)
        if plain in self.known:
            return self.known[plain]
        if self._scale is not None and (value := self._scale.reading(plain, self._format)) is not None:
            return self._number_code(value)
        return UNFIT if self._foreign(text, plain) else self.attribute.unlisted_code

    @cached_property
    def known(self) -> dict[str, int]:
        """Return the code of the canonical text of each declared text."""
        usual = self._flags
        read = {canonical(text, self.decimal): self._declared_code(text) for text in self.declared}
        plain = {text: code for text, code in read.items() if text is not None}
        if self._scale is None:
            twins = {repr(twin): plain.get(repr(mark)) for twin, mark in self.narrow.meanings.items()}
            usual |= {twin: code for twin, code in twins.items() if code is not None}
        return self._pair | usual | plain

    @cached_property
    def narrow(self) -> NarrowFloats:
        """Return the float32 and float16 cells that stand for a listed decimal."""
        return NarrowFloats(self._listed_numbers)

    @cached_property
    def written(self) -> WrittenDecimals:
        """Return what float32 and float16 cells of an attribute on a scale are read as."""
        domain = self.attribute.intervals
        if domain is None or domain.integral:
            return WrittenDecimals(0)
        least = domain.most_decimals if isinstance(domain, RoundingClasses | Endings) else 0
        return WrittenDecimals.telling(domain.edges, least, kept=[*self._listed_numbers, *domain.points])

    @property
    def _listed_numbers(self) -> list[float]:
        return [number for text in self.declared if (number := numeral(text, self.decimal)) is not None]

    @cached_property
    def _pair(self) -> dict[str, int]:
        """Return the codes of booleans in a list with one word for no and one for yes."""
        words = [text for text in self.declared if text.lower() in _WORDS]
        pair = {_WORDS[text.lower()]: self._declared_code(text) for text in words}
        return pair if len(words) == len(pair) == 2 else {}

    @cached_property
    def lists_numbers(self) -> bool:
        """Return whether a number is a value of the attribute."""
        numbers = any(numeral(text, self.decimal) is not None for text in self.known)
        return numbers or self._arithmetic

    @cached_property
    def words(self) -> dict[str, str]:
        """Return what is a boolean to some readers, where that is a value or a number of the attribute: t, yes."""
        return _WORDS if self.lists_numbers and not self._temporal else {}

    @cached_property
    def lists_words(self) -> bool:
        """Return whether a declared text is a boolean to some readers and a text to others: F, yes."""
        return any(text.lower() in _WORDS for text in self.declared)

    def _declared_code(self, text: str) -> int:
        return self.attribute.missing_code if text in self.attribute.missing else int(self.attribute.encode([text])[0])

    def _number_code(self, value: float) -> int:
        return int(self.number_codes(np.asarray([value]), np.asarray([False]))[0])

    def number_codes(self, values: Floats, absent: NDArray[np.bool_]) -> Codes:
        """Return the codes of numbers on the scale of an ordered attribute; `absent` marks those that are none."""
        return self.attribute.encode_numbers(self.written.read(values), absent)

    def _misread(self, text: str) -> str | None:
        """Return what a declared text is mistaken for: a value that is also written in another way."""
        if numeral(text, self.decimal) is not None:
            same = text == canonical(text, self.decimal) and "inf" not in text
            if self._arithmetic:
                same = same and not math.isnan(self.attribute.ordered.parse(text))
            return None if same else "a number that is also written in another way"
        if _GROUPED.fullmatch(text):
            return "a number by some and as text by others"
        if not is_moment(text):
            return None
        if self._temporal and not math.isnan(self.attribute.ordered.parse(text)):
            return None
        return "a date or a time by some and as text by others"

    def _foreign(self, text: str, plain: str) -> bool:
        """Return whether an undeclared cell may have been a value of another type, which `other` must not take.

        A reader that knew the type could have made a declared value of such a cell.
        """
        if is_moment(text):
            return True
        if self._temporal:
            return any(character.isdigit() for character in plain)
        if plain in BOOLEANS.values():
            return self.lists_words
        if not self.lists_numbers or numeral(plain) is not None:
            return False
        return _GROUPED.fullmatch(text) is not None
