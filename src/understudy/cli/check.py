"""`understudy check`: does the data fit the schema? For the custodian's eyes; nothing is charged."""

from __future__ import annotations

from typing import Annotated

import typer

from understudy.cli.options import ColumnTypes, EngineName, Json, Master, SchemaFile
from understudy.cli.output import say, say_json


def check(
    data: Annotated[str, typer.Argument(help="CSV, TSV, Parquet, or an address: postgresql://host/db?table=t.")],
    schema: SchemaFile,
    engine: EngineName = None,
    master: Master = None,
    types: ColumnTypes = None,
    json: Json = False,
) -> None:
    """Name every attribute that does not fit, and print the SQL that finds its cells."""
    from understudy.publishing import check_fit
    from understudy.schema import Schema

    opened = Schema.open(schema)
    problems = check_fit(data, opened, engine, master, types)
    open_points = opened.unconfirmed
    groups = {a.name: said for a in opened.modelled if a.taxonomy and (said := a.taxonomy.explained)}
    if json:
        confirm = [list(p) for p in open_points]
        more = {"taxonomies": groups} if groups else {}
        say_json({"fits": not problems, "problems": problems, "confirm": confirm} | more)
    elif not problems:
        say("The data fits the schema.")
    for problem in problems if not json else ():
        say(problem["message"])
        if problem["sql"]:
            say(f"  {problem['sql']}\n")
    for name, said in groups.items() if not json else ():
        say(f"Taxonomy of {name}: {said}")
    if open_points and not json:
        say("Still to confirm in the schema: " + ", ".join(f"{key} of {name}" for name, key in open_points))
    if problems:
        raise typer.Exit(4)
