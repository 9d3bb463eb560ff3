"""`understudy party`: one owner takes part in a federation with its own rows, its own ledger and its own consent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli.options import (
    Authority,
    Certificate,
    ColumnTypes,
    EngineName,
    Json,
    Key,
    LedgerFile,
    Master,
    Quiet,
    RosterFile,
    SchemaFile,
)
from understudy.cli.output import StatusLine, say, say_json
from understudy.errors import UsageError

if TYPE_CHECKING:
    from understudy.federation.party import AgreementTerms


def party(
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet (gzip too).")],
    schema: SchemaFile,
    roster: RosterFile,
    curator: Annotated[str, typer.Option("--curator", help="The curator's address: https://host:port.")],
    cert: Certificate,
    key: Key,
    ca: Authority,
    ledger: LedgerFile = None,
    cap: Annotated[
        str | None, typer.Option("--cap", help="Cap of a new account, or none; default: the roster's epsilon.")
    ] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="Agree to the roster's terms without being asked.")
    ] = False,
    patience: Annotated[
        float, typer.Option("--patience", min=1, help="Seconds to wait for a curator that is away.")
    ] = 600.0,
    engine: EngineName = None,
    master: Master = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with an interrupted session of an earlier version, on the same table."),
    ] = False,
    types: ColumnTypes = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take part with DATA. Only ever calls out; shows what is asked and what it costs before anything is counted."""
    from understudy.federation.certificates import Identity
    from understudy.federation.party import Party
    from understudy.federation.roster import Roster
    from understudy.privacy.run_ledger import default_ledger
    from understudy.schema import Schema

    if not approve and not sys.stdin.isatty():
        raise UsageError("nobody is there to ask: with --approve, this owner agrees to the roster's terms beforehand")
    agreed = Roster.open(roster)
    public = agreed.agreed_schema(Schema.open(schema))
    status = StatusLine(quiet or json)

    def agree(terms: AgreementTerms) -> bool:
        status.clear()
        if not (approve and (quiet or json)):
            sys.stderr.write(terms.text() + "\n")
        return approve or typer.confirm("Take part?", default=False, err=True)

    book = ledger or default_ledger(public)
    taking = Party(
        data, public, agreed, Identity(cert, key, ca), curator, book, cap, engine, master, patience, agree, status,
        resume=resume, types=types,
    )  # fmt: skip
    try:
        done = taking.take_part()
    finally:
        status.clear()
    if json:
        charges = [charge.shown() for charge in done.charges]
        say_json(
            {
                "owner": done.owner, "federation": agreed.name, "session": done.session,
                "epsilon": float(agreed.budget.epsilon), "delta": float(agreed.budget.delta), "charges": charges,
                "account": done.account, "ledger": str(book), "release": done.release, "resumed": done.resumed,
                "rounds": done.rounds, "bytes": done.bytes,
            }
        )  # fmt: skip
        return
    traffic = f"{done.rounds} rounds, {done.bytes['sent'] / 1e6:.2f} MB out, {done.bytes['received'] / 1e6:.2f} MB in"
    say(f"{done.owner} took part in {agreed.name}: {traffic}.")
    say(f"{agreed.budget} of account {done.account!r} is spent, in {book.name}. The release is {done.release[:16]}…")
