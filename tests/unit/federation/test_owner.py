"""An owner that is killed and started again: the same answers, nothing drawn or paid twice, nothing forgotten."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import columns_of, schema_of
from federating import NAMES, SIZES, A, B, C, federation, parts_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import FederationAborted, FederationError
from understudy.federation.local import Deliver, LocalFederation
from understudy.federation.messages import SUM_STAGES
from understudy.federation.owner import MemoryRoundStore, OwnerAnswers, Request
from understudy.privacy.accounting import Accounting
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.noise import Gaussian
from understudy.privacy.random_source import SystemSource
from understudy.privacy.reservation import Charge
from understudy.privacy.scores import INDEPENDENCE, Pair

COST = Fraction(1, 2000)
OPTIONS = [Pair(B, (A,)), Pair(B, (C,))]


class Killed(BaseException):
    """The process ends here."""


class Restarts:
    """A federation in which bea can die and come back over the same ledger and store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores = {name: MemoryRoundStore() for name in NAMES[:4]}
        self.stack = ExitStack()
        self.made: LocalFederation

    def __enter__(self) -> Restarts:
        self.made = self.stack.enter_context(
            federation(self.folder, 4, dropping=1, stores=self.stores, source=SystemSource())
        )
        return self

    def __exit__(self, *error: Any) -> None:
        self.stack.close()

    def restart(self) -> None:
        self.made.reservations["bea"]._lock.release()  # what the end of a process does
        schema = self.made.roster.own_schema(schema_of(SIZES, 160), "bea")
        ledger = Ledger(self.folder / "bea.ledger.db")
        self.stack.callback(ledger.close)
        budget = self.made.roster.budget
        request = {"federation": self.made.roster.name}
        reservation = ledger.reserve(schema, budget, request, unlimited=True, fingerprint="bea")
        assert reservation.resumed or reservation.left == reservation.total_cost
        self.stack.callback(reservation.abandon, "the test has ended")
        engine = MemoryEngine(parts_of(columns_of(SIZES, 160, seed=3), 4)[1], 40, schema)
        table = LocalPrivateTable(schema, engine, reservation, SystemSource())
        session = self.made.table._session.place.session
        signer = self.made.signers["bea"]
        self.made.owners.answers["bea"] = OwnerAnswers(
            "bea", self.made.roster, session, table, signer, SystemSource(), self.stores["bea"]
        )
        self.made.reservations["bea"] = reservation

    @property
    def spent(self) -> Fraction:
        return self.made.reservations["bea"].total_cost - self.made.reservations["bea"].left

    @property
    def charged(self) -> Fraction:
        """By the ledger's own lines."""
        return sum((Fraction(c["cost"]) for c in self.made.reservations["bea"].charges()), Fraction(0))

    def all_questions(self) -> None:
        table = self.made.table
        table.choose(OPTIONS, INDEPENDENCE, COST, "structure", of=4)
        table.choose(OPTIONS, INDEPENDENCE, COST, "structure", of=4)
        table.measure([(A, B)], COST, "tables")
        table.choose(OPTIONS, INDEPENDENCE, COST, "structure", of=4)
        table.measure([(C,)], COST, "tables")


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("stage", ["decide", *SUM_STAGES])
def test_an_owner_may_restart_at_any_message(tmp_path: Path, stage: str, when: str) -> None:
    """Before it reads the message, or after its work, with the reply lost on the way; the message comes again."""
    count = 0

    with Restarts(tmp_path) as held:

        def disturb(name: str, round: int, at: str, body: bytes, deliver: Deliver) -> bytes | None:
            nonlocal count
            if (name, at) != ("bea", stage):
                return deliver(body)
            count += 1
            if when == "before":
                held.restart()
                return deliver(body)
            first = deliver(body)
            held.restart()
            assert deliver(body) == first
            return first

        held.made.owners.disturb = disturb
        held.all_questions()
        assert count and not held.made.owners.refusals
        assert held.spent == held.charged == held.made.table.paid["bea"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["charged", "drawing", "noised", "journalled", "answered"])
