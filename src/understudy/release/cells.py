"""Cells: values of typed columns as the texts of the schema's CSV dialect, safe to open in a spreadsheet."""

from __future__ import annotations

from typing import Any

from understudy.schema import Attribute, CsvDialect
from understudy.schema.spreadsheet import begins_formula, neutral


def csv_cells(column: Any, attribute: Attribute, dialect: CsvDialect, *, alone: bool = False) -> Any:
    """Return the cells as they stand in the file: neutralised, quoted, missing ones as the schema writes them.

    `alone` is for a table of one column, where an empty cell would be a blank line.
    """
    import pyarrow as pa

    texts = attribute.domain.cell_texts(column, dialect.decimal)
    if _needs_care(attribute.domain.characters, dialect):
        encoded = texts.dictionary_encode()
        careful = [written(text, dialect, alone=alone) for text in encoded.dictionary.to_pylist()]
        texts = pa.array(careful, pa.large_string()).take(encoded.indices)
    return texts.fill_null(written(attribute.missing_text, dialect, alone=alone))


def written(text: str, dialect: CsvDialect, *, alone: bool = False) -> str:
    """Return one text as a cell that a spreadsheet does not run and a parser reads back."""
    return quoted(neutral(text, dialect.decimal), dialect.delimiter, alone=alone)


def quoted(text: str, delimiter: str, *, alone: bool = False) -> str:
    """Put a text in quotes where it would otherwise break the record."""
    if any(mark in text for mark in (delimiter, '"', "\n", "\r")) or (alone and not text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _needs_care(characters: str | None, dialect: CsvDialect) -> bool:
    """Return whether some text of these characters could need a quote or a ': numbers and plain dates rarely do."""
    if characters is None:
        return True
    return begins_formula(characters) or quoted(characters, dialect.delimiter) != characters
