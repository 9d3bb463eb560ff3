"""`understudy ledger …`: what was spent, whether the file is whole, caps, interrupted runs, kept releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.options import Json
from understudy.cli.output import answer, say

if TYPE_CHECKING:
    from understudy.privacy.entries import Head
    from understudy.privacy.ledger import Ledger

app = typer.Typer(help="Show or verify a ledger, change a cap, end or recover runs.", no_args_is_help=True)
LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file.")]
AccountName = Annotated[str | None, typer.Option("--account", help="Only of this account.")]
ReleaseHash = Annotated[str | None, typer.Option("--release", help="The release whose hash begins like this.")]


@app.command("show")
def show(file: LedgerFile, json: Json = False) -> None:
    """Show every account with its total, and every entry."""
    with _open(file) as ledger:
        document = ledger.show()
    entries = [
        f"{entry['seq']:>5}  {entry['at']}  {entry['kind']:<8} {entry['account']:<16} {_what(entry)}"
        for entry in document["entries"]
    ]
    answer(json, document, *map(_account_line, document["accounts"]), "", *entries, f"\n{document['rule']}")


def _account_line(account: dict[str, Any]) -> str:
    cap = "no cap" if account["cap_epsilon"] is None else f"cap {account['cap_epsilon']:.6g}"
    delta = f", delta {account['delta']:.6g}" if account["delta"] else ""
    rows = account["rows_per_person"] or 1
    unit = "" if rows == 1 else f", for a person with up to {rows} rows"
    mixed = " (runs of smaller units converted by group privacy)" if account["mixed_units"] else ""
    stamp = "" if account["private"] else "  NOT PRIVATE (test entries)"
    spent = f"epsilon {account['epsilon']:.6g}{delta} spent{unit}{mixed}"
    return f"{account['account']}: {spent}, {cap}, {account['neighbours']}{_gaussian(account)}{stamp}"


def _gaussian(account: dict[str, Any]) -> str:
    """Return what is said of an account kept in Gaussian DP: what sums would say, and how many runs still fit."""
    if account["kept_in"] == "sums":
        return ""
    more = account["more_like_the_last"]
    room = "" if more is None else f"; room for {more} more {'run' if more == 1 else 'runs'} like the last"
    sums = f" (sums: epsilon {account['sum_of_epsilons']:.6g})" if account["epsilon"] else ""
    return f"; kept in Gaussian DP at delta {account['delta_of_conversion']:.6g}{sums}{room}"


@app.command("open")
def open_account(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file; made if it is not there.")],
    schema: Annotated[Path, typer.Option("--schema", help="Whose account it is.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="The cap: what all runs may come to.")],
    delta: Annotated[str, typer.Option("--delta", help="At which they are converted, for good: 1e-6.")],
    lists_delta: Annotated[str, typer.Option("--lists-delta", help="More of it, for lists to be discovered.")] = "0",
    json: Json = False,
) -> None:
    """Open an account in Gaussian DP: over many runs squares of mu add up, which promises far less than sums."""
    from understudy.privacy.ledger import Ledger
    from understudy.schema import Schema

    with Ledger(file) as ledger:
        account = ledger.open_account(Schema.open(schema), epsilon, delta, lists_delta)
    assert account.gaussian is not None and account.cap_epsilon is not None
    equal = {runs: float(account.gaussian.equal_runs(account.cap_epsilon, runs)) for runs in (1, 2, 5, 10, 20)}
    each = " · ".join(f"{runs} {'run' if runs == 1 else 'runs'} of {e:.3g}" for runs, e in equal.items())
    said = f"{account.name}: open in Gaussian DP, epsilon {epsilon} at delta {delta} for all runs together."
    answer(json, account.as_json() | {"equal_runs": equal}, said, f"Room for {each} (each with delta {delta}).")


@app.command("verify")
def verify(
    file: LedgerFile,
    release: Annotated[Path | None, typer.Option("--release", help="A release this ledger must still know.")] = None,
    anchor: Annotated[
        Path | None, typer.Option("--anchor", help="What `verify --json` printed earlier, kept elsewhere.")
    ] = None,
    json: Json = False,
) -> None:
    """Recompute every hash; with --release or --anchor, notice a ledger that was rolled back."""
    from understudy.release import Release

    known = [Release.open(release).head] if release else []
    known += [_anchored(anchor)] if anchor else []
    with _open(file) as ledger:
        head = ledger.verify()
        for earlier in known:
            ledger.verify(earlier)
    also = ", and the release is known" if release else ""
    also += ", and the anchor holds" if anchor else ""
    answer(json, {"entries": head.seq, "head": head.hash}, f"{head.seq} entries, every hash fits{also}.")


@app.command("cap")
def cap(
    file: LedgerFile,
    account: Annotated[str, typer.Argument(help="The account.")],
    epsilon: Annotated[str, typer.Argument(metavar="E", help="The new cap, or none.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it stays in the ledger.")],
    delta: Annotated[str | None, typer.Option("--delta", help="The new cap on delta.")] = None,
) -> None:
    """Change an account's cap, on the record."""
    with _open(file) as ledger:
        ledger.cap(account, None if epsilon == "none" else epsilon, reason, delta)
    say(f"{account}: the cap is now {epsilon}.")


