"""Garbage on the wire: to the curator's server, to an owner from its curator, and a roster file that is none.

What comes back is an answer or an error of the package's tree: no other exception, in no thread, and nobody hangs.
A hundred of each by default, ten thousand among the long tests.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("cryptography")

from mutations import NUMBERS, RAW, SHAPES, TEXTS, damaged, scrambled
from session import LONG_S, Federation, join, make_federation

from understudy.demo import demo_schema, demo_table
from understudy.errors import FederationError, UnderstudyError, UsageError
from understudy.federation import https, server
from understudy.federation.client import CuratorClient
from understudy.federation.messages import SUM_STAGES, Place
from understudy.federation.party import Participation, Party
from understudy.federation.roster import Roster
from understudy.federation.wire import HEAD, KINDS, PATH, REFUSALS, Message
from understudy.privacy.ledger import Ledger
from understudy.version import VERSION

pytestmark = pytest.mark.slow
STAGES = ("", "decide", "alone", *SUM_STAGES, "nonsense")
A_THOUSAND = [100, pytest.param(1_000, marks=pytest.mark.long)]
TEN_THOUSAND = [100, pytest.param(10_000, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return make_federation(tmp_path_factory.mktemp("fuzz"))


def any_message(dice: random.Random, session: str, real: list[bytes]) -> bytes:
    """A message of any kind, mostly with a head that can be; a body that may be one, or nearly."""
    facts: dict[str, Any] = {
        dice.choice(
            ["roster", "understudy", "declined", "reason", "code", "outcome", "release", *TEXTS[:3]]
        ): dice.choice([*NUMBERS[:-1], *TEXTS, *SHAPES, *REFUSALS, VERSION])
        for _ in range(dice.randrange(5))
    }
    note = Message.note("join", **{k: v for k, v in facts.items() if k.isidentifier()}).body
    body = dice.choice([note, b"", *RAW, dice.choice(real) if real else b"", b"\x00" * 100])
    whose = session if dice.random() < 0.9 else "ab" * 16
    message = Message(
        dice.choice(KINDS), whose, dice.choice([0, 1, 2, 2**63, 2**64 - 1]), dice.choice(STAGES), body,
        dice.choice([0, 10, 256 << 20]),
    ).encode()  # fmt: skip
    return scrambled(message, dice) if dice.random() < 0.2 else message


@contextlib.contextmanager
def no_thread_fails() -> Iterator[list[str]]:
    failed: list[str] = []
    with mock.patch.object(threading, "excepthook", lambda given: failed.append(repr(given.exc_value))):
        yield failed
    assert not failed, f"{len(failed)} threads failed: {failed[:5]}"


# -- the curator's server ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", TEN_THOUSAND)
def test_messages_to_the_server(federation: Federation, messages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "POLL_S", 0.0)
    dice, found, unhandled = random.Random("server"), Counter[str](), list[str]()
    journal = federation.journal(f"server-{messages}.db")
    roster = federation.roster.as_json()
    with federation.server(journal) as mail:
        ada = federation.roster.owners[0].fingerprint
        for number in range(messages):
            if number % 50 == 0:  # she is asked something again
                mail._boxes["ada"].task = Message("task", journal.session, 1, "keys", b"q", 1000)
                mail._boxes["ada"].reply, mail._boxes["ada"].failed = None, False
            body = any_message(dice, journal.session, [])
            if dice.random() < 0.2:
                changed = dict(roster) | {dice.choice(list(roster)): dice.choice([*NUMBERS[:-1], *TEXTS, *SHAPES])}
                body = Message.note("join", roster=changed, understudy=dice.choice([VERSION, *SHAPES])).encode()
            try:
                found[Message.decode(mail.reply(ada, body)).kind] += 1
            except FederationError:
                found["HTTP 400"] += 1
            except Exception as error:
                unhandled.append(repr(error))
        print(dict(found))
        assert not unhandled, f"{len(unhandled)} of {messages}: {unhandled[:5]}"
        assert {"taken", "refused", "HTTP 400", "task"} <= set(found)
        client = federation.client("ada", mail.port)
        assert join(client, federation.roster).kind == "welcome"  # it is as well as before
        client.close()
    journal.remove()


@pytest.mark.parametrize("messages", TEN_THOUSAND)
def test_heads_of_requests(messages: int) -> None:
    dice, found = random.Random("heads"), Counter[str]()
    whole = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nAccept: */*\r\n\r\n".encode()
    for _ in range(messages):
        head = scrambled(whole, dice) if dice.random() < 0.8 else dice.randbytes(dice.randrange(200))
        try:
            assert https.body_length(head + b"\r\n\r\n") >= 0
            found["read"] += 1
        except https.Refused as refused:
            found[refused.status.name] += 1
    assert {"read", HTTPStatus.BAD_REQUEST.name, HTTPStatus.NOT_FOUND.name} <= set(found)


@pytest.mark.parametrize("messages", A_THOUSAND)
def test_bytes_on_a_line_to_the_server(federation: Federation, messages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over TLS, with a certificate of the roster: an HTTP status, or the end of the connection."""
    from test_transport import a_line, head

    monkeypatch.setattr(server, "POLL_S", 0.0)
    monkeypatch.setattr(https, "_HEAD_S", 1.0)
    monkeypatch.setattr(https, "_BODY_S", 1.0)
    dice, found = random.Random("line"), Counter[str]()
    journal = federation.journal(f"line-{messages}.db")
    with no_thread_fails(), federation.server(journal) as mail:
        for _ in range(messages):
            body = any_message(dice, journal.session, [])
            sent = head(len(body)) + body
            sent = scrambled(sent, dice) if dice.random() < 0.5 else sent
            with a_line(federation, mail.port, dice.choice(["ada", "bea", "cy"])) as line:
                line.sendall(sent)
                with contextlib.suppress(OSError):
                    answer = line.recv(100).split(b" ")
                    found[answer[1].decode() if len(answer) > 1 else "closed"] += 1
        client = federation.client("ada", mail.port)
        assert join(client, federation.roster).kind == "welcome"
        client.close()
    print(dict(found))
    assert {"200", "400"} <= set(found)
    journal.remove()


