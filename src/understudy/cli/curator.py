"""`understudy curator`: several owners' tables become one release; the curator has no rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.options import (
    Authority,
    Certificate,
    Json,
    Key,
    Quiet,
    RosterFile,
    SchemaFile,
    Settings,
    settings,
)
from understudy.cli.output import answer
from understudy.errors import UsageError
from understudy.progress import ProgressBar

if TYPE_CHECKING:
    from understudy.cli.publication import OutputFiles
    from understudy.federation.curator import Curation
    from understudy.federation.roster import Roster


def curator(
    schema: SchemaFile,
    epsilon: Annotated[str, typer.Option("--epsilon", help="Each owner's privacy budget; as in the roster.")],
    roster: RosterFile,
    listen: Annotated[str, typer.Option("--listen", help="Where owners call in: HOST:PORT.")],
    cert: Certificate,
    key: Key,
    ca: Authority,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the synthetic table goes: .csv or .parquet.")],
    delta: Annotated[str | None, typer.Option("--delta", help="As in the roster, or left out.")] = None,
    method: Annotated[str | None, typer.Option("--method", help="As in the roster, or left out.")] = None,
    set: Settings = [],  # noqa: B006 - the name of the option; typer copies it
    release: Annotated[Path | None, typer.Option("--release", help="Default: OUT.release.zip.")] = None,
    rows: Annotated[int | None, typer.Option("--rows", min=0, help="Synthetic rows; default: all owners'.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also a public report: .html.")] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds an owner has for an answer.")] = 300.0,
    wait: Annotated[float, typer.Option("--wait", min=1, help="Seconds to wait for all owners to join.")] = 3600.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Gather the owners of a roster and publish one synthetic stand-in of all their tables."""
    from understudy.cli.publication import output_files
    from understudy.federation.certificates import Identity
    from understudy.federation.curator import Desk, curate
    from understudy.federation.roster import Roster
    from understudy.release.writing import check_output
    from understudy.schema import Schema

    agreed = Roster.open(roster)
    check_agreed(agreed, epsilon, delta, method, settings(set))
    host, port = host_and_port(listen)
    check_output(output)
    files = output_files({"the roster": roster, "the schema": schema}, output, release, report, rows)
    line = ProgressBar(False if quiet or json else None)

    def note(text: str) -> None:
        if not quiet:
            line.clear()
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def opened(at: int, resumed: bool) -> None:
        again = " (the interrupted session goes on)" if resumed else ""
        note(f"{agreed.curator.name} listens at https://{host}:{at}{again}")

    def awaited(missing: Sequence[str]) -> None:
        note(f"waiting for {', '.join(missing)}")

    desk = Desk(
        host, port, Identity(cert, key, ca), files.release.with_name(files.release.name + ".session"), timeout, wait
    )
    try:
        public = agreed.agreed_schema(Schema.open(schema))
        made = curate(public, agreed, desk, save=files.save, progress=line, opened=opened, awaited=awaited)
    finally:
        line.clear()
    most = max(sum(both.values()) for both in made.bytes.values())
    answer(
        json, as_json(made, files), made.release.summary(),
        f"\nWrote {files.names}; the spend is in every owner's own ledger.",
        f"{len(made.owners)} owners, {made.rounds} rounds, at most {most / 1e6:.2f} MB with one owner.",
        *(f"{name} was not there at the end: {why}." for name, why in made.dropped.items()),
    )  # fmt: skip


def as_json(made: Curation, files: OutputFiles) -> dict[str, Any]:
    """Return what `curator --json` prints."""
    from fractions import Fraction

    charges = [{**c, "cost": float(Fraction(c["cost"]))} for c in made.charges]
    return files.as_json(
        made.release, made.seconds, charges, made.resumed,
        owners=list(made.owners), dropped=made.dropped, rounds=made.rounds, bytes=made.bytes,
    )  # fmt: skip


def check_agreed(roster: Roster, epsilon: str, delta: str | None, method: str | None, options: dict[str, str]) -> None:
    """Refuse a command whose options are not what the owners agreed on."""
    from understudy.privacy.budget import exact, show

    said: list[tuple[str, Any, Any]] = [
        ("epsilon", show(exact(epsilon, "epsilon")), show(roster.budget.epsilon)),
        ("delta", None if delta is None else show(exact(delta, "delta")), show(roster.budget.delta)),
        ("method", method, roster.method),
        *((f"--set {key}", value, dict(roster.options).get(key)) for key, value in options.items()),
    ]
    for what, here, there in said:
        if here is not None and here != there:
            raise UsageError(
                f"{what} is {here} here and {there or 'not set'} in the roster: the roster is what was agreed"
            )


def host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen takes HOST:PORT such as 0.0.0.0:8443, not {text!r}")
    return host.strip("[]"), int(port)