@app.command("close")
def close(file: LedgerFile, account: Annotated[str, typer.Argument(help="The account.")], json: Json = False) -> None:
    """Give up the account's interrupted runs; what they drew stays spent, what drew nothing is given back."""
    from understudy.errors import LedgerError

    with _open(file) as ledger:
        if ledger.account(account) is None:
            raise LedgerError(f"the ledger has no account {account!r}")
        closed = len(ledger.close_unfinished(account))
    said = f"{account}: {closed} interrupted {'run' if closed == 1 else 'runs'} given up."
    answer(json, {"account": account, "closed": closed}, said)


@app.command("recover")
def recover(
    file: LedgerFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the release file goes.")],
    account: AccountName = None,
    release: ReleaseHash = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    json: Json = False,
) -> None:
    """Write a release again that Python's `publish` returned and nobody saved: the newest, unless another is named."""
    from understudy.errors import UsageError
    from understudy.release.replacement import replacing

    if output.exists() and not force:
        raise UsageError(f"{output.name!r} is there already: choose another name, or replace it with --force")
    with _open(file) as ledger:
        found, content = ledger.kept.recover(account, release)
    with replacing(output) as target:
        target.write(content)
    document = {"account": found.account, "release": found.hash, "at": found.at, "output": str(output)}
    made = f"the release {found.hash[:16]}… of account {found.account!r}, made {found.at}. No cost."
    answer(json, document, f"Wrote {output.name}: {made}")


@app.command("forget")
def forget(file: LedgerFile, account: AccountName = None, release: ReleaseHash = None, json: Json = False) -> None:
    """Remove releases that the ledger keeps for `recover`; its entries stay."""
    with _open(file) as ledger:
        gone = ledger.kept.forget(account, release)
    answer(json, {"forgotten": gone}, f"{gone} kept {'release' if gone == 1 else 'releases'} removed.")


def _anchored(anchor: Path) -> Head:
    """Return the head in a file that `ledger verify --json` printed."""
    import json

    from understudy.errors import LedgerError
    from understudy.privacy.entries import Head

    try:
        document = json.loads(anchor.read_text(encoding="utf-8"))
        return Head(int(document["entries"]), str(document["head"]))
    except (OSError, ValueError, TypeError, KeyError):
        raise LedgerError(
            f"{anchor.name!r} is no anchor: it is what `understudy ledger verify FILE --json` printed"
        ) from None


def _what(entry: dict[str, Any]) -> str:
    """Return what an entry says, in words."""
    match entry["kind"]:
        case "open":
            kept = f", in Gaussian DP at delta {_number(entry['delta'])}" if "kept" in entry else ""
            return f"{entry['neighbours']}, cap {_number(entry['epsilon'])}{kept}"
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
    from understudy.privacy.ledger import Ledger

    return Ledger(file, create=False)


def _number(text: str | None) -> str:
    from fractions import Fraction

    return "none" if text is None else f"{float(Fraction(text)):.6g}"
