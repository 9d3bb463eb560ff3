"""The secure sum: right for every pattern of drop-outs, and a curator or an owner that cheats is caught."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of
from federating import NAMES, SIZES, A, B, QuietSource, exact_counts, federation, parts_of
from understudy.errors import FederationAborted, FederationError, UnderstudyError
from understudy.federation import masks, shamir
from understudy.federation.local import Deliver, LocalFederation
from understudy.federation.messages import SUM_STAGES, Place
from understudy.federation.secure_sum import LARGEST_SUM
from understudy.federation.statements import PublicKeys, Statements, terms_of
from understudy.privacy.questions import Marginals

COST = Fraction(1, 1000)
Hook = Callable[[str, str, bytes, Deliver], bytes | None]


def measured(made: LocalFederation) -> np.ndarray:
    (found,) = made.table.measure([(A, B)], COST, "tables")
    return found.values


def counts(made: LocalFederation, owners: int, names: Any) -> np.ndarray:
    parts = parts_of(columns_of(SIZES, 40 * owners, seed=3), owners)
    held = [part for name, part in zip(NAMES, parts) if name in names]
    return exact_counts(made.table.schema, held, (A, B))


def hooked(hook: Hook) -> Any:
    return lambda name, round, stage, body, deliver: hook(name, stage, body, deliver)


def edited(body: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    length = int.from_bytes(body[:4], "big")
    head = json.loads(body[4 : 4 + length])
    change(head)
    text = json.dumps(head, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "big") + text + body[4 + length :]


def quiet(folder: Path, owners: int = 4, dropping: int = 1, hook: Hook | None = None, **more: Any) -> Any:
    given = {"disturb": hooked(hook)} if hook else {}
    return federation(folder, owners, dropping=dropping, source=QuietSource(), **given, **more)


@pytest.mark.parametrize("owners", [2, 3, 5])
def test_the_sum_is_the_sum(tmp_path: Path, owners: int) -> None:
    with quiet(tmp_path, owners, dropping=0) as made:
        assert (measured(made) == counts(made, owners, NAMES)).all()
        assert (measured(made) == counts(made, owners, NAMES)).all()
        assert not made.owners.refusals


@pytest.mark.slow
@pytest.mark.parametrize("stage", SUM_STAGES)
@pytest.mark.parametrize("name", NAMES[:4])
def test_one_owner_may_drop_out_at_any_stage(tmp_path: Path, stage: str, name: str) -> None:
    """Its vector is in the sum if it came, and the others finish."""
    late = SUM_STAGES.index(stage) > SUM_STAGES.index("masked")

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        gone = who == name and SUM_STAGES.index(at) >= SUM_STAGES.index(stage)
        return None if gone else deliver(body)

    with quiet(tmp_path, hook=hook) as made:
        assert (measured(made) == counts(made, 4, set(NAMES[:4]) - (set() if late else {name}))).all()


@pytest.mark.parametrize("stage", SUM_STAGES)
def test_a_reply_lost_after_the_work_is_the_same(tmp_path: Path, stage: str) -> None:
    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        return None if (who, at) == ("bea", stage) else reply

    with quiet(tmp_path, hook=hook) as made:
        present = set(NAMES[:4]) - ({"bea"} if stage in ("keys", "shares", "masked") else set())
        assert (measured(made) == counts(made, 4, present)).all()


@pytest.mark.slow
@pytest.mark.parametrize("stages", list(itertools.product(SUM_STAGES, repeat=2)))
def test_two_missing_are_one_too_many(tmp_path: Path, stages: tuple[str, str]) -> None:
    gone = dict(zip(("ada", "cy"), stages))

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        lost = who in gone and SUM_STAGES.index(at) >= SUM_STAGES.index(gone[who])
        return None if lost else deliver(body)

    with quiet(tmp_path, hook=hook) as made:
        with pytest.raises(FederationAborted, match="stays spent"):
            measured(made)
        drawn = [name for name, kept in made.reservations.items() if kept.left < kept.purse]
        assert set(drawn) >= {"bea", "dan"} or "keys" in stages or "shares" in stages


def test_messages_twice_change_nothing(tmp_path: Path) -> None:
    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        first = deliver(body)
        assert deliver(body) == first
        return first

    with quiet(tmp_path, hook=hook) as made:
        assert (measured(made) == counts(made, 4, NAMES)).all()
        assert {kept.purse - kept.left for kept in made.reservations.values()} == {COST}


# -- a curator that cheats ---------------------------------------------------------------------------------------------


def refused(made: LocalFederation, stage: str) -> dict[str, UnderstudyError]:
    return {name: error for name, _, at, error in made.owners.refusals if at == stage}


def test_swapped_keys_are_caught(tmp_path: Path) -> None:
    """The curator puts its own key in the place of ada's, to stand between her and the others."""
    mine = masks.public_key(bytes(range(32))).hex()

    def swap(head: dict[str, Any]) -> None:
        head["keys"]["ada"][1] = mine

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        return deliver(edited(body, swap) if at == "shares" and who != "ada" else body)

    with quiet(tmp_path, hook=hook) as made:
        with pytest.raises(FederationAborted, match="'shares'"):
            measured(made)
        assert set(refused(made, "shares")) == {"bea", "cy", "dan"}
        assert "not signed" in str(refused(made, "shares")["bea"])
        assert all(kept.left == kept.purse for kept in made.reservations.values())


