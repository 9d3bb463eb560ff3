"""Excel: a sheet of an .xlsx file as rows of text, for codebooks and for the header of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError, import_extra
from understudy.schema.codebooks.document import Reader, TrustClass, scalar_text
from understudy.schema.codebooks.tabular import read_rows

SUFFIXES = (".xlsx", ".xlsm")
_SHEETS = ("codebook", "dictionary", "data dictionary", "variables", "metadata")


def sheet_rows(path: Path, *, codebook: bool = False, rows: int | None = None) -> Iterator[list[Any]]:
    """Read a sheet row by row, as values; of a codebook the sheet that is called so, else the first one.

    A row without any value ends the table. `rows` stops after so many.
    """
    openpyxl = import_extra("openpyxl", "codebooks", "an Excel file needs one more package")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (OSError, KeyError, ValueError, EOFError, SyntaxError, ArithmeticError) as error:  # or one of zipfile's own
        raise SchemaError(f"cannot read {path.name!r} as an Excel file ({type(error).__name__})") from None
    except Exception as error:
        raise SchemaError(f"{path.name!r} is no Excel file, or damaged ({type(error).__name__})") from None
    with closing(book):
        named = [name for name in book.sheetnames if name.strip().casefold() in _SHEETS]
        sheet = book[named[0]] if codebook and named else book.worksheets[0]
        sheet.reset_dimensions()  # what a writer says about the size may be wrong
        for row in sheet.iter_rows(max_row=rows, values_only=True):
            if all(value is None for value in row):
                return
            yield list(row)


def first_row(path: Path) -> list[str]:
    """Return the texts of the first row of the first sheet, without empty ones at its end."""
    found = [cell_text(value) for row in sheet_rows(path, rows=1) for value in row]
    while found and not found[-1]:
        found.pop()
    return found


def cell_text(value: Any) -> str:
    """Return a cell as the text that a CSV file would hold."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat()
    return value.isoformat() if isinstance(value, date | time) else scalar_text(value)


EXCEL = Reader(
    "a table of attributes (Excel)",
    TrustClass.STATED,
    lambda document: document.parsed is None and document.suffix in SUFFIXES,
    lambda document: read_rows(
        ([cell_text(value) for value in row] for row in sheet_rows(document.path, codebook=True)), document.path.name
    ),
)
