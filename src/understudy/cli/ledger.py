"""`understudy ledger show | verify | cap`: what was spent, whether the file is whole, and changing a cap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.options import Json
from understudy.cli.output import say, say_json

if TYPE_CHECKING:
    from understudy.privacy.ledger import Ledger

app = typer.Typer(help="Show, verify, or change the cap of a ledger.", no_args_is_help=True)
LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file.")]


@app.command("show")
def show(file: LedgerFile, json: Json = False) -> None:
    """Every account with its total, and every entry."""
    document = _open(file).show()
    if json:
        say_json(document)
        return
    for account in document["accounts"]:
        cap = "no cap" if account["cap_epsilon"] is None else f"cap {account['cap_epsilon']:.6g}"
        delta = f", delta {account['delta']:.6g}" if account["delta"] else ""
        stamp = "" if account["private"] else "  NOT PRIVATE (test entries)"
        spent = f"epsilon {account['epsilon']:.6g}{delta} spent"
        say(f"{account['account']}: {spent}, {cap}, {account['neighbours']}{stamp}")
    say("")
    for entry in document["entries"]:
        say(f"{entry['seq']:>5}  {entry['at']}  {entry['kind']:<8} {entry['account']:<16} {_what(entry)}")
    say(f"\n{document['rule']}")


@app.command("verify")
def verify(
    file: LedgerFile,
    release: Annotated[Path | None, typer.Option("--release", help="A release this ledger must still know.")] = None,
    json: Json = False,
) -> None:
    """Recompute every hash; with --release, notice a ledger that was rolled back."""
    from understudy.release import Release

    head = _open(file).verify(Release.open(release).head if release else None)
    if json:
        say_json({"entries": head.seq, "head": head.hash})
        return
    say(f"{head.seq} entries, every hash fits" + (", and the release is known." if release else "."))


@app.command("cap")
def cap(
    file: LedgerFile,
    account: Annotated[str, typer.Argument(help="The account.")],
    epsilon: Annotated[str, typer.Argument(metavar="E", help="The new cap, or none.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it stays in the ledger.")],
    delta: Annotated[str | None, typer.Option("--delta", help="The new cap on delta.")] = None,
) -> None:
    """Change an account's cap, on the record."""
    _open(file).cap(account, None if epsilon == "none" else epsilon, reason, delta)
    say(f"{account}: the cap is now {epsilon}.")


def _what(entry: dict[str, Any]) -> str:
    """An entry's own words."""
    match entry["kind"]:
        case "open":
            return f"{entry['neighbours']}, cap {_number(entry['epsilon'])}"
        case "cap":
            return f"cap {_number(entry['epsilon'])}: {entry['reason']}"
        case "reserve":
            return f"epsilon {_number(entry['epsilon'])} delta {_number(entry['delta'])}"
        case "charge":
            return f"{entry['purpose']} {entry['unit']} {_number(entry['cost'])}"
        case "release":
            return f"{entry['release'][:16]}…"
    return str(entry.get("reason", ""))


def _open(file: Path) -> Ledger:
    from understudy.errors import LedgerError
    from understudy.privacy.ledger import Ledger

    if not file.exists():
        raise LedgerError(f"there is no ledger {file.name!r}")
    return Ledger(file)


def _number(text: str | None) -> str:
    from fractions import Fraction

    return "none" if text is None else f"{float(Fraction(text)):.6g}"
