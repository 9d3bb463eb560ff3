"""Journals: what each side has to know again after it was killed, on disk before anything follows from it.

The curator's has the session and the outcome of every stage. A curator that was killed runs its method again from the
start; what was asked before is answered from here, so that it comes to the same point of the same round and goes on
with the owners from there. An owner's has the requests it accepted, its replies and its rounds' seeds.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.errors import FederationError
from understudy.federation.owner import Request
from understudy.lock import ProcessLock, on_network_file_system
from understudy.privacy.ledger_file import committing, open_database
from understudy.privacy.random_source import SystemSource
from understudy.undo import undone_on_error

_SESSION = re.compile("[0-9a-f]{32}")
_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS stages (round INTEGER NOT NULL, stage TEXT NOT NULL, PRIMARY KEY (round, stage));
CREATE TABLE IF NOT EXISTS letters (
  round INTEGER NOT NULL, stage TEXT NOT NULL, owner TEXT NOT NULL, asked TEXT NOT NULL, body BLOB NOT NULL, reply BLOB,
  PRIMARY KEY (round, stage, owner));
"""


_OWNER_TABLES = """
CREATE TABLE IF NOT EXISTS requests (
  number INTEGER PRIMARY KEY, round INTEGER NOT NULL, stage TEXT NOT NULL, body BLOB NOT NULL, reply BLOB,
  UNIQUE (round, stage));
CREATE TABLE IF NOT EXISTS seeds (round INTEGER PRIMARY KEY, seed BLOB NOT NULL);
"""


class _Journal:
    """Opens the file or makes it (readable by its owner only); one process at a time."""

    def __init__(self, path: Path, tables: str, taken: str) -> None:
        """Open the journal; `taken` is the complaint where another process has it."""
        self.path = path
        self._lock = ProcessLock(path.with_name(path.name + ".lock"))
        if not self._lock.acquire():
            raise FederationError(taken)
        with undone_on_error(self._lock.release):
            self._connection = _opened(path, tables)

    def close_file(self) -> None:
        """Close the journal; what it holds is continued another time."""
        self._connection.close()
        self._lock.release()

    def remove(self) -> None:
        """Remove the journal of a session that is over and told: nothing is left to continue."""
        self.close_file()
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def _rows(self, statement: str, values: tuple[object, ...], types: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return what a statement selects, in columns of these types; refuse a file that was damaged."""
        try:
            rows = self._connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OverflowError):
            rows = [()]
        if any(len(row) != len(types) or not all(map(isinstance, row, types)) for row in rows):
            raise FederationError(
                f"the journal {self.path.name!r} is damaged: its session cannot be continued. What was charged stays "
                "charged; move the file away to begin another session"
            )
        return rows

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            with committing(self._connection):
                yield
        except sqlite3.Error as error:
            raise FederationError(f"{self.path.name!r} could not be written: {error}") from None


class CuratorJournal(_Journal):
    """The curator's memory of a session."""

    def __init__(self, path: Path, request: str) -> None:
        """Open the journal. `request` identifies what the curator was started for: another one does not continue it."""
        if not path.parent.is_dir():
            raise FederationError(f"there is no folder {path.parent.name!r} for the journal")
        taken = f"another curator is at work on {path.name!r}: wait for it, or choose another output"
        super().__init__(path, _TABLES, taken)
        self._guard = threading.Lock()
        with undone_on_error(self.close_file):
            known = self.noted("session")
            self.resumed = known is not None
            self.session = known or SystemSource().words(2).tobytes().hex()
            self._check_request(request)

    def _check_request(self, request: str) -> None:
        if not self.resumed:
            with self._transaction():
                self._connection.execute("INSERT INTO facts VALUES ('session', ?)", (self.session,))
                self._connection.execute("INSERT INTO facts VALUES ('request', ?)", (request,))
        elif self.noted("request") != request or not _SESSION.fullmatch(self.session):
            raise FederationError(
                f"the journal {self.path.name!r} is of another session (another roster, schema, method or version of "
                "understudy). Run the command it was made with to finish that one, or move the file away"
            )

    def noted(self, name: str) -> str | None:
        """Return a fact written down before."""
        rows = self._rows("SELECT value FROM facts WHERE name = ?", (name,), (str,))
        return str(rows[0][0]) if rows else None

    def note(self, name: str, value: str) -> None:
        with self._guard, self._transaction():
            self._connection.execute("INSERT INTO facts VALUES (?, ?)", (name, value))

    def closed(self, round: int, stage: str, bodies: Mapping[str, bytes]) -> dict[str, bytes] | None:
        """Return the replies of a stage that is over, None if it is not; it must have asked the same."""
        key, which = (round, stage), "WHERE round = ? AND stage = ?"
        if not self._rows(f"SELECT 1 FROM stages {which}", key, (int,)):
            return None
        letters = self._rows(f"SELECT owner, asked, reply FROM letters {which}", key, (str, str, bytes | None))
        if {owner: asked for owner, asked, _ in letters} != {owner: _digest(body) for owner, body in bodies.items()}:
            raise FederationError(
                f"the interrupted session cannot be continued: it asked something else in round {round} (another "
                "version of understudy?). What the owners were charged stays spent"
            )
        return {owner: reply for owner, _, reply in letters if reply is not None}

    def close(self, round: int, stage: str, bodies: Mapping[str, bytes], replies: Mapping[str, bytes]) -> None:
        """Close a stage: these replies count, for good."""
        rows = [(round, stage, owner, _digest(body), body, replies.get(owner)) for owner, body in bodies.items()]
        with self._guard, self._transaction():
            self._connection.executemany("INSERT INTO letters VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._connection.execute("INSERT INTO stages VALUES (?, ?)", (round, stage))


class OwnerJournal(_Journal):
    """An owner's memory of one session (`owner.RoundStore`): it holds secrets, and is removed when the session ends."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _OWNER_TABLES, "this owner takes part in the session already, in another process")

    def requests(self) -> list[Request]:
        return self._requests("ORDER BY number", ())

    def find(self, round: int, stage: str) -> Request | None:
        found = self._requests("WHERE round = ? AND stage = ?", (round, stage))
        return found[0] if found else None

    def _requests(self, which: str, values: tuple[object, ...]) -> list[Request]:
        statement = f"SELECT round, stage, body, reply FROM requests {which}"
        return [Request(*row) for row in self._rows(statement, values, (int, str, bytes, bytes | None))]

    def accept(self, round: int, stage: str, body: bytes) -> None:
        self._write("INSERT INTO requests (round, stage, body) VALUES (?, ?, ?)", (round, stage, body))

    def reply(self, round: int, stage: str, reply: bytes) -> None:
        self._write("UPDATE requests SET reply = ? WHERE round = ? AND stage = ?", (reply, round, stage))

    def seed(self, round: int, fresh: bytes) -> bytes:
        self._write("INSERT OR IGNORE INTO seeds VALUES (?, ?)", (round, fresh))
        return bytes(self._rows("SELECT seed FROM seeds WHERE round = ?", (round,), (bytes,))[0][0])

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        with self._transaction():
            self._connection.execute(statement, values)


def _opened(path: Path, tables: str) -> sqlite3.Connection:
    """Open a journal, on a disk whose locks can be trusted."""
    if on_network_file_system(path.parent):
        raise FederationError("the journal would lie on a network file system, where its locks cannot be trusted")
    try:
        return open_database(path, lambda connection: connection.executescript(tables), one_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise FederationError(f"{path.name!r} cannot be opened as a journal: {error}") from None


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
