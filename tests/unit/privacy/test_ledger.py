"""The ledger: caps, refusals, hash chain, kill -9, racing processes, resumed runs."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import schema_of
from understudy import lock
from understudy.errors import BudgetError, LedgerError, UsageError
from understudy.lock import ProcessLock
from understudy.privacy.budget import Budget
from understudy.privacy.entries import Head
from understudy.privacy.ledger import Ledger
from understudy.privacy.refusals import refuse_early

SCHEMA = schema_of({"a": 2, "b": 3}, rows=100)
REQUEST = {"method": "test", "options": {}}


def test_the_first_run_sets_the_cap(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST).finish("r")
    with pytest.raises(BudgetError, match="requested epsilon 0.5, left 0, short by 0.5"):
        ledger.reserve(SCHEMA, Budget(0.5), REQUEST)
    ledger.cap("people", 2, reason="the board agreed")
    ledger.reserve(SCHEMA, Budget(0.5), REQUEST).finish("r")
    state = ledger.account("people")
    assert state is not None
    assert (state.spent_epsilon, state.cap_epsilon) == (Fraction(3, 2), 2)


def test_a_changed_schema_does_not_open_a_new_account(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST).finish("r")
    with pytest.raises(BudgetError, match="short by"):
        ledger.reserve(schema_of({"a": 2, "b": 4}, rows=100), Budget(0.1), REQUEST)


def test_one_account_has_one_neighbour_definition(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST, cap=10).finish("r")
    with pytest.raises(BudgetError, match="one account has one definition"):
        ledger.reserve(schema_of({"a": 2, "b": 3}, None, "add-remove"), Budget(1), REQUEST)


def test_delta_has_a_cap_too(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1, 1e-9), REQUEST, cap=3).finish("r")
    ledger.reserve(SCHEMA, Budget(1, 1e-9), REQUEST).finish("r")
    with pytest.raises(BudgetError, match="delta"):
        ledger.reserve(SCHEMA, Budget(0.5, 1e-6), REQUEST)


def test_unlimited_and_existing_caps(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    for _ in range(3):
        ledger.reserve(SCHEMA, Budget(5), REQUEST, unlimited=True).finish("r")
    with pytest.raises(UsageError, match="ledger cap"):
        ledger.reserve(SCHEMA, Budget(1), REQUEST, cap=3)
    with pytest.raises(UsageError, match="reason"):
        ledger.cap("people", 2, reason=" ")
    with pytest.raises(LedgerError, match="no account"):
        ledger.cap("nobody", 2, reason="x")


def test_charges_come_before_the_rows_and_stop_at_the_total_cost(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    reservation = ledger.reserve(SCHEMA, Budget(1), REQUEST)
    reservation.charge("one", Fraction(3, 4), "a")
    with pytest.raises(BudgetError, match=r"only 0\.25 of 1"):
        reservation.charge("two", Fraction(1, 2), "b")
    assert [c["purpose"] for c in reservation.charges()] == ["one"]
    assert sum(Fraction(c["cost"]) for c in reservation.charges()) == Fraction(3, 4)


def test_a_run_without_a_draw_is_given_back(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    reservation = ledger.reserve(SCHEMA, Budget(1), REQUEST)
    reservation.charge("one", Fraction(1), "a")
    reservation.abandon("DataError")
    state = ledger.account("people")
    assert state is not None and state.spent_epsilon == 0
    assert [e.kind for e in ledger.entries()] == ["open", "reserve", "charge", "void"]


def test_a_run_with_a_draw_is_not(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    reservation = ledger.reserve(SCHEMA, Budget(1), REQUEST)
    reservation.charge("one", Fraction(1), "a").drawing()
    reservation.abandon("Error")
    state = ledger.account("people")
    assert state is not None and state.spent_epsilon == 1


def test_an_interrupted_run_goes_on_without_paying_twice(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    first = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table")
    charge = first.charge("one", Fraction(1, 2), "a")
    charge.drawing()
    charge.journal(b"outcome")
    first._lock.release()  # what the end of the process does
    second = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table")
    assert second.resumed
    assert second.charge("one", Fraction(1, 2), "a").outcome == b"outcome"
    assert second.charge("two", Fraction(1, 2), "b").outcome is None
    state = ledger.account("people")
    assert state is not None and state.spent_epsilon == 1
    assert len(second.charges()) == 2


def test_a_draw_that_was_lost_stays_spent_and_closes_its_run(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    first = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table")
    first.charge("one", Fraction(1, 2), "a").drawing()
    first._lock.release()
    with pytest.raises(BudgetError, match="left 0, short by 1"):
        ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table")
    assert [e.kind for e in ledger.entries()] == ["open", "reserve", "charge", "close"]
    ledger.cap("people", 2, reason="a second try")
    again = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table")
    assert not again.resumed and again.account_state().spent_epsilon == 2
    again.charge("one", Fraction(1, 2), "a")


def test_another_question_cannot_use_an_old_answer(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    first = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table", cap=2)
    first.charge("one", Fraction(1, 2), "a").journal(b"x")
    first._lock.release()
    second = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table")
    with pytest.raises(LedgerError, match="something else"):
        second.charge("one", Fraction(1, 2), "b")
    second.abandon("LedgerError")  # as `publish` does
    assert [e.kind for e in ledger.entries()] == ["open", "reserve", "charge", "close"]
    assert not ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="table").resumed  # and no account is wedged


def test_a_run_goes_on_with_its_own_table_only(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    first = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="march", cap=3)
    first.charge("one", Fraction(1, 2), "a").journal(b"x")
    first._lock.release()
    with pytest.raises(BudgetError, match="another table"):
        ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="april")
    assert ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="march").resumed  # the control; it is at work now
    assert not ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="april").resumed


def test_an_interrupted_run_can_be_given_up(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    drawn = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="march", cap=4)
    drawn.charge("one", Fraction(1, 2), "a").journal(b"x")
    drawn._lock.release()
    untouched = ledger.reserve(SCHEMA, Budget(1), {**REQUEST, "method": "other"}, fingerprint="march")
    untouched.charge("one", Fraction(1, 2), "a")
    untouched._lock.release()
    at_work = ledger.reserve(SCHEMA, Budget(1), {**REQUEST, "method": "third"}, fingerprint="march")
    assert ledger.close_unfinished("people") == ["close", "void"]
    state = ledger.account("people")
    assert state is not None and state.spent_epsilon == 2  # what drew noise, and what is at work
    assert [e.kind for e in ledger.entries()][-2:] == ["close", "void"]
    at_work.finish("r")
    assert not ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="april").resumed


def test_a_damaged_ledger_pays_for_nothing(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST, cap=9).finish("r")
    ledger.connection.execute("UPDATE entries SET body = replace(body, '\"1\"', '\"0\"') WHERE kind = 'reserve'")
    with pytest.raises(LedgerError, match="does not fit its hash"):
        ledger.reserve(SCHEMA, Budget(1), REQUEST)
    with pytest.raises(LedgerError, match="does not fit its hash"):
        refuse_early(ledger, SCHEMA, Budget(1))
    with pytest.raises(LedgerError, match="does not fit its hash"):
        ledger.cap("people", 99, reason="x")
    assert [e.kind for e in ledger.entries()] == ["open", "reserve", "release"]
    ledger.connection.execute("DELETE FROM secret")
    with pytest.raises(LedgerError, match="its key is gone"):
        ledger.source_key()


def test_lock_files_of_the_dead_are_removed(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="t", cap=9)
    (stale := ledger_path.with_name(f"{ledger_path.name}.{'0' * 32}.lock")).touch()
    (other := ledger_path.with_name(f"{ledger_path.name}.session.lock")).touch()
    refuse_early(ledger, SCHEMA, Budget(1))
    assert not stale.exists() and other.exists()
    held = [p for p in ledger_path.parent.iterdir() if p.name.endswith(".lock") and p != other]
    assert len(held) == 1  # of the run that is at work


def test_a_running_run_is_not_taken_over(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    first = ledger.reserve(SCHEMA, Budget(1), REQUEST, cap=5)
    second = Ledger(ledger_path).reserve(SCHEMA, Budget(1), REQUEST)
    assert not second.resumed
    assert first.account_state().spent_epsilon == 2


def test_a_changed_line_is_noticed(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST).finish("r")
    ledger.verify()
    ledger.connection.execute("UPDATE entries SET body = replace(body, '\"1\"', '\"0\"') WHERE kind = 'reserve'")
    with pytest.raises(LedgerError, match="does not fit its hash"):
        ledger.verify()


def test_a_removed_line_is_noticed(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST).finish("r")
    ledger.connection.execute("DELETE FROM entries WHERE seq = 2")
    with pytest.raises(LedgerError):
        ledger.verify()


def test_a_rolled_back_ledger_is_noticed_by_a_release(ledger_path: Path, tmp_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST, cap=9).finish("r")
    backup = tmp_path / "backup.db"
    with sqlite3.connect(backup) as copy:
        ledger.connection.backup(copy)
    ledger.reserve(SCHEMA, Budget(1), REQUEST).finish("r")
    head = ledger.head()
    assert ledger.verify(head) == head
    with pytest.raises(LedgerError, match="rolled back"):
        Ledger(backup).verify(head)
    Ledger(backup).verify(Head(2, Ledger(backup).entries()[1].hash))


def test_the_file_is_private_and_odd_files_are_refused(ledger_path: Path, tmp_path: Path) -> None:
    Ledger(ledger_path)
    if os.name == "posix":
        assert ledger_path.stat().st_mode & 0o077 == 0
    text = tmp_path / "text.db"
    text.write_text("not a database " * 100)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(text)
    with pytest.raises(LedgerError, match="no folder"):
        Ledger(tmp_path / "nowhere" / "ledger.db")


def test_a_network_file_system_is_refused(ledger_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.privacy.ledger_file.on_network_file_system", lambda path: True)
    with pytest.raises(LedgerError, match="network file system"):
        Ledger(ledger_path)


RACER = """
    import sys
    from understudy.errors import BudgetError
    from understudy.privacy.budget import Budget
    from understudy.privacy.ledger import Ledger
    from understudy.schema import Attribute, Categories, Schema
    schema = Schema("people", (Attribute("a", Categories(("0", "1"))),), rows=100)
    won = 0
    ledger = Ledger(sys.argv[1])
    for i in range(5):
        try:
            reservation = ledger.reserve(schema, Budget("0.1"), {"racer": sys.argv[2], "i": i}, cap=1)
        except BudgetError:
            continue
        reservation.charge("race", reservation.total_cost, "x").drawing()
        reservation.finish("r")
        won += 1
    print(won)
