"""The server: loopback only, no log of requests, and an end when nobody has used it for a while."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable

import uvicorn

from understudy.errors import UsageError
from understudy.studio.app import make_app
from understudy.studio.entrance import Entrance
from understudy.studio.guard import ENTER
from understudy.studio.sessions import ENTRY_SECONDS
from understudy.studio.studio import Studio
from understudy.studio.texts import TEXTS

LOOPBACK = ("127.0.0.1", "localhost")
DEFAULT_IDLE_MINUTES = 30.0
_LOOK = 0.5  # seconds between two looks at the clock


def check_host(host: str) -> None:
    """Refuse to listen on anything but this machine."""
    if host not in LOOPBACK:
        raise UsageError(TEXTS["refused_listen"])


class StudioServer:
    """One studio on one port of this machine."""

    def __init__(self, studio: Studio, port: int = 0, idle_minutes: float = DEFAULT_IDLE_MINUTES) -> None:
        self._studio = studio
        self._idle = 60 * idle_minutes
        self._last = time.monotonic()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.bind(("127.0.0.1", port))
        except OSError:
            self._socket.close()
            raise UsageError(f"port {port} is taken: choose another with --port, or leave it out") from None
        self.port: int = self._socket.getsockname()[1]
        studio.used = self._used
        app = make_app(studio, self.port)
        config = uvicorn.Config(
            app, access_log=False, log_level="critical", server_header=False, lifespan="off", ws="none",
            proxy_headers=False, timeout_graceful_shutdown=2,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._entrances: list[Entrance] = []

    def _used(self) -> None:
        self._last = time.monotonic()

    def new_entrance(self) -> Entrance:
        """Return an entrance for one browser; its file is gone in a minute."""
        made = Entrance(f"http://127.0.0.1:{self.port}{ENTER}", self._studio.sessions.new_entry())
        self._entrances.append(made)
        timer = threading.Timer(ENTRY_SECONDS, made.close)
        timer.daemon = True
        timer.start()
        return made

    def run(self) -> None:
        """Serve until it is stopped, or until nobody has used it for a while. Runs that are under way go on."""
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            for entrance in self._entrances:
                entrance.close()
            self._socket.close()

    def stop(self) -> None:
        """End the server soon."""
        self._server.should_exit = True

    def _watch(self) -> None:
        while not self._server.should_exit:
            if time.monotonic() - self._last > self._idle:
                self.stop()
            time.sleep(_LOOK)


def serve(
    studio: Studio, port: int, idle_minutes: float, browse: bool, say: Callable[[str], None]
) -> None:  # fmt: skip
    """Open the page and serve it; Enter in the terminal opens it once more."""
    server = StudioServer(studio, port, idle_minutes)
    say(TEXTS["served"].format(folder=studio.folder.root, port=server.port, minutes=f"{idle_minutes:g}"))

    def let_in() -> None:
        entrance = server.new_entrance()
        opened = browse and _browse(entrance)
        say(TEXTS["opened" if opened else "open_by_hand"].format(file=entrance.path))

    let_in()
    if sys.stdin is not None and sys.stdin.isatty():
        say(TEXTS["again_by_enter"])
        threading.Thread(target=_each_enter, args=(let_in,), daemon=True).start()
    server.run()
    say(TEXTS["ended"])


def _browse(entrance: Entrance) -> bool:
    with contextlib.suppress(webbrowser.Error):
        return webbrowser.open(entrance.path.as_uri())
    return False


def _each_enter(let_in: Callable[[], None]) -> None:
    for _ in sys.stdin:
        let_in()
