"""The report's file: its name says whom it is for, and it is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from understudy.errors import UsageError
from understudy.release import Release
from understudy.release.replacement import replacing
from understudy.schema import Schema

CUSTODIAN_SUFFIX = ".custodian.html"


def check_public_file(path: Path) -> None:
    """Refuse a name that is no public file's, before any work or charge."""
    name = path.name.lower()
    if not name.endswith((".html", ".htm")):
        raise UsageError(f"{path.name!r}: a report is written to a file that ends .html")
    if name.endswith(CUSTODIAN_SUFFIX):
        raise UsageError(f"{path.name!r}: this report is public; {CUSTODIAN_SUFFIX} is kept for exact figures")
    _check_place(path)


def check_custodian_file(path: Path) -> None:
    if not path.name.lower().endswith(CUSTODIAN_SUFFIX):
        raise UsageError(
            f"{path.name!r}: exact figures are not for release, so the report's name must end {CUSTODIAN_SUFFIX}. "
            "With --epsilon the figures are bought, and the report is public"
        )
    _check_place(path)


def check_release(release: Release, schema: Path) -> None:
    """Refuse to put figures beside the promise of another table."""
    bought = release.card.bought
    own = {release.schema.hash, release.card.schema_hash, bought and bought.declared_schema_hash}  # found, declared
    if Schema.open(schema).hash not in own:
        raise UsageError(
            f"the release of {release.schema.name!r} was made with another schema than {schema.name!r}: "
            "give the schema it was made with, or leave --release out"
        )


def _check_place(path: Path) -> None:
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"the report cannot be written to {str(path)!r}: choose another place")


def write_report(path: Path, html: str) -> None:
    with replacing(path) as file:
        if path.name.lower().endswith(CUSTODIAN_SUFFIX):
            Path(file.name).chmod(0o600)
        file.write(html.encode("utf-8"))