"""


@pytest.mark.slow
def test_eight_racing_processes_cannot_overspend(ledger_path: Path) -> None:
    script = textwrap.dedent(RACER)
    racers = [
        subprocess.Popen([sys.executable, "-c", script, str(ledger_path), str(k)], stdout=subprocess.PIPE, text=True)
        for k in range(8)
    ]
    wins = [int(racer.communicate(timeout=600)[0]) for racer in racers]
    assert sum(wins) == 10  # 40 tries at 0.1 against a cap of 1
    ledger = Ledger(ledger_path)
    state = ledger.account("people")
    assert state is not None and state.spent_epsilon == 1
    ledger.verify()


VICTIM = """
    import sys, time
    from fractions import Fraction
    from understudy.privacy.budget import Budget
    from understudy.privacy.ledger import Ledger
    from understudy.schema import Attribute, Categories, Schema
    schema = Schema("people", (Attribute("a", Categories(("0", "1"))),), rows=100)
    reservation = Ledger(sys.argv[1]).reserve(schema, Budget(1), {"victim": 1}, fingerprint="table")
    for step in range(10_000):
        charge = reservation.charge("step", Fraction(1, 10_000), str(step))
        charge.drawing()
        charge.journal(b"x")
        print(step, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
def test_kill_minus_nine_loses_no_charge(ledger_path: Path) -> None:
    victim = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(VICTIM), str(ledger_path)], stdout=subprocess.PIPE, text=True
    )
    assert victim.stdout is not None
    seen = [int(victim.stdout.readline()) for _ in range(25)][-1]
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    ledger = Ledger(ledger_path)
    ledger.verify()
    assert len([e for e in ledger.entries() if e.kind == "charge"]) >= seen + 1
    schema = schema_of({"a": 2}, rows=100)
    lost = ledger.connection.execute("SELECT COUNT(*) FROM journal WHERE state = 'drawing'").fetchone()[0]
    if lost:  # killed between a draw and its line: closed, and spent
        with pytest.raises(BudgetError, match="left 0"):
            ledger.reserve(schema, Budget(1), {"victim": 1}, fingerprint="table")
        return
    resumed = ledger.reserve(schema, Budget(1), {"victim": 1}, fingerprint="table")
    assert resumed.resumed
    assert resumed.charge("step", Fraction(1, 10_000), "0").outcome == b"x"


