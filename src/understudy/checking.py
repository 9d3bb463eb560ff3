"""Checking: does the data fit the schema? For the custodian: what is found is exact, outside any promise."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

from understudy.engines.addresses import SCHEMES, address_of, scheme_of
from understudy.engines.cell_fit import CellFit as CellFit
from understudy.engines.coding import NO_ROWS
from understudy.engines.opening import PrivateData as PrivateData
from understudy.engines.opening import find_misfits, find_rule_breaks, fit_of_cells
from understudy.errors import DataError, UsageError
from understudy.methods.allowed_rules import check_rows_are_left
from understudy.progress import ProgressBar
from understudy.relations.reading import PeopleFit as PeopleFit
from understudy.relations.reading import people_fit
from understudy.relations.table_reading import TableFit as TableFit
from understudy.relations.table_reading import data_places, tables_fit
from understudy.schema import Schema
from understudy.schema.rows_seen import note_rows_seen

check_people = people_fit


def check_fit(rows: PrivateData, schema: Schema, progress: bool | None = None) -> list[dict[str, Any]]:
    """Return every reason why the data would be refused, with the SQL that finds the cells. For the custodian."""
    from understudy.engines.misfit_sql import finding_sql

    if schema.tables:
        return _tables_misfits(rows, schema)
    with ProgressBar(progress) as bar:
        bar("reading and checking", 0, 1, Fraction(0))
        found = find_misfits(rows, schema)
    data = rows.data
    table: str | tuple[str, ...] | None = str(data) if isinstance(data, str | os.PathLike) else None
    if scheme_of(data) in SCHEMES:
        table = address_of(data).table  # an address may hold a password
    return [
        {
            "kind": m.reason,
            "attribute": m.attribute,
            "message": m.message,
            "sql": finding_sql(m.attribute, schema, table) if m.reason == "cells" and m.attribute else None,
        }
        for m in found
    ]


def _tables_misfits(rows: PrivateData, schema: Schema) -> list[dict[str, Any]]:
    """Return why any of the tables would be refused; where all fit by themselves, why they do not hang together."""
    found: list[tuple[str, str | None, str]] = []
    for name, own, table in _each(rows, schema):
        misfits = [m for m in find_misfits(table, own) if name == schema.name or m != NO_ROWS]
        found += [(m.reason, m.attribute, f"table {name!r}: {m.message}") for m in misfits]
    if not found:
        try:
            tables_fit(rows, schema)
        except DataError as error:
            found.append(("keys", error.attribute, error.message))
    return [{"kind": kind, "attribute": attribute, "message": said, "sql": None} for kind, attribute, said in found]


def _each(rows: PrivateData, schema: Schema) -> list[tuple[str, Schema, PrivateData]]:
    """Return the name, the schema and the rows of each table by itself."""
    alone = replace(schema, tables=(), file=None, text=None)
    own = {schema.name: alone} | {child.name: child.schema for child in schema.tables}
    places = data_places(rows.data, schema)
    return [(name, table, PrivateData(places[name], types=rows.types)) for name, table in own.items()]


def check_tables(rows: PrivateData, schema: Schema) -> list[TableFit]:
    """Return how many rows each table has, and how many of them are used, exactly: for the custodian."""
    return tables_fit(replace(rows, engine=None, master=None), schema)


def check_cells(rows: PrivateData, schema: Schema, show: int = 0) -> list[CellFit]:
    """Count how the cells of each attribute are read: missing, clamped, undeclared. Exact; for the custodian alone.

    With `show`, that many distinct offending cells of each sort come with the counts, and a note beside the schema says
    that rows were seen: what is declared otherwise from then on is published as `provenance = "after seeing rows"`.
    """
    if schema.tables:
        if show:
            raise UsageError(
                "--show is for one table: check the file with a schema of its own, with "
                f"account = {schema.account!r}, so that what was seen is noted for this one"
            )
        fits = {name: fit_of_cells(table, own) for name, own, table in _each(rows, schema)}
        return [replace(fit, attribute=f"{name}.{fit.attribute}") for name, own in fits.items() for fit in own]
    if show:
        note_rows_seen(schema)
    return fit_of_cells(rows, schema, show)


def check_rows(rows: PrivateData, schema: Schema) -> list[dict[str, Any]] | None:
    """Return how many rows break each rule, exactly: for the custodian. None where an engine counts them elsewhere."""
    broken = find_rule_breaks(rows, schema)
    return None if broken is None else [{"rule": r.text, "rows": n} for r, n in zip(schema.rules, broken)]


def check_rules_leave_rows(schema: Schema) -> None:
    """Refuse rules that no row could meet, by name: a fact about the schema, before a row is read."""
    if schema.rules:
        check_rows_are_left(schema)


def stays_in_place(rows: PrivateData) -> bool:
    """Return whether the rows are looked at where they are: in a database, or by an engine that was named."""
    return rows.engine is not None or (isinstance(rows.data, str) and scheme_of(rows.data) is not None)
