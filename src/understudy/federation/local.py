"""Owners in one process: the protocol without a network, for tests and simulations, with a hook to disturb it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from understudy.engines.engine import CountingEngine, GroupingEngine
from understudy.errors import UnderstudyError
from understudy.federation.completing import discovery_of
from understudy.federation.federated_table import FederatedTable
from understudy.federation.owner import Complete, OwnerAnswers, RoundStore
from understudy.federation.roster import Owner, Roster, schema_hash
from understudy.federation.seams import Answers
from understudy.federation.signatures import KeySigner
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.random_source import RandomSource, SystemSource
from understudy.privacy.reservation import Reservation
from understudy.schema import Schema

Deliver = Callable[[bytes], bytes]  # a body to the owner, its reply back
Disturb = Callable[[str, int, str, bytes, Deliver], bytes | None]  # name, round, stage, body, deliver


def undisturbed(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
    return deliver(body)


class LocalOwners:
    """`Owners` over answers in memory. `disturb` may drop a message (None), repeat it, change it or its reply."""

    def __init__(self, answers: Mapping[str, Answers], disturb: Disturb = undisturbed) -> None:
        self.names = tuple(answers)
        self.answers = dict(answers)
        self.disturb = disturb
        self.refusals: list[tuple[str, int, str, UnderstudyError]] = []
        self.sent: dict[str, int] = dict.fromkeys(self.names, 0)  # bytes from each owner
        self.received: dict[str, int] = dict.fromkeys(self.names, 0)  # bytes to each owner
        self.exchanges = 0

    def ask(self, round: int, stage: str, bodies: Mapping[str, bytes], limit: int) -> dict[str, bytes]:
        self.exchanges += 1
        replies = {}
        for name, body in bodies.items():
            self.received[name] += len(body)
            reply = self._answer(name, round, stage, body)
            if reply is not None and len(reply) <= limit:
                self.sent[name] += len(reply)
                replies[name] = reply
        return replies

    def _answer(self, name: str, round: int, stage: str, body: bytes) -> bytes | None:
        def deliver(body: bytes) -> bytes:
            return self.answers[name].answer(round, stage, body)

        try:
            return self.disturb(name, round, stage, body, deliver)
        except UnderstudyError as error:  # an owner that refuses does not answer; why is for its own operator
            self.refusals.append((name, round, stage, error))
            return None


@dataclass(frozen=True, eq=False)
class LocalFederation:
    """All sides of a federation in one process."""

    table: FederatedTable
    roster: Roster
    owners: LocalOwners
    reservations: dict[str, Reservation]
    signers: dict[str, KeySigner]


@contextmanager
def local_federation(
    engines: Mapping[str, CountingEngine],
    schema: Schema,
    budget: Budget,
    folder: Path,
    *,
    colluding: int = 1,
    dropping: int = 0,
    source: RandomSource | None = None,
    disturb: Disturb = undisturbed,
    stores: Mapping[str, RoundStore] | None = None,
    texts: Mapping[str, GroupingEngine] | None = None,
    reopen: Callable[[str, Schema], CountingEngine] | None = None,
) -> Iterator[LocalFederation]:
    """Yield a federation of owners with these engines, fresh keys and a ledger each. Their row counts become public.

    Where a part of the schema is to be bought, the engines have its probes, `texts` counts an owner's texts, and
    `reopen` returns an owner's rows by the completed schema.
    """
    draw = source or SystemSource()
    keys = {name: Ed25519PrivateKey.generate() for name in engines}
    der = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    counted = schema.neighbours == "replace-one"
    owners = tuple(
        Owner(name, engine.rows() if counted else None, "", keys[name].public_key().public_bytes(*der))
        for name, engine in engines.items()
    )
    roster = Roster(owners, schema_hash(schema), budget, colluding=colluding, dropping=dropping)
    session = draw.words(2).tobytes().hex()
    signers = {name: KeySigner(key) for name, key in keys.items()}

    def completing(name: str, reservation: Reservation) -> Complete | None:
        if reopen is None:
            return None
        return lambda completed: LocalPrivateTable(completed, reopen(name, completed), reservation, draw)

    with ExitStack() as stack:
        answers: dict[str, Answers] = {}
        reservations = {}
        for name, engine in engines.items():
            own = roster.own_schema(schema, name)
            ledger = Ledger(folder / f"{name}.ledger.db")
            stack.callback(ledger.close)
            request = {"federation": roster.name}
            own_bought = discovery_of(own, roster)
            reservation = ledger.reserve(
                own, roster.budget if own_bought is None else own_bought.budget, request, unlimited=True,
                private=draw.private, fingerprint=name,
            )  # fmt: skip
            stack.callback(reservation.abandon, "the simulation has ended")
            coded = own if own_bought is None else own_bought.probes()
            table = LocalPrivateTable(coded, engine, reservation, draw, groups=None if texts is None else texts[name])
            store = None if stores is None else stores[name]
            answers[name] = OwnerAnswers(
                name, roster, session, table, signers[name], draw, store, own, completing(name, reservation)
            )
            reservations[name] = reservation
        local = LocalOwners(answers, disturb)
        yield LocalFederation(FederatedTable(schema, roster, local, session), roster, local, reservations, signers)
