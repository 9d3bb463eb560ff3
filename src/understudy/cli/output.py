"""What verbs print: text for people, one JSON object for scripts, errors on standard error."""

from __future__ import annotations

import json
import re
import shutil
import sys
from typing import Any, NoReturn

from understudy.errors import UnderstudyError

# What would move the cursor, colour the screen or turn the writing round: a name in a schema may hold it.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def say(text: str, as_it_is: bool = False) -> None:
    """Print to standard output; a terminal that cannot show a character gets a question mark instead of a crash.

    A terminal gets lines that fit it, unless the text is a file of some format that may be copied from there.
    """
    encoding = sys.stdout.encoding or "utf-8"
    if sys.stdout.isatty() and not as_it_is:
        text = fitted(text, shutil.get_terminal_size().columns)
    sys.stdout.write(shown(text).encode(encoding, errors="replace").decode(encoding) + "\n")
    sys.stdout.flush()


def shown(text: str) -> str:
    """Replace each character that would act on a terminal instead of being shown by a replacement mark."""
    return _UNSEEN.sub("\ufffd", text)


def fitted(text: str, width: int) -> str:
    """Break lines that are wider than a terminal between words, under where their last column begins.

    A last column that begins far to the right goes below its line.
    """
    return "\n".join(_fitted(line, width) for line in text.split("\n"))


def _fitted(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    margin = len(line) - len(line.lstrip()) + 2
    last = max((found.end() for found in re.finditer(r"(?<=\S)  +(?=\S)", line)), default=0)
    if not last or last > width:
        return _filled(line, width, margin)
    if last <= width // 2:
        return _filled(line, width, last)
    below = " " * (margin + 2)
    return line[:last].rstrip() + "\n" + _filled(below + line[last:], width, margin + 2)


def _filled(line: str, width: int, margin: int) -> str:
    import textwrap

    return textwrap.fill(
        line, width, subsequent_indent=" " * margin, break_on_hyphens=False, break_long_words=False,
        replace_whitespace=False, expand_tabs=False,
    )  # fmt: skip


def say_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def answer(as_json: bool, document: dict[str, Any], *text: str) -> None:
    """Print what a verb found: one JSON object for scripts, or texts for people."""
    if as_json:
        return say_json(document)
    for part in text:
        say(part)


def fail(error: UnderstudyError, as_json: bool) -> NoReturn:
    if as_json:
        say_json(error.as_json())
    else:
        help_page = error.message.startswith("Usage:")  # a verb was asked for and none named
        said = f"{'' if help_page else 'understudy: '}{shown(error.message)}"
        sys.stderr.write((fitted(said, shutil.get_terminal_size().columns) if sys.stderr.isatty() else said) + "\n")
    sys.exit(error.exit_code)


class StatusLine:
    """What a process is doing: one line that changes on a terminal, a line each in a log, nothing when quiet."""

    def __init__(self, quiet: bool) -> None:
        self._on = not quiet
        self._terminal = sys.stderr.isatty()
        self._width = 0
        self._last = ""

    def __call__(self, text: str) -> None:
        if not self._on or text == self._last:
            return
        self._last = text
        if self._terminal:
            text = text[:100]
            sys.stderr.write("\r" + text.ljust(self._width))
            self._width = max(self._width, len(text))
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._on and self._terminal:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
