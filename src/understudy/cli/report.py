"""`understudy report`: a release as a page to look at and to sign. PUBLIC: it reads no row and costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.options import Json
from understudy.cli.output import answer


def report(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the page goes: .html.")],
    key: Annotated[
        Path | None, typer.Option("--key", help="The public key that must have signed RELEASE (RELEASE.sig).")
    ] = None,
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
    opened = Release.open(release)
    page = public_report(opened, signature=_signature(opened, release, key))
    write_report(output, page)
    said = f"Wrote {output.name}. It was made from the release alone; no row was read."
    answer(json, {"output": str(output), "bytes": len(page.encode())}, said)


def _signature(opened: Any, release: Path, key: Path | None) -> str | None:
    """Return in words whether RELEASE.sig holds; one that does not, or that another key made, stops the report."""
    from understudy.errors import ReleaseError
    from understudy.release.signing import checked, signature_file

    place = signature_file(release)
    if not place.exists():
        if key is not None:
            raise ReleaseError(f"{release.name!r} is not signed: there is no {place.name!r}")
        return None
    made = checked(opened, place, key)
    return f"holds, by {made.fingerprint}" + (", the key that was asked for" if key is not None else "")
