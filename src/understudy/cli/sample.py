"""`understudy sample`: more rows from a release. Post-processing: it costs nothing, and a seed is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Json, settings
from understudy.cli.output import say, say_json


def sample(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help=".csv or .parquet.")],
    rows: Annotated[int | None, typer.Option("--rows", min=0, help="Default: as many as the release has.")] = None,
    given: Annotated[list[str], typer.Option("--given", help="attribute=value; may be repeated.")] = [],  # noqa: B006
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    json: Json = False,
) -> None:
    """Draw synthetic rows from RELEASE."""
    from understudy.release import Release
    from understudy.release.writing import check_output

    check_output(output)
    opened = Release.open(release)
    count = opened.default_rows if rows is None else rows
    opened.write(output, count, settings(given), seed)
    if json:
        say_json({"rows": count, "output": str(output)})
        return
    say(f"Wrote {count:,} rows to {output.name}.")
