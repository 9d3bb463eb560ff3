"""Releases kept in the ledger: what `publish` returned without saving it, so that a crash does not lose what was paid.

They are public already. The newest few are kept; `understudy ledger recover` writes one again, `forget` removes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.errors import LedgerError

if TYPE_CHECKING:
    from understudy.privacy.ledger import Ledger

MAX_KEPT = 8
MAX_KEPT_BYTES = 64 * 1024**2


@dataclass(frozen=True)
class KeptRelease:
    """A release that can be written again: the entry it belongs to, and the size of its file."""

    seq: int
    at: str
    account: str
    hash: str
    bytes: int


class KeptReleases:
    """The releases that a ledger keeps."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def list(self, account: str | None = None) -> list[KeptRelease]:
        """Return what can be recovered, newest first."""
        if not self._ledger.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kept'").fetchone():
            return []
        sizes = dict(self._ledger.connection.execute("SELECT seq, length(release) FROM kept").fetchall())
        found = [e for e in self._ledger.entries(account) if e.kind == "release" and e.seq in sizes]
        return [KeptRelease(e.seq, e.at, e.account, e.body["release"], sizes[e.seq]) for e in reversed(found)]

    def add(self, seq: int, release: bytes) -> bool:
        """Keep a release in the present transaction, and let older ones go; False if it is too large to keep."""
        if len(release) > MAX_KEPT_BYTES:
            return False
        connection = self._ledger.connection
        connection.execute("INSERT INTO kept VALUES (?, ?)", (seq, release))
        total = 0
        for number, (old, size) in enumerate(
            connection.execute("SELECT seq, length(release) FROM kept ORDER BY seq DESC").fetchall()
        ):
            total += size
            if number >= MAX_KEPT or total > MAX_KEPT_BYTES:
                connection.execute("DELETE FROM kept WHERE seq = ?", (old,))
        return True

    def recover(self, account: str | None = None, release: str | None = None) -> tuple[KeptRelease, bytes]:
        """Return the newest kept release, or the one whose hash begins as given, with the bytes of its file."""
        found = [kept for kept in self.list(account) if release is None or kept.hash.startswith(release)]
        if not found:
            raise LedgerError(
                "no such release is kept here. A ledger keeps what `publish` returned in Python without save=, the "
                f"newest {MAX_KEPT} up to {MAX_KEPT_BYTES // 1024**2} MiB; a saved release is in its file"
            )
        row = self._ledger.connection.execute("SELECT release FROM kept WHERE seq = ?", (found[0].seq,)).fetchone()
        return found[0], bytes(row[0])

    def forget(self, account: str | None = None, release: str | None = None) -> int:
        """Remove kept releases: of one account, the one whose hash begins as given, or all. Return their number."""
        gone = [kept for kept in self.list(account) if release is None or kept.hash.startswith(release)]
        if gone:
            with self._ledger.transaction():
                for kept in gone:
                    self._ledger.connection.execute("DELETE FROM kept WHERE seq = ?", (kept.seq,))
        return len(gone)
