"""`understudy studio`: the steward's page, on this machine only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import LedgerFile
from understudy.cli.output import say


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder with the table; the default is here.")
    ] = Path(),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Default: any that is free.")] = 0,
    host: Annotated[str, typer.Option("--host", help="This machine only; anything else is refused.")] = "127.0.0.1",
    ledger: LedgerFile = None,
    key: Annotated[Path | None, typer.Option("--key", help="An Ed25519 private key to sign releases with.")] = None,
    idle: Annotated[float, typer.Option("--idle", min=0.1, help="Minutes without use after which it ends.")] = 30,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Open a local page: from a table to a signed release without a terminal. Ctrl-C ends it; runs go on."""
    from understudy.errors import UsageError, import_extra

    for module in ("starlette", "uvicorn", "jinja2"):
        import_extra(module, "studio", f"the studio needs {module}")
    from understudy.studio.folder import Folder
    from understudy.studio.server import check_host, serve
    from understudy.studio.studio import Studio

    check_host(host)
    if key is not None and not key.is_file():
        raise UsageError(f"there is no key {str(key)!r}: name an Ed25519 private key, OpenSSH or PEM")
    made = Studio(Folder.of(folder), ledger and ledger.absolute(), key and key.absolute())
    serve(made, port, idle, browser, say)
