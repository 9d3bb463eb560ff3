"""`understudy doctor`: what is installed and what works here."""

from __future__ import annotations

from typing import Any

import typer

from understudy.cli.options import Json
from understudy.cli.output import say, say_json


def doctor(json: Json = False) -> None:
    """Check this machine: versions, exact noise, compiled loops, the ledger's file locks."""
    from understudy.diagnosis import examine

    findings = examine()
    if json:
        say_json({"findings": findings})
    else:
        for finding in findings:
            say(f"{_mark(finding)}  {finding['what']:<22} {finding['detail']}")
    if any(not f["ok"] and f["needed"] for f in findings):
        raise typer.Exit(1)


def _mark(finding: dict[str, Any]) -> str:
    """Return `ok`, `--` for what is optional and not installed, `!!` for what is needed or does not work."""
    if finding["ok"]:
        return "ok"
    return "--" if finding["absent"] and not finding["needed"] else "!!"
