"""The curator's end of the transport: a mailbox for each owner, served over HTTPS; owners come and ask.

An owner is known by its certificate and has one letter box: no message says who it is from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.errors import FederationError
from understudy.federation.certificates import Identity
from understudy.federation.differences import differences
from understudy.federation.https import PER_PEER, HttpsServer
from understudy.federation.journal import CuratorJournal
from understudy.federation.roster import Roster
from understudy.federation.wire import HEAD, LARGEST, LARGEST_NOTE, REFUSALS, Message, shown
from understudy.version import VERSION

POLL_S = 20.0  # how long a question for the next task is kept open
_MIN_END_S = 5.0  # for owners to come back and hear how it ended


@dataclass
class Mailbox:
    """What the curator knows of one owner."""

    joined: bool = False
    left: str | None = None  # the reason it gave
    task: Message | None = None
    reply: bytes | None = None
    failed: bool = False  # its reply to this task cannot be used
    refusal: str = ""  # why it declined, in the curator's own words
    missed: bool = False  # it let a task go by, and was not heard of since
    told: bool = False  # that the session is over
    received: int = 0
    sent: int = 0


class MailServer:
    """Implements `seams.Owners` over the network; also the `Service` behind the HTTPS server."""

    def __init__(
        self, roster: Roster, identity: Identity, journal: CuratorJournal, host: str, port: int, timeout: float
    ) -> None:
        self.names = roster.names
        self.rounds: set[int] = set()
        self._roster = roster
        self._journal = journal
        self._timeout = timeout
        gathered = journal.noted("gathered") is not None  # by the process before this one
        self._boxes = {name: Mailbox(joined=gathered) for name in roster.names}
        self._owner_of = {owner.fingerprint: owner.name for owner in roster.owners}
        self._end: Message | None = None
        self._stopped = False
        self._moved = threading.Condition()
        context = identity.server_context()
        self._https = HttpsServer(context, host, port, self, PER_PEER * len(roster.names) + 32)
        self.port = self._https.port

    def __enter__(self) -> MailServer:
        self._https.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._moved:
            self._stopped = True
            self._moved.notify_all()
        self._https.stop()

    # -- what the protocol asks ------------------------------------------------------------------------------

    def gather(self, timeout: float, told: Any = None) -> None:
        """Wait until every owner has joined; one that leaves, or does not come in time, ends the session."""
        deadline = time.monotonic() + timeout
        seen = -1
        with self._moved:
            while not all(box.joined for box in self._boxes.values()):
                self._refuse_left()
                missing = [name for name, box in self._boxes.items() if not box.joined]
                if told is not None and seen != len(missing):
                    seen = len(missing)
                    told(missing)
                if not self._moved.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                    raise FederationError(
                        f"{', '.join(missing)} did not join within {timeout:g} s. Nobody was charged; start again "
                        "when every owner is ready"
                    )
            self._refuse_left()

    def _refuse_left(self) -> None:
        for name, box in self._boxes.items():
            if box.left is not None:
                raise FederationError(f"{name} does not take part: {box.left}. Nobody was charged")

    def ask(self, round: int, stage: str, bodies: Mapping[str, bytes], limit: int) -> dict[str, bytes]:
        """Deliver each body, wait up to the time-out, write the outcome down, return the replies."""
        self.rounds.add(round)
        known = self._journal.closed(round, stage, bodies)
        if known is not None:
            return known
        if limit > LARGEST or any(len(body) > LARGEST for body in bodies.values()):
            raise FederationError(f"round {round} needs a message over {LARGEST >> 20} MiB: ask for smaller tables")
        deadline = time.monotonic() + self._timeout
        with self._moved:
            for name, body in bodies.items():
                box = self._boxes[name]
                box.task = Message("task", self._journal.session, round, stage, body, limit)
                box.reply, box.failed, box.refusal = None, False, ""
            self._moved.notify_all()
            asked = [self._boxes[name] for name in bodies]
            while any(_waited_for(box) for box in asked) and (left := deadline - time.monotonic()) > 0:
                self._moved.wait(left)
            replies = {name: box.reply for name in bodies if (box := self._boxes[name]).reply is not None}
            for box in asked:
                box.missed = box.reply is None and not box.failed
                box.task = None
        self._journal.close(round, stage, bodies, replies)
        return replies

    def finish(self, **facts: Any) -> list[str]:
        """Tell every owner that the session is over; the names of those who were not there to hear it."""
        deadline = time.monotonic() + max(self._timeout, _MIN_END_S)
        with self._moved:
            self._end = Message.note("end", self._journal.session, **facts)
            self._moved.notify_all()
            there = [b for b in self._boxes.values() if b.joined and b.left is None and not b.missed]
            while not all(box.told for box in there) and (left := deadline - time.monotonic()) > 0:
                self._moved.wait(left)
            return [name for name, box in self._boxes.items() if box.joined and not box.told and box.left is None]

    @property
    def dropped(self) -> dict[str, str]:
        """Return owners that are gone, and why."""
        with self._moved:
            gone = {n: b.left or "did not answer in time" for n, b in self._boxes.items() if b.left or b.missed}
            return gone | {
                n: f"declined: {b.refusal}" if b.refusal else "declined, or sent too much"
                for n, b in self._boxes.items()
                if b.failed and n not in gone
            }

    @property
    def traffic(self) -> dict[str, dict[str, int]]:
        """Return bytes of messages by owner, as the curator counts them in this process."""
        return {name: {"received": box.received, "sent": box.sent} for name, box in self._boxes.items()}

    # -- what owners say -------------------------------------------------------------------------------------

    def limit(self, fingerprint: str) -> int | None:
        name = self._owner_of.get(fingerprint)
        if name is None:
            return None
        with self._moved:
            task = self._boxes[name].task
        return HEAD + max(LARGEST_NOTE, 0 if task is None else task.limit)

    def reply(self, fingerprint: str, body: bytes) -> bytes:
        name = self._owner_of[fingerprint]
        answer = self._answer(name, Message.decode(body)).encode()
        with self._moved:
            self._boxes[name].received += len(body)
            self._boxes[name].sent += len(answer)
        return answer

    def _answer(self, name: str, message: Message) -> Message:
        box = self._boxes[name]
        if message.kind == "join":
            return self._join(name, box, message)
        if message.session != self._journal.session:
            return _refused("session", "this is another session: the curator was started anew")
        with self._moved:
            box.joined, box.missed = True, False
            self._moved.notify_all()
        if message.kind == "next":
            return self._next(box)
        if message.kind in ("answer", "decline"):
            return self._take(box, message)
        if message.kind == "leave":
            with self._moved:
                box.left = shown(message.facts.get("reason", "no reason given"))
                self._moved.notify_all()
            return Message("taken", self._journal.session)
        return _refused("kind", f"an owner does not send {message.kind!r}")

    def _join(self, name: str, box: Mailbox, message: Message) -> Message:
        theirs = message.facts
        found = differences(self._roster.as_json(), theirs.get("roster"), "curator", name)
        if theirs.get("understudy") != VERSION:
            found.append(f"the version of understudy ({VERSION} at the curator, {shown(theirs.get('understudy'))})")
        if found:
            return _refused("roster", f"{name} and the curator differ in {'; '.join(found)}")
        declined = theirs.get("declined", "")
        with self._moved:
            box.joined, box.left, box.missed = True, shown(declined) if declined else None, False
            self._moved.notify_all()
        return Message.note("welcome", self._journal.session, roster=self._roster.hash, timeout=self._timeout)

    def _next(self, box: Mailbox) -> Message:
        deadline = time.monotonic() + POLL_S
        with self._moved:
            while True:
                if self._end is not None:
                    box.told = True
                    self._moved.notify_all()
                    return self._end
                if box.task is not None and box.reply is None and not box.failed:
                    return box.task
                if (left := deadline - time.monotonic()) <= 0 or self._stopped:
                    return Message("wait", self._journal.session)
                self._moved.wait(left)

    def _take(self, box: Mailbox, message: Message) -> Message:
        refusal = _refusal(message) if message.kind == "decline" else ""
        with self._moved:
            task = box.task
            if task is None or (task.round, task.stage) != (message.round, message.stage):
                return _refused("late", f"round {message.round} ({message.stage}) is over, or was never asked")
            if box.reply is not None and box.reply != message.body:
                return _refused("twice", f"round {message.round} ({message.stage}) has another answer from this owner")
            if message.kind == "decline" or len(message.body) > task.limit:
                box.failed, box.refusal = True, refusal
            else:
                box.reply = message.body
            self._moved.notify_all()
        return Message("taken", self._journal.session, message.round, message.stage)


def _waited_for(box: Mailbox) -> bool:
    return box.reply is None and not box.failed and box.left is None and not box.missed


def _refusal(message: Message) -> str:
    """Return why an owner declines, in this side's words; one of an earlier version does not say."""
    code = message.facts.get("code") if message.body else None
    return REFUSALS.get(code, "") if isinstance(code, str) else ""


def _refused(code: str, text: str) -> Message:
    return Message.note("refused", code=code, message=text)
