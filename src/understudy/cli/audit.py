"""`understudy audit`: check this installation on made-up tables. Reads no private data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Json, Quiet
from understudy.cli.output import StatusLine, answer


def audit(
    long: Annotated[bool, typer.Option("--long", help="More worlds, methods and runs: some minutes.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also write a page: .html.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Check the promise here: exact laws, lower bounds of epsilon, replay and samplers, each with broken twins."""
    from understudy.audit.audit_page import audit_page
    from understudy.audit.auditing import audit as run_audit
    from understudy.report.file import check_public_file, write_report

    if output is not None:
        check_public_file(output)
    line = StatusLine(quiet or json)
    report = run_audit(long=long, told=lambda part: line(f"audit: {part} ..."))
    line.clear()
    if output is not None:
        write_report(output, audit_page(report))
    answer(json, report.as_json(), report.text() + (f"\nWrote {output.name}." if output is not None else ""))
    if not report.holds:
        raise typer.Exit(1)
