"""`understudy sign`: a detached signature over a release's hash and its ledger's head. The release is not changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Json
from understudy.cli.output import answer


def sign(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")],
    key: Annotated[Path | None, typer.Option("--key", help="An Ed25519 private key: OpenSSH or PEM.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the signature goes. Default: RELEASE.sig.")
    ] = None,
    print_statement: Annotated[
        bool,
        typer.Option("--print", help="Print what is to be signed, for `ssh-keygen -Y sign -n understudy-release`."),
    ] = False,
    json: Json = False,
) -> None:
    """Sign RELEASE with a key of one's own; `understudy verify RELEASE --key PUB` checks it anywhere, offline."""
    from understudy.errors import UsageError
    from understudy.release import Release
    from understudy.release.signing import sign as write_signature
    from understudy.release.signing import signature_file, statement

    opened = Release.open(release)
    if print_statement:
        typer.echo(statement(opened).decode(), nl=False)
        return
    if key is None:
        raise UsageError("a signature needs a key: --key FILE, or --print for one that ssh-keygen holds")
    target = output or signature_file(release)
    if target.resolve() in (release.resolve(), key.resolve()):
        raise UsageError("the signature would take the place of the release or the key: choose another name")
    made = write_signature(opened, key, target)
    said = f"Wrote {target.name}: {made.fingerprint} vouches for release {opened.hash[:16]}…."
    answer(json, {"signature": str(target), "release": opened.hash, "key": made.fingerprint}, said)
