"""Columns of inferred types in SQL: the code of a cell's canonical text, as `schema.readings` has it for Parquet files.

A text that some reader may have taken for a number, a date or a boolean and that SQL cannot read surely is UNREADABLE:
it is refused before any charge, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from understudy.engines.moment_sql import FAR, civil, moment_rule
from understudy.engines.sql_coding import LONGEST, MOMENTS, NUMBERS, UNREADABLE, Column, Expression, Writer, steps
from understudy.engines.sql_dialects import Syntax
from understudy.engines.trust import inferred_fault
from understudy.errors import DataError
from understudy.schema import Attribute, Booleans, Intervals
from understudy.schema.domain import UNFIT
from understudy.schema.readings import BOOLEANS, NULLS, Readings, numeral
from understudy.schema.spreadsheet import neutralised

_S = "[ \\t-\\r]"
_NAN = f"{_S}*[+-]?[nN][aA][nN]{_S}*"
_PLAIN = f"{_S}*([+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]{{1,4}})?){_S}*"
_INFINITE = f"{_S}*[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?{_S}*"
_NEAR = f"[-0-9a-fA-FxX.,'_ +\\t-\\r]|{FAR}"  # what numbers in other notations are made of
_NUMBER_LIKE = f"(?:{_NEAR})*(?:[0-9]|{FAR})(?:{_NEAR})*"
_ANY = "(?:.|\\n)*"
_MOMENT_LIKE = (
    f"{_S}*[+-]?[0-9]{{1,6}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,6}}(?:[T ]{_ANY})?{_S}*"
    f"|{_S}*[0-9]{{1,2}}:[0-9]{{2}}(?:[:.,0-9]*)?{_S}*(?:[AaPp][Mm])?{_S}*"
)
_DIGIT = f"{_ANY}(?:[0-9]|{FAR}){_ANY}"
_CLOCK = "([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\\.[0-9]{1,9})?)?)?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))?"
_ISO = f"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]{_CLOCK})?"
_PARTS = dict(zip("YmdHMSzoi", ("y", "m", "d", "h", "n", "s", "z", "zh", "zm")))  # the last three: a time zone
_FRACTION = f"{_ANY}[.]0*[1-9]{_ANY}"
_DAY = 86_400
_EXACT = 10**15  # whole numbers up to here are compared as text


def inferred_expression(attribute: Attribute, column: Column, at: int, syntax: Syntax, decimal: str) -> Expression:
    """The code of a cell; the names of columns in between end in `at`."""
    fault = inferred_fault(attribute, decimal)
    if fault is not None:
        raise DataError(fault, attribute=attribute.name)
    return _InferredWriter(attribute, column, at, syntax, decimal).expression()


@dataclass(frozen=True)
class _InferredWriter(Writer):
    def expression(self) -> Expression:
        domain, type = self.attribute.domain, self.column.type
        if type is None or (isinstance(domain, Booleans) and type == "boolean"):
            return super().expression()
        if type == "time" or (type in MOMENTS and domain.kind not in ("date", "datetime")):
            return self._foreign_cells()
        if not isinstance(domain, Intervals):
            return self._listed()
        if domain.kind in ("integer", "number"):
            return self._typed_numbers() if type in NUMBERS else self._numbers_in_text()
        if type in MOMENTS:
            return self._typed_moments(domain)
        return self._foreign_cells() if type == "boolean" else self._moments_in_text(domain)

    @cached_property
    def _readings(self) -> Readings:
        return Readings(self.attribute, self.decimal)

    @cached_property
    def _known(self) -> dict[str, int]:
        """The canonical texts and their codes, and texts that our own output has neutralised."""
        hidden = neutralised(self._readings.declared)
        return self._readings.known | {form: self._readings.code(text) for form, text in hidden.items()}

    def _foreign_cells(self) -> Expression:
        """A type that no declared value has: nothing but a null fits."""
        cell = self._name("x")
        return Expression(f"CASE WHEN {cell} IS NULL THEN {self._null} ELSE {UNFIT} END", {cell: self._source})

    # -- texts and what they are read as ---------------------------------------------------------------------

    def _is_null(self, cell: str) -> str:
        return f"{cell} IS NULL OR {cell} IN ({self._texts_of(NULLS)})"

    def _texts_of(self, texts: Iterable[str]) -> str:
        return ", ".join(self.syntax.text(text) for text in sorted(texts))

    def _number_of(self, cell: str) -> str:
        """The number that a plain numeral or a boolean is, else null. Numbers beyond all doubles are infinite, with
        either sign: none is a value."""
        plain = f"length({cell}) <= {LONGEST} AND {self.syntax.matches(cell, _PLAIN)}"
        number = self.syntax.parsed_double(self.syntax.group(cell, _PLAIN, 1))
        words = " ".join(
            f"WHEN {self.syntax.matches(cell, _spelt(word))} THEN {self.syntax.double(float(digit))}"
            for word, digit in (BOOLEANS | self._readings.words).items()
        )
        infinite = f"WHEN {self.syntax.matches(cell, _INFINITE)} THEN {self.syntax.double(math.inf)}"
        return f"CASE WHEN {plain} THEN {number} {words} {infinite} END"

    def _as_text(self) -> str:
        """A cell of a column of texts or booleans as text."""
        if self.column.type == "boolean":
            return f"CASE WHEN {self._source} THEN 'true' WHEN NOT {self._source} THEN 'false' END"
        return self.syntax.as_text(self._source)

    def _known_texts(self, cell: str) -> list[str]:
        """Cases for the declared texts that are no numbers."""
        texts = [(text, code) for text, code in self._known.items() if numeral(text) is None]
        return [f"WHEN {cell} = {self.syntax.text(text)} THEN {code}" for text, code in texts]

    def _coded(self, cell: str, known: list[str], unreadable: str) -> str:
        """In order: nulls, what is known, what cannot be told; the rest is undeclared. Patterns come last: they take
        time, and few cells come to them."""
        cases = [f"WHEN {self._is_null(cell)} THEN {self._null}", *known]
        cases += [f"WHEN {self.syntax.matches(cell, _NAN)} THEN {self._null}"]
        return f"CASE {' '.join(cases)} WHEN {unreadable} THEN {UNREADABLE} ELSE {self._unfit} END"

    # -- ordered attributes ----------------------------------------------------------------------------------

    def _missing_numbers(self, domain: Intervals) -> list[float]:
        declared = super()._missing_numbers(domain)
        return declared + [twin for twin, mark in self._readings.narrow.meanings.items() if mark in declared]

    def _steps(self, domain: Intervals) -> tuple[list[float], list[int]]:
        return steps(domain, self._readings.narrow)

    def _numbers_in_text(self) -> Expression:
        cell, value = self._name("x"), self._name("v")
        known = [*self._known_texts(cell), f"WHEN {value} IS NOT NULL THEN {self._number_code(value)}"]
        code = self._coded(cell, known, self.syntax.matches(cell, f"{_NUMBER_LIKE}|{_MOMENT_LIKE}"))
        return Expression(code, {cell: self._as_text()}, {}, {value: self._number_of(cell)}, self._step(value)[1])

    def _moments_in_text(self, domain: Intervals) -> Expression:
        cell, value = self._name("x"), self._name("v")
        pattern, letters = _ISO, "YmdHMSzoi"
        if domain.format is not None:
            rule = moment_rule(domain)
            assert rule is not None  # a format that is not year, month, day was refused
            pattern, _, letters = rule
        names = {letter: f"p{_PARTS[letter]}_{self.at}" for letter in letters}
        plain = self.syntax.matches(cell, pattern)
        parts = {}
        for at, letter in enumerate(letters, 1):
            text = f"nullif({self.syntax.group(cell, pattern, at)}, '')"
            found = text if letter == "z" else self.syntax.parsed_integer(text)
            parts[names[letter]] = f"CASE WHEN {plain} THEN {found} END"
        known = [f"WHEN {cell} = {self.syntax.text(text)} THEN {code}" for text, code in self._known.items()]
        known += [f"WHEN {value} IS NOT NULL THEN {self._number_code(value)}"]
        words = "|".join(_spelt(word) for word in BOOLEANS)
        code = self._coded(cell, known, self.syntax.matches(cell, f"{_DIGIT}|{words}"))
        moment = self._iso(names, domain.kind) if domain.format is None else civil(names, domain.kind, self.syntax)
        return Expression(code, {cell: self._whole_text()}, parts, {value: moment}, self._step(value)[1])

    def _iso(self, names: dict[str, str], kind: str) -> str:
        """Seconds since 1970 in UTC, or days (infinite where it is not midnight); null where there is no such day."""
        year, sign = names["Y"], names["z"]
        ahead = f"coalesce({names['o']}, 0) * 3600 + coalesce({names['i']}, 0) * 60"
        seconds = f"{civil(names, 'datetime', self.syntax)} - CASE WHEN {sign} = '-' THEN -1 ELSE 1 END * ({ahead})"
        far = f"{sign} IS NOT NULL AND {year} IN (1, 9999)"  # another zone may lead out of Python's years
        if kind == "datetime":
            return f"CASE WHEN {far} THEN NULL ELSE {seconds} END"
        days = f"({seconds}) / {_DAY}"
        part = self.syntax.matches(self._name("x"), _FRACTION)
        infinite = self.syntax.double(math.inf)
        return f"CASE WHEN {far} THEN NULL WHEN {part} OR {self.syntax.broken(days)} THEN {infinite} ELSE {days} END"

    def _whole_text(self) -> str:
        """A cell as text: of a whole number its digits, whatever type they came in."""
        source, type = self._wide_source, self.column.type
        if type in ("text", "integer"):
            return self.syntax.as_text(source)
        value = self._as_number(source)
        whole = f"abs({value}) < {_EXACT} AND NOT {self.syntax.broken(value)}"
        digits = self.syntax.as_text(self.syntax.as_integer(value))
        absent = f"{source} IS NULL" + (f" OR {self._is_nan(source)}" if type in ("real", "double") else "")
        return f"CASE WHEN {absent} THEN NULL WHEN {whole} THEN {digits} ELSE {self.syntax.as_text(source)} END"

    @property
    def _wide_source(self) -> str:
        """The column; a float32 as the double that it is, since one odd cell would have made it one."""
        return self.syntax.as_double(self._source) if self.column.type == "real" else self._source

    def _as_number(self, source: str) -> str:
        """A cell of a column of numbers as a double; a decimal by way of its text."""
        if self.column.type == "decimal":
            return self.syntax.parsed_double(self.syntax.as_text(source))
        return self.syntax.as_double(source)

    # -- lists -----------------------------------------------------------------------------------------------

    def _listed(self) -> Expression:
        """Whole numbers are compared by their text, other numbers by value, all else as text."""
        cell, value, key = self._name("x"), self._name("v"), self._name("k")
        read, number = self._read_list(cell)
        whole = f"abs({value}) < {_EXACT} AND NOT {self.syntax.broken(value)}"
        digits = self.syntax.as_text(self.syntax.as_integer(value))
        shown = f"WHEN {value} IS NOT NULL THEN CASE WHEN {whole} THEN {digits} ELSE '' END ELSE {cell}"
        by_value = [
            f"WHEN {value} = {self.syntax.double(float(numeral(text) or 0))} THEN {code}"
            for text, code in self._known.items()
            if text not in self._compared_as_text
        ]
        found, join = self._lookup(key, self._compared_as_text)
        coded = self._coded(cell, by_value + found, self._unreadable_text(cell, value))
        return Expression(coded, {cell: read}, {value: number}, {key: f"CASE {shown} END"}, join)

    @cached_property
    def _compared_as_text(self) -> dict[str, int]:
        """The codes of known texts that are no numbers, or whole numbers whose digits are exact."""
        numbers = {text: numeral(text) for text in self._known}
        return {
            text: code
            for text, code in self._known.items()
            if (number := numbers[text]) is None or (abs(number) < _EXACT and number == math.floor(number))
        }

    def _read_list(self, cell: str) -> tuple[str, str]:
        """The cell as text, and the number that it is."""
        source, type = self._wide_source, self.column.type
        if type not in NUMBERS:
            if not self._compared_as_text:
                return self._as_text(), self._number_of(cell)
            listed = f"{cell} IN ({self._texts_of(self._compared_as_text)})"
            return self._as_text(), f"CASE WHEN NOT {listed} THEN {self._number_of(cell)} END"
        read = self.syntax.as_text(source)
        if type in ("real", "double"):
            read = f"CASE WHEN NOT {self._is_nan(source)} THEN {read} END"
        return read, self.syntax.parsed_double(cell)

    def _unreadable_text(self, cell: str, value: str) -> str:
        patterns = [_MOMENT_LIKE, *([_NUMBER_LIKE] if self._readings.lists_numbers else [])]
        found = f"({value} IS NULL AND {self.syntax.matches(cell, '|'.join(patterns))})"
        return f"{found} OR {value} IN (0, 1)" if self._readings.lists_words else found


def _spelt(word: str) -> str:
    """A pattern for the word in small and capital letters."""
    return f"{_S}*{''.join(f'[{letter}{letter.upper()}]' for letter in word)}{_S}*"
