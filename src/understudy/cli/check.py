"""`understudy check`: does the data fit the schema? For the custodian's eyes; nothing is charged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.options import ColumnTypes, EngineName, Json, Master, SchemaFile
from understudy.cli.output import say, say_json

if TYPE_CHECKING:
    from understudy.checking import CellFit, PeopleFit, TableFit
    from understudy.schema import Schema

STAMP = "CUSTODIAN ONLY: exact figures from the private rows, outside any promise. Do not pass them on."
# the end of what `publish` says, which need not be said here
CHECK_HINT = ". `understudy check` says how many there are, and what would read them"
_SORTS = {"below": "below the range", "above": "above the range", "undeclared": "not declared"}


def check(
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, Parquet, a folder of tables, or an address: postgresql://host/db?table=t.")
    ],
    schema: SchemaFile,
    engine: EngineName = None,
    master: Master = None,
    types: ColumnTypes = None,
    show: Annotated[
        int, typer.Option("--show", min=0, help="Print up to so many of the cells themselves: CUSTODIAN ONLY.")
    ] = 0,
    json: Json = False,
) -> None:
    """Name every attribute that does not fit, say how many cells are clamped, missing or undeclared, and what to write.

    `--show N` prints the cells too. What is declared otherwise after that is published as declared after seeing rows.
    """
    from understudy import checking
    from understudy.schema import Schema as PublicSchema

    opened, rows = PublicSchema.open(schema), checking.PrivateData(data, engine, master, types)
    checking.check_rules_leave_rows(opened)
    problems = checking.check_fit(rows, opened, progress=False if json else None)
    fits = checking.check_cells(rows, opened, show)
    broken = checking.check_rows(rows, opened) if opened.rules and not problems else None
    people = checking.check_people(rows, opened) if opened.person and not problems else None
    tables = checking.check_tables(rows, opened) if opened.tables and not problems else None
    if json:
        document = _document(opened, problems, fits) | ({"rules": broken} if broken is not None else {})
        document |= {"people": people.as_json()} if people is not None else {}
        say_json(document | ({"tables": [fit.as_json() for fit in tables]} if tables is not None else {}))
    else:
        _say(opened, problems, fits, in_place=checking.stays_in_place(rows), shown=show > 0)
        if opened.rules and not problems:
            _say_rules(broken)
        if people is not None:
            _say_people(people)
        if tables is not None:
            _say_tables(tables)
        if opened.unconfirmed:
            say("Still to confirm in the schema: " + ", ".join(f"{key} of {name}" for name, key in opened.unconfirmed))
    if problems:
        raise typer.Exit(4)


def _document(schema: Schema, problems: list[dict[str, Any]], fits: list[CellFit]) -> dict[str, Any]:
    groups = _groups(schema)
    more: dict[str, Any] = {"taxonomies": groups} if groups else {}
    told = {fit.attribute: fit.as_json() for fit in fits if fit.offends or fit.missing}
    more |= {"stamp": STAMP, "cells": told} if told else {}
    confirm = [list(point) for point in schema.unconfirmed]
    return {"fits": not problems, "problems": problems, "confirm": confirm} | more


def _groups(schema: Schema) -> dict[str, str]:
    return {a.name: said for a in schema.modelled if a.taxonomy and (said := a.taxonomy.explained)}


def _say(
    schema: Schema, problems: list[dict[str, Any]], fits: list[CellFit], in_place: bool = False, shown: bool = False
) -> None:
    """Say what does not fit. Rows that stay in a database are looked at there: with the SQL that finds the cells."""
    if not problems:
        say("The data fits the schema.")
    for problem in problems:
        say(problem["message"].removesuffix(CHECK_HINT))
        if problem["sql"] and in_place:
            say(f"  {problem['sql']}\n")
    if any(problem["kind"] == "rows" for problem in problems) and fits:
        say(f"CUSTODIAN ONLY: the data has {fits[0].rows:,} rows.")
    offending = [fit for fit in fits if fit.offends or fit.missing]
    if any(fit.offends for fit in fits):
        say(f"\n{STAMP}")
        for fit in offending:
            say_fit(fit)
        if not in_place and not shown and any(fit.undeclared and not fit.has_other for fit in fits):
            say("--show 5 prints some of these cells; --json has the SQL that finds them.")
    for name, said in _groups(schema).items():
        say(f"Taxonomy of {name}: {said}")


def say_fit(fit: CellFit) -> None:
    """Say how one attribute's cells are read, what would read the rest, and the cells where they are to be shown."""
    clamped, counts = fit.below + fit.above, []
    if clamped:
        counts.append(f"{_share(clamped, fit.rows)} clamped ({fit.below:,} below the range, {fit.above:,} above)")
    if fit.undeclared:
        taken = "taken by `other`" if fit.has_other else "not declared"
        counts.append(f"{_share(fit.undeclared, fit.rows)} {taken} ({fit.undeclared:,})")
    if fit.missing:
        counts.append(f"{_share(fit.missing, fit.rows)} missing ({fit.missing:,})")
    say(f"  {fit.attribute}: {'; '.join(counts)}")
    for remedy in fit.remedies:
        say(f"      {remedy}")
    for what, cells in fit.cells.items():
        shown = ", ".join(f"{text!r} ({number:,})" for text, number in cells)
        say(f"      {_SORTS[what]}: {shown}")


def _share(count: int, rows: int) -> str:
    return f"{100 * count / rows:.3g} %"


def _say_people(people: PeopleFit) -> None:
    """Print how many rows are used: exact counts, for the custodian's eyes."""
    say(f"\n{STAMP}")
    say(f"  {people.rows:,} rows of {people.persons:,} people, at most {people.most:,} rows a person")
    beyond = people.rows - people.used
    cut = f"{beyond:,} rows ({_share(beyond, people.rows)}) come later in their person's order and are not used"
    say(f"  at_most = {people.at_most}: {cut if beyond else 'every row is used'}")


def _say_tables(tables: list[TableFit]) -> None:
    """Print how many rows of each table are used: exact counts, for the custodian's eyes."""
    say(f"\n{STAMP}")
    for fit in tables:
        if not fit.at_most:
            say(f"  {fit.table}: {fit.rows:,} rows, each of them protected with all that belongs to it")
            continue
        beyond = fit.rows - fit.used
        cut = f"{beyond:,} ({_share(beyond, fit.rows)}) are not used" if beyond else "every row is used"
        say(f"  {fit.table}: {fit.rows:,} rows, at most {fit.most:,} of one parent; at_most = {fit.at_most}: {cut}")


def _say_rules(broken: list[dict[str, Any]] | None) -> None:
    """Print how many rows break each rule: exact counts, for the custodian's eyes."""
    if broken is None:
        say("Rules are counted in files and frames; for a database, count the rows that break one there.")
        return
    for found in broken:
        said = f"{found['rows']:,} rows break it" if found["rows"] else "every row meets it"
        say(f"Rule {found['rule']!r}: {said}")
    if any(found["rows"] for found in broken):
        say(
            "No row is dropped: rows that break a rule are counted as they are, and the model, which has no place for "
            "them, takes the nearest distribution that has none. If a rule is wrong, take it out. These counts are "
            "exact and for your eyes only."
        )
