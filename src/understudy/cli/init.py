"""`understudy init`: a draft schema from public things only. No row is read for what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.output import say


def init(
    data: Annotated[str, typer.Argument(help="The table: only its header (names, declared types) is read.")],
    codebook: Annotated[
        Path | None, typer.Option("--codebook", help="A CSV that describes attributes and values.")
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
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("schema.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Draft a schema.toml; every point that is still open is marked `confirm`."""
    from understudy.drafting import Documents, draft_file
    from understudy.errors import UsageError
    from understudy.methods.forecast import promise
    from understudy.privacy.budget import Budget
    from understudy.schema import Schema

    documents = Documents(codebook, ddl, public, names)
    if output.exists() and not force:
        raise UsageError(f"{output.name} is there already: use --force, or another name with -o")
    inputs = [path for path in (Path(data), *documents.given().values()) if path.exists()]
    if output.exists() and any(output.samefile(path) for path in inputs):
        raise UsageError(f"{output.name} is what the draft is made from: choose another name with -o")
    drafted = draft_file(data, documents, header)
    schema = Schema.from_toml(drafted.text)
    open_points = schema.unconfirmed
    output.write_text(drafted.text, encoding="utf-8", newline="")
    say(f"Wrote {output.name} {drafted.told}.")
    if ("[table]", "header") in open_points:
        say(f"If those are not names but a person's row, delete {output.name}; see --no-header and --names.")
    if open_points:
        say(f"{len(open_points)} points to look at (`confirm` in the file):")
        for name, key in open_points:
            say(f"  {name}: {key}")
    if said := promise(schema, Budget(1)):
        say(f"The promise: {said}. See docs/decisions/0019.")
