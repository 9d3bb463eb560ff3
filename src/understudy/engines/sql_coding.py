"""Expressions: the code of an attribute's cell as SQL, generated from the public schema by the rules of `coding`.

A cell that no rule covers is UNFIT. A cell that Python's own parsers might read and SQL cannot (digits of another
script, a week date) is UNREADABLE: it is refused before any charge, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise

import numpy as np

from understudy.engines.arrow_parsing import as_texts
from understudy.engines.cell_coder import CellCoder
from understudy.engines.sql_dialects import tree
from understudy.engines.trust import numeric_fault
from understudy.errors import DataError
from understudy.schema import Attribute, Intervals
from understudy.schema.canonical import BOOLEANS
from understudy.schema.endings import Endings
from understudy.schema.rounding_classes import RoundingClasses
from understudy.schema.scales.sql_cell import SqlCell, SqlNumber
from understudy.schema.scales.sql_syntax import Syntax
from understudy.schema.scales.sql_types import NUMBERS, UNLISTED, Type
from understudy.schema.text_classes import DIGESTS, TextClass, TextClasses, TextDigests

UNREADABLE = -2
_LISTED = 24  # texts that are compared one after the other; more are joined


@dataclass(frozen=True)
class Column:
    """A column of a database table: its name and the kind of its type; `other` types have no kind and a name only."""

    name: str
    type: Type | None
    declared: str


@dataclass(frozen=True)
class Expression:
    """Stages of named SQL, each over the one before: what is read, its parts, its number, what follows from that. Then
    the code."""

    code: str
    read: dict[str, str]
    parts: dict[str, str] = field(default_factory=dict)
    value: dict[str, str] = field(default_factory=dict)
    join: str = ""
    more: tuple[dict[str, str], ...] = ()

    @property
    def stages(self) -> tuple[dict[str, str], ...]:
        return self.read, self.parts, self.value, *self.more


@dataclass(frozen=True)
class Writer:
    """What is written for one attribute and the column that it is read from; names of stages in between end in `at`."""

    attribute: Attribute
    column: Column
    at: int
    syntax: Syntax
    decimal: str

    def expression(self) -> Expression:
        """Return the SQL of a cell's code."""
        domain, type = self.attribute.intervals, self.column.type
        if type is None or (type in UNLISTED and domain is None):
            raise self._refusal('no kind of attribute reads that: convert it in a view, or declare it kind = "drop"')
        if isinstance(self.attribute.domain, TextDigests):
            return self._digests()
        if isinstance(self.attribute.domain, TextClasses):
            return self._classes(self.attribute.domain)
        if domain is None and self.attribute.domain.flags and type == "boolean":
            return self._flags()
        if domain is None:
            return self._texts() if type == "text" else self._typed_texts()
        scale = domain.scale
        if type in scale.sql_types:
            return self._typed(domain)
        if type not in scale.text_types:
            raise self._refusal(f'kind = "{domain.kind}" reads {scale.sql_reads}, so correct one of them')
        number = scale.text_sql(self.cell, domain.format)
        if number is None:
            raise self._refusal(
                f"a database cannot read {scale.writings} written {domain.format!r}; make it a "
                f"{scale.writings[:-1]} in a view, or publish an exported file"
            )
        return self._expression(number, self._parsed_code(number.unreadable))

    def _classes(self, domain: TextClasses) -> Expression:
        """Return the SQL for the first pattern that matches.

        Databases write numbers with a fraction, dates and times differently.
        """
        if self.column.type not in ("text", "integer", "boolean"):
            raise self._refusal("its type says what kind it is: declare the kind, and discover the range")
        name = self._name("x")
        cases = " ".join(f"WHEN {self._in_class(name, c)} THEN {code}" for code, c in enumerate(domain.classes))
        empty = domain.class_of("")
        code = f"CASE WHEN {name} IS NULL THEN {empty} {cases} ELSE {len(domain.classes)} END"
        return Expression(code, {name: self.syntax.as_text(self._source)})

    def _in_class(self, name: str, found: TextClass) -> str:
        """Return the SQL of whether a text is of a class. PostgreSQL compiles patterns anew beyond 32: few are here."""
        if found.texts:
            return f"{name} IN ({', '.join(map(self.syntax.text, found.texts))})"
        matches = self.syntax.matches(name, found.pattern)
        return f"{self.syntax.contains(name, found.needs)} AND {matches}" if found.needs else matches

    def _digests(self) -> Expression:
        """Return the SQL of a text's digest, by which the ledger recognises the table; nothing else asks for it."""
        name = self._name("x")
        found = self.syntax.digest(f"coalesce({name}, '')")
        return Expression(f"{found} % {DIGESTS}", {name: self.syntax.as_text(self._source)})

    # -- names and codes -------------------------------------------------------------------------------------

    def _name(self, letter: str) -> str:
        return f"{letter}{self.at}"

    @property
    def cell(self) -> SqlCell:
        """Return what a scale is told about the column."""
        return SqlCell(self._source, self.column.type, self.at, self.syntax, self.decimal)

    @property
    def _source(self) -> str:
        return self.syntax.quoted(self.column.name)

    @property
    def _known(self) -> dict[str, int]:
        """Return the code of each text that is compared as text."""
        return CellCoder(self.attribute, self.decimal).text_codes()

    @property
    def _null(self) -> int:
        return CellCoder(self.attribute, self.decimal).null_code

    @property
    def _unfit(self) -> int:
        return self.attribute.unlisted_code

    def _refusal(self, reason: str) -> DataError:
        return DataError(
            f"column {self.column.name!r} has the type {self.column.declared}: {reason}", attribute=self.attribute.name
        )

    # -- closed lists of texts -------------------------------------------------------------------------------

    def _flags(self) -> Expression:
        name = self._name("x")
        code = f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 ELSE {self._null} END"
        return Expression(code, {name: self._source})

    def _texts(self) -> Expression:
        cell = self._name("x")
        cases, join = self._lookup(cell, self._known)
        code = f"CASE WHEN {cell} IS NULL THEN {self._null} {' '.join(cases)} ELSE {self._unfit} END"
        return Expression(code, {cell: self.syntax.as_text(self._source)}, join=join)

    def _lookup(self, cell: str, known: dict[str, int]) -> tuple[list[str], str]:
        """Return cases for texts and their codes, and a table to join with where there are many."""
        if len(known) <= _LISTED:
            return [f"WHEN {cell} = {self.syntax.text(text)} THEN {code}" for text, code in known.items()], ""
        table = self._name("m")
        join = f"LEFT JOIN {self.syntax.lookup(list(known.items()), table)} ON {table}.k = {cell}"
        return [f"WHEN {table}.c IS NOT NULL THEN {table}.c"], join

    def _typed_texts(self) -> Expression:
        """Return the SQL for a typed cell: each declared text becomes the value whose text `coding` takes it for."""
        if self.column.type in NUMBERS and (fault := numeric_fault(self.attribute)) is not None:
            raise DataError(fault, attribute=self.attribute.name)
        cell = self._name("x")
        literals = [(self._literal(text), code) for text, code in self._known.items()]
        cases = [f"WHEN {cell} = {literal} THEN {code}" for literal, code in literals if literal is not None]
        absent = f"{cell} IS NULL" + (f" OR {self.cell.is_nan(cell)}" if self.column.type in ("real", "double") else "")
        code = f"CASE WHEN {absent} THEN {self._null} {' '.join(cases)} ELSE {self._unfit} END"
        return Expression(code, {cell: self._source})

    def _literal(self, text: str) -> str | None:
        """Return the value whose text this is, as SQL; None where no value of the column's type has it."""
        type = self.column.type
        try:
            if type == "boolean":
                return text.upper() if text.lower() in BOOLEANS else None  # `True` and true are one text
            if type == "integer":
                return text if str(int(text)) == text and -(2**63) <= int(text) < 2**63 else None
            if type == "decimal":
                number = Decimal(text)
                return text if number.is_finite() and _text(number) == text else None
            if type in ("real", "double"):
                value = (np.float32 if type == "real" else np.float64)(text)
                return self.syntax.double(float(value)) if _text(value) == text else None
            if type == "date":
                return f"DATE '{text}'" if date.fromisoformat(text).isoformat() == text else None
            moment = datetime.fromisoformat(text)
            same = moment.isoformat() == text and (moment.tzinfo is not None) == (type == "instant")
            name = self.syntax.timestamp if moment.tzinfo is None else self.syntax.instant
            return f"{name} '{moment.isoformat(' ')}'" if same else None
        except (ValueError, InvalidOperation, OverflowError):
            return None

    # -- places on a scale -----------------------------------------------------------------------------------

    def _typed(self, domain: Intervals) -> Expression:
        return self._expression(domain.scale.typed_sql(self.cell), self._number_code(self._name("v")))

    def _expression(self, number: SqlNumber, code: str) -> Expression:
        value = self._name("v")
        return Expression(code, number.read, number.parts, {value: number.number}, self._step(value)[1])

    def _number_code(self, value: str) -> str:
        """Return the SQL of the code of a number on the domain's scale.

        Null is an empty cell, infinity a cell that does not fit.
        """
        attribute, domain = self.attribute, self.attribute.ordered
        cases = [f"WHEN {value} IS NULL THEN {self._null}"]
        missing = [self.syntax.double(number) for number in self._missing_numbers(domain)]
        if missing:
            cases.append(f"WHEN {value} IN ({', '.join(missing)}) THEN {attribute.missing_code}")
        if self.column.type != "integer":
            infinite = ", ".join(self.syntax.double(number) for number in (np.inf, -np.inf))
            wrong = f"{value} IN ({infinite})" + (f" OR {self.syntax.broken(value)}" if domain.integral else "")
            cases.append(f"WHEN {wrong} THEN {self._unfit}")
        return f"CASE {' '.join(cases)} ELSE {self._step(value)[0]} END"

    def _missing_numbers(self, domain: Intervals) -> list[float]:
        return [number for text in self.attribute.missing if np.isfinite(number := domain.parse(text))]

    def _steps(self, domain: Intervals) -> tuple[list[float], list[int]]:
        return steps(domain)

    def _step(self, value: str) -> tuple[str, str]:
        """Return the SQL of the code of a number inside the domain's scale, and a table to join with for it."""
        domain = self.attribute.ordered
        if isinstance(domain, RoundingClasses):
            return self._rounding(value, domain), ""
        if isinstance(domain, Endings):
            return self._ending(value, domain), ""
        bounds, codes = self._steps(domain)
        if (width := even(domain, bounds, codes)) is not None:
            low, high = (self.syntax.double(bounds[at]) for at in (0, -1))
            whole = f"{self.syntax.as_integer(value)} - {int(bounds[0])}"
            inside = self.syntax.divide(whole, width) if width > 1 else f"({whole})"
            ends = f"WHEN {value} < {low} THEN {codes[0]} WHEN {value} >= {high} THEN {codes[-1]}"
            return f"CASE {ends} ELSE {codes[1]} + {inside} END", ""
        if len(bounds) <= self.syntax.small:
            return tree(value, bounds, codes, self.syntax), ""
        return self.syntax.step(value, bounds, codes, self._name("m"))

    def _rounding(self, value: str, domain: RoundingClasses) -> str:
        """Return the SQL of a number's rounding class: in doubles, so that every engine has the same."""
        double = self.syntax.double
        inside = self._clamped(value, domain)
        special = ", ".join(map(double, domain.special))
        tests = [f"WHEN {inside} IN ({special}) THEN 0"] if special else []
        if domain.units and special:  # not 0, and a multiple of none: PostgreSQL refuses to divide 5e-324
            tests.append(f"WHEN abs({inside}) < {double(float(domain.units[-1] / 2))} THEN {domain.size - 1}")
        for code, unit in enumerate(domain.units, 1):
            up, down = double(unit.denominator), double(unit.numerator)
            near = f"floor({inside} * {up} / {down} + {double(0.5)}) * {down} / {up}"
            tests.append(f"WHEN {near} = {inside} THEN {code}")
        return f"CASE {' '.join(tests)} ELSE {domain.size - 1} END"

    def _ending(self, value: str, domain: Endings) -> str:
        """Return the SQL of a number's last digits: in doubles, too."""
        double = self.syntax.double
        size, inside = double(domain.size), self._clamped(value, domain)
        index = f"floor({inside} * {double(10.0**domain.precision)} + {double(0.5)})"
        return self.syntax.as_integer(f"({index} - {size} * floor({index} / {size}))")

    def _clamped(self, value: str, domain: Intervals) -> str:
        low, high = (self.syntax.double(end) for end in (domain.edges[0], domain.edges[-1]))
        return f"(CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END)"

    def _parsed_code(self, unreadable: str) -> str:
        """Return the SQL of the code of a cell of text whose number is null where it is not plainly written."""
        cell, number = self._name("x"), self._name("v")
        cases = [f"WHEN {cell} IS NULL THEN {self._null}"]
        cases += [f"WHEN {cell} = {self.syntax.text(text)} THEN {code}" for text, code in self._known.items()]
        cases += [f"WHEN {number} IS NOT NULL THEN {self._step(number)[0]}"]
        cases += [f"WHEN {unreadable} THEN {UNREADABLE}"]
        return f"CASE {' '.join(cases)} ELSE {self._unfit} END"