def test_a_lock_that_was_given_back_at_the_wrong_moment_is_still_one_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder leaves and removes the file between another's opening and locking it: two could resume one run."""
    path = tmp_path / "run.lock"
    first, second, third = (ProcessLock(path) for _ in range(3))
    assert first.acquire()
    flock, leave = lock.fcntl.flock, [first.release]

    def late(handle: int, how: int) -> None:
        while leave:
            leave.pop()()
        flock(handle, how)

    monkeypatch.setattr(lock.fcntl, "flock", late)
    assert second.acquire()
    assert not third.acquire()
    second.release()
    assert third.acquire()
    third.release()
    assert not path.exists()


@pytest.mark.parametrize("change", ["epsilon", "delta", "schema", "rows per person", "seed", "request"])
def test_an_interrupted_run_is_not_continued_under_other_terms(ledger_path: Path, change: str) -> None:
    """Else a run could be paid at a small epsilon, killed, and gone on with at a large one."""
    ledger = Ledger(ledger_path)
    first = ledger.reserve(SCHEMA, Budget("0.1", "1e-9"), REQUEST, unlimited=True, fingerprint="t")
    first.charge("tables", first.total_cost, "ask").journal(b"x")
    first._lock.release()  # the process ends
    terms: dict[str, Any] = {"schema": SCHEMA, "budget": Budget("0.1", "1e-9"), "request": REQUEST, "private": True}
    terms |= {
        "epsilon": {"budget": Budget(5, "1e-9")},
        "delta": {"budget": Budget("0.1", "1e-3")},
        "schema": {"schema": schema_of({"a": 2, "b": 4}, rows=100)},
        "rows per person": {"schema": schema_of({"a": 2, "b": 3}, rows=100, rows_per_person=2)},
        "seed": {"private": False},
        "request": {"request": {**REQUEST, "method": "another"}},
    }[change]
    if change == "rows per person":
        with pytest.raises(BudgetError, match="does not add up"):
            ledger.reserve(**terms, fingerprint="t")
        return
    again = ledger.reserve(**terms, fingerprint="t")
    assert not again.resumed and again.budget == terms["budget"]
    state = ledger.account("people")
    assert state is not None and state.spent_epsilon == Fraction(1, 10) + terms["budget"].epsilon
    again._lock.release()
    same = ledger.reserve(SCHEMA, Budget("0.1", "1e-9"), REQUEST, fingerprint="t")
    assert same.resumed  # the control
    same._lock.release()
    ledger.close()


