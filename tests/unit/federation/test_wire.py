"""The wire of version 1, byte for byte; why an owner declines; and journals that are damaged, and closed all the same."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from session import Federation, join, make_federation

from understudy.errors import FederationError
from understudy.federation import journal as journals
from understudy.federation.journal import CuratorJournal, OwnerJournal
from understudy.federation.messages import Place
from understudy.federation.wire import REFUSALS, Message

SESSION = "ab" * 16
ZEROS = "00" * 16
HEADS = [
    (Message("next", SESSION), f"5573460102{SESSION}{ZEROS}{'00' * 24}"),
    (Message("answer", SESSION, 7, "keys", b"body"),
     f"5573460105{SESSION}6b657973{'00' * 12}000000000000000700000000000000000000000000000004626f6479"),
    (Message("task", SESSION, 7, "decide", b"q", 4096),
     f"5573460103{SESSION}646563696465{'00' * 10}00000000000000070000000000001000000000000000000171"),
    (Message("decline", SESSION, 3, "masked"),
     f"5573460107{SESSION}6d61736b6564{'00' * 10}0000000000000003{'00' * 16}"),
    (Message.note("leave", SESSION, reason="no"),
     f"5573460108{SESSION}{ZEROS}{'00' * 16}0000000000000010" + b'{"reason": "no"}'.hex()),
]  # fmt: skip


@pytest.mark.parametrize(("message", "text"), HEADS, ids=[message.kind for message, _ in HEADS])
def test_messages_are_those_of_version_1(message: Message, text: str) -> None:
    assert message.encode().hex() == text
    assert Message.decode(bytes.fromhex(text)) == message


def test_bodies_are_those_of_version_1() -> None:
    place = Place(SESSION, "cd" * 32, 5)
    where = f'{{"session":"{SESSION}","roster":"{"cd" * 32}","round":5,"stage":'
    asked = '"decide","question":["link",[],[],0],"cost":"1/2","purpose":"structure"}'
    packed = place.pack("decide", question=["link", [], [], 0], cost="1/2", purpose="structure")
    assert packed == len(where + asked).to_bytes(4, "big") + (where + asked).encode()
    assert place.pack("masked", b"\1\2", signature="00").endswith(b'"stage":"masked","signature":"00"}\1\2')
    assert place.unpack("masked", place.pack("masked", b"\1\2", signature="00"), 2, signature=str)[1] == b"\1\2"
    said = hashlib.sha256(place.statement("keys", "ada", b"\0\1")).hexdigest()
    assert said == "5ec851cc1472d491bf25f14e5ed3f041b4d580a50c68a45721941beff37d5a1e"


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return make_federation(tmp_path_factory.mktemp("wire"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "declined, or sent too much"),  # as version 1 declines
        (b'{"code": "question"}', f"declined: {REFUSALS['question']}"),
        (b'{"code": "budget", "more": 1}', f"declined: {REFUSALS['budget']}"),
        (b'{"code": "\\u001b[2J"}', "declined, or sent too much"),
        (b'{"code": ["question"]}', "declined, or sent too much"),
    ],
)
def test_why_an_owner_declines(federation: Federation, tmp_path: Path, body: bytes, said: str) -> None:
    """One of the curator's own sentences, whatever was sent."""
    journal = federation.journal(f"{tmp_path.name}.db")
    with federation.server(journal) as server:
        client = federation.client("ada", server.port)
        session = join(client, federation.roster).session
        server._boxes["ada"].task = Message("task", session, 1, "decide", b"q", 10)
        assert client.send(Message("decline", session, 1, "decide", body)).kind == "taken"
        assert server.dropped == {"ada": said}
        client.close()
    journal.remove()


# -- journals ------------------------------------------------------------------------------------------------------


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Every connection that the journals open."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembered(*given: Any, **more: Any) -> sqlite3.Connection:
        opened.append(connect(*given, **more))
        return opened[-1]

    monkeypatch.setattr(journals.sqlite3, "connect", remembered)
    return opened


def is_closed(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


def test_what_cannot_be_opened_is_closed(tmp_path: Path, connections: list[sqlite3.Connection]) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"no database" * 1000)
    for opening in (lambda: OwnerJournal(path), lambda: CuratorJournal(path, "request")):
        with pytest.raises(FederationError, match="cannot be opened"):
            opening()
    assert len(connections) == 2 and all(map(is_closed, connections))


def test_a_journal_of_another_session_is_closed(tmp_path: Path, connections: list[sqlite3.Connection]) -> None:
    CuratorJournal(tmp_path / "journal.db", "one").close_file()
    with pytest.raises(FederationError, match="of another session"):
        CuratorJournal(tmp_path / "journal.db", "another")
    assert len(connections) == 2 and all(map(is_closed, connections))


@pytest.mark.parametrize(
    "damage",
    ["DROP TABLE facts", "UPDATE facts SET value = x'00'", "UPDATE facts SET value = 'x' WHERE name = 'session'"],
)
def test_a_damaged_journal_of_the_curator(tmp_path: Path, connections: list[sqlite3.Connection], damage: str) -> None:
    path = tmp_path / "journal.db"
    CuratorJournal(path, "one").close_file()
    change(path, damage)
    if damage.startswith("DROP"):
        CuratorJournal(path, "one").remove()  # as if it were new
    else:
        with pytest.raises(FederationError):
            CuratorJournal(path, "one")
    assert all(map(is_closed, connections))


@pytest.mark.parametrize(
    "damage", ["UPDATE requests SET body = 'x'", "UPDATE requests SET round = 'x'", "UPDATE requests SET reply = 5"]
)
def test_a_damaged_journal_of_an_owner(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "journal.db"
    journal = OwnerJournal(path)
    journal.accept(1, "keys", b"body")
    assert journal.find(1, "keys") == journals.Request(1, "keys", b"body")
    journal.close_file()
    change(path, damage)
    journal = OwnerJournal(path)
    with pytest.raises(FederationError, match="is damaged"):
        journal.requests()
    journal.remove()


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
