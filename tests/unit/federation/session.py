"""A federation under test: certificates, a roster, a mail server on loopback and owners that answer by a rule."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from understudy.demo import demo_schema
from understudy.federation.certificates import Identity, certificate_facts, make_certificates
from understudy.federation.client import CuratorClient
from understudy.federation.journal import CuratorJournal
from understudy.federation.roster import Curator, Owner, Roster, schema_hash
from understudy.federation.server import MailServer
from understudy.federation.wire import Message
from understudy.privacy.budget import Budget
from understudy.version import VERSION

NAMES = ("ada", "bea", "cy")
LONG_S = 60.0  # what takes a moment may take this long on a machine that is busy with other things


@dataclass(frozen=True)
class Federation:
    folder: Path
    roster: Roster

    def identity(self, name: str, folder: Path | None = None) -> Identity:
        here = folder or self.folder
        return Identity(here / f"{name}.pem", here / f"{name}.key", self.folder / "ca.pem")

    def journal(self, name: str = "journal.db") -> CuratorJournal:
        return CuratorJournal(self.folder / name, self.roster.hash)

    @contextmanager
    def server(self, journal: CuratorJournal, timeout: float = LONG_S, port: int = 0) -> Iterator[MailServer]:
        with MailServer(self.roster, self.identity("office"), journal, "127.0.0.1", port, timeout) as server:
            yield server

    def client(self, name: str, port: int, patience: float = LONG_S, folder: Path | None = None) -> CuratorClient:
        fingerprint = self.roster.curator.fingerprint
        return CuratorClient(f"https://127.0.0.1:{port}", self.identity(name, folder), fingerprint, patience)


def make_federation(folder: Path, names: tuple[str, ...] = NAMES, rows: int = 20) -> Federation:
    folder.mkdir(parents=True, exist_ok=True)
    make_certificates(folder, names, "office")
    schema = demo_schema(rows=rows * len(names))
    owners = tuple(Owner(name, rows, *certificate_facts(folder / f"{name}.pem")) for name in names)
    curator = Curator("office", *certificate_facts(folder / "office.pem"))
    return Federation(folder, Roster(owners, schema_hash(schema), Budget(1), curator=curator))


def join(client: CuratorClient, roster: Roster) -> Message:
    return client.send(Message.note("join", roster=roster.as_json(), understudy=VERSION))


def echo(name: str, message: Message) -> bytes:
    return hashlib.sha256(name.encode() + message.stage.encode() + message.body).digest()


class EchoOwner(threading.Thread):
    """Joins, answers every task by its rule, ends with the session."""

    def __init__(
        self, federation: Federation, name: str, port: int, rule: Callable[[str, Message], bytes] = echo
    ) -> None:
        super().__init__(daemon=True)
        self.end: Message | None = None
        self.failure: Exception | None = None
        self.asked: list[tuple[int, str]] = []
        self._federation, self._owner, self._port, self._rule = federation, name, port, rule

    def run(self) -> None:
        client = self._federation.client(self._owner, self._port)
        try:
            session = join(client, self._federation.roster).session
            while self.end is None:
                message = client.send(Message("next", session))
                if message.kind == "end":
                    self.end = message
                elif message.kind == "task":
                    self.asked.append((message.round, message.stage))
                    body = self._rule(self._owner, message)
                    client.send(Message("answer", session, message.round, message.stage, body))
        except Exception as error:
            self.failure = error
        finally:
            client.close()