def test_an_owner_sees_that_its_own_keys_were_replaced(tmp_path: Path) -> None:
    """Even with keys that it did sign, in another round."""
    earlier: dict[str, Any] = {}

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        def replay(head: dict[str, Any]) -> None:
            head["keys"]["ada"] = earlier["ada"]

        if at == "shares" and "ada" not in earlier:
            earlier["ada"] = json.loads(body[4:])["keys"]["ada"]
        elif at == "shares":
            body = edited(body, replay)
        return deliver(body)

    with quiet(tmp_path, hook=hook) as made:
        measured(made)
        with pytest.raises(FederationAborted):
            measured(made)
        assert set(refused(made, "shares")) == set(NAMES[:4])


@pytest.mark.parametrize("field", ["cost", "question", "purpose"])
def test_owners_who_are_asked_different_things_do_not_go_on(tmp_path: Path, field: str) -> None:
    """A dearer question has less noise: its shares would not protect those who were asked the other one."""
    other = {"cost": "1/500", "question": ["tables", [[["a", 0, -1, False]]], ["1"]], "purpose": "another"}

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        return deliver(
            edited(body, lambda head: head.update({field: other[field]})) if (who, at) == ("cy", "keys") else body
        )

    with quiet(tmp_path, dropping=0, hook=hook) as made:
        with pytest.raises(FederationAborted):
            measured(made)
        assert all(kept.left == kept.purse for kept in made.reservations.values())


def test_owners_check_keys_even_if_the_curator_does_not(tmp_path: Path) -> None:
    """As above, but the cheating curator passes the odd keys on."""
    odd: dict[str, Any] = {}

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        if (who, at) == ("cy", "keys"):
            odd["cy"] = json.loads(deliver(edited(body, lambda head: head.update({"cost": "1/500"})))[4:])["keys"]
            return None
        if at == "shares":
            body = edited(body, lambda head: head["keys"].update(odd))
        return deliver(body)

    with quiet(tmp_path, hook=hook) as made:
        with pytest.raises(FederationAborted):
            measured(made)
        assert set(refused(made, "shares")) == {"ada", "bea", "dan"}


def test_two_lists_of_survivors_open_nothing(tmp_path: Path) -> None:
    """The curator tells ada and bea that all survived, cy and dan that ada did not; with dan's help, who signs both."""
    lists: dict[str, bytes] = {}

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        if at == "survivors" and who == "cy":
            body = edited(body, lambda head: head["survivors"].pop("ada"))
        if at == "survivors":
            lists[who] = body
        return deliver(body)

    with quiet(tmp_path, hook=hook) as made:
        measured(made)  # cy, who signed the other list, counts as dropped: three signatures of four are enough
        place = Place(made.table._session.place.session, made.roster.hash, 1)
        replies = {name: made.owners.answers[name].answer(1, "survivors", lists[name]) for name in NAMES[:4]}
        signatures = {name: json.loads(reply[4:])["signature"] for name, reply in replies.items()}
        signatures.pop("ada")
        with pytest.raises(FederationError, match="two stories"):
            made.owners.answers["cy"].answer(1, "unmask", place.pack("unmask", signatures=signatures))
        with pytest.raises(FederationError, match="differently"):
            made.owners.answers["ada"].answer(1, "survivors", lists["cy"])


def test_an_owner_that_is_left_out_does_not_sign(tmp_path: Path) -> None:
    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        return deliver(edited(body, lambda head: head["survivors"].pop("ada")) if at == "survivors" else body)

    with quiet(tmp_path, hook=hook) as made:
        with pytest.raises(FederationAborted):
            measured(made)
        assert "leaves this one out" in str(refused(made, "survivors")["ada"])


