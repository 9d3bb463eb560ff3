"""`understudy federation certs | roster | simulate`: setting a federation up, and trying it out on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Delta, Json, MethodName, Quiet, SchemaFile, Settings, settings
from understudy.cli.output import StatusLine, answer, say
from understudy.errors import UsageError

app = typer.Typer(help="Several owners: certificates, the roster, a trial on one machine.", no_args_is_help=True)

Owners = Annotated[str, typer.Option("--owners", help="Names, with commas.")]
CuratorName = Annotated[str, typer.Option("--curator", help="The curator's name.")]
Colluding = Annotated[int, typer.Option("-t", "--colluding", min=1, help="t: owners that may join the curator.")]
Dropping = Annotated[int, typer.Option("-u", "--dropping", min=0, help="u: owners that may fall out of a round.")]


@app.command("certs")
def certs(
    folder: Annotated[Path, typer.Argument(help="Where they go; nothing there is overwritten.")],
    owners: Owners,
    curator: CuratorName = "curator",
    host: Annotated[list[str], typer.Option("--host", help="Where the curator is called; may be repeated.")] = [  # noqa: B006
        "127.0.0.1"
    ],
    days: Annotated[int, typer.Option("--days", min=1, help="How long they are valid.")] = 90,
) -> None:
    """Make a trial authority, and a certificate with its key for each owner and the curator."""
    from understudy.federation.certificates import make_certificates

    names = _names(owners)
    make_certificates(folder, names, curator, host, days)
    say(f"Wrote ca.pem, and NAME.pem with NAME.key for {', '.join([*names, curator])}, to {folder.name}/.")
    say("Everyone gets ca.pem and its own two files; a .key goes to nobody else, and ca.key stays where it is.")
    say("For a trial. In earnest each owner has its own authority sign a key that never leaves the house.")


@app.command("roster")
def roster(
    schema: SchemaFile,
    epsilon: Annotated[str, typer.Option("--epsilon", help="Each owner's privacy budget, for everything.")],
    owners: Annotated[str, typer.Option("--owners", help="NAME=ROWS with commas; NAME alone under add-remove.")],
    certs: Annotated[Path, typer.Option("--certs", help="The folder with each NAME.pem.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the roster goes.")] = Path("roster.toml"),
    name: Annotated[str, typer.Option("--name", help="What the federation is called.")] = "federation",
    curator: CuratorName = "curator",
    delta: Delta = "0",
    colluding: Colluding = 1,
    dropping: Dropping = 0,
    method: MethodName = "auto",
    set: Settings = [],  # noqa: B006 - the name of the option; typer copies it
) -> None:
    """Write the roster: who takes part, with which certificates, on what terms."""
    from understudy.federation.completing import losses
    from understudy.federation.writing import write_roster
    from understudy.schema import Schema

    declared = Schema.open(schema)
    made = write_roster(
        output, declared, name, certs, curator, _rows(owners), epsilon, delta, colluding, dropping, method,
        settings(set),
    )  # fmt: skip
    counted_on = f"t = {made.colluding}, u = {made.dropping}, h = {made.honest}"
    say(f"Wrote {output.name}: {len(made.owners)} owners, {made.budget} each, {counted_on}, {made.method}.")
    for note in losses(declared, made):
        say(f"{note[0].upper()}{note[1:]}.")
    say(f"Hash {made.hash}. Everyone needs this same file: compare the hash by telephone.")


@app.command("simulate")
def simulate(
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet (gzip too): all rows, to be split.")],
    schema: SchemaFile,
    epsilon: Annotated[str, typer.Option("--epsilon", help="Each owner's privacy budget, for everything.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the synthetic table goes: .csv or .parquet.")],
    parties: Annotated[int, typer.Option("--parties", min=2, max=100, help="How many owners.")] = 3,
    split: Annotated[str, typer.Option("--split", help="random, or by:ATTRIBUTE.")] = "random",
    delta: Delta = "0",
    colluding: Colluding = 1,
    dropping: Dropping = 0,
    method: MethodName = "auto",
    set: Settings = [],  # noqa: B006 - the name of the option; typer copies it
    release: Annotated[Path | None, typer.Option("--release", help="Default: OUT.release.zip.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also a public report: .html.")] = None,
    keep: Annotated[Path | None, typer.Option("--keep", help="Work in this new folder and keep it.")] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds an owner has for an answer.")] = 300.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Try a federation out: split DATA among owners, and run `curator` and `party` as processes on this machine."""
    from understudy.federation.simulate import FederationTrial
    from understudy.schema import Schema

    status = StatusLine(quiet or json)
    trial = FederationTrial(
        data, Schema.open(schema), epsilon, delta, output, parties, split, colluding, dropping, method,
        settings(set), release, report, keep, timeout, status,
    )  # fmt: skip
    try:
        done = trial.run()
    finally:
        status.clear()
    answer(json, done.document, done.summary)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if len(names) < 2:
        raise UsageError("--owners takes two names or more, with commas between them")
    return names


def _rows(text: str) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for part in _names(text):
        name, sign, rows = part.partition("=")
        if name in found or (sign and not rows.isdigit()):
            raise UsageError(f"--owners takes NAME=ROWS, each name once, not {part!r}")
        found[name] = int(rows) if sign else None
    return found
