"""`understudy report`: a release as a page to look at and to sign. PUBLIC: it reads no row and costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Json
from understudy.cli.output import say, say_json


def report(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the page goes: .html.")],
    json: Json = False,
) -> None:
    """Write RELEASE as one self-contained HTML page: promise, budget, network, tables, and the card, ready to sign."""
    from understudy.errors import UsageError
    from understudy.release import Release
    from understudy.report import public_report
    from understudy.report.file import check_public_file, write_report

    check_public_file(output)
    if output.resolve() == release.resolve():
        raise UsageError("the report would take the place of the release: choose another name")
    page = public_report(Release.open(release))
    write_report(output, page)
    if json:
        say_json({"output": str(output), "bytes": len(page.encode())})
        return
    say(f"Wrote {output.name}. It was made from the release alone; no row was read.")
