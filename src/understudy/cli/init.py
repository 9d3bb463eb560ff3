"""`understudy init`: a draft schema from public things only. Not one row is read."""

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
    public: Annotated[Path | None, typer.Option("--public", help="A public file with the same columns.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("schema.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Draft a schema.toml; every point that is still open is marked `confirm`."""
    from understudy.errors import UsageError
    from understudy.schema import Schema
    from understudy.schema.header import draft_file

    if output.exists() and not force:
        raise UsageError(f"{output.name} is there already: use --force, or another name with -o")
    text = draft_file(data, codebook, ddl, public)
    open_points = Schema.from_toml(text).unconfirmed
    output.write_text(text, encoding="utf-8", newline="")
    say(f"Wrote {output.name} from public things only; no row was read.")
    if open_points:
        say(f"{len(open_points)} points to look at (`confirm` in the file):")
        for name, key in open_points:
            say(f"  {name}: {key}")
