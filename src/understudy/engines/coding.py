"""Coding: every cell of a source becomes its public code, one or two bytes each, or the attribute does not fit.

The rules are the schema's (`Attribute.encode`); this file only applies them fast: each distinct text is coded once,
plain numbers and dates are parsed by Arrow, and whatever Arrow cannot read goes through the schema's own parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.engines.arrow_parsing import is_numeric_type
from understudy.engines.cell_coder import CellCoder
from understudy.engines.inferred import InferredCoder
from understudy.engines.sources import RowSource
from understudy.engines.threads import stream
from understudy.engines.trust import Trust, inferred_fault, numeric_fault
from understudy.errors import DataError, did_you_mean
from understudy.schema import MAX_ROWS, Attribute, Schema
from understudy.schema.domain import UNFIT

Keep = Callable[[str, NDArray[Any]], None]  # the name of an attribute, and the codes of its next rows

_AHEAD = 16  # pieces that are read before they are needed


@dataclass(frozen=True)
class CodedTable:
    """The modelled columns as codes, and the order of all columns in the source."""

    columns: dict[str, NDArray[Any]]
    rows: int
    order: tuple[str, ...]


@dataclass(frozen=True)
class Misfit:
    """One reason why the data does not fit: names and rules, never a value or a count."""

    reason: Literal["undeclared", "absent", "types", "cells", "rows", "file"]
    attribute: str | None
    message: str

    def error(self) -> DataError:
        return DataError(self.message, attribute=self.attribute)


NO_ROWS = Misfit("rows", None, "the table has no rows: there is nothing to publish")


def encode_table(source: RowSource, schema: Schema, empty: bool = False) -> CodedTable:
    """Code the whole table, or refuse it with the first misfit; it may have no rows where it may be `empty`."""
    coded: dict[str, list[NDArray[Any]]] = {name: [] for name in schema.names}
    rows = encode_pieces(source, schema, lambda name, codes: coded[name].append(codes), empty)
    if not rows:
        coded = {name: [np.zeros(0, dtype=np.uint8)] for name in schema.names}
    # the pieces of a column are freed as it is joined: never two copies of the table
    columns = {name: np.concatenate(coded.pop(name)) for name in schema.names}
    return CodedTable(columns, rows, source.columns)


def encode_pieces(source: RowSource, schema: Schema, keep: Keep, empty: bool = False) -> int:
    """Code the table piece by piece, each given to `keep`; the number of rows, or a refusal with the first misfit."""
    for misfit in structure_misfits(source.columns, schema) + type_misfits(source, schema):
        raise misfit.error()
    rows, unfit = _code(source, schema, keep)
    for misfit in cell_misfits(schema, unfit, source.trust) + row_misfits(schema, rows):
        if misfit != NO_ROWS or not empty:
            raise misfit.error()
    return rows


def misfits(source: RowSource, schema: Schema) -> list[Misfit]:
    """Return every reason why `encode_table` would refuse, in the order of columns and attributes."""
    found = structure_misfits(source.columns, schema)
    present = [a.name for a in schema.attributes if a.column in source.columns]
    found += (wrong := type_misfits(source, schema))
    present = [name for name in present if name not in {misfit.attribute for misfit in wrong}]
    if not any(schema[name].modelled for name in present):
        return found
    schema = schema.project(present)
    try:
        rows, unfit = _code(source, schema, lambda name, codes: None)
    except DataError as error:
        return [*found, Misfit("file", error.attribute, error.message)]
    return found + cell_misfits(schema, unfit, source.trust) + row_misfits(schema, rows)


# -- what does not fit ---------------------------------------------------------------------------------------


def structure_misfits(found: Sequence[str], schema: Schema) -> list[Misfit]:
    """Return the columns that only one of the two has. A name of the data that the schema lacks may be a cell of a file
    without a header (or of a frame that was read from one): it is told by its place, never quoted.
    """
    known = schema.columns
    absent = [Misfit("absent", name, _absent(name)) for name in known if name not in found]
    if len(absent) == len(known):
        return [Misfit("undeclared", None, _nothing_known(found)), *absent]
    strange = [(at, name) for at, name in enumerate(found, 1) if name not in known]
    return [Misfit("undeclared", None, _undeclared(at, name, known)) for at, name in strange] + absent


def _nothing_known(found: Sequence[str]) -> str:
    if len(found) == 1 and any(mark in found[0] for mark in ",;\t|"):
        return "the header is a single column that holds delimiters: declare `delimiter` in [table.csv]"
    return (
        "the data has none of the columns that the schema declares. If the first line of the file is a row, declare "
        "`header = false` in [table.csv]; if its cells are cut in the wrong places, declare `delimiter`"
    )


def _undeclared(at: int, name: str, known: Sequence[str]) -> str:
    near = did_you_mean(name, list(known)) if len(known) > 1 else ""
    return (
        f"column {at} of the data is not in the schema. {near} Rename it, take it out of the data, or declare it; "
        'with kind = "drop" it is left out of the output'
    ).replace("  ", " ")


def _absent(name: str) -> str:
    return (
        f"the schema declares {name!r}, but the data has no such column. Rename the column of the data that is meant, "
        "or take the attribute out of the schema"
    )


def type_misfits(source: RowSource, schema: Schema) -> list[Misfit]:
    """Return what the schema and the declared types forbid, whatever the cells are."""
    if source.trust == "text":
        return []
    present = [a for a in schema.modelled if a.column in source.columns]
    if source.trust == "inferred":
        faults = [(a.name, inferred_fault(a, schema.csv.decimal)) for a in present]
    else:
        faults = [(a.name, numeric_fault(a)) for a in present if is_numeric_type(source.types.get(a.column))]
    return [Misfit("types", name, fault) for name, fault in faults if fault is not None]


def cell_misfits(schema: Schema, unfit: set[str], trust: Trust = "text") -> list[Misfit]:
    return [Misfit("cells", a.name, _unfit(a, trust)) for a in schema.modelled if a.name in unfit]


def _unfit(attribute: Attribute, trust: Trust) -> str:
    inferred = trust == "inferred"
    return (
        f"attribute {attribute.name!r}: some cells are not {attribute.domain.wanted}. Complete the declaration, or say "
        "where such cells go: `missing` lists the texts that mean no value (true: empty cells), `other` takes "
        "everything else"
        + (" but dates, booleans and numbers in other notations, which a frame's reader may have changed" * inferred)
        + ". `understudy check` says how many there are, and what would read them"
    )


def row_misfits(schema: Schema, rows: int) -> list[Misfit]:
    if rows == 0:
        return [NO_ROWS]
    if schema.rows is not None and rows != schema.rows:
        return [Misfit("rows", None, (
            f"the schema declares rows = {schema.rows} and the data has another number of rows. The count is public "
            'under neighbours = "replace-one" and must be right: correct `rows` in [table], or protect the count with '
            'neighbours = "add-remove"'
        ))]  # fmt: skip
    if rows > MAX_ROWS:
        return [Misfit("rows", None, f"the data has more than {MAX_ROWS:,} rows, the most that can be published")]
    if schema.rows_max is not None and rows > schema.rows_max:
        return [Misfit("rows", None, (
            f"the data has more rows than rows_max = {schema.rows_max}: raise `rows_max` in [table]"
        ))]  # fmt: skip
    return []


# -- codes ---------------------------------------------------------------------------------------------------


def _code(source: RowSource, schema: Schema, keep: Keep) -> tuple[int, set[str]]:
    """Give the coded pieces of each column to `keep`.

    Return how many rows there are, and which attributes have a cell that no rule of the schema covers.
    """
    coders = {a.name: coder_of(a, schema.csv.decimal, source.trust) for a in schema.modelled}

    def code(task: tuple[str, Any]) -> tuple[str, NDArray[Any], bool]:
        name, piece = task
        codes = coders[name].code(piece)
        fits = not (codes == UNFIT).any()
        return name, codes.astype(np.uint8 if schema[name].size <= 256 else np.uint16), fits

    rows, unfit = 0, set()
    for name, codes, fits in stream(code, pieces_of(source, schema.modelled), ahead=_AHEAD):
        rows += len(codes) if name == schema.names[0] else 0
        if not fits:
            unfit.add(name)
        if not unfit:
            keep(name, codes)
    return rows, unfit


def pieces_of(source: RowSource, attributes: Iterable[Attribute]) -> Iterator[tuple[str, Any]]:
    """Yield the pieces of each attribute's column; several may be read from one."""
    readers: dict[str, list[str]] = {}
    for attribute in attributes:
        readers.setdefault(attribute.column, []).append(attribute.name)
    for column, piece in source.pieces(list(readers)) if readers else ():
        yield from ((name, piece) for name in readers[column])


def coder_of(attribute: Attribute, decimal: str, trust: Trust) -> CellCoder:
    """Return what codes the cells of one attribute in a source of this trust."""
    return (InferredCoder if trust == "inferred" else CellCoder)(attribute, decimal)
