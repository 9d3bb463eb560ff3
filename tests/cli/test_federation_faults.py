"""A federation in trouble: owners and curators that die at any point, messages lost, doubled and replayed, answers that
cannot be. Never a partial release, never one that was not paid for, never noise drawn twice, and nobody hangs."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

pytest.importorskip("cryptography")

from federation_session import (
    CURATOR_POINTS,
    OWNER_POINTS,
    Crash,
    Town,
    actors,
    check,
    lossy,
    play,
    random_session,
    settled_session,
)

from luck import once_more
from understudy.errors import FederationError
from understudy.federation.party import Participation, Party

pytestmark = pytest.mark.slow


def test_undisturbed(tmp_path):
    town = Town.make(tmp_path, 3)
    played = play(town, *actors(town.names))
    check(played)
    assert played.released
    for name in town.names:
        assert sum(town.charges(name)) == played.witness.paid[name]
        assert isinstance(played.owners[name].outcome, Participation)


@pytest.mark.parametrize("point", OWNER_POINTS)
def test_an_owner_dies_and_comes_back(tmp_path, point):
    town = Town.make(tmp_path, 3)
    curator, owners = actors(town.names)
    owners["o1"].crashes = [(point, 2 if point.startswith(("accept", "reply", "send")) else 1)]
    played = play(town, curator, owners)
    check(played)
    assert owners["o1"].lives == 2
    if point in ("drawing after", "journal before"):  # drawn and not written down: spent, and lost
        assert not played.released
        assert isinstance(curator.outcome, FederationError)
        assert all(isinstance(o.outcome, FederationError) for o in owners.values())
    else:
        assert played.released, curator.outcome
        assert sum(town.charges("o1")) == played.witness.paid["o1"]


@pytest.mark.parametrize("point", ["accept before", "journal after", "send before"])
def test_an_owner_dies_for_good(tmp_path, point):
    """With nobody to spare the session is aborted, and the others hear of it; with one to spare it goes on.

    The curator waits for the dead as long as for the living: on a machine that stands still for as long, once more.
    """

    def trial(number: int) -> None:
        for dropping, count in ((0, 3), (1, 4)):
            folder = tmp_path / f"{dropping}-{number}"
            folder.mkdir()
            town = Town.make(folder, count, dropping)
            curator, owners = actors(town.names)
            owners["o1"].crashes, owners["o1"].restarts = [(point, 6 if point.startswith("send") else 1)], False
            played = play(town, curator, owners, timeout=(4, 40)[number])
            check(played)
            assert played.released == (dropping == 1), curator.outcome
            for name in ("o0", "o2"):
                assert isinstance(owners[name].outcome, Participation if dropping else FederationError)
                if not dropping:
                    assert "aborted, nothing was released" in str(owners[name].outcome)
            assert isinstance(owners["o1"].outcome, Crash)

    once_more(trial)


@pytest.mark.parametrize("point", CURATOR_POINTS)
def test_the_curator_dies_and_comes_back(tmp_path, point):
    town = Town.make(tmp_path, 3)
    curator, owners = actors(town.names)
    curator.crashes = [(point, 3 if point.startswith("close") else 1)]
    played = play(town, curator, owners)
    check(played)
    assert curator.lives == 2 and played.released, curator.outcome
    assert played.curator.outcome.resumed
    for name in town.names:
        assert isinstance(owners[name].outcome, Participation)
        assert sum(town.charges(name)) == played.witness.paid[name]


def test_the_curator_dies_for_good(tmp_path):
    town = Town.make(tmp_path, 3)
    curator, owners = actors(town.names)
    curator.crashes, curator.restarts = [("close after", 3)], False
    played = play(town, curator, owners, patience=1.0)
    check(played)
    assert all("cannot be reached" in str(owner.outcome) for owner in owners.values())
    again = play(town, *actors(town.names))  # the same commands, later
    check(again)
    assert again.released and again.curator.outcome.resumed
    assert all(o.outcome.resumed for o in again.owners.values())


@pytest.mark.parametrize(
    ("name", "corrupt"),
    [
        ("nothing", lambda reply, stage: b""),
        ("noise", lambda reply, stage: secrets.token_bytes(len(reply))),
        ("cut off", lambda reply, stage: reply[:-8]),
        ("too long", lambda reply, stage: reply + bytes(10_000_000)),
        ("huge counts", lambda reply, stage: _vector(reply, 2**62) if stage == "masked" else reply),
        ("negative counts", lambda reply, stage: _vector(reply, 2**64 - 2**60) if stage == "masked" else reply),
    ],
)
def test_an_owner_sends_what_cannot_be(tmp_path, name, corrupt):
    town = Town.make(tmp_path, 3)
    curator, owners = actors(town.names)
    owners["o1"].corrupt = corrupt
    played = play(town, curator, owners)
    check(played)
    assert not played.released
    assert isinstance(curator.outcome, FederationError)
    assert all(isinstance(o.outcome, FederationError) for o in owners.values())


def _vector(reply: bytes, add: int) -> bytes:
    """The masked vector at the end of the reply, moved by a constant."""
    at = 4 + int.from_bytes(reply[:4], "big")
    return reply[:at] + (np.frombuffer(reply[at:], dtype="<u8") + np.uint64(add)).astype("<u8").tobytes()


def test_a_line_that_loses_doubles_and_replays(tmp_path):
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        town = Town.make(folder, 3)
        curator, owners = actors(town.names)
        for name, owner in owners.items():
            owner.disturb = lossy(random.Random(f"{seed} {name}"), 0.4)
        played = play(town, curator, owners, timeout=30)
        check(played)
        assert played.released, curator.outcome  # nobody died: it only takes longer
        for name in town.names:
            assert sum(town.charges(name)) == played.witness.paid[name]


# -- anything, at random -----------------------------------------------------------------------------------------


def test_anything_can_happen(tmp_path):
    """Always the same four; the thousand below are others every time."""
    for seed in range(4):
        random_session(tmp_path / str(seed), seed)


def at_random(folder, session, count: int) -> Counter[str]:
    """In several processes, since a session in trouble mostly waits."""
    first = secrets.randbelow(2**32)
    print(f"seeds {first} to {first + count - 1}")
    with ProcessPoolExecutor(6, mp_context=get_context("spawn")) as pool:
        played = [pool.submit(session, folder / str(seed), seed) for seed in range(first, first + count)]
        failed = [error for future in played if (error := future.exception()) is not None]
    assert not failed, f"{len(failed)} sequences failed: {failed}"
    outcomes = Counter(future.result() for future in played)
    print(dict(outcomes))
    return outcomes


@pytest.mark.long
def test_anything_can_happen_a_thousand_times(tmp_path):
    outcomes = at_random(tmp_path, random_session, 1000)
    assert 100 < outcomes["Curation"] < 950  # both ends are reached


def test_no_account_is_wedged(tmp_path):
    """Whoever died wherever: the next commands continue the session or close it, and the next session has a release."""
    for seed in range(4, 7):
        settled_session(tmp_path / str(seed), seed)


@pytest.mark.long
def test_no_account_is_wedged_in_many_sequences(tmp_path):
    assert len(at_random(tmp_path, settled_session, 250)) > 1


def test_an_owner_that_was_killed_before_anything_was_drawn_is_not_out_of_budget(tmp_path):
    """Its curator gave up meanwhile and began another session: the reservation of the first is given back."""
    town = Town.make(tmp_path, 3)
    curator, owners = actors(town.names)
    owners["o1"].crashes, owners["o1"].restarts = [("accept after", 1)], False
    played = play(town, curator, owners, timeout=4)
    check(played)
    assert not played.released and town.kept("o1") == ["open"]
    assert list(tmp_path.glob("o1.db.*.session"))
    for name in ("o0", "o2"):
        town.allow_one_more(name)
    again = play(town, *actors(town.names))  # o1's cap is still that of one session
    assert again.released, again.curator.outcome
    assert town.kept("o1") == ["released"]
    assert not list(tmp_path.glob("*.session*"))


def test_a_session_goes_on_whatever_name_the_ledger_is_opened_by(tmp_path, monkeypatch):
    """An owner begins by a symbolic link to its ledger, is killed, and comes back by the ledger's own name."""
    town = Town.make(tmp_path, 3)
    (tmp_path / "links").mkdir()
    link, take_part, lives = tmp_path / "links" / "mine.db", Party.take_part, []
    link.symlink_to(town.ledger("o1"))

    def by_another_name(self):
        first = self.ledger == town.ledger("o1") and not lives
        lives.extend([self.ledger] * (self.ledger == town.ledger("o1")))
        return take_part(replace(self, ledger=link) if first else self)

    monkeypatch.setattr(Party, "take_part", by_another_name)
    curator, owners = actors(town.names)
    owners["o1"].crashes = [("reply after", 2)]
    played = play(town, curator, owners)
    check(played)
    assert len(lives) == 2 and played.released, curator.outcome
    assert list((tmp_path / "links").iterdir()) == [link]
