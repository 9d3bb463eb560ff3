"""Every SQLite connection opened during a test. What the program opens, the program closes, whatever happens.

Python warns of a connection that is never closed from 3.13 on only, and late; this tells on every version, in the test
that did it. A connection that a test opens, itself or as a `Ledger`, is closed for it.

Nothing waits for the disk: a test that pulls the plug does so to a process of its own, whose ledger is synced.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from unittest import mock

# They open a connection for whoever calls them, who has to close it.
ON_BEHALF = (
    "contextlib", "understudy.privacy.ledger", "understudy.privacy.ledger_file", "understudy.federation.journal", __name__,
)  # fmt: skip


class Unsynced(sqlite3.Connection):
    """A connection that asks for no sync; all else, such as a transaction that is rolled back, is as it is."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return super().execute(statement.replace("synchronous = FULL", "synchronous = OFF"), *values)


@contextmanager
def closed_connections() -> Iterator[None]:
    """Close the connections that tests opened inside; fail if one that the program opened is still open."""
    opened: list[tuple[sqlite3.Connection, str]] = []
    connect = sqlite3.connect

    def recorded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **{"factory": Unsynced, **options})
        opened.append((connection, _owner(sys._getframe(1))))
        return connection

    with mock.patch("sqlite3.connect", recorded):
        yield
    left = [(connection, owner) for connection, owner in opened if is_open(connection)]
    for connection, _ in left:
        connection.close()
    leaks = sorted({owner for _, owner in left if owner.startswith("understudy.")})
    assert not leaks, f"a connection to a SQLite file is opened and never closed by {', '.join(leaks)}"


def _owner(frame: FrameType | None) -> str:
    """Return the module that asked for the connection, and its function."""
    while frame is not None and frame.f_globals.get("__name__") in ON_BEHALF:
        frame = frame.f_back
    return "nobody" if frame is None else f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        connection.total_changes  # noqa: B018 - refused when closed
    except sqlite3.ProgrammingError:
        return False
    return True