@pytest.mark.parametrize("way", ["symbolic link", "another folder"])
def test_a_live_run_is_not_ended_by_another_name_of_the_ledger(
    ledger_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The attack: the lock lay beside the name, not the file, so that a live run was given back and spent nothing."""
    (tmp_path / "sub").mkdir()
    if way == "symbolic link":
        first, other = Ledger(ledger_path), tmp_path / "sub" / "link.db"
        other.symlink_to(ledger_path)
    else:
        monkeypatch.chdir(tmp_path)
        first, other = Ledger(ledger_path.name), ledger_path
        monkeypatch.chdir(tmp_path / "sub")
    run = first.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="t")
    charge = run.charge("one", Fraction(1, 2), "a")
    with Ledger(other) as second:
        assert second.close_unfinished("people") == []  # it is alive
        with pytest.raises(BudgetError, match="left 0"):
            second.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="t")  # and not to be taken up
    charge.drawing()
    charge.journal(b"x")
    run.finish("r")
    state = first.account("people")
    assert state is not None and state.spent_epsilon == 1


def test_a_run_that_was_ended_draws_and_releases_nothing(ledger_path: Path) -> None:
    """Even if a lock was lost, as by renaming the ledger under a live run."""
    ledger = Ledger(ledger_path)
    run = ledger.reserve(SCHEMA, Budget(1), REQUEST, fingerprint="t")
    charge = run.charge("one", Fraction(1, 2), "a")
    run._lock.release()  # what should not happen
    assert ledger.close_unfinished("people") == ["void"]
    for step in (charge.drawing, lambda: run.charge("two", Fraction(1, 2), "b"), lambda: run.finish("r")):
        with pytest.raises(LedgerError, match="ended by another process"):
            step()
    assert [e.kind for e in ledger.entries()] == ["open", "reserve", "charge", "void"]
