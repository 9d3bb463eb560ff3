"""An owner's answers: its side of the protocol over its own table, key and ledger, with a memory that outlives a crash.

A message is read and checked first, by public facts and without effect. What cannot be answered is refused with a code
(`MessageRefused`), and is as if it had never come. What can be is written down, one body for each stage of a round and
never another, and then acted upon; its reply is written down before it is sent. After a restart the same messages are
gone through again in the same order: the round's secrets come from its stored seed, paid outcomes from the ledger's
journal, so nothing is drawn or paid twice. What an earlier version wrote down and cannot be answered is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, Final, Protocol

import numpy as np

from understudy.errors import FederationError, MessageRefused, UnderstudyError
from understudy.federation.completing import Found, completed_by, listed_columns, lists_as_json
from understudy.federation.messages import LARGEST_QUESTION, SUM_STAGES, Place, size_limit
from understudy.federation.owner_round import OwnerRound
from understudy.federation.roster import Roster
from understudy.federation.signatures import Signer
from understudy.federation.statements import Bins, Statements, terms_of
from understudy.privacy import question_json
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import ValueLists
from understudy.privacy.random_source import RandomSource, Words
from understudy.schema import Schema

FIRST_STAGES: Final = ("decide", "alone", "lists", "keys")
_LONGEST_PURPOSE: Final = 200
_MAX_ROUNDS: Final = 1_000_000
_LONGEST_LEFT: Final = 1 << 16  # bits of what is left of the budget: sums of longer fractions take long


Complete = Callable[[Schema], LocalPrivateTable]  # the same rows by a completed schema


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
        """Return all requests, in the order in which they were accepted."""
        ...

    def find(self, round: int, stage: str) -> Request | None: ...

    def accept(self, round: int, stage: str, body: bytes) -> None: ...

    def reply(self, round: int, stage: str, reply: bytes) -> None: ...

    def seed(self, round: int, fresh: bytes) -> bytes:
        """Return the seed of a round; unless it has one already, `fresh` is kept as its seed."""
        ...


class MemoryRoundStore:
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


@dataclass(frozen=True)
class _Question:
    """What a round begins with: checked, not yet paid for."""

    asked: Any  # the Selection of a decision, the ValueLists of a list, else a NoisyQuery
    cost: Fraction
    purpose: str
    table: LocalPrivateTable  # this owner's, in the bins that the question names
    bins: Bins
    found: Found


@dataclass
class _Sum:
    """The secure sum that is going on."""

    question: _Question
    stages: OwnerRound
    done: int = 1  # stages


class OwnerAnswers:
    """`Answers` of the owner called `name`. `store` is this session's and nobody else's."""

    def __init__(
        self,
        name: str,
        roster: Roster,
        session: str,
        table: LocalPrivateTable,
        signer: Signer,
        source: RandomSource,
        store: RoundStore | None = None,
        declared: Schema | None = None,
        complete: Complete | None = None,
    ) -> None:
        """Answer with `table`; where owners buy a part of their schema, it is on the probes of the `declared` one, and
        `complete` returns the rows by the schema that came out."""
        self._declared = table.schema if declared is None else declared
        if roster.own_schema(self._declared, name).rows != table.schema.rows:
            raise FederationError(f"the table of {name!r} does not have the rows that the roster says")
        self._complete = complete
        self._found: Found = {}  # of the schema that was completed: one in a session
        self._completed: tuple[Found, LocalPrivateTable] | None = None
        self._name = name
        self._roster = roster
        self._session = session
        self._table = table
        self._signer = signer
        self._source = source
        self._store = store if store is not None else MemoryRoundStore()
        self._lock = Lock()
        self._round = 0
        self._sum: _Sum | None = None
        self._last: tuple[Found, Bins, LocalPrivateTable] | None = None
        for request in list(self._store.requests()):
            self._again(request)

    def answer(self, round: int, stage: str, body: bytes) -> bytes:
        with self._lock:
            self._check_size(round, stage, body)
            known = self._store.find(round, stage)
            if known is not None:
                return _known_reply(known, body)
            read = self._checked(round, stage, body)
            self._store.accept(round, stage, body)
            with _refused_as("failed"):
                reply = self._take(round, stage, read)
            self._store.reply(round, stage, reply)
            return reply

    def _again(self, request: Request) -> None:
        """Repeat the steps after a restart, for their effects on this object and on the reservation's count.

        Whether a question can be afforded was checked before it was written down. (An earlier version wrote it down
        first: its charge is refused once more, and is a step of the reservation once more.)
        """
        try:
            self._check_size(request.round, request.stage, request.body)
            read = self._read(request.round, request.stage, request.body)
            reply = self._take(request.round, request.stage, read)
        except UnderstudyError:
            return  # its outcome is lost, or an earlier version wrote it down: the round goes on without this owner
        if request.reply is None:
            self._store.reply(request.round, request.stage, reply)

    # -- what can be refused ---------------------------------------------------------------------------------------

    def _check_size(self, round: int, stage: str, body: bytes) -> None:
        if stage not in (*FIRST_STAGES, *SUM_STAGES) or not 0 < round <= _MAX_ROUNDS:
            raise MessageRefused(f"this stage of round {round} is not what comes next: no session has it", "order")
        if len(body) > (LARGEST_QUESTION if stage in FIRST_STAGES else size_limit(len(self._roster.owners))):
            raise MessageRefused(f"a message of stage {stage!r} is too long", "message")

    def _checked(self, round: int, stage: str, body: bytes) -> Any:
        """Read a message that can be answered now; it changes nothing."""
        read = self._read(round, stage, body)
        if isinstance(read, _Question):
            left = self._table.left
            if read.cost > left:
                raise MessageRefused("the curator asks for more than is left of this owner's budget", "budget")
            if (left - read.cost).denominator.bit_length() > _LONGEST_LEFT:
                raise MessageRefused("the curator's costs do not add up to a number of moderate length", "budget")
            if isinstance(read.asked, ValueLists) and read.asked.delta > self._table.delta_left:
                raise MessageRefused("the curator asks for more delta than is set aside for value lists", "budget")
        return read

    def _read(self, round: int, stage: str, body: bytes) -> Any:
        """Return what a message says: a question, or what the secure sum that is going on goes on with."""
        if stage in FIRST_STAGES:
            if round <= self._round:
                raise MessageRefused(f"round {round} cannot begin: round {self._round} has begun", "order")
            with _refused_as("question"):
                return self._question(self._place(round), stage, body)
        if self._sum is None or round != self._round or stage != SUM_STAGES[self._sum.done]:
            raise MessageRefused(f"stage {stage!r} of round {round} is not what comes next", "order")
        with _refused_as("round"):
            return self._sum.stages.read(stage, body)

    def _place(self, round: int) -> Place:
        return Place(self._session, self._roster.hash, round)

    def _question(self, place: Place, stage: str, body: bytes) -> _Question:
        optional = {"bins": dict, "found": dict}
        head, _ = place.unpack(stage, body, optional=optional, question=list, cost=str, purpose=str)
        found, purpose, cost = head.get("found", {}), head["purpose"], question_json.fraction_from_json(head["cost"])
        if not purpose.isprintable() or len(purpose) > _LONGEST_PURPOSE:
            raise FederationError("the purpose of a question must be a short printable text")
        if stage == "lists":
            lists = question_json.lists_from_json(head["question"], listed_columns(self._declared))
            self._table.check_lists(lists, cost)
            return _Question(lists, cost, purpose, self._table, {}, {})
        whole = self._by_found(found)
        bins = question_json.bins_from_json(head.get("bins", {}), whole.schema)
        table = self._grouped(whole, found, bins)
        if stage == "decide":
            choice = question_json.selection_from_json(head["question"], table.schema)
            table.check_selection(choice, cost)
            return _Question(choice, cost, purpose, table, bins, found)
        query = question_json.query_from_json(head["question"], table.schema)
        table.check_query(query, cost, self._roster.honest if stage == "keys" else None)
        return _Question(query, cost, purpose, table, bins, found)

    def _by_found(self, found: Found) -> LocalPrivateTable:
        """Return this owner's table by the schema that was completed with this, or on the probes before there is one.

        A session has one completed schema, that of the first question that was accepted with it.
        """
        if not found:
            return self._table
        if self._complete is None:
            raise FederationError("this schema leaves nothing open, and a question says what was bought of it")
        if self._found and found != self._found:
            raise FederationError("this session has another completed schema already")
        if self._completed is None or self._completed[0] != found:
            self._completed = found, self._complete(completed_by(self._declared, found))
        return self._completed[1]

    def _grouped(self, whole: LocalPrivateTable, found: Found, bins: Bins) -> LocalPrivateTable:
        """Return this owner's table in these bins; the last one is kept, since a method asks about one at a time."""
        if not bins:
            return whole
        if self._last is None or self._last[:2] != (found, bins):
            schema = whole.schema
            firsts = {name: np.asarray(first, dtype=np.int64) for name, first in bins.items()}
            homes = {name: schema[name].homes(first) for name, first in firsts.items()}
            self._last = found, bins, whole.regrouped(schema.binned(firsts), homes)
        return self._last[2]

    # -- what is done ----------------------------------------------------------------------------------------------

    def _take(self, round: int, stage: str, read: Any) -> bytes:
        """Act upon a message that was read; return the reply."""
        place = self._place(round)
        if stage in FIRST_STAGES:
            return self._begin(place, stage, read)
        assert self._sum is not None
        going, self._sum = self._sum, None  # a stage that fails now ends the round
        stages = going.stages
        if stage == "masked":
            reply = stages.masked(read, lambda mask: self._contribute(going.question, place, mask))
        else:
            replies: dict[str, Callable[[Any], bytes]] = {
                "shares": stages.shares,
                "survivors": stages.survivors,
                "unmask": stages.unmask,
            }
            reply = replies[stage](read)
        going.done += 1
        if going.done < len(SUM_STAGES):
            self._sum = going
        return reply

    def _begin(self, place: Place, stage: str, question: _Question) -> bytes:
        """Begin a round, which ends the one before."""
        self._round, self._sum = place.round, None
        self._found = question.found or self._found
        table, asked, cost, purpose = question.table, question.asked, question.cost, question.purpose
        if stage == "decide":
            return place.pack("decide", index=table.select(asked, cost, purpose))
        if stage == "alone":  # this owner's rows only, with the whole noise on them
            noisy = table.answer(asked, cost, purpose)
            return place.pack("alone", b"".join(block.values.astype("<i8").tobytes() for block in noisy))
        if stage == "lists":  # likewise; what few rows share is not in them
            return place.pack("lists", lists=lists_as_json(table.list_texts(asked, cost, purpose)))
        terms = terms_of(asked, cost, purpose, table.schema, table.accounting, question.bins, question.found)
        statements = Statements(self._roster, place, terms)
        seed = self._store.seed(place.round, self._source.words(4).tobytes())
        self._sum = _Sum(question, OwnerRound(self._name, statements, seed, self._signer))
        return self._sum.stages.keys()

    def _contribute(self, question: _Question, place: Place, mask: Callable[[int], Words]) -> Words:
        round_key = place.statement("masked").hex()
        return question.table.contribute(
            question.asked, question.cost, question.purpose, round_key, self._roster.honest, mask
        )


@contextmanager
def _refused_as(code: str) -> Iterator[None]:
    """Give an error of the tree the code under which it travels, unless it has one."""
    try:
        yield
    except MessageRefused:
        raise
    except UnderstudyError as error:
        raise MessageRefused(error.message, code) from error


def _known_reply(known: Request, body: bytes) -> bytes:
    where = f"stage {known.stage!r} of round {known.round}"
    if known.body != body:
        raise MessageRefused(f"{where} was asked before and differently: it stays as it was", "order")
    if known.reply is None:
        raise MessageRefused(f"{where} was asked before and could not be answered", "lost")
    return known.reply