# -- an owner, whose curator cheats ------------------------------------------------------------------------------


class Cheating:
    """A curator that says anything at all: stands in for `CuratorClient._exchange`."""

    def __init__(self, dice: random.Random, roster: Roster, most: int) -> None:
        self.dice, self.roster, self.left = dice, roster, most
        self.session = dice.randbytes(16).hex()
        self.sent = 0
        self.round = 0
        self.declined: list[bytes] = []

    def exchange(self, data: bytes) -> bytes:
        message, dice = Message.decode(data), self.dice
        self.sent += 1
        self.left -= 1
        if message.kind == "decline":
            self.declined.append(message.body)
        if message.kind == "join":
            good = Message.note("welcome", self.session, roster=self.roster.hash, timeout=1.0).encode()
            return good if dice.random() < 0.9 else any_message(dice, self.session, [good])
        if self.left <= 0:
            return Message.note("end", self.session, outcome=dice.choice(["aborted", "done"]), reason="enough").encode()
        if message.kind != "next":
            return Message("taken", self.session, message.round, message.stage).encode()
        if dice.random() < 0.03:
            return any_message(dice, self.session, self.tasks())
        return dice.choice([Message("wait", self.session), *[self.task()] * 5]).encode()

    def task(self) -> Message:
        dice = self.dice
        self.round += dice.randrange(2)
        at = dice.randrange(7)
        body = self.tasks()[at]
        body = damaged(body, dice, list(TEXTS)) if dice.random() < 0.5 else body
        round = self.round if dice.random() < 0.95 else dice.choice([0, 2**63, 2**64 - 1])
        stage = STAGES[1 + at] if dice.random() < 0.9 else dice.choice(STAGES[1:])
        return Message("task", self.session, round, stage, body, 10**6)

    def tasks(self) -> list[bytes]:
        place = Place(self.session, self.roster.hash, self.round)
        sex, age = ["sex", 0, -1, False], ["age", 0, -1, False]
        asked = {"cost": self.dice.choice(["1/1000", "1/2000", *TEXTS]), "purpose": "x"}
        return [
            place.pack("decide", question=["choice", [[age, sex], [sex]], "R", None, None], **asked),
            place.pack("alone", question=["tables", [[sex]], ["1"]], **asked),
            place.pack("keys", question=["tables", [[sex, age]], ["1"]], **asked),
            place.pack("shares", keys={"ada": ["00" * 32] * 4}),
            place.pack("masked", sealed={"bea": "00" * 148}),
            place.pack("survivors", survivors={"ada": "00" * 64}),
            place.pack("unmask", signatures={"ada": "00" * 64}),
        ]


