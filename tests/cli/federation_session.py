"""A whole federation in one process, over real sockets, with every kind of trouble: for the fault tests.

Curator and owners are threads. A `Crash` ends one of them as kill -9 would: no clean-up runs but what an operating
system does for a dead process (files are closed, locks fall, open transactions are gone).
"""

from __future__ import annotations

import http.client
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from servers import free_port
from understudy.errors import UnderstudyError
from understudy.federation import party as party_module
from understudy.federation.certificates import Identity, make_certificates
from understudy.federation.client import CuratorClient
from understudy.federation.curator import Curation, Desk, curate
from understudy.federation.federated_table import FederatedTable
from understudy.federation.journal import CuratorJournal, OwnerJournal
from understudy.federation.party import Participation, Party
from understudy.federation.roster import Roster
from understudy.federation.server import MailServer
from understudy.federation.wire import Message
from understudy.federation.writing import write_roster
from understudy.privacy.ledger import Ledger
from understudy.privacy.reservation import Charge, Reservation
from understudy.release import Release
from understudy.schema import Attribute, Booleans, Categories, Schema

ROWS = 30
EPSILON = "3"
LONG_S = 60.0  # what takes a moment may take this long on a machine that is busy with other things
HANG_S = 600.0
SCHEMA = Schema(
    "people",
    (
        Attribute("sex", Categories(("f", "m"))),
        Attribute("smokes", Booleans()),
        Attribute("town", Categories(tuple("abc"))),
    ),
    rows=ROWS,
)


class Crash(BaseException):
    """The process is gone."""


@dataclass
class Actor:
    """One process: where it will die, what its line does to messages, and what became of it."""

    name: str
    crashes: list[tuple[str, int]] = field(default_factory=list)  # at the n-th passing of a point
    restarts: bool = True
    away_s: float = 0.05
    disturb: Callable[[CuratorClient, bytes, Callable[[bytes], bytes]], bytes] | None = None
    corrupt: Callable[[bytes, str], bytes] | None = None
    passed: Counter[str] = field(default_factory=Counter)
    lives: int = 0
    outcome: Any = None
    crashing: bool = False

    def at(self, point: str) -> None:
        self.passed[point] += 1
        if (point, self.passed[point]) in self.crashes:
            self.crashing = True
            raise Crash(f"{self.name} at {point} {self.passed[point]}")


_here = threading.local()


def _point(point: str) -> None:
    actor = getattr(_here, "actor", None)
    if actor is not None:
        actor.at(point)


def _around(point: str, original: Any) -> Any:
    def wrapped(self: Any, *arguments: Any, **named: Any) -> Any:
        _point(f"{point} before")
        result = original(self, *arguments, **named)
        _point(f"{point} after")
        return result

    return wrapped


@dataclass
class Witness:
    """What the curator's server was sent: each owner's answers, by round and stage."""

    answers: dict[tuple[str, int, str], set[bytes]] = field(default_factory=dict)
    paid: dict[str, Fraction] = field(default_factory=dict)


@contextmanager
def watched(witness: Witness) -> Iterator[None]:
    """Every point where an actor may die, every message as it goes, every answer as it comes."""
    take, exchange, give_up = MailServer._take, CuratorClient._exchange, party_module._Sitting.give_up
    answer = party_module.OwnerAnswers.answer

    def taken(self: MailServer, box: Any, message: Message) -> Message:
        name = next(n for n, b in self._boxes.items() if b is box)
        if message.kind == "answer":
            witness.answers.setdefault((name, message.round, message.stage), set()).add(message.body)
        return take(self, box, message)

    def exchanged(self: CuratorClient, data: bytes) -> bytes:
        _point("send before")
        actor = getattr(_here, "actor", None)
        if actor is None or actor.disturb is None:
            reply = exchange(self, data)
        else:
            reply = actor.disturb(self, data, lambda body: exchange(self, body))
        _point("send after")
        return reply

    def answered(self: Any, round: int, stage: str, body: bytes) -> bytes:
        reply = answer(self, round, stage, body)
        actor = getattr(_here, "actor", None)
        return reply if actor is None or actor.corrupt is None else actor.corrupt(reply, stage)

    def gone(self: Any) -> None:
        if not self._over and self._reservation is not None:
            self._reservation._lock.release()
        if not self._over:
            self._journal.close_file()

    def ended(self: Any) -> None:
        (gone if _here.actor.crashing else give_up)(self)

    points = [
        (OwnerJournal, "accept"), (OwnerJournal, "reply"), (OwnerJournal, "seed"), (Charge, "drawing"),
        (Charge, "journal"), (Reservation, "charge"), (Reservation, "finish"), (CuratorJournal, "close"),
        (CuratorJournal, "note"), (party_module.OwnerAnswers, "_checked"),
    ]  # fmt: skip
    patches = [
        mock.patch.object(owner, name, _around(name.strip("_"), getattr(owner, name))) for owner, name in points
    ] + [
        mock.patch.object(MailServer, "_take", taken),
        mock.patch.object(CuratorClient, "_exchange", exchanged),
        mock.patch.object(party_module.OwnerAnswers, "answer", answered),
        mock.patch.object(party_module._Sitting, "give_up", lambda self: ended(self)),
    ]  # fmt: skip
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


