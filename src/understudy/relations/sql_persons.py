"""Ids in a database: SQL that compares them byte by byte, after the rule of `persons` for whole numbers."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.engines.sql import Warehouse
from understudy.engines.sql_coding import Column
from understudy.errors import DataError
from understudy.relations.persons import HEXADECIMAL, WHOLE, doubtful, no_id
from understudy.schema.scales.sql_syntax import Syntax

_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))  # what `str.strip` takes off


def id_text(warehouse: Warehouse, column: str) -> str:
    """Return the SQL of an id as a text without blanks around it; refuse a type whose equal values may be two ids."""
    found = next(c for c in warehouse.columns if c.name == column)
    _check_type(found)
    syntax = warehouse.syntax
    text = syntax.as_text(syntax.quoted(column))
    if found.type == "decimal":  # 7.5 and 7.50 are one number
        text = f"CASE WHEN {syntax.contains(text, '.')} THEN rtrim({text}, '0') ELSE {text} END"
    return f"trim({text}, {syntax.text(_BLANKS)})"


def _check_type(column: Column) -> None:
    if column.type not in ("text", "integer", "decimal") and column.declared.lower() != "uuid":
        raise doubtful(column.name, f"of the type {column.declared}")


def compared(text: str, syntax: Syntax) -> str:
    """Return the SQL of an id that is compared byte by byte: of a whole number the digits, as in `persons`."""
    digits = syntax.group(text, WHOLE.pattern, 2)
    signed = f"CASE WHEN {syntax.group(text, WHOLE.pattern, 1)} = '-' AND {digits} <> '0' THEN '-' ELSE '' END"
    return syntax.as_text(f"CASE WHEN {syntax.matches(text, WHOLE.pattern)} THEN {signed} || {digits} ELSE {text} END")


def fault(text: str, syntax: Syntax) -> str:
    """Return the SQL of what is wrong with an id: 1 that there is none, 2 that it is hexadecimal, 0 nothing."""
    hexadecimal = syntax.matches(text, HEXADECIMAL.pattern)
    return f"CASE WHEN {text} IS NULL OR {text} = '' THEN 1 WHEN {hexadecimal} THEN 2 ELSE 0 END"


def faults_found(name: str) -> list[str]:
    """Return the SQL of whether any row has each fault of a column of faults."""
    return [f"max(CASE WHEN {name} = {number} THEN 1 ELSE 0 END)" for number in (1, 2)]


def refuse_faults(found: Sequence[int | None], column: str) -> None:
    """Refuse ids in which `faults_found` found a fault."""
    without, hexadecimal = found
    if without:
        raise no_id(column)
    if hexadecimal:
        raise DataError(
            f"some ids in {column!r} are written as hexadecimal numbers, which only the embedded engines compare "
            "with others: write them plainly in a view, or publish an exported file",
            attribute=column,
        )
