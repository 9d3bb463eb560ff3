"""The command line: one file per verb, no logic. Heavy imports wait inside the verbs, so --help answers at once."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

import typer
from typer.main import get_command

from understudy.cli import (
    audit,
    card,
    check,
    curator,
    demo,
    doctor,
    evaluate,
    federation,
    init,
    ledger,
    party,
    plan,
    publish,
    query,
    report,
    sample,
    sign,
    studio,
    verify,
)
from understudy.cli.output import fail
from understudy.errors import UnderstudyError, UsageError

_INTERRUPTED = 130  # what a newer typer makes of Ctrl-C

app = typer.Typer(
    name="understudy",
    help="Publish a synthetic stand-in for a private table, under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_VERBS = (
    demo.demo, init.init, check.check, plan.plan, publish.publish, sample.sample, query.query, evaluate.evaluate,
    report.report, curator.curator, party.party, card.card, sign.sign, verify.verify, audit.audit, studio.studio,
    doctor.doctor,
)  # fmt: skip
for _verb in _VERBS:
    app.command(_verb.__name__)(_verb)
app.add_typer(ledger.app, name="ledger")
app.add_typer(federation.app, name="federation")


@app.callback(invoke_without_command=True)
def version_callback(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Publish a synthetic stand-in for a private table, under differential privacy."""
    if version:
        from understudy.version import VERSION

        typer.echo(f"understudy {VERSION}")
        raise typer.Exit


@cache
def _command() -> Any:
    """Return the parser of all verbs, which typer would build again at every call."""
    return get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """Run a verb; every failure becomes one message and the exit code of its kind."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    try:
        result = _command()(given, standalone_mode=False)
        if result == _INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(result if isinstance(result, int) else 0)
    except UnderstudyError as error:
        fail(error, as_json)
    except (typer.Abort, KeyboardInterrupt):
        fail(UnderstudyError("stopped. What was charged stays charged; run the same command to go on."), as_json)
    except Exception as error:
        if hasattr(error, "format_message"):  # the parser's: click's own, or the copy of click inside a newer typer
            fail(UsageError(error.format_message()), as_json)
        if os.environ.get("UNDERSTUDY_DEBUG"):
            raise
        kind = type(error).__name__  # the text of a foreign error may hold a cell: it is not shown
        message = f"something unexpected went wrong inside understudy ({kind}). Set UNDERSTUDY_DEBUG=1 for a traceback."
        fail(UnderstudyError(message), as_json)
