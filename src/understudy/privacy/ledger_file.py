"""The ledger's SQLite file: creating it, recognising it, bringing an older one up to date.

A file is recognised before it is opened for writing, so that somebody else's database is never changed. Format 2 has
one more column in `entries`; a program that knows format 1 only fails at its first write, before it reads a row.
Format 3 is a file of format 2 in which an account is kept in Gaussian DP.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from understudy.errors import LedgerError
from understudy.formats import GAUSSIAN_LEDGER_FORMAT, LEDGER_FORMAT
from understudy.lock import on_network_file_system
from understudy.undo import undone_on_error

APPLICATION_ID = 0x75646C67  # "udlg": what SQLite's header says of our files from format 2 on
_COLUMNS_1 = ("seq", "at", "kind", "account", "body", "previous", "hash")

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
  seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, account TEXT NOT NULL,
  body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, format INTEGER NOT NULL DEFAULT 1);
CREATE TABLE IF NOT EXISTS journal (
  reservation TEXT NOT NULL, step INTEGER NOT NULL, ask TEXT NOT NULL, state TEXT NOT NULL, outcome BLOB,
  PRIMARY KEY (reservation, step));
CREATE TABLE IF NOT EXISTS sources (reservation TEXT PRIMARY KEY, fingerprint TEXT, release TEXT);
CREATE TABLE IF NOT EXISTS kept (seq INTEGER PRIMARY KEY, release BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL);
"""
_NO_SUMS = """
CREATE TRIGGER IF NOT EXISTS no_sums BEFORE INSERT ON entries
WHEN NEW.kind = 'reserve' AND instr(NEW.body, '"mu^2": ') = 0 AND EXISTS (
  SELECT 1 FROM entries WHERE kind = 'open' AND account = NEW.account AND instr(body, '"kept": "mu^2"'))
BEGIN SELECT RAISE(ABORT, 'the account is kept in Gaussian DP and this program only adds sums: upgrade it'); END
"""


def connect(path: Path, *, create: bool = True) -> sqlite3.Connection:
    """Open a ledger file, or make one (readable by its owner only) if `create`; refuse everything else unchanged."""
    if not path.parent.is_dir():
        raise LedgerError(f"there is no folder {path.parent.name!r} for the ledger: make it, or choose another place")
    if path.is_dir():
        raise LedgerError(f"{path.name!r} is a folder: a ledger is a file, {path.name + '/ledger.db'!r} for example")
    if on_network_file_system(path.parent):
        raise LedgerError(
            "the ledger would lie on a network file system, where its locks cannot be trusted: "
            "choose a local path with --ledger or UNDERSTUDY_LEDGER"
        )
    if not path.exists() and not create:
        raise LedgerError(f"there is no ledger {path.name!r}")
    try:
        found = _found_format(path)
        if found is None and not create:
            raise LedgerError(f"{path.name!r} is not a ledger: it holds nothing")
        return open_database(path, _prepare_new if found is None else _prepare)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"{path.name!r} cannot be opened as a ledger: {error}") from None


def open_database(
    path: Path, prepare: Callable[[sqlite3.Connection], object], one_thread: bool = True
) -> sqlite3.Connection:
    """Open a SQLite file, or make one that its owner alone can read; synced at every commit, closed if that fails."""
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=one_thread)
    with undone_on_error(connection.close):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        prepare(connection)
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA secure_delete = ON")


def _prepare_new(connection: sqlite3.Connection) -> None:
    _prepare(connection)
    upgrade(connection)


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring the file to the present format, in one transaction; a file of that format is left alone."""
    if connection.in_transaction:
        _upgrade(connection)
        return
    connection.execute("BEGIN IMMEDIATE")
    with committing(connection):
        _upgrade(connection)


@contextmanager
def committing(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the transaction that was begun, or roll it back if anything is raised."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _upgrade(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] >= LEDGER_FORMAT:
        return
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    if _columns(connection) == _COLUMNS_1:
        connection.execute("ALTER TABLE entries ADD COLUMN format INTEGER NOT NULL DEFAULT 1")
    connection.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {LEDGER_FORMAT}")


def mark_gaussian(connection: sqlite3.Connection) -> None:
    """Say in the file that it has an account kept in Gaussian DP, in the present transaction.

    A program that only adds sums and has the file open already is refused by the file itself.
    """
    connection.execute(_NO_SUMS)
    connection.execute(f"PRAGMA user_version = {GAUSSIAN_LEDGER_FORMAT}")


def _found_format(path: Path) -> int | None:
    """Return the format of the ledger at `path`, None for a new or empty file; refuse what is no ledger of ours."""
    if not path.exists() or path.stat().st_size == 0:
        return None
    with _looking(path) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = _columns(connection)
    if application == APPLICATION_ID:
        if version > GAUSSIAN_LEDGER_FORMAT:
            raise LedgerError(
                f"the ledger {path.name!r} was written by a newer understudy (format {version}; this one knows "
                f"{GAUSSIAN_LEDGER_FORMAT}): upgrade to use it"
            )
        return int(version)
    if application == 0 and version == 0 and not tables:
        return None
    if application == 0 and version == 0 and tables == {"entries", "journal"} and columns == _COLUMNS_1:
        return 1
    raise LedgerError(f"{path.name!r} is a database of something else, not a ledger: nothing was changed in it")


@contextmanager
def _looking(path: Path) -> Iterator[sqlite3.Connection]:
    """Open for a look that leaves no trace: without SQLite's side files, unless they are there already."""
    pending = path.with_name(path.name + "-wal").exists()
    mode = "mode=ro" if pending else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=60)
    try:
        yield connection
    finally:
        connection.close()


def _columns(connection: sqlite3.Connection) -> tuple[str, ...]:
    return tuple(name for _, name, *_ in connection.execute("PRAGMA table_info(entries)"))
