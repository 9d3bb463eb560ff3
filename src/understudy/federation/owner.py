"""An owner's answers: its side of the protocol over its own table, key and ledger, with a memory that outlives a crash.

A request is written down before it is acted upon, one body for each stage of a round and never another; its reply is
written down before it is sent. After a restart the same requests are gone through again in the same order: the round's
secrets come from its stored seed, paid outcomes from the ledger's journal, so nothing is drawn or paid twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Final, Protocol

from understudy.errors import FederationError, UnderstudyError
from understudy.federation.messages import LARGEST_QUESTION, SUM_STAGES, Place, size_limit
from understudy.federation.owner_round import OwnerRound
from understudy.federation.roster import Roster
from understudy.federation.signatures import Signer
from understudy.federation.statements import Statements, terms_of
from understudy.privacy.owned_table import OwnedTable
from understudy.privacy.random_source import RandomSource, Words
from understudy.privacy.reading import fraction_from_json, options_from_json, vector_from_json
from understudy.privacy.vectors import Vector

_LONGEST_PURPOSE: Final = 200
_MOST_ROUNDS: Final = 1_000_000


@dataclass(frozen=True)
class Request:
    """What was asked, and the reply once there is one."""

    round: int
    stage: str
    body: bytes
    reply: bytes | None = None


class RoundStore(Protocol):
    """An owner's memory of one session. What a method was given is on disk, synced, when it returns."""

    def requests(self) -> Iterable[Request]:
        """All of them, in the order in which they were accepted."""
        ...

    def find(self, round: int, stage: str) -> Request | None: ...

    def accept(self, round: int, stage: str, body: bytes) -> None: ...

    def reply(self, round: int, stage: str, reply: bytes) -> None: ...

    def seed(self, round: int, fresh: bytes) -> bytes:
        """The seed of a round: `fresh`, kept, unless the round has one already."""
        ...


class MemoryStore:
    """A memory that does not survive: for tests, and for owners in one process."""

    def __init__(self) -> None:
        self._requests: dict[tuple[int, str], Request] = {}
        self._seeds: dict[int, bytes] = {}

    def requests(self) -> list[Request]:
        return list(self._requests.values())

    def find(self, round: int, stage: str) -> Request | None:
        return self._requests.get((round, stage))

    def accept(self, round: int, stage: str, body: bytes) -> None:
        self._requests[round, stage] = Request(round, stage, body)

    def reply(self, round: int, stage: str, reply: bytes) -> None:
        self._requests[round, stage] = Request(round, stage, self._requests[round, stage].body, reply)

    def seed(self, round: int, fresh: bytes) -> bytes:
        return self._seeds.setdefault(round, fresh)


@dataclass
class _Sum:
    """The secure sum that is going on."""

    question: Vector
    cost: Fraction
    purpose: str
    stages: OwnerRound
    done: int = 1  # stages


