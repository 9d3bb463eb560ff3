"""Unfinished sessions: an owner was killed, and its curator began another one meanwhile, so nobody will continue them.

Where no noise was drawn the reservation is given back; where it was, it stays spent. What the journal held is removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from understudy.errors import FederationError
from understudy.federation.journal import OwnerJournal
from understudy.federation.roster import Roster
from understudy.privacy.entries import Entry
from understudy.privacy.ledger import Ledger

_REASON = "the curator began another session"


def session_file(ledger: Path, session: str) -> Path:
    """Return the path of an owner's journal, beside its ledger, whatever name the ledger was opened by."""
    ledger = Path(os.path.realpath(ledger))
    return ledger.with_name(f"{ledger.name}.{session}.session")


def close_unfinished(book: Ledger, account: str, roster: Roster, session: str) -> list[str]:
    """Close this roster's sessions other than `session` whose process is gone; a sentence about each."""
    ours = {e.body["request"]["session"] for e in book.entries(account) if _is_of(roster, e)}
    ended = book.close_unfinished(
        account, lambda entry: _is_of(roster, entry) and entry.body["request"]["session"] != session, _REASON
    )
    for path, other in _journals(book.path):
        if other != session:
            _remove(path, known=other in ours)
    return [f"An earlier session of {roster.name} was not finished, and {_REASON}: {_kept(roster, account, kind)}."
            for kind in ended]  # fmt: skip


def _is_of(roster: Roster, entry: Entry) -> bool:
    request = entry.body.get("request") if entry.kind == "reserve" else None
    return (
        isinstance(request, dict) and request.get("roster") == roster.hash and isinstance(request.get("session"), str)
    )


def _kept(roster: Roster, account: str, kind: str) -> str:
    return (
        f"{roster.budget} of account {account!r} stays spent" if kind == "close" else "its reservation was given back"
    )


def _journals(ledger: Path) -> Iterator[tuple[Path, str]]:
    begin, end = f"{ledger.name}.", ".session"
    for path in ledger.parent.iterdir():
        if path.name.startswith(begin) and path.name.endswith(end):
            yield path, path.name.removeprefix(begin).removesuffix(end)


def _remove(path: Path, known: bool) -> None:
    """Remove the journal of this roster's session, or of one in which nothing was asked, unless it is at work."""
    with suppress(FederationError):
        journal = OwnerJournal(path)
        if known or not journal.requests():
            journal.remove()
        else:
            journal.close_file()
