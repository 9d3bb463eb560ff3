"""Seams: what the curator's protocol code needs of a transport, and an owner's transport of its protocol code.

A body is opaque to the transport. A round is a number that both sides count up; a stage is one exchange of a round:

    decide, alone                                 one owner chooses, or answers with the whole noise
    lists                                         every owner lists the texts that many of its own rows share
    keys, shares, masked, survivors, unmask       the secure sum, in this order
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Owners(Protocol):
    """All owners, as the curator reaches them."""

    names: tuple[str, ...]

    def ask(self, round: int, stage: str, bodies: Mapping[str, bytes], limit: int) -> dict[str, bytes]:
        """Deliver each body to the owner named, wait up to the time-out, return the replies of those who answered.

        No reply is longer than `limit` bytes; an owner whose reply would be is one that did not answer.
        """
        ...


class Answers(Protocol):
    """One owner, as its transport reaches it."""

    def answer(self, round: int, stage: str, body: bytes) -> bytes:
        """Return the reply. The same round, stage and body give the same bytes; another body for them is refused."""
        ...