class OwnerAnswers:
    """`Answers` of the owner called `name`. `store` is this session's and nobody else's."""

    def __init__(
        self,
        name: str,
        roster: Roster,
        session: str,
        table: OwnedTable,
        signer: Signer,
        source: RandomSource,
        store: RoundStore | None = None,
    ) -> None:
        if roster.own_schema(table.schema, name).rows != table.schema.rows:
            raise FederationError(f"the table of {name!r} does not have the rows that the roster says")
        self._name = name
        self._roster = roster
        self._session = session
        self._table = table
        self._signer = signer
        self._source = source
        self._store = store if store is not None else MemoryStore()
        self._lock = Lock()
        self._round = 0
        self._sum: _Sum | None = None
        for request in list(self._store.requests()):
            self._again(request)

    def answer(self, round: int, stage: str, body: bytes) -> bytes:
        with self._lock:
            known = self._store.find(round, stage)
            if known is None:
                self._check_place(round, stage, body)
                self._store.accept(round, stage, body)
                reply = self._act(round, stage, body)
                self._store.reply(round, stage, reply)
                return reply
        if known.body != body:
            raise FederationError(
                f"stage {stage!r} of round {round} was asked before and differently: it stays as it was"
            )
        if known.reply is None:
            raise FederationError(f"stage {stage!r} of round {round} was asked before and could not be answered")
        return known.reply

    def _again(self, request: Request) -> None:
        """After a restart: the same steps, for their effects on this object and on the reservation's count."""
        try:
            reply = self._act(request.round, request.stage, request.body)
        except UnderstudyError:
            return  # as it was the first time, or the outcome is lost: the round goes on without this owner
        if request.reply is None:
            self._store.reply(request.round, request.stage, reply)

    def _check_place(self, round: int, stage: str, body: bytes) -> None:
        first = stage in ("decide", "alone", "keys")
        if len(body) > (LARGEST_QUESTION if first else size_limit(len(self._roster.owners))):
            raise FederationError(f"a message of stage {stage!r} is too long")
        if first and not self._round < round <= _MOST_ROUNDS:
            raise FederationError(f"round {round} cannot begin: round {self._round} has begun")
        if not first and (self._sum is None or round != self._round or stage != SUM_STAGES[self._sum.done]):
            raise FederationError(f"stage {stage!r} of round {round} is not what comes next")

    def _act(self, round: int, stage: str, body: bytes) -> bytes:
        self._round = round
        place = Place(self._session, self._roster.hash, round)
        if stage == "decide":
            self._sum = None
            return self._decide(place, body)
        if stage == "alone":
            self._sum = None
            return self._alone(place, body)
        if stage == "keys":
            self._sum = self._begin(place, body)
            return self._sum.stages.keys()
        if self._sum is None:
            raise FederationError(f"round {round} has ended for this owner")
        going, self._sum = self._sum, None  # a stage that fails ends the round
        if stage == "masked":
            reply = going.stages.masked(body, lambda mask: self._contribute(going, place, mask))
        else:
            stages = going.stages
            reply = {"shares": stages.shares, "survivors": stages.survivors, "unmask": stages.unmask}[stage](body)
        going.done += 1
        if going.done < len(SUM_STAGES):
            self._sum = going
        return reply

    def _decide(self, place: Place, body: bytes) -> bytes:
        head, _ = place.unpack("decide", body, question=list, cost=str, purpose=str)
        question = options_from_json(head["question"], self._table.schema)
        index = self._table.decide(question, fraction_from_json(head["cost"]), _purpose(head["purpose"]))
        return place.pack("decide", index=index)

    def _alone(self, place: Place, body: bytes) -> bytes:
        """A vector of this owner's rows only, with the whole noise on it."""
        head, _ = place.unpack("alone", body, question=list, cost=str, purpose=str)
        question = vector_from_json(head["question"], self._table.schema)
        noisy = self._table.release(question, fraction_from_json(head["cost"]), _purpose(head["purpose"]))
        return place.pack("alone", b"".join(values.astype("<i8").tobytes() for values in noisy.parts))

    def _begin(self, place: Place, body: bytes) -> _Sum:
        head, _ = place.unpack("keys", body, question=list, cost=str, purpose=str)
        table, cost, purpose = self._table, fraction_from_json(head["cost"]), _purpose(head["purpose"])
        question = vector_from_json(head["question"], table.schema)
        if not 0 < cost <= table.left:
            raise FederationError("the curator asks for more than is left of this owner's budget, or for nothing")
        statements = Statements(self._roster, place, terms_of(question, cost, purpose, table.schema, table.accounting))
        seed = self._store.seed(place.round, self._source.words(4).tobytes())
        return _Sum(question, cost, purpose, OwnerRound(self._name, statements, seed, self._signer))

    def _contribute(self, going: _Sum, place: Place, mask: Callable[[int], Words]) -> Words:
        round_key = place.statement("masked").hex()
        return self._table.contribute(going.question, going.cost, going.purpose, round_key, self._roster.honest, mask)


def _purpose(text: str) -> str:
    if not text.isprintable() or len(text) > _LONGEST_PURPOSE:
        raise FederationError("the purpose of a question must be a short printable text")
    return text