# -- the schema's rules, as numbers and patterns -----------------------------------------------------------------


def steps(domain: Intervals) -> tuple[list[float], list[int]]:
    """Return the code of a number as a step function: codes[k] where k of the bounds are at most the number."""
    cuts = {*domain.edges, *domain.points}
    if domain.integral:
        cuts = {float(np.ceil(cut)) for cut in cuts} | {point + 1 for point in domain.points}
    else:
        cuts |= {float(np.nextafter(point, np.inf)) for point in domain.points}
    bounds = sorted(cuts)
    below = bounds[0] - 1 if domain.integral else float(np.nextafter(bounds[0], -np.inf))
    codes = domain.encode_numbers(np.asarray([below, *bounds], dtype=np.float64)).tolist()
    kept = [at for at in range(len(bounds)) if codes[at + 1] != codes[at]]
    return [bounds[at] for at in kept], [codes[0], *(codes[at + 1] for at in kept)]


def even(domain: Intervals, bounds: Sequence[float], codes: Sequence[int]) -> int | None:
    """Return the width of the steps where all are as wide, of whole numbers, and each goes up by one; else None."""
    if not domain.integral or len(bounds) < 3 or any(b - a != 1 for a, b in pairwise(codes)):
        return None
    widths = {b - a for a, b in pairwise(bounds)}
    return int(widths.pop()) if len(widths) == 1 else None


def _text(value: object) -> str | None:
    """Return what `coding` takes for the text of a typed cell."""
    import pyarrow as pa

    texts, _ = as_texts(pa.array([value]), "")
    found: str | None = texts[0].as_py()
    return found
