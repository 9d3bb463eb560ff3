"""Messages of a round: a small JSON object and, for a masked vector, bytes after it. Read strictly and last.

Every message names its session, roster, round and stage, and is refused in any other place; so is every signed or
sealed statement, which covers the same four.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from understudy.errors import MessageRefused
from understudy.federation.strict_json import read_json

SUM_STAGES: Final = ("keys", "shares", "masked", "survivors", "unmask")
LARGEST_QUESTION: Final = 64 << 20  # bytes; a choice among very many options is long
_PER_OWNER: Final = 1 << 10  # bytes that a message of the secure sum has for each owner, at most
_FIXED: Final = 1 << 12


def size_limit(owners: int, cells: int = 0) -> int:
    """Return the most bytes that a message of the secure sum among so many owners has."""
    return _FIXED + _PER_OWNER * owners + 8 * cells


@dataclass(frozen=True)
class Place:
    """Where a message belongs."""

    session: str
    roster: str
    round: int

    def statement(self, stage: str, *parts: bytes | str) -> bytes:
        """Return the bytes that are signed or sealed.

        Every part has its length before it, so no two lists of parts read the same.
        """
        said = ["understudy federation 1", self.session, self.roster, str(self.round), stage, *parts]
        texts = [part.encode() if isinstance(part, str) else part for part in said]
        return b"".join(len(text).to_bytes(8, "big") + text for text in texts)

    def pack(self, stage: str, payload: bytes = b"", **fields: Any) -> bytes:
        head = {"session": self.session, "roster": self.roster, "round": self.round, "stage": stage, **fields}
        text = json.dumps(head, separators=(",", ":")).encode()
        return len(text).to_bytes(4, "big") + text + payload

    def unpack(
        self, stage: str, body: bytes, payload: int = 0, optional: Mapping[str, type] | None = None, **fields: type
    ) -> tuple[dict[str, Any], bytes]:
        """Return the fields, each of its type and no others but `optional` ones, and a payload of so many bytes."""
        length = int.from_bytes(body[:4], "big")
        if len(body) != 4 + length + payload:
            raise _unreadable(f"a message of stage {stage!r} has the wrong length")
        try:
            head = read_json(body[4 : 4 + length])
        except ValueError:
            raise _unreadable(f"a message of stage {stage!r} cannot be read") from None
        expected = {"session": str, "roster": str, "round": int, "stage": str, **fields}
        if type(head) is dict and optional:
            expected |= {key: kind for key, kind in optional.items() if key in head}
        if type(head) is not dict or {key: type(value) for key, value in head.items()} != expected:
            raise _unreadable(f"a message of stage {stage!r} does not have the fields it should")
        if (head["session"], head["roster"], head["round"], head["stage"]) != (
            self.session, self.roster, self.round, stage,
        ):  # fmt: skip
            raise _unreadable(f"a message of stage {stage!r} belongs to another session, roster, round or stage")
        return head, body[4 + length :]


def digest(*asked: Any) -> bytes:
    return sha256(json.dumps(asked).encode()).digest()


def by_name(texts: Any, names: Iterable[str], bytes_each: int) -> dict[str, bytes]:
    """Read an object of hexadecimal texts, one for each of some of these names, none longer than stated."""
    known = set(names)
    if not isinstance(texts, Mapping) or not known.issuperset(texts):
        raise _unreadable("a message speaks of an owner that it should not")
    return {name: from_hex(text, bytes_each) for name, text in texts.items()}


def from_hex(text: Any, most: int) -> bytes:
    if type(text) is not str or len(text) > 2 * most:
        raise _unreadable("a message holds something too long, or no text, where bytes should be")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise _unreadable("a message holds a text that is not hexadecimal") from None


def _unreadable(message: str) -> MessageRefused:
    return MessageRefused(message, "message")