@pytest.mark.parametrize("messages", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_curator_that_says_anything(federation: Federation, tmp_path: Path, messages: int) -> None:
    """The owner's process ends with an error of the tree, or takes part; its account can be used again afterwards."""
    dice, sent, outcomes, unhandled = random.Random("client"), 0, Counter[str](), list[str]()
    data = demo_table(20, np.random.default_rng(1))
    sessions = 0
    while sent < messages:
        cheat = Cheating(dice, federation.roster, dice.randrange(2, 60))
        ledger = tmp_path / f"{sessions % 7}.db"
        sessions += 1
        party = Party(
            data, demo_schema(rows=20), federation.roster, federation.identity("ada"), "https://127.0.0.1:1", ledger,
            cap="none", patience=0.0, approve=lambda terms: True,
        )  # fmt: skip
        begun = time.thread_time()
        with mock.patch.object(CuratorClient, "_exchange", cheat.exchange):
            try:
                outcomes[type(party.take_part()).__name__] += 1
            except UnderstudyError as error:
                outcomes[error.kind] += 1
            except Exception as error:
                unhandled.append(repr(error))
        assert time.thread_time() - begun < LONG_S
        assert all(body.startswith(b'{"code": "') and len(body) < 40 for body in cheat.declined)
        sent += cheat.sent
    print(sent, "messages in", sessions, "sessions:", dict(outcomes))
    assert not unhandled, f"{len(unhandled)} of {sessions}: {unhandled[:5]}"
    assert outcomes[Participation.__name__] and outcomes["federation"]
    for ledger in tmp_path.glob("?.db"):
        book = Ledger(ledger)
        book.verify()
        book.close()


@pytest.mark.parametrize("messages", TEN_THOUSAND)
def test_answers_of_a_server_that_is_none(federation: Federation, messages: int) -> None:
    """HTTP that cannot be is an error that the client tries again after, or one that it gives up on."""
    dice, found = random.Random("answers"), Counter[str]()
    body = Message.note("welcome", "00" * 16, roster="x").encode()
    good = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    heads = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n" % (b"9" * 5000),
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", b"HTTP/1.1 999 No\r\n\r\n", b"HTTP/1.1 x OK\r\n\r\n",
        b"HTTP/1.1 100 Go\r\n\r\n" * 9 + good, b"HTTP/9.9 200 OK\r\n\r\n", b"a" * 70_000, b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n", b"HTTP/1.1 403 No\r\n\r\n", b"HTTP/1.1 413 No\r\n\r\n",
    ]  # fmt: skip
    client = federation.client("ada", 1)
    for _ in range(messages):
        answer = (
            scrambled(dice.choice([good] * 20 + heads), dice) if dice.random() < 0.7 else dice.choice([good, *heads])
        )
        with mock.patch.object(client, "_connected", lambda answer=answer: _connection(answer)):
            try:
                Message.decode(client._exchange(b"x"))
                found["read"] += 1
            except (OSError, http.client.HTTPException, FederationError) as error:
                found[type(error).__name__] += 1
    print(dict(found))
    assert found["read"] and found["FederationError"]


def _connection(answer: bytes) -> http.client.HTTPConnection:
    class Line:
        def makefile(self, *_: Any) -> io.BytesIO:
            return io.BytesIO(answer)

        def sendall(self, data: bytes) -> None: ...

        def close(self) -> None: ...

    connection = http.client.HTTPConnection("nowhere")
    connection.sock = Line()  # type: ignore[assignment]
    return connection


# -- a roster file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("files", TEN_THOUSAND)
def test_rosters(federation: Federation, tmp_path: Path, files: int) -> None:
    dice, found, unhandled = random.Random("rosters"), Counter[str](), list[str]()
    lines = federation.roster.to_toml().splitlines()
    path = tmp_path / "roster.toml"
    values = [
        "0x" + "f" * 6000, "9" * 5000, '"1e999999999"', "1e308", "nan", "inf", "-1", "[" * 3000 + "]" * 3000, "{}", "[]",
        '"\\u001b[2J"', '"' + "x" * 5000 + '"', "true", "1979-05-27", '"1/3"', '"1e-400"', "2147483648", '""', "0",
    ]  # fmt: skip
    for _ in range(files):
        changed = list(lines)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(changed))
            key = changed[at].split(" = ")[0]
            what = dice.randrange(4)
            if what == 0:
                del changed[at]
            elif what == 1 and " = " in changed[at]:
                changed[at] = f"{key} = {dice.choice(values)}"
            elif what == 2:
                changed.insert(at, dice.choice(lines))
            else:
                changed[at] = changed[at][: dice.randrange(len(changed[at]) + 1)]
        if dice.random() < 0.1:
            changed.insert(12, f"[federation.options]\nx = {dice.choice(values)}")
        data = "\n".join(changed).encode()
        path.write_bytes(scrambled(data, dice) if dice.random() < 0.2 else data)
        begun = time.thread_time()
        try:
            text = Roster.open(path).to_toml()
            assert all(line.isprintable() for line in text.splitlines())
            found["read"] += 1
        except UsageError:
            found["refused"] += 1
        except Exception as error:
            unhandled.append(repr(error))
        assert time.thread_time() - begun < 10
    print(dict(found))
    assert not unhandled, f"{len(unhandled)} of {files}: {unhandled[:5]}"
    assert found["read"] and found["refused"]


def test_a_roster_that_speaks_to_the_operator(federation: Federation) -> None:
    """What an operator reads before agreeing is not written by whoever wrote the roster."""
    from dataclasses import replace

    for change in ({"method": "x\x1b[2J"}, {"options": (("a", "1\n  Cost      epsilon 0"),)}, {"method": "x" * 65}):
        with pytest.raises(UsageError):
            replace(federation.roster, **change)


def test_a_head_is_as_long_as_ever() -> None:
    assert HEAD == 61
