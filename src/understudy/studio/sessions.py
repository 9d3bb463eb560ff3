"""Who may use the page: a token that opens it once, and the sessions that it opened."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

ENTRY_SECONDS = 60.0
MAX_SESSIONS = 32
HEADER = "x-understudy-token"


@dataclass(frozen=True)
class Session:
    """One browser that came in: what its cookie holds, and what every change carries in a header."""

    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)


class Sessions:
    """Entry tokens and open sessions, in memory alone: they end with the server.

    `base` is the path under which every page lies. It is random, and the cookie is for it alone: cookies of one host go
    to all its ports, and a stranger's server on another port of this machine must not be sent ours.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.base = "/" + secrets.token_urlsafe(16)
        self._clock = clock
        self._entries: dict[str, float] = {}
        self._open: list[Session] = []

    def new_entry(self) -> str:
        """Return a token that lets one browser in, once, within a minute."""
        token = secrets.token_urlsafe(32)
        self._entries[token] = self._clock() + ENTRY_SECONDS
        return token

    def enter(self, token: str) -> Session | None:
        """Return a new session for a token that was not used before and is not too old."""
        now, found = self._clock(), None
        for known, ends in list(self._entries.items()):
            if hmac.compare_digest(known.encode(), token.encode()):
                del self._entries[known]
                found = Session() if now <= ends else None
            elif now > ends:
                del self._entries[known]
        if found is not None:
            self._open = [*self._open, found][-MAX_SESSIONS:]
        return found

    def session(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie."""
        given = (cookie or "").encode()
        return next((s for s in self._open if hmac.compare_digest(s.cookie.encode(), given)), None)