@dataclass
class Town:
    """Certificates, a roster, rows and ledgers in a folder."""

    folder: Path
    names: list[str]
    roster: Roster
    tables: dict[str, pa.Table]
    resume: bool = False
    schema: Schema = SCHEMA
    types: str | None = None

    @staticmethod
    def make(folder: Path, owners: int, dropping: int = 0, delta: str = "0", method: str = "privbayes") -> Town:
        names = [f"o{i}" for i in range(owners)]
        make_certificates(folder / "certs", names, "office")
        schema = _with_rows(ROWS * owners)
        roster = write_roster(
            folder / "roster.toml", schema, "town", folder / "certs", "office", dict.fromkeys(names, ROWS), EPSILON,
            delta, 1, dropping, method, {},
        )  # fmt: skip
        g = np.random.default_rng(1)
        tables = {
            name: pa.table(
                {
                    "sex": g.choice(["f", "m"], ROWS),
                    "smokes": g.choice([True, False], ROWS),
                    "town": g.choice(list("abc"), ROWS),
                }
            )
            for name in names
        }
        return Town(folder, names, roster, tables)

    @staticmethod
    def of_schema(folder: Path, schema: Schema, tables: dict[str, pa.Table], delta: str, dropping: int = 0) -> Town:
        """Make a town of these tables; their row counts are private."""
        make_certificates(folder / "certs", [*tables], "office")
        roster = write_roster(
            folder / "roster.toml", schema, "town", folder / "certs", "office", dict.fromkeys(tables), EPSILON, delta,
            1, dropping, "auto", {},
        )  # fmt: skip
        return Town(folder, [*tables], roster, tables, schema=schema, types="declared")

    def with_rows(self, rows: int) -> Schema:
        return _with_rows(rows) if self.schema is SCHEMA else self.schema

    def identity(self, name: str) -> Identity:
        certs = self.folder / "certs"
        return Identity(certs / f"{name}.pem", certs / f"{name}.key", certs / "ca.pem")

    def ledger(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def desk(self, port: int, timeout: float) -> Desk:
        return Desk("127.0.0.1", port, self.identity("office"), self.folder / "session.db", timeout, LONG_S)

    def party(self, name: str, port: int, patience: float) -> Party:
        return Party(
            self.tables[name], self.with_rows(ROWS), self.roster, self.identity(name), f"https://127.0.0.1:{port}",
            self.ledger(name), patience=patience, approve=lambda terms: True,
            resume=self.resume, types=self.types,
        )  # fmt: skip

    def charges(self, name: str) -> list[Fraction]:
        if not self.ledger(name).exists():
            return []
        book = Ledger(self.ledger(name))
        try:
            book.verify()
            return [Fraction(e.body["cost"]) for e in book.entries() if e.kind == "charge"]
        finally:
            book.close()

    def kept(self, name: str) -> list[str]:
        """What became of each reservation that still counts: `released`, `drawn`, or `open` where it need not count."""
        if not self.ledger(name).exists():
            return []
        book = Ledger(self.ledger(name))
        try:
            ended = {
                e.body["reservation"]: e.kind
                for e in book.entries()
                if "reservation" in e.body and e.kind not in ("reserve", "charge")
            }
            drawn = {
                row[0]
                for row in book.connection.execute("SELECT reservation, state FROM journal").fetchall()
                if row[1] in ("drawing", "drawn")
            }
            made = [e.body["reservation"] for e in book.entries() if e.kind == "reserve"]
            state = book.account(SCHEMA.account)
        finally:
            book.close()
        counted = [r for r in made if ended.get(r) != "void"]
        assert state is None or state.spent_epsilon == len(counted) * self.roster.budget.epsilon, "a wrong count"
        return [
            "released" if ended.get(r) == "release" else "drawn" if r in drawn or r in ended else "open"
            for r in counted
        ]

    def allow_one_more(self, name: str) -> None:
        """A cap for what noise was drawn for, and for one more session: what need not count must not be in the way."""
        if not self.ledger(name).exists():
            return
        spent = sum(what != "open" for what in self.kept(name))
        book = Ledger(self.ledger(name))
        try:
            if book.account(SCHEMA.account) is not None:
                budget = self.roster.budget
                book.cap(SCHEMA.account, (spent + 1) * budget.epsilon, "one more session", (spent + 1) * budget.delta)
        finally:
            book.close()

    def reserved(self, name: str) -> int:
        """Reservations that were not given back."""
        if not self.ledger(name).exists():
            return 0
        book = Ledger(self.ledger(name))
        try:
            kinds = Counter(e.kind for e in book.entries())
            return kinds["reserve"] - kinds["void"]
        finally:
            book.close()


def _with_rows(rows: int) -> Schema:
    from dataclasses import replace

    return replace(SCHEMA, rows=rows)


@dataclass
class Played:
    """A session that was played to its end."""

    town: Town
    curator: Actor
    owners: dict[str, Actor]
    witness: Witness
    seconds: float

    @property
    def released(self) -> bool:
        return isinstance(self.curator.outcome, Curation)


def play(town: Town, curator: Actor, owners: dict[str, Actor], timeout: float = 15.0, patience: float = 30.0) -> Played:
    """Run all actors to their ends; one that hangs is a failure. Owners come when there is a curator."""
    witness = Witness()
    port = free_port()
    out = town.folder / "out.release.zip"

    def save(release: Release) -> None:
        _point("save before")
        release.save(out)
        _point("save after")

    def curating() -> Any:
        with mock.patch.object(FederatedTable, "__init__", _remembering(witness)):
            return curate(town.with_rows(town.roster.rows or 1), town.roster, town.desk(port, timeout), save=save)

    threads = [_live(curator, curating)]
    threads += [_live(actor, town.party(name, port, patience).take_part) for name, actor in owners.items()]
    started = time.monotonic()
    with watched(witness):
        threads[0].start()
        while threads[0].is_alive() and not _listens(port):
            time.sleep(0.01)
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, started + HANG_S - time.monotonic()))
        assert not any(t.is_alive() for t in threads), f"hangs: {[t.name for t in threads if t.is_alive()]}"
    return Played(town, curator, owners, witness, time.monotonic() - started)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), LONG_S).close()
    except OSError:
        return False
    return True


