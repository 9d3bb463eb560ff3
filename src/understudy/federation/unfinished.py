"""Unfinished sessions: an owner was killed, and its curator began another one meanwhile, so nobody will continue them.

Where no noise was drawn the reservation is given back; where it was, it stays spent. What the journal held is removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from understudy.errors import FederationError
from understudy.federation.journal import OwnerJournal
from understudy.federation.roster import Roster
from understudy.lock import ProcessLock
from understudy.privacy.ledger import Ledger
from understudy.privacy.reservation import Reservation

_REASON = "the curator began another session"


def session_file(ledger: Path, session: str) -> Path:
    """The journal of an owner's session, beside its ledger."""
    return ledger.with_name(f"{ledger.name}.{session}.session")


def close_unfinished(book: Ledger, account: str, roster: Roster, session: str) -> list[str]:
    """Close this roster's sessions other than `session` whose process is gone; a sentence about each."""
    entries = [e for e in book.entries(account) if "reservation" in e.body]
    reserved = [e for e in entries if e.kind == "reserve"]
    ended = {e.body["reservation"] for e in entries if e.kind not in ("reserve", "charge")}
    ours = {e.body["reservation"]: e.body["request"]["session"] for e in reserved if _is_of(roster, e.body["request"])}
    said = []
    for reservation, other in ours.items():
        if other != session and reservation not in ended:
            said += _close(book, account, roster, reservation)
    for path, other in _journals(book.path):
        if other != session:
            _remove(path, known=other in ours.values())
    return said


def _is_of(roster: Roster, request: object) -> bool:
    return (
        isinstance(request, dict) and request.get("roster") == roster.hash and isinstance(request.get("session"), str)
    )


def _close(book: Ledger, account: str, roster: Roster, id: str) -> list[str]:
    lock = ProcessLock(book.path.with_name(f"{book.path.name}.{id}.lock"))
    if not lock.acquire():
        return []  # its process is at work
    reservation = Reservation(book, account, id, roster.budget, lock, resumed=True)
    drawn = reservation.drawn
    reservation.abandon(_REASON)
    kept = f"{roster.budget} of account {account!r} stays spent" if drawn else "its reservation was given back"
    return [f"An earlier session of {roster.name} was not finished, and {_REASON}: {kept}."]


def _journals(ledger: Path) -> Iterator[tuple[Path, str]]:
    begin, end = f"{ledger.name}.", ".session"
    for path in ledger.parent.iterdir():
        if path.name.startswith(begin) and path.name.endswith(end):
            yield path, path.name.removeprefix(begin).removesuffix(end)


def _remove(path: Path, known: bool) -> None:
    """The journal of a session of this roster, or one in which nothing was asked; unless its process is at work."""
    with suppress(FederationError):
        journal = OwnerJournal(path)
        if known or not journal.requests():
            journal.remove()
        else:
            journal.close_file()