@pytest.mark.parametrize("stage", ["decide", "masked"])
def test_an_owner_killed_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, moment: str
) -> None:
    """Whatever was paid is paid once; where the noise may have been drawn and lost, the round goes on without it."""
    armed = False

    def dying(place: Any, name: str, before: bool) -> None:
        real = getattr(place, name)

        def wrapped(*given: Any, **more: Any) -> Any:
            nonlocal armed
            if armed and before:
                armed = False
                raise Killed
            result = real(*given, **more)
            if armed:
                armed = False
                raise Killed
            return result

        monkeypatch.setattr(place, name, wrapped)

    with Restarts(tmp_path) as held:
        if moment == "charged":
            dying(Charge, "drawing", before=True)
        elif moment == "drawing":
            dying(Charge, "drawing", before=False)
        elif moment == "noised":
            dying(*((Accounting, "select") if stage == "decide" else (Gaussian, "share")), before=False)
        elif moment == "journalled":
            dying(Charge, "journal", before=False)
        else:
            dying(MemoryRoundStore, "reply", before=False)
        done = False

        def disturb(name: str, round: int, at: str, body: bytes, deliver: Deliver) -> bytes | None:
            nonlocal armed, done
            if (name, at) != ("bea", stage) or done:
                return deliver(body)
            armed = done = True
            with pytest.raises(Killed):
                deliver(body)
            armed = False
            held.restart()
            return deliver(body)

        held.made.owners.disturb = disturb
        held.all_questions()
        assert done
        lost = moment in ("drawing", "noised")
        assert bool(held.made.owners.refusals) == lost
        assert held.spent == held.charged <= held.made.table.paid["bea"]


def test_a_lost_draw_is_not_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Restarts(tmp_path) as held:
        drawing = Charge.drawing

        def dying(self: Charge) -> None:
            drawing(self)
            if held.made.reservations["bea"] is self.reservation:
                monkeypatch.undo()
                raise Killed

        asked: list[bytes] = []

        def disturb(name: str, round: int, at: str, body: bytes, deliver: Deliver) -> bytes | None:
            if name == "bea" and at == "masked" and not asked:
                asked.append(body)
                with pytest.raises(Killed):
                    deliver(body)
                held.restart()
                return None
            return deliver(body)

        monkeypatch.setattr(Charge, "drawing", dying)
        held.made.owners.disturb = disturb
        held.made.table.measure([(A, B)], COST, "tables")
        for _ in range(2):
            with pytest.raises(FederationError, match="could not be answered"):
                held.made.owners.answers["bea"].answer(1, "masked", asked[0])
            held.restart()
        held.made.table.measure([(A, B)], COST, "tables")  # and she is back in the next round
        assert held.spent == held.charged == 2 * COST


def test_a_refusal_is_remembered(tmp_path: Path) -> None:
    """A charge that the ledger refused takes a step of the reservation too: after a restart the count is the same."""
    with Restarts(tmp_path) as held:
        table = held.made.table
        table.measure([(A,)], COST, "tables")
        table._whole = 1000 * table.total_cost
        with pytest.raises(FederationAborted):
            table.choose(OPTIONS, INDEPENDENCE, 500 * table.total_cost, "structure")
        held.restart()
        table.measure([(B,)], COST, "tables")
        held.restart()
        assert held.spent == held.charged == 2 * COST


def test_the_store_keeps_one_body_for_a_stage() -> None:
    store = MemoryRoundStore()
    store.accept(1, "keys", b"a")
    assert store.find(1, "keys") == Request(1, "keys", b"a")
    store.reply(1, "keys", b"b")
    assert list(store.requests()) == [Request(1, "keys", b"a", b"b")]
    assert store.seed(1, b"x") == store.seed(1, b"y") == b"x"


def test_an_owner_with_other_rows_than_the_rosters_does_not_begin(tmp_path: Path) -> None:
    with Restarts(tmp_path) as held:
        ada = held.made
        schema = schema_of(SIZES, 160)  # the row count of all owners together
        reservation = ada.reservations["ada"]
        table = LocalPrivateTable(
            schema, MemoryEngine(columns_of(SIZES, 160), 160, schema), reservation, SystemSource()
        )
        with pytest.raises(FederationError, match="rows that the roster says"):
            OwnerAnswers("ada", ada.roster, "s", table, ada.signers["ada"], SystemSource())
