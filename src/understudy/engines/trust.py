"""Trust: whether a column's type was chosen before any row was seen, and what may be read from it.

text: every cell is text (CSV). inferred: a library chose the type from the rows (a frame, a Parquet file), so one row
can change it, and a cell is coded by its canonical text (`schema.readings`). declared: somebody chose it (a database's
table, or the caller says so), so texts are texts.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from understudy.errors import UsageError
from understudy.schema import Attribute
from understudy.schema.canonical import canonical_number, numeral
from understudy.schema.readings import Readings

Trust = Literal["text", "inferred", "declared"]
Types = Literal["inferred", "declared"]  # what a caller may say

WAYS_OUT = (
    "Publish the CSV file, in which every cell is text; or, where the columns' types were chosen and not inferred from "
    'the rows, say so: types="declared" (--types declared)'
)


def types_of(given: Any) -> Types | None:
    """Return what the caller says about the types of a source; None leaves it to the kind of source."""
    known = get_args(Types)
    if given is None or given in known:
        return given  # type: ignore[no-any-return]
    raise UsageError(f"types is one of {', '.join(known)}, not {given!r}")


def inferred_fault(attribute: Attribute, decimal: str) -> str | None:
    """Return why a source of inferred types is refused for the attribute, from the schema alone.

    None where it is not.
    """
    fault = Readings(attribute, decimal).fault
    if fault is None:
        return None
    return (
        f"attribute {attribute.name!r}: {fault} by libraries that infer a column's type from its rows, so one row "
        f"could change what the others mean; a frame or a Parquet file is refused, whatever it holds. {WAYS_OUT}"
    )


def numeric_fault(attribute: Attribute) -> str | None:
    """Return why a declared column of numbers cannot be compared with the attribute's texts; None where it can."""
    if attribute.intervals is not None:
        return None
    for text in Readings(attribute).declared:
        number = numeral(text)
        if number is not None and text not in (canonical_number(number), _whole(text)):
            return (
                f"attribute {attribute.name!r}: the column has numbers, and the schema lists {text!r}, which is no "
                "number's only text. Make the column text, or publish the CSV file"
            )
    return None


def _whole(text: str) -> str | None:
    """Return the text of a whole number of any size."""
    try:
        return str(int(text))
    except ValueError:
        return None
