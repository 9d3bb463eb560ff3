"""Words: the pieces that conditions and queries are written in, and complaints that point at one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from understudy.errors import UsageError, did_you_mean

_TOKEN = re.compile(
    r"""(?P<name>"(?:[^"]|"")*")
      | (?P<text>'(?:[^']|'')*')
      | (?P<operator><->|<=|>=|!=|<>|==|<|>|=)
      | (?P<mark>[(),])
      | (?P<number>[-+]?\.?\d[\w.:+-]*)
      | (?P<sign>\*\*|[-+*/])
      | (?P<word>[^\W\d][\w.-]*)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A piece of the text: what it says, how it was written and where it stands."""

    kind: str  # name, text, operator, mark, number, sign, word; "end" past the last one
    text: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """Return the word as a keyword; quoted words are none."""
        return self.text.casefold() if self.kind == "word" else ""


def words_of(text: str, what: str) -> Iterator[Token]:
    """Cut a text into words; `what` says in complaints what kind of text it is."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            _unreadable(text, at, what)
        kind, said = str(match.lastgroup), match.group()
        if kind in ("name", "text"):
            said = said[1:-1].replace(said[0] * 2, said[0])
        yield Token(kind, said, at, match.end())
        at = match.end()
    yield Token("end", "", len(text.rstrip()), len(text.rstrip()) + 1)


def _unreadable(text: str, at: int, what: str) -> NoReturn:
    mark = text[at]
    place = Token("mark", mark, at, at + 1)
    if mark in "\"'":
        complain(text, place, "this quote is never closed")
    if mark in "‘’“”":
        complain(text, place, "use straight quotes: \"name\" and 'value'")
    complain(text, place, f"{mark!r} has no meaning in a {what}; put names in \"double\", values in 'single' quotes")


def complain(text: str, word: Token, message: str, attribute: str | None = None) -> NoReturn:
    """Refuse the text: the message, the text, and a caret under the offending word."""
    line = "".join(" " if character.isspace() else character for character in text)
    carets = "^" * max(1, word.end - word.start)
    raise UsageError(f"{message}\n  {line}\n  {' ' * word.start}{carets}", attribute=attribute)


def hint(word: str, known: Sequence[str]) -> str:
    """Return the nearest known word, whatever its case; else all of them when they are few."""
    import difflib

    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), list(folded), n=1)
    return f"Did you mean {folded[near[0]]!r}?" if near else did_you_mean(word, list(known))
