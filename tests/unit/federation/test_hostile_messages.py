"""Messages that broke an owner, one by one: what they were, what is said to them, and how an owner that has them in its
journal, written there by an earlier version, gets out of it."""

from __future__ import annotations

import json
import resource
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from test_owner import Restarts

from conftest import schema_of
from federating import SIZES, A, B, C, QuietSource, federation
from understudy.errors import BudgetError, MessageRefused, UnderstudyError, UsageError
from understudy.federation.local import LocalFederation
from understudy.federation.messages import Place
from understudy.federation.signatures import KeySigner
from understudy.privacy import question_json
from understudy.privacy.question_json import query_from_json, selection_from_json
from understudy.privacy.questions import Choice, Marginals
from understudy.privacy.random_source import SystemSource
from understudy.privacy.scores import INDEPENDENCE, Pair

COST = Fraction(1, 2000)
CHOICE = json.loads(json.dumps(Choice([Pair(B, (A,)), Pair(B, (C,))], INDEPENDENCE).as_json()))
TABLE = json.loads(json.dumps(Marginals.of([(A, B)]).as_json()))
AXIS = ["a", 0, -1, False]
COSTS = [
    ("1/1" + "0" * 400, "question"),  # no floating-point number is as small
    ("1/1" + "0" * 320, "question"),  # nor its inverse as large
    ("1" + "0" * 400, "question"),
    ("1/" + "7" * 5000, "question"),
    ("1" * 5000, "question"),  # more digits than Python reads
    ("1e999999999", "question"),
    ("0", "question"),
    ("-1", "question"),
    ("1/0", "question"),
    ("2", "budget"),
]


def body(made: LocalFederation, round: int, stage: str, question: Any, cost: str, **more: Any) -> bytes:
    place = made.table._session.place
    fields = {"question": question, "cost": cost, "purpose": "structure", **more}
    return Place(place.session, place.roster, round).pack(stage, **fields)


@pytest.mark.parametrize("stage", ["decide", "alone", "keys"])
@pytest.mark.parametrize(("cost", "code"), COSTS, ids=[f"{cost[:12]}.{len(cost)}" for cost, _ in COSTS])
def test_a_cost_that_cannot_be(tmp_path: Path, stage: str, cost: str, code: str) -> None:
    """Refused before it is written down: the next life does not meet it again, and the round can still be asked."""
    with Restarts(tmp_path) as held:
        question = CHOICE if stage == "decide" else TABLE
        with pytest.raises(MessageRefused) as refused:
            held.made.owners.answers["bea"].answer(1, stage, body(held.made, 1, stage, question, cost))
        assert refused.value.code == code
        assert held.stores["bea"].requests() == []
        assert held.spent == 0
        held.restart()
        held.all_questions()
        assert not held.made.owners.refusals
        assert held.spent == held.charged == held.made.table.paid["bea"]


def test_noise_too_large_to_be_shared_is_not_paid_for(tmp_path: Path) -> None:
    """It was found out when the noise was about to be drawn: charged, marked as drawn, and lost."""
    with Restarts(tmp_path) as held:
        with pytest.raises(MessageRefused, match="cannot be shared"):
            held.made.owners.answers["bea"].answer(1, "keys", body(held.made, 1, "keys", TABLE, "1/1" + "0" * 45))
        assert held.spent == 0
        table = held.made.owners.answers["bea"]._table
        with pytest.raises(UnderstudyError, match="cannot be shared"):
            table.contribute(Marginals.of([(A, B)]), Fraction(1, 10**45), "tables", "", 2, lambda count: 1 / 0)
        assert held.spent == 0 and not held.made.reservations["bea"].drawn


@pytest.mark.parametrize("round", [-1, 0, 2**63, 2**64 - 1, 10**6 + 1])
def test_a_round_that_no_journal_can_hold(tmp_path: Path, round: int) -> None:
    from understudy.federation.journal import OwnerJournal

    with Restarts(tmp_path) as held:
        held.stores["bea"] = OwnerJournal(tmp_path / "bea.session")  # type: ignore[assignment]
        held.restart()
        with pytest.raises(MessageRefused) as refused:
            held.made.owners.answers["bea"].answer(round, "decide", body(held.made, round, "decide", CHOICE, "1/2000"))
        assert refused.value.code == "order"
        held.stores["bea"].remove()  # type: ignore[attr-defined]