@pytest.mark.parametrize("missing", [1, 2])
def test_a_list_that_is_too_short_is_not_signed(tmp_path: Path, missing: int) -> None:
    """With u = 1 one name may be missing; with two there would be too little noise."""
    out = ["cy", "dan"][:missing]

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        def cut(head: dict[str, Any]) -> None:
            for name in out:
                head["survivors"].pop(name, None)

        return deliver(edited(body, cut) if at == "survivors" else body)

    with quiet(tmp_path, hook=hook) as made:
        with pytest.raises(FederationAborted):
            measured(made)
        why = {str(error) for error in refused(made, "survivors").values()}
        assert any("too few" in text for text in why) == (missing == 2)


def test_signatures_are_counted_and_checked(tmp_path: Path) -> None:
    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        def cheat(head: dict[str, Any]) -> None:
            given = head["signatures"]
            if who == "ada":
                given.pop("bea"), given.pop("cy")
            if who == "bea":
                given["cy"] = given["dan"]

        return deliver(edited(body, cheat) if at == "unmask" else body)

    with quiet(tmp_path, hook=hook) as made:
        with pytest.raises(FederationAborted, match="'unmask'"):
            measured(made)
        assert "3 are needed" in str(refused(made, "unmask")["ada"])
        assert "another list" in str(refused(made, "unmask")["bea"])


