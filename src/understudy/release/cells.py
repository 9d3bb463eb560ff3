"""Cells: values of typed columns as the texts of the schema's CSV dialect, safe to open in a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

from understudy.schema import Attribute, Booleans, Categories, Dialect, Identifier, Intervals
from understudy.schema.patterns import ALPHABETS
from understudy.schema.spreadsheet import begins_formula, neutral

_NUMERALS = "0123456789+-.eE:T"  # what numbers and plain dates are written with
_LETTERS = frozenset("".join(ALPHABETS.values()))  # what the fields of an id are written with
_WHOLE = re.compile("0|-?[1-9][0-9]{0,14}")  # a float holds every one of these


def are_whole(domain: Categories) -> bool:
    """Return whether every value of a list is the one text of an integer: `1`, `20`, `-3`, but not `01` or `1.0`."""
    return all(_WHOLE.fullmatch(value) for value in domain.values)


def category_values(domain: Categories) -> Any:
    """Return the values of a list as a typed array: integers if all are whole, else texts."""
    import pyarrow as pa

    if are_whole(domain):
        return pa.array([int(value) for value in domain.values], pa.int64())
    return pa.array(domain.values, pa.string())


def cell_texts(column: Any, attribute: Attribute, dialect: Dialect) -> Any:
    """The text of each value, null where it is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    domain = attribute.domain
    if isinstance(domain, Booleans):
        false, true = (pa.scalar(text, pa.large_string()) for text in domain.labels)
        return pc.if_else(column, true, false)
    if not isinstance(domain, Intervals) or domain.kind == "integer":
        return column.cast(pa.large_string())
    if domain.kind == "number":
        texts = _fixed(column, domain.places) if domain.places is not None else column.cast(pa.large_string())
        return texts if dialect.decimal == "." else pc.replace_substring(texts, ".", dialect.decimal)
    return _moment_texts(column, domain)


def _fixed(column: Any, places: int) -> Any:
    """The text of each number with so many decimals. Without any declared, a number has the shortest text that is read
    back as it: decoding rounded it to the domain's decimals wherever that stays in the bin."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = 10**places
    nothing, point = (pa.scalar(text, pa.large_string()) for text in ("", "."))
    whole = pc.round(pc.multiply(pc.abs(column), float(unit))).cast(pa.int64())
    below = pc.and_(pc.less(column, 0), pc.greater(whole, 0))
    sign = pc.if_else(below, pa.scalar("-", pa.large_string()), nothing)
    front = pc.divide(whole, unit)
    texts = pc.binary_join_element_wise(sign, front.cast(pa.large_string()), nothing)
    if not places:
        return texts
    rest = pc.utf8_lpad(pc.subtract(whole, pc.multiply(front, unit)).cast(pa.large_string()), places, "0")
    return pc.binary_join_element_wise(texts, rest, point)


def _moment_texts(column: Any, domain: Intervals) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if domain.format is None:
        texts = column.cast(pa.large_string())
        return texts if domain.kind == "date" else pc.replace_substring(texts, " ", "T")
    if domain.kind == "datetime" and set(re.findall("%(.)", domain.format)) <= set("YmdHMS"):
        return pc.strftime(column, domain.format).cast(pa.large_string())
    encoded = column.dictionary_encode()
    numbers = encoded.dictionary.cast("int32" if domain.kind == "date" else "int64").to_pylist()
    return pa.array([domain.show(number) for number in numbers], pa.large_string()).take(encoded.indices)


def csv_cells(column: Any, attribute: Attribute, dialect: Dialect, *, alone: bool = False) -> Any:
    """The cells as they stand in the file: neutralised, quoted, missing ones as the schema writes them.

    `alone` is for a table of one column, where an empty cell would be a blank line.
    """
    import pyarrow as pa

    texts = cell_texts(column, attribute, dialect)
    if _needs_care(attribute, dialect):
        encoded = texts.dictionary_encode()
        careful = [written(text, dialect, alone=alone) for text in encoded.dictionary.to_pylist()]
        texts = pa.array(careful, pa.large_string()).take(encoded.indices)
    return texts.fill_null(written(attribute.missing_text, dialect, alone=alone))


def written(text: str, dialect: Dialect, *, alone: bool = False) -> str:
    """One text as a cell: a spreadsheet must not run it, and a parser must read it back."""
    return quoted(neutral(text, dialect.decimal), dialect.delimiter, alone=alone)


def quoted(text: str, delimiter: str, *, alone: bool = False) -> str:
    """In quotes where the text would otherwise break the record."""
    if any(mark in text for mark in (delimiter, '"', "\n", "\r")) or (alone and not text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _needs_care(attribute: Attribute, dialect: Dialect) -> bool:
    """Whether some text of this attribute could need a quote or a ': numbers and plain dates rarely do."""
    domain = attribute.domain
    if not isinstance(domain, Intervals) and attribute.kind != "id":
        return True
    if isinstance(domain, Identifier) and domain.pattern is not None:
        plain = dialect.delimiter not in _LETTERS and quoted(domain.pattern.literals, dialect.delimiter)
        return plain != domain.pattern.literals or begins_formula(domain.pattern.alphabets[0])
    if dialect.delimiter in _NUMERALS:
        return True
    form = domain.format if isinstance(domain, Intervals) else None
    return form is not None and (begins_formula(form) or quoted(form, dialect.delimiter) != form)
