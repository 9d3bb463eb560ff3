"""The wire: what one message looks like, and how large it may be. Nothing is parsed before its size is known.

A message is a head of fixed length and a body. Owners speak first, always; the curator answers:

    owner       join      its roster; the curator says welcome with the session, or refused
                next      what now? The curator says task, wait, or end
                answer    the reply to a task; the curator says taken, or refused
                decline   this owner does not answer this task; the curator says taken
                leave     this owner cannot go on, and why; the curator says taken
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from typing import Any, Final

from understudy.errors import FederationError
from understudy.federation.strict_json import read_json

VERSION: Final = 1
PATH: Final = "/understudy/federation"
LARGEST: Final = 256 << 20  # a masked table of the largest size fits
LARGEST_NOTE: Final = 1 << 20  # of a message that is not a task or an answer
KINDS: Final = ("join", "welcome", "next", "task", "wait", "answer", "taken", "decline", "leave", "end", "refused")
_HEAD: Final = struct.Struct(">4sB16s16sQQQ")
_MAGIC: Final = b"UsF" + bytes([VERSION])
HEAD: Final = _HEAD.size
_STAGE: Final = re.compile(r"[a-z-]{0,16}")
NO_SESSION: Final = "0" * 32
REFUSALS: Final = {  # why an owner declines a task: the words are the curator's, the code is all that travels
    "message": "it could not read the message",
    "order": "the message was not what came next",
    "question": "the question cannot be asked, or not at this cost",
    "budget": "the question costs more than is left of its budget",
    "round": "keys, shares or signatures in the message do not hold",
    "lost": "it was asked before, and its answer is lost",
    "failed": "it could not work out the answer",
}


@dataclass(frozen=True)
class Message:
    """`session`, `round` and `stage` bind a body to its place; `limit` is how long the answer to a task may be."""

    kind: str
    session: str = NO_SESSION
    round: int = 0
    stage: str = ""
    body: bytes = b""
    limit: int = 0

    def encode(self) -> bytes:
        stage = self.stage.encode("ascii").ljust(16, b"\0")
        head = _HEAD.pack(
            _MAGIC, KINDS.index(self.kind), bytes.fromhex(self.session), stage, self.round, self.limit, len(self.body)
        )
        return head + self.body

    @staticmethod
    def decode(data: bytes) -> Message:
        """Decode a message strictly, or raise a FederationError that says what is wrong with it."""
        if len(data) < HEAD:
            raise FederationError("a message of the federation is cut off")
        magic, kind, session, stage, round, limit, length = _HEAD.unpack_from(data)
        if magic[:3] != _MAGIC[:3]:
            raise FederationError("this is no message of an understudy federation")
        if magic != _MAGIC:
            raise FederationError(f"the other side speaks version {magic[3]} of the protocol, this one {VERSION}")
        name = stage.rstrip(b"\0").decode("ascii", errors="replace")
        if kind >= len(KINDS) or not _STAGE.fullmatch(name) or limit > LARGEST or length != len(data) - HEAD:
            raise FederationError("a message of the federation has a head that cannot be")
        return Message(KINDS[kind], session.hex(), round, name, data[HEAD:], limit)

    @staticmethod
    def note(kind: str, session: str = NO_SESSION, **facts: Any) -> Message:
        """Return a message whose body is a small JSON object."""
        return Message(kind, session, body=json.dumps(facts, ensure_ascii=True).encode())

    @staticmethod
    def decline(session: str, round: int, stage: str, code: str) -> Message:
        """Return the message that an owner does not answer a task.

        Earlier versions leave the body out, and look into none.
        """
        return Message("decline", session, round, stage, json.dumps({"code": code}).encode())

    @property
    def facts(self) -> dict[str, Any]:
        """Return the JSON object of a note."""
        try:
            if len(self.body) > LARGEST_NOTE:
                raise ValueError
            document = read_json(self.body)
        except ValueError:
            raise FederationError(f"the body of a {self.kind!r} message is not a small JSON object") from None
        if not isinstance(document, dict):
            raise FederationError(f"the body of a {self.kind!r} message is not a JSON object")
        return document


def shown(value: Any, most: int = 500) -> str:
    """Return words or a number from the other side, made fit for a terminal."""
    text = str(value) if isinstance(value, str | int | float | None) else "something that is no text"
    return "".join(c if c.isprintable() else " " for c in text[:most])