_original_init = FederatedTable.__init__


def _remembering(witness: Witness) -> Any:
    def init(self: FederatedTable, *arguments: Any, **named: Any) -> None:
        _original_init(self, *arguments, **named)
        witness.paid = self._session.paid

    return init


def _live(actor: Actor, life: Callable[[], Any]) -> threading.Thread:
    def run() -> None:
        _here.actor = actor
        while actor.lives < 6:
            actor.lives += 1
            actor.crashing = False
            try:
                actor.outcome = life()
                return
            except Crash as crash:
                actor.outcome = crash
                if not actor.restarts:
                    return
                time.sleep(actor.away_s)
            except UnderstudyError as error:
                actor.outcome = error
                return
            except BaseException as error:  # a bug: shown by the test
                actor.outcome = error
                raise

    return threading.Thread(target=run, name=actor.name, daemon=True)


# -- what must hold, whatever happened ---------------------------------------------------------------------------


def check(played: Played) -> None:
    town = played.town
    budget = town.roster.budget.epsilon
    out = town.folder / "out.release.zip"
    curator = played.curator.outcome
    assert isinstance(curator, Curation | UnderstudyError | Crash), repr(curator)
    if isinstance(curator, Curation):
        assert Release.open(out).hash == curator.release.hash
        assert not list(town.folder.glob("session.db*")), "the journal of a finished session is left behind"
    elif not (isinstance(curator, Crash) and curator.args[0].startswith("office at save after")):
        assert not out.exists(), "a release of a session that failed"
    for name, actor in played.owners.items():
        assert isinstance(actor.outcome, Participation | UnderstudyError | Crash), repr(actor.outcome)
        charged = town.charges(name)
        assert sum(charged) <= budget, "more was charged than was agreed"
        assert town.reserved(name) <= 1, "the budget was reserved twice"
        if played.witness.paid:
            assert sum(charged) <= played.witness.paid[name], "an owner paid for more than it was asked"
        masked = {key for key in played.witness.answers if key[0] == name and key[2] in ("masked", "decide")}
        if masked:
            assert town.reserved(name) == 1, "an answer that was not paid for"
            assert len(charged) >= len(masked), "an answer that was not paid for"
        if actor.corrupt is None:
            for key, bodies in played.witness.answers.items():
                assert key[0] != name or len(bodies) == 1, f"two answers to one question: {key}"
        if isinstance(actor.outcome, Participation):
            assert isinstance(curator, Curation | Crash)
            assert not list(town.folder.glob(f"{name}.db.*.session*")), "secrets of a finished session are left behind"


