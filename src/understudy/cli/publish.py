"""`understudy publish`: a private table in, a synthetic table and a release out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import (
    ColumnTypes,
    Delta,
    EngineName,
    Json,
    LedgerFile,
    Master,
    MethodName,
    PriorFile,
    Quiet,
    SchemaFile,
    Settings,
    settings,
)
from understudy.cli.output import answer


def publish(
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, Parquet, a folder of tables, or an address: postgresql://host/db?table=t.")
    ],
    schema: SchemaFile,
    epsilon: Annotated[str, typer.Option("--epsilon", help="The privacy budget, for everything.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where rows go: .csv or .parquet; of several tables, a folder.")
    ],
    delta: Delta = "0",
    method: MethodName = "auto",
    set: Settings = [],  # noqa: B006 - the name of the option; typer copies it
    release: Annotated[Path | None, typer.Option("--release", help="Default: OUT.release.zip.")] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=0, help="Synthetic rows; default: as many as there are.")
    ] = None,
    ledger: LedgerFile = None,
    cap: Annotated[
        str | None, typer.Option("--cap", help="Cap of a new account, or none; default: this epsilon.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also a public report: .html.")] = None,
    engine: EngineName = None,
    master: Master = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a release file that is there already.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run of an earlier version, on the same table.")
    ] = False,
    accept_large_epsilon: Annotated[
        bool, typer.Option("--accept-large-epsilon", help="An epsilon above 10 is meant.")
    ] = False,
    types: ColumnTypes = None,
    prior: PriorFile = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish a synthetic stand-in of DATA."""
    from understudy.cli.publication import publish_to_files

    result = publish_to_files(
        data, schema, epsilon, delta, method, settings(set), output,
        release_path=release, rows=rows, ledger=ledger, cap=cap, report=report, engine=engine, master=master,
        force=force, resume=resume, accept_large_epsilon=accept_large_epsilon, types=types, prior=prior,
        quiet=quiet or json, progress=False if quiet or json else None,
    )  # fmt: skip
    said = [*(f"note: {note}" for note in result.made.notes), result.made.release.summary()]
    said.append(f"\nWrote {result.files.names}; the spend is in {result.ledger.name}.")
    answer(json, result.as_json(), *said)