def test_owners_must_have_masked_towards_the_same_peers(tmp_path: Path) -> None:
    """The curator keeps bea's shares from ada: her vector would carry no mask towards bea, and might stand alone."""

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        return deliver(edited(body, lambda head: head["sealed"].pop("bea")) if (who, at) == ("ada", "masked") else body)

    with quiet(tmp_path, hook=hook) as made:
        found = measured(made)  # the curator of the package drops ada, who signed another membership
        assert (found == counts(made, 4, {"bea", "cy", "dan"})).all()

    ada: dict[str, Any] = {}

    def pushing(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        if (who, at) == ("ada", "masked"):
            ada["signature"] = json.loads(
                deliver(edited(body, lambda head: head["sealed"].pop("bea"))).split(b"}", 1)[0][4:] + b"}"
            )["signature"]
            return None
        if at == "survivors":
            body = edited(body, lambda head: head["survivors"].update(ada=ada["signature"]))
        return deliver(body)

    (tmp_path / "second").mkdir()
    with quiet(tmp_path / "second", hook=pushing) as made:
        with pytest.raises(FederationAborted):
            measured(made)
        assert all("same owners" in str(error) for error in refused(made, "survivors").values())


def test_sealed_shares_reach_whom_they_are_for(tmp_path: Path) -> None:
    """The curator gives ada the shares that were meant for bea."""
    kept: dict[str, Any] = {}

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        if (who, at) == ("ada", "masked"):
            kept["cy"] = json.loads(body[4:])["sealed"]["cy"]
        if (who, at) == ("bea", "masked"):
            body = edited(body, lambda head: head["sealed"].update(cy=kept["cy"]))
        return deliver(body)

    with quiet(tmp_path, hook=hook) as made:
        measured(made)
        assert "cannot be opened" in str(refused(made, "masked")["bea"])
        assert made.reservations["bea"].left == made.reservations["bea"].purse


def test_an_old_round_and_another_body_are_refused(tmp_path: Path) -> None:
    seen: dict[tuple[str, str], bytes] = {}

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        seen.setdefault((who, at), body)
        return deliver(body)

    with quiet(tmp_path, hook=hook) as made:
        measured(made)
        answers = made.owners.answers["ada"]
        masked = answers.answer(1, "masked", seen["ada", "masked"])
        measured(made)
        assert answers.answer(1, "masked", seen["ada", "masked"]) == masked
        for stage in SUM_STAGES:
            with pytest.raises(FederationError, match="differently"):
                answers.answer(1, stage, seen["ada", stage] + b" ")
            with pytest.raises(FederationError):
                answers.answer(3, stage, seen["ada", stage])  # a new round with the words of the old one
        with pytest.raises(FederationError, match="has begun"):
            answers.answer(2, "decide", b"")
        assert made.reservations["ada"].purse - made.reservations["ada"].left == 2 * COST


def test_stages_come_in_order(tmp_path: Path) -> None:
    with quiet(tmp_path) as made:
        for stage in SUM_STAGES[1:]:
            with pytest.raises(FederationError, match="what comes next"):
                made.owners.answers["ada"].answer(1, stage, b"")
        with pytest.raises(FederationError, match="what comes next"):
            made.owners.answers["ada"].answer(1, "nonsense", b"")


def test_a_body_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        return deliver(body + bytes(1 << 20) if (who, at) == ("ada", "shares") else body)

    with quiet(tmp_path, hook=hook) as made:
        measured(made)
        assert "too long" in str(refused(made, "shares")["ada"])


# -- an owner that cheats ----------------------------------------------------------------------------------------------


def test_a_huge_vector_ends_in_a_typed_abort(tmp_path: Path) -> None:
    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        if (who, at) == ("cy", "masked"):
            return reply[:-8] + ((int.from_bytes(reply[-8:], "little") + 2**60) % 2**64).to_bytes(8, "little")
        return reply

    with quiet(tmp_path, hook=hook) as made, pytest.raises(FederationAborted, match="wrong vector"):
        measured(made)


@pytest.mark.parametrize("wrong", [-(10**9), 10**12])
def test_a_wrong_count_spoils_the_sum_and_nothing_else(tmp_path: Path, wrong: int) -> None:
    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        if (who, at) == ("cy", "masked"):
            return reply[:-8] + ((int.from_bytes(reply[-8:], "little") + wrong) % 2**64).to_bytes(8, "little")
        return reply

    with quiet(tmp_path, hook=hook) as made:
        off = measured(made) - counts(made, 4, NAMES)
        assert off.ravel().tolist() == [0, 0, 0, 0, 0, wrong]
        assert abs(wrong) < LARGEST_SUM


@pytest.mark.slow
@pytest.mark.parametrize("stage", SUM_STAGES)
@pytest.mark.parametrize("kind", ["empty", "short", "long", "noise", "other round", "null"])
def test_a_reply_that_cannot_be_read_is_a_drop_out(tmp_path: Path, stage: str, kind: str) -> None:
    change: dict[str, Callable[[bytes], bytes]] = {
        "empty": lambda reply: b"",
        "short": lambda reply: reply[:-1],
        "long": lambda reply: reply + bytes(9),
        "noise": lambda reply: bytes(range(256)) * 3,
        "other round": lambda reply: edited(reply, lambda head: head.update(round=9)),
        "null": lambda reply: edited(reply, lambda head: head.update(dict.fromkeys(list(head)[4:]))),
    }

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        return change[kind](reply) if (who, at) == ("dan", stage) else reply

    with quiet(tmp_path, hook=hook) as made:
        late = stage in ("survivors", "unmask")
        assert (measured(made) == counts(made, 4, NAMES[: 4 if late else 3])).all()


@pytest.mark.parametrize("key", [0, 1])
def test_a_key_that_agrees_with_nobody_is_a_drop_out(tmp_path: Path, key: int) -> None:
    """Dan signs a point of small order: nobody masks towards him, and nobody pays for a round that fails."""

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        if (who, at) != ("dan", "keys"):
            return reply
        keys = [bytes.fromhex(text) for text in json.loads(reply[4:])["keys"]]
        keys[key] = bytes(32)
        place = made.table._session.place
        schema, accounting = made.table.schema, made.table.accounting
        terms = terms_of(Marginals.of([(A, B)]), COST, "tables", schema, accounting)
        said = Statements(made.roster, place, terms).keys("dan", PublicKeys(*keys))
        keys[3] = made.signers["dan"].sign(said)
        return place.pack("keys", keys=[text.hex() for text in keys])

    with quiet(tmp_path, hook=hook) as made:
        assert (measured(made) == counts(made, 4, NAMES[:3])).all()
        assert made.reservations["dan"].left == made.reservations["dan"].purse
        assert not made.owners.refusals


@pytest.mark.parametrize("liars", [1, 2])
def test_a_wrong_share_is_found_out(tmp_path: Path, liars: int) -> None:
    """Three shares of four open a secret, so one wrong one can be left out, and two cannot."""

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        if who in NAMES[:liars] and at == "unmask":
            return edited(reply, lambda head: head["own"].update(cy="00" * (shamir.SHARE - 1) + "05"))
        return reply

    with quiet(tmp_path, hook=hook) as made:
        if liars == 1:
            assert (measured(made) == counts(made, 4, NAMES)).all()
        else:
            with pytest.raises(FederationAborted, match="secret of 'cy'"):
                measured(made)


def test_another_owners_signature_does_not_pass(tmp_path: Path) -> None:
    """Cy answers in dan's name: the curator takes his keys for nobody's."""
    taken: dict[str, bytes] = {}

    def hook(who: str, at: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        if at == "keys":
            taken[who] = reply
        return taken["cy"] if (who, at) == ("dan", "keys") else reply

    with quiet(tmp_path, hook=hook) as made:
        assert (measured(made) == counts(made, 4, NAMES[:3])).all()
