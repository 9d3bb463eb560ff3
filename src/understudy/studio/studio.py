"""A studio: the folder, the sessions and what waits, for one server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from understudy.release import Release
from understudy.studio.folder import RELEASES, Folder
from understudy.studio.runs import Runs
from understudy.studio.sessions import Sessions
from understudy.studio.spending import Confirmations

MAX_OPEN = 4  # releases that are kept in memory


@dataclass(eq=False)
class Studio:
    """Everything that the pages of one server share."""

    folder: Folder
    ledger: Path | None = None  # that was named on the command line
    key: Path | None = None  # to sign with; named on the command line, never by a page
    sessions: Sessions = field(default_factory=Sessions)
    confirmations: Confirmations = field(default_factory=Confirmations)
    tables: dict[str, str] = field(default_factory=dict)  # which file a schema was drafted from

    used: Callable[[], None] = lambda: None  # told that a page is looked at

    def __post_init__(self) -> None:
        self.runs = Runs(self.folder)
        self._releases: dict[tuple[str, int], Release] = {}
        self._lock = threading.Lock()

    def url(self, path: str) -> str:
        """Return the address of a page, from the server's root."""
        return f"{self.sessions.base}{path}"

    def release(self, name: str) -> Release:
        """Return an opened release of the folder; the last few stay open, with the refits that were made of them."""
        path = self.folder.file(name, RELEASES)
        key = (name, path.stat().st_mtime_ns)
        with self._lock:
            if key not in self._releases:
                self._releases = dict([*self._releases.items()][-MAX_OPEN + 1 :]) | {key: Release.open(path)}
            return self._releases[key]