def lossy(choose: random.Random, rate: float) -> Callable[[CuratorClient, bytes, Callable[[bytes], bytes]], bytes]:
    """A line that loses requests and answers, repeats messages, and brings old ones again."""
    past: list[bytes] = []

    def disturb(client: CuratorClient, data: bytes, deliver: Callable[[bytes], bytes]) -> bytes:
        past.append(data)
        if choose.random() >= rate:
            return deliver(data)
        what = choose.choice(["lost request", "lost answer", "twice", "old one first", "slow"])
        if what == "lost request":
            raise ConnectionResetError
        if what == "slow":
            time.sleep(0.1)
        if what == "twice":
            deliver(data)
        if what == "old one first":
            old = [d for d in past if Message.decode(d).kind != "next"]  # a poll would wait
            deliver(choose.choice(old or [data]))
        reply = deliver(data)
        if what == "lost answer":
            raise http.client.RemoteDisconnected
        return reply

    return disturb


# -- anything, at random -----------------------------------------------------------------------------------------

OWNER_POINTS = [
    f"{point} {when}"
    for point in ("checked", "accept", "reply", "seed", "charge", "drawing", "journal", "finish", "send")
    for when in ("before", "after")
]
CURATOR_POINTS = ["close before", "close after", "note before", "note after", "save before", "save after"]


def actors(names: list[str]) -> tuple[Actor, dict[str, Actor]]:
    return Actor("office"), {name: Actor(name) for name in names}


def random_session(folder: Path, seed: int) -> str:
    """The kind of thing that the curator ended with."""
    return type(random_play(folder, seed).curator.outcome).__name__


def settled_session(folder: Path, seed: int) -> str:
    """A session in trouble; then the same commands again, until there is a release: every account can be used again.

    What came of the session in trouble, and how often the commands had to be given again.
    """
    played = random_play(folder, seed)
    town, first, again = played.town, type(played.curator.outcome).__name__, 0
    try:
        while again < 3:
            again += 1
            (folder / "out.release.zip").unlink(missing_ok=True)
            for name in town.names:
                town.allow_one_more(name)
            played = play(town, *actors(town.names), timeout=LONG_S)
            if played.released:
                break
        assert played.released, f"no release: {played.curator.outcome}"
        for name, owner in played.owners.items():
            assert isinstance(owner.outcome, Participation), f"{name}: {owner.outcome}"
            assert town.kept(name)[-1] == "released" and "open" not in town.kept(name), f"{name} {town.kept(name)}"
        left = [path.name for path in folder.iterdir() if ".session" in path.name or path.name.startswith("session.db")]
        assert not left, f"left behind: {left}"
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
    return f"{first}, then {again}"


def random_play(folder: Path, seed: int) -> Played:
    """So many owners, of whom so many may drop; each may die several times, come back or not; lines may be bad."""
    folder.mkdir()
    choose = random.Random(seed)
    count = choose.choice([2, 3, 3, 4, 5])
    dropping = choose.randint(0, max(0, (count - 2) // 2))
    town = Town.make(folder, count, dropping, choose.choice(["0", "0", "1e-6"]))
    curator, owners = actors(town.names)
    for actor in owners.values():
        if choose.random() < 0.35:
            actor.crashes = [(choose.choice(OWNER_POINTS), choose.randint(1, 6)) for _ in range(choose.randint(1, 3))]
            actor.restarts = choose.random() < 0.8
            actor.away_s = choose.choice([0.01, 0.2, 1.5])
        if choose.random() < 0.3:
            actor.disturb = lossy(random.Random(choose.random()), choose.choice([0.05, 0.2, 0.5]))
        if choose.random() < 0.05:
            length = choose.randint(0, 200)
            actor.corrupt = lambda reply, stage, length=length: reply[:length]
    if choose.random() < 0.4:
        curator.crashes = [(choose.choice(CURATOR_POINTS), choose.randint(1, 12)) for _ in range(choose.randint(1, 3))]
        curator.restarts = choose.random() < 0.9
        curator.away_s = choose.choice([0.01, 0.3])
    played = play(town, curator, owners, timeout=1.5, patience=5.0)
    try:
        check(played)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
    return played