@pytest.mark.parametrize("stage", ["decide", "alone", "keys", "shares", "masked", "survivors", "unmask"])
def test_a_journal_that_an_earlier_version_poisoned(tmp_path: Path, stage: str) -> None:
    """It wrote every message down before it looked at it. The owner comes back, refuses that one, and goes on."""
    with Restarts(tmp_path) as held:
        held.made.table.measure([(A,)], COST, "tables")
        poison = body(held.made, 2, stage, CHOICE if stage == "decide" else TABLE, "1/1" + "0" * 400)
        if stage in ("shares", "masked", "survivors", "unmask"):
            keys = body(held.made, 2, "keys", TABLE, "1/2000")
            held.made.owners.answers["bea"].answer(2, "keys", keys)
        held.stores["bea"].accept(2, stage, poison)
        for _ in range(2):
            held.restart()
            with pytest.raises(MessageRefused) as refused:
                held.made.owners.answers["bea"].answer(2, stage, poison)
            assert refused.value.code == "lost"
        held.made.table._session.next_place()  # round 2 is over, without her
        held.all_questions()
        assert not held.made.owners.refusals
        assert held.spent == held.charged == held.made.table.paid["bea"]


def test_a_refusal_of_the_ledger_that_an_earlier_version_wrote_down(tmp_path: Path) -> None:
    """Its charge was a step of the reservation, so it is one again: what came after it is found where it was."""
    with Restarts(tmp_path) as held:
        bea = held.made.owners.answers["bea"]
        held.made.table.measure([(A,)], COST, "tables")
        dear = body(held.made, 2, "decide", CHOICE, "1000")
        held.stores["bea"].accept(2, "decide", dear)  # as that version did, and then it asked its ledger
        with pytest.raises(BudgetError):
            bea._table.select(selection_from_json(CHOICE, bea._table.schema), Fraction(1000), "structure")
        bea._round = 2
        held.made.table._session.next_place()
        held.made.table.measure([(B,)], COST, "tables")
        held.restart()
        held.made.table.measure([(C,)], COST, "tables")
        assert held.spent == held.charged == 3 * COST
        assert not held.made.owners.refusals


def test_a_message_that_was_refused_may_be_asked_rightly(tmp_path: Path) -> None:
    """In the middle of a secure sum: what was refused is as if it had never come."""
    from understudy.federation.local import Deliver

    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        if name == "bea":
            with pytest.raises(MessageRefused) as refused:
                deliver(body[:-1])
            assert refused.value.code == "message"
        return deliver(body)

    with federation(tmp_path, 4, dropping=1, source=QuietSource(), disturb=disturb) as made:
        made.table.choose([Pair(B, (A,)), Pair(B, (C,))], INDEPENDENCE, COST, "structure", of=4)
        made.table.measure([(A, B)], COST, "tables")
        assert not made.owners.refusals


# -- what takes long, or much memory ---------------------------------------------------------------------------------


def refused_quickly(read: Any, data: Any, schema: Any, megabytes: int = 200) -> None:
    begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UsageError):
        read(data, schema)
    assert time.process_time() - begun < 20
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < megabytes


SCHEMA = schema_of(SIZES, 160)


def test_texts_among_the_numbers_of_a_table() -> None:
    """numpy gives every cell the room of the longest text: 4 GB from 200 kB."""
    options, references = [[["b", 0, -1, False]]], [["x" * 10**5, *[0] * 10**4]]
    refused_quickly(selection_from_json, ["choice", options, "D", None, references], SCHEMA)


def test_shares_that_take_hours_to_add_up() -> None:
    numbers = [str(2**61 * 10**900 + 2 * k + 1) for k in range(4000)]
    shares = [f"1/{number}" for number in numbers]
    refused_quickly(query_from_json, ["tables", [[AXIS]] * len(shares), shares], SCHEMA)


