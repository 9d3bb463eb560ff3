"""`understudy verify`: does a release fit its hashes, its ledger, its signature? Offline; reads no row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.options import Json
from understudy.cli.output import answer


def verify(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")],
    key: Annotated[
        Path | None, typer.Option("--key", help="The public key that must have signed it: id_ed25519.pub, or PEM.")
    ] = None,
    signature: Annotated[
        Path | None, typer.Option("--signature", help="The signature's file. Default: RELEASE.sig.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The ledger it was made from: does it hold this release?")
    ] = None,
    json: Json = False,
) -> None:
    """Check RELEASE: that it is whole, and with --key that the holder of that key vouches for it."""
    from understudy.errors import ReleaseError
    from understudy.release import Release
    from understudy.release.signing import checked, signature_file

    opened = Release.open(release)
    found: dict[str, Any] = {"release": opened.hash, "whole": True, "signed": False, "key": None, "trusted": False}
    lines = [f"Whole       the file fits its own hashes: release {opened.hash}"]
    place = signature or signature_file(release)
    if key is not None or signature is not None or place.exists():
        if not place.exists():
            raise ReleaseError(f"{release.name!r} is not signed: there is no {place.name!r}")
        made = checked(opened, place, key)
        found |= {"signed": True, "key": made.fingerprint, "trusted": key is not None}
        whose = "the key that was given" if key is not None else "whose key that is, only you can know (--key)"
        lines.append(f"Signed      by {made.fingerprint}: {whose}")
    else:
        lines.append("Not signed  whoever can write the file can write its hashes: nothing here says who made it")
    if ledger is not None:
        found["ledger"] = _in_ledger(opened, ledger)
        lines.append(f"Ledger      holds this release, at entry {found['ledger']}")
    answer(json, found, *lines)


def _in_ledger(release: Any, path: Path) -> int:
    """Return the number of the ledger's entry that ends with this release."""
    from understudy.errors import LedgerError
    from understudy.privacy.ledger import Ledger

    with Ledger(path, create=False) as book:
        book.verify(release.head)
        for entry in book.entries():
            if entry.kind == "release" and entry.body.get("release") == release.hash:
                return entry.seq
    raise LedgerError(f"the ledger {path.name!r} never released this file: its hash is in no entry")
