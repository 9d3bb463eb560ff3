"""Columns of inferred types in SQL: the code of a cell's canonical text, as `schema.readings` has it for Parquet files.

A text that some reader may have taken for a number, a date or a boolean and that SQL cannot read surely is UNREADABLE:
it is refused before any charge, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from understudy.engines.sql_coding import UNREADABLE, Expression, Writer
from understudy.engines.sql_dialects import tree
from understudy.engines.trust import inferred_fault
from understudy.errors import DataError
from understudy.schema import Intervals
from understudy.schema.canonical import NULLS, numeral
from understudy.schema.domain import UNFIT
from understudy.schema.readings import Readings
from understudy.schema.scales.sql_cell import EXACT, MOMENT_LIKE, NAN, NUMBER_LIKE, SqlCell, SqlNumber
from understudy.schema.scales.sql_types import MOMENTS, NUMBERS, UNLISTED
from understudy.schema.spreadsheet import neutralised

_HALF_STEPS = 24  # the least float16s are multiples of 2^-24; of those twice as large half as many come to one


@dataclass(frozen=True)
class InferredWriter(Writer):
    """What is written for an attribute and a column whose type was inferred."""

    def expression(self) -> Expression:
        if (fault := inferred_fault(self.attribute, self.decimal)) is not None:
            raise DataError(fault, attribute=self.attribute.name)
        domain, type = self.attribute.intervals, self.column.type
        if type is None or (type == "boolean" and self.attribute.domain.flags):
            return super().expression()
        if domain is None:
            return self._foreign_cells() if type in (*MOMENTS, *UNLISTED) else self._listed()
        if type in domain.scale.sql_types:
            return self._typed(domain)
        return self._in_text(domain) if type in domain.scale.inferred_types else self._foreign_cells()

    @property
    def cell(self) -> SqlCell:
        return replace(super().cell, words=self._readings.words)

    @cached_property
    def _readings(self) -> Readings:
        return Readings(self.attribute, self.decimal)

    @cached_property
    def _known(self) -> dict[str, int]:
        """Return the codes of canonical texts, and of texts that our own output has neutralised."""
        hidden = neutralised(self._readings.declared)
        return self._readings.known | {form: self._readings.code(text) for form, text in hidden.items()}

    def _foreign_cells(self) -> Expression:
        """Return the SQL for a type that no declared value has: nothing but a null fits."""
        cell = self._name("x")
        return Expression(f"CASE WHEN {cell} IS NULL THEN {self._null} ELSE {UNFIT} END", {cell: self._source})

    # -- texts and what they are read as ---------------------------------------------------------------------

    def _is_null(self, cell: str) -> str:
        return f"{cell} IS NULL OR {cell} IN ({self._texts_of(NULLS)})"

    def _texts_of(self, texts: Iterable[str]) -> str:
        return ", ".join(self.syntax.text(text) for text in sorted(texts))

    def _coded(self, cell: str, known: list[str], unreadable: str) -> str:
        """Return the SQL of a code. In order: nulls, what is known, what cannot be told; the rest is undeclared.
        Patterns come last: they take time, and few cells come to them."""
        cases = [f"WHEN {self._is_null(cell)} THEN {self._null}", *known]
        cases += [f"WHEN {self.syntax.matches(cell, NAN)} THEN {self._null}"]
        return f"CASE {' '.join(cases)} WHEN {unreadable} THEN {UNREADABLE} ELSE {self._unfit} END"

    # -- ordered attributes ----------------------------------------------------------------------------------

    def _typed(self, domain: Intervals) -> Expression:
        found, misread = super()._typed(domain), domain.scale.misread_sql(self.cell)
        if misread is None:
            return found
        return replace(found, code=f"CASE WHEN {misread} THEN {UNREADABLE} ELSE {found.code} END")

    def _expression(self, number: SqlNumber, code: str) -> Expression:
        found = super()._expression(number, code)
        if not self._readings.written.places:
            return found
        return replace(found, value={self._name("w"): number.number}, more=self._as_written())

    def _as_written(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the SQL of `WrittenDecimals.read`, in two stages: the number if a text of it may say less, and how
        many of the float16s around it come to one; then the number that is meant."""
        written, double, broken = self._readings.written, self.syntax.double, self.syntax.broken
        read, near, many = (self._name(letter) for letter in "wcn")
        looked = f"{broken(read)} AND abs({read}) < {double(written.below)}"
        looked += f" AND {read} NOT IN ({', '.join(map(double, written.kept))})" if written.kept else ""
        sizes = [2.0 ** (11 - power) for power in range(_HALF_STEPS, 0, -1)]
        steps = tree(f"abs({read})", sizes, [2**power for power in range(_HALF_STEPS, -1, -1)], self.syntax)
        decimals = [f"floor({near} * {power} + {double(0.5)}) / {power}" for power in map(double, written.powers)]
        as_half = " ".join(f"WHEN abs({d} - {near}) * {many} < {double(0.5)} THEN {d}" for d in decimals)
        as_single = " ".join(f"WHEN {self._single(d)} = {near} THEN {d}" for d in decimals)
        half = f"abs({near}) < 1024 AND NOT {broken(f'({near} * {many})')} AND {decimals[-1]} <> {near}"
        meant = (
            f"CASE WHEN {near} IS NULL THEN {read} WHEN {half} THEN CASE {as_half} ELSE {read} END "
            f"WHEN {self._single(near)} = {near} THEN CASE {as_single} ELSE {read} END ELSE {read} END"
        )
        return {near: f"CASE WHEN {looked} THEN {read} END", many: steps}, {self._name("v"): meant}

    def _single(self, number: str) -> str:
        """Return the SQL of the float32 nearest to a number, as a double."""
        return self.syntax.as_double(f"CAST({number} AS REAL)")

    def _in_text(self, domain: Intervals) -> Expression:
        cell, value = self._name("x"), self._name("v")
        number = domain.scale.inferred_sql(self.cell, domain.format)
        known = [f"WHEN {cell} = {self.syntax.text(text)} THEN {code}" for text, code in self._known.items()]
        known += [f"WHEN {value} IS NOT NULL THEN {self._number_code(value)}"]
        return self._expression(number, self._coded(cell, known, number.unreadable))

    # -- lists -----------------------------------------------------------------------------------------------

    def _listed(self) -> Expression:
        """Return the SQL of a listed value's code: whole numbers by text, other numbers by value, the rest as text."""
        cell, value, key = self._name("x"), self._name("v"), self._name("k")
        read, number = self._read_list(cell)
        whole, digits = self.cell.whole(value)
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
        """Return the codes of known texts that are no numbers, or whole numbers whose digits are exact."""
        return {
            text: code
            for text, code in self._known.items()
            if (number := numeral(text)) is None or (abs(number) < EXACT and number == math.floor(number))
        }

    def _read_list(self, cell: str) -> tuple[str, str]:
        """Return the cell as text, and the number that it is, as SQL."""
        source, type = self.cell.wide_source, self.column.type
        if type not in NUMBERS:
            number = self.cell.number_of(cell)
            if not self._compared_as_text:
                return self.cell.canonical_text, number
            listed = f"{cell} IN ({self._texts_of(self._compared_as_text)})"
            return self.cell.canonical_text, f"CASE WHEN NOT {listed} THEN {number} END"
        read = self.syntax.as_text(source)
        if type in ("real", "double"):
            read = f"CASE WHEN NOT {self.cell.is_nan(source)} THEN {read} END"
        return read, self.syntax.parsed_double(cell)

    def _unreadable_text(self, cell: str, value: str) -> str:
        patterns = [MOMENT_LIKE, *([NUMBER_LIKE] if self._readings.lists_numbers else [])]
        found = f"({value} IS NULL AND {self.syntax.matches(cell, '|'.join(patterns))})"
        return f"{found} OR {value} IN (0, 1)" if self._readings.lists_words else found