def test_shares_that_all_differ() -> None:
    shares = [f"1/{10**9 + k}" for k in range(question_json.MAX_DIFFERENT_SHARES + 1)]
    refused_quickly(query_from_json, ["tables", [[AXIS]] * len(shares), shares], SCHEMA)


@pytest.mark.costly
def test_links_are_not_laid_out_before_they_are_checked() -> None:
    """Every bit of every attribute on both sides: a matrix of 3 GB before the first of them was looked at."""
    wide = schema_of({f"a{i}": 1000 for i in range(1000)}, 100)
    axes = [[f"a{i}", 0, bit, gray] for i in range(1000) for bit in range(10) for gray in (False, True)]
    refused_quickly(selection_from_json, ["links", axes, axes, "R", 0, 10, True], wide)


def test_more_axes_than_an_array_has() -> None:
    single = schema_of({f"a{i}": 1 for i in range(80)}, 100)
    refused_quickly(query_from_json, ["tables", [[[f"a{i}", 0, -1, False] for i in range(80)]], ["1"]], single)


@pytest.mark.costly
def test_options_that_take_days_to_count() -> None:
    wide = schema_of({f"a{i}": 4000 for i in range(100)}, 100)
    options = [[[f"a{i}", 0, -1, False], [f"a{j}", 0, -1, False]] for i in range(100) for j in range(100) if i != j]
    refused_quickly(selection_from_json, ["choice", options, "R", None, None], wide)
    refused_quickly(selection_from_json, ["link", [["a0", 0, -1, False]], [["a1", 0, -1, False]], 0], schema_of(
        {"a0": 6000, "a1": 6000}, 100
    ))  # fmt: skip


def test_costs_that_do_not_add_up_to_a_number_of_moderate_length(tmp_path: Path) -> None:
    """Each is short; their sum has the product of their denominators, and grows with every round."""
    with federation(tmp_path, 3, source=SystemSource()) as made:
        bea, codes = made.owners.answers["bea"], []
        for round in range(1, 40):
            cost = f"1/{10**990 + 2 * round + 1}"
            try:
                bea.answer(round, "decide", body(made, round, "decide", CHOICE, cost))
            except MessageRefused as error:
                codes.append(error.code)
        assert set(codes) <= {"question", "budget"} and len(codes) >= 20


@pytest.mark.costly
def test_a_message_of_many_small_parts(tmp_path: Path) -> None:
    """21 million empty lists take 1.4 GB."""
    with federation(tmp_path, 3, source=QuietSource()) as made:
        text = b'{"question":[' + b"[]," * (21 << 20) + b"[]]}"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(MessageRefused):
            made.owners.answers["bea"].answer(1, "keys", len(text).to_bytes(4, "big") + text)
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < 300


def test_a_key_that_nobody_can_check_is_refused_before_anything_is_sent() -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    with pytest.raises(UsageError, match="elliptic-curve or an Ed25519 key"):
        KeySigner(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def test_the_curator_takes_no_count_that_cannot_be(tmp_path: Path) -> None:
    """Of one owner's answer, as of a sum."""
    from understudy.errors import FederationAborted
    from understudy.federation.local import Deliver

    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        return reply[:-8] + (2**63).to_bytes(8, "little") if stage == "alone" else reply

    with federation(tmp_path, 3, source=QuietSource(), disturb=disturb) as made, pytest.raises(FederationAborted):
        made.table.owners()[0].measure([(A,)], COST, "tables")


def test_json_is_read_strictly() -> None:
    from understudy.federation.strict_json import read_json

    assert read_json(b'{"a":[1,"x",null]}') == {"a": [1, "x", None]}
    for text in (b'{"a":1,"a":2}', b"NaN", b"[Infinity]", b"[" * 10**5, json.dumps("x").encode("utf-16"), b"1" * 5000):
        with pytest.raises(ValueError):
            read_json(text)
