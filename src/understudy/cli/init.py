"""`understudy init`: a draft schema from public things only. No row is read for what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli.output import say

if TYPE_CHECKING:
    from understudy.drafting import Documents, Draft
    from understudy.methods.discovery import Discovered


def init(
    data: Annotated[str, typer.Argument(help="The table: only its header (names, declared types, labels) is read.")],
    codebook: Annotated[
        Path | None,
        typer.Option(
            "--codebook",
            help="What describes the columns: CSV, Excel, SPSS, REDCap, Frictionless, JSON Schema, dbt, DDI …",
        ),
    ] = None,
    ddl: Annotated[Path | None, typer.Option("--ddl", help="A CREATE TABLE statement.")] = None,
    public: Annotated[
        Path | None, typer.Option("--public", help="A published file with the same columns; no copy of DATA.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line of a CSV names the columns; default: asked."),
    ] = None,
    names: Annotated[
        Path | None, typer.Option("--names", help="Names for a CSV without a header: one a line, or one line of CSV.")
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="One question a column, with a proposal; goes on where it was stopped.")
    ] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="Default: schema.toml.")] = Path("schema.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Buy what is left open from the rows, with this budget.")
    ] = None,
    delta: Annotated[str, typer.Option("--delta", help="With --epsilon; lists of values need one above 0.")] = "0",
    discover: Annotated[
        bool,
        typer.Option(
            "--discover", help="Leave what no source describes to be bought by `publish`, out of its epsilon."
        ),
    ] = False,
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, help="The row count, if it is public; else the draft asks for it.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option("--decimal", help="How numbers of a CSV are written: , or . (default: asked for `;`).")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="With --epsilon; default: $UNDERSTUDY_LEDGER, else beside -o.")
    ] = None,
    cap: Annotated[
        str | None, typer.Option("--cap", help="With --epsilon: cap of a new account, or none; default: this epsilon.")
    ] = None,
) -> None:
    """Draft a schema.toml; every point that is still open is marked `confirm`."""
    from understudy.drafting import Documents, draft_file
    from understudy.errors import UsageError
    from understudy.schema import Schema

    if ask and (epsilon is not None or discover):
        raise UsageError("--ask asks a person, --epsilon and --discover ask the rows: take one of them")
    if discover and epsilon is not None:
        raise UsageError("--epsilon buys now what --discover leaves to `publish`: take one of them")
    if decimal not in (None, ",", "."):
        raise UsageError("--decimal is , or .")
    if ask and output.exists() and not force:
        Schema.open(output)
        say(f"Going on with {output.name}.")
    else:
        documents = Documents(codebook, ddl, public, names)
        _check_output(output, force, data, documents)
        drafted = draft_file(data, documents, header, not ask and epsilon is None and not discover, rows, decimal)
        if epsilon is not None:
            return _buy(data, drafted, epsilon, delta, rows, ledger, cap, output)
        if discover:
            return _leave_open(drafted, rows, output)
        output.write_text(drafted.text, encoding="utf-8", newline="")
        say(f"Wrote {output.name} {drafted.told}.")
        _say_points(drafted, output, listed=not ask)
    if ask:
        _interview(output)


def _check_output(output: Path, force: bool, data: str, documents: Documents) -> None:
    from understudy.errors import UsageError

    if output.exists() and not force:
        raise UsageError(f"{output.name} is there already: use --force, or another name with -o")
    inputs = [path for path in (Path(data), *documents.given().values()) if path.exists()]
    if output.exists() and any(output.samefile(path) for path in inputs):
        raise UsageError(f"{output.name} is what the draft is made from: choose another name with -o")


def _say_points(drafted: Draft, output: Path, listed: bool) -> None:
    """Say what a person has to look at, each point with its reason."""
    from understudy.methods.forecast import promise
    from understudy.privacy.budget import Budget
    from understudy.schema import Schema
    from understudy.schema.open_points import reason

    schema = Schema.from_toml(drafted.text)
    if ("[table]", "header") in schema.unconfirmed:
        say(f"If those are not names but a person's row, delete {output.name}; see --no-header and --names.")
    if schema.unconfirmed and listed:
        say(f"{len(schema.unconfirmed)} points to look at (`confirm` in the file):")
        for name, point in schema.unconfirmed:
            say(f"  {name}: {point} - {reason(name, point, drafted.groups)}")
    if schema.modelled and not drafted.groups.get("undescribed") and (said := promise(schema, Budget(1))):
        say(f"The promise: {said}. See docs/decisions/0019.")  # of a draft that lacks columns it would be untrue
    if drafted.groups.get("undescribed") or any(point == "range" for _, point in schema.unconfirmed):
        say("What nobody describes can be bought out of the epsilon of `publish`: understudy init DATA --discover")


def _leave_open(drafted: Draft, rows: int | None, output: Path) -> None:
    """Write the schema whose open points `publish` buys, and say what to do next."""
    from understudy.drafting import left_open
    from understudy.schema.open_points import reason

    schema = left_open(drafted.text, rows, settled=False)
    output.write_text(_LEFT_OPEN + schema.to_toml(), encoding="utf-8", newline="")
    said = f"the row count is {rows:,}" if rows is not None else "the row count is private (or say --rows N)"
    say(f"Wrote {output.name} {drafted.told}.")
    say(f"{len(schema.undiscovered)} attributes are to be bought by `publish`, out of its epsilon; {said}.")
    for name, point in schema.unconfirmed:
        say(f"  to look at: {name}: {point} - {reason(name, point)}")
    roughly = "" if rows is not None else " --rows N (roughly how many)"
    say(f"Next: understudy plan --schema {output.name} --epsilon 1 --delta 1e-9{roughly}")


def _interview(output: Path) -> None:
    from understudy.schema.interview import interview

    left = interview(output, input, say)
    if left:
        say(f"{left} points are left open in {output.name}: the same command goes on with them.")
    else:
        say(f"{output.name} is complete. Next: understudy check DATA --schema {output.name}")


def _buy(
    data: str, drafted: Draft, epsilon: str, delta: str, rows: int | None, ledger: Path | None, cap: str | None,
    output: Path,
) -> None:  # fmt: skip
    """Buy what the draft leaves open, and write the schema that comes out."""
    import os

    from understudy.drafting import buy_draft

    named = os.environ.get("UNDERSTUDY_LEDGER")
    book = ledger or (Path(named) if named else output.absolute().parent / "understudy-ledger.db")

    def write(found: Discovered) -> None:
        output.write_text(_HEAD + found.schema.to_toml(), encoding="utf-8", newline="")

    found = buy_draft(
        data, drafted, epsilon=epsilon, delta=delta, rows=rows, ledger=book, cap=cap, keep=write
    )  # fmt: skip
    paid = [a.name for a in found.schema.attributes if a.provenance == "paid"]
    say(f"Wrote {output.name}: {len(paid)} attributes were bought at epsilon {epsilon}; the spend is in {book.name}.")
    for note in found.notes:
        say(f"  {note}")
    for name, key in found.schema.unconfirmed:
        say(f"  to look at: {name}: {key}")


_LEFT_OPEN = """# Drafted by `understudy init --discover`: what is "discover" here is bought by `publish`, with noise,
# out of its one epsilon. Whatever is declared instead (a kind, a range, a list of values) costs nothing.

"""
_HEAD = """# Bought by `understudy init --epsilon`: attributes with provenance = "paid" were found in the rows and paid
# for, so that a publication of this table may use them. What is changed by hand after looking at rows is not covered.

"""
