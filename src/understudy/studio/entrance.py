"""The entrance: a file that only its owner can read, which hands the token to the server without showing it.

The token is in no address, so in no history, no list of processes and no log: the file sends it in the body of a form.
"""

from __future__ import annotations

import os
import tempfile
from html import escape
from pathlib import Path

from understudy.studio.texts import TEXTS

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>{title}</title></head>
<body><form method="post" action="{action}"><input type="hidden" name="token" value="{token}">
<p>{words}</p><button>{button}</button></form><script>document.forms[0].submit()</script></body></html>
"""


class Entrance:
    """A file with one token, in a folder of its own; `close` removes both."""

    def __init__(self, action: str, token: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="understudy-studio-"))  # 0700
        self.path = self._folder / "open-studio.html"
        page = _PAGE.format(
            title=escape(TEXTS["title"]), action=escape(action), token=escape(token),
            words=escape(TEXTS["entrance_words"]), button=escape(TEXTS["entrance_button"]),
        )  # fmt: skip
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)

    def close(self) -> None:
        """Remove the file; again is no error."""
        self.path.unlink(missing_ok=True)
        if self._folder.exists():
            self._folder.rmdir()
