"""`understudy publish` under kill -9 and in a race: nothing is paid twice, nothing overspent, the ledger stays whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command import process, run, write_people

from understudy.demo import write_demo
from understudy.privacy.ledger import Ledger
from understudy.release import Release

FIXTURES = Path(__file__).parents[1] / "fixtures" / "v0.1"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")]

# The command line as it is, but for one method that ends its own process, as kill -9 would, at the N-th call.
VICTIM = """
import os, signal, sys
from understudy.cli import main
from understudy.privacy.reservation import Charge, Reservation
from understudy.release import Release

owner = {"Charge": Charge, "Reservation": Reservation, "Release": Release}[sys.argv[1]]
method, when, left = sys.argv[2], sys.argv[3], [int(sys.argv[4])]
original = getattr(owner, method)

def wrapped(self, *arguments, **named):
    left[0] -= 1
    if left[0] == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(self, *arguments, **named)
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, method, wrapped)
main(sys.argv[5:])
"""
POINTS = {
    "the reservation is made, nothing charged": ("Reservation", "charge", "before", 1),
    "a charge is written, nothing drawn": ("Charge", "drawing", "before", 3),
    "an outcome is journalled": ("Charge", "journal", "after", 2),
    "the last outcome is journalled": ("Reservation", "charges", "before", 1),
    "the release is about to be saved": ("Release", "save", "before", 1),
    "the release is saved, the table is not": ("Release", "write", "before", 1),
    "everything is written but the last line": ("Reservation", "finish", "before", 1),
}


def arguments(folder: Path, out: str = "out.csv") -> list[str]:
    return ["publish", str(folder / "people.csv"), "--schema", str(folder / "schema.toml"), "--epsilon", "4", "--method", "privbayes",
            "-o", str(folder / out), "--json"]  # fmt: skip


def killed(folder: Path, owner: str, method: str, when: str, count: int) -> None:
    command = [sys.executable, "-c", VICTIM, owner, method, when, str(count), *arguments(folder)]
    done = subprocess.run(command, capture_output=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def journal(path: Path) -> dict[int, tuple[str, bytes | None]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT step, state, outcome FROM journal").fetchall()
    connection.close()
    return {step: (state, outcome) for step, state, outcome in rows}


def books(path: Path) -> tuple[list[str], float]:
    ledger = Ledger(path)
    ledger.verify()
    account = ledger.account("people")
    kinds = [e.kind for e in ledger.entries()]
    ledger.close()
    assert account is not None
    return kinds, float(account.spent_epsilon)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The entries of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_people(folder)
    assert run(*arguments(folder)).code == 0
    return books(folder / "understudy-ledger.db")[0]


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_goes_on_where_it_was(tmp_path, undisturbed, point):
    write_people(tmp_path)
    ledger = tmp_path / "understudy-ledger.db"
    killed(tmp_path, *POINTS[point])
    assert books(ledger)[1] == 4  # all of it is taken, and "release" is not there
    assert "release" not in books(ledger)[0]
    before = journal(ledger)
    done = process(*arguments(tmp_path))
    assert done.code == 0 and done.json["resumed"] is True
    assert sum(charge["cost"] for charge in done.json["charges"]) == pytest.approx(4)
    assert books(ledger) == (undisturbed, 4)  # line for line what an undisturbed run writes, and not one more
    assert journal(ledger) == {}
    drawn = b"".join(
        outcome or b"" for state, outcome in before.values() if state == "drawn" and len(outcome or b"") >= 8
    )
    kept = b"".join(m.values.astype("<i8").tobytes() for m in Release.open(tmp_path / "out.release.zip").measurements)
    assert kept.startswith(drawn)  # noise that was drawn is used, not drawn again
    head = Release.open(tmp_path / "out.release.zip").head
    again = Ledger(ledger)
    again.verify(head)
    again.close()
    assert process(*arguments(tmp_path)).code == 3
    assert not [
        p.name for p in tmp_path.iterdir() if p.name.endswith((".part", ".lock")) or p.name.startswith(".under")
    ]


def test_a_draw_that_was_lost_closes_its_run(tmp_path):
    """Between a draw and its line in the journal nobody can know what was drawn: spent, and the account goes on."""
    write_people(tmp_path)
    ledger = tmp_path / "understudy-ledger.db"
    killed(tmp_path, "Charge", "drawing", "after", 2)
    for _ in range(2):
        done = process(*arguments(tmp_path))
        assert done.code == 3 and "left 0, short by 4" in done.error["message"]
        assert books(ledger)[1] == 4 and not (tmp_path / "out.csv").exists()
    kinds, _ = books(ledger)
    assert kinds[-1] == "close" and kinds.count("close") == 1
    assert run("ledger", "cap", ledger, "people", "8", "--reason", "once more").code == 0
    done = process(*arguments(tmp_path))  # the advice that was printed works
    assert done.code == 0 and done.json["resumed"] is False and books(ledger)[1] == 8


def test_a_lost_draw_of_an_earlier_version_too(tmp_path):
    shutil.copy(FIXTURES / "lost-draw.db", tmp_path / "understudy-ledger.db")
    write_people(tmp_path)
    assert process(*arguments(tmp_path)).code == 3
    assert books(tmp_path / "understudy-ledger.db")[0][-1] == "close"


def test_a_killed_run_does_not_go_on_with_another_file(tmp_path):
    """The attack: the next month's file, the same command, and 1,000 of 1,000 rows of the wrong month."""
    data, _ = write_people(tmp_path)
    march = data.read_text()
    killed(tmp_path, *POINTS["an outcome is journalled"])
    head, *rows = march.splitlines()
    april = [rows[(i * 7) % len(rows)] for i in range(len(rows) - 1)] + [rows[0]]
    assert sorted(april) != sorted(rows)
    data.write_text("\n".join([head, *april]) + "\n")
    for more in ([], ["--resume"]):
        done = process(*arguments(tmp_path), *more)
        assert done.code == 3 and "another table" in done.error["message"]
        assert not (tmp_path / "out.csv").exists() and not (tmp_path / "out.release.zip").exists()
    data.write_text("\n".join([head, *reversed(rows)]) + "\n")  # the same rows in another order are the same table
    done = process(*arguments(tmp_path))
    assert done.code == 0 and done.json["resumed"] and "continuing the interrupted run" in done.err


def test_a_run_that_is_given_up_leaves_the_way_free(tmp_path):
    data, _ = write_people(tmp_path)
    ledger = tmp_path / "understudy-ledger.db"
    killed(tmp_path, *POINTS["an outcome is journalled"])
    data.write_text("\n".join(data.read_text().splitlines()[:-1] + ["P,50,Male,Brae,Y,5"]) + "\n")
    done = process(*arguments(tmp_path))
    assert done.code == 3 and f"understudy ledger close {ledger.name} people" in done.error["message"]
    assert run("ledger", "close", ledger, "people", "--json").json == {"account": "people", "closed": 1}
    assert run("ledger", "cap", ledger, "people", "8", "--reason", "the other month").code == 0
    assert process(*arguments(tmp_path)).code == 0 and books(ledger)[1] == 8


def test_an_interrupted_run_of_an_earlier_version_goes_on_by_word_only(tmp_path):
    shutil.copy(FIXTURES / "interrupted.db", tmp_path / "understudy-ledger.db")
    shutil.copy(FIXTURES / "people.csv", tmp_path)
    shutil.copy(FIXTURES / "schema.toml", tmp_path)
    done = process(*arguments(tmp_path))
    assert done.code == 3 and "--resume" in done.error["message"]
    done = process(*arguments(tmp_path), "--resume")
    assert done.code == 0 and done.json["resumed"] and books(tmp_path / "understudy-ledger.db")[1] == 4


PUBLISH_ONLY = """
import sys
import understudy
release = understudy.publish(sys.argv[1], sys.argv[2], epsilon=4, method="privbayes", **eval(sys.argv[3]))
print(release.hash, flush=True)
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""


def published_and_killed(folder: Path, more: str = "{}") -> str:
    command = [sys.executable, "-c", PUBLISH_ONLY, str(folder / "people.csv"), str(folder / "schema.toml"), more]
    done = subprocess.run(command, capture_output=True, timeout=600, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.strip()


def test_a_process_that_dies_before_it_saves_has_not_paid_for_nothing(tmp_path):
    write_people(tmp_path)
    ledger, out = tmp_path / "understudy-ledger.db", tmp_path / "again.release.zip"
    digest = published_and_killed(tmp_path)
    assert books(ledger)[0][-1] == "release" and journal(ledger) == {}
    assert run("ledger", "recover", ledger, "-o", out, "--json").json["release"] == digest
    release = Release.open(out)
    assert release.hash == digest and books(ledger)[1] == 4
    assert run("ledger", "verify", ledger, "--release", out).code == 0
    assert run("ledger", "recover", ledger, "-o", out).code == 2  # it is there already
    assert run("ledger", "recover", ledger, "-o", tmp_path / "x.zip", "--release", "00ff").code == 1
    assert run("ledger", "forget", ledger, "--json").json == {"forgotten": 1}
    assert run("ledger", "recover", ledger, "-o", tmp_path / "x.zip").code == 1
    assert run("ledger", "cap", ledger, "people", "8", "--reason", "another").code == 0
    assert published_and_killed(tmp_path) != digest  # a new call draws fresh noise


def test_a_release_that_publish_saved_is_not_kept_twice(tmp_path):
    write_people(tmp_path)
    digest = published_and_killed(tmp_path, repr({"save": str(tmp_path / "a.release.zip")}))
    assert Release.open(tmp_path / "a.release.zip").hash == digest
    assert run("ledger", "forget", tmp_path / "understudy-ledger.db", "--json").json == {"forgotten": 0}


def test_another_request_does_not_take_up_the_run(tmp_path):
    write_people(tmp_path)
    killed(tmp_path, *POINTS["an outcome is journalled"])
    command = arguments(tmp_path)
    command[command.index("4")] = "3"
    assert process(*command).code == 3
    assert process(*arguments(tmp_path), "--set", "theta=5").code == 3
    assert process(*arguments(tmp_path)).code == 0


def test_killed_from_outside_wherever_it_happens_to_be(tmp_path):
    """A larger table, and a real kill from another process as soon as the ledger shows five charges.

    A run that came to its end before this process was given its turn is no trial: then another, up to five.
    """
    for number in range(5):
        folder = tmp_path / str(number)
        data, schema = write_demo(folder, np.random.default_rng(4), rows=20_000)
        ledger = folder / "understudy-ledger.db"
        if _killed_at_five_charges(folder, ledger):
            break
    assert _charges(ledger) >= 5
    kinds, spent = books(ledger)
    assert "release" not in kinds
    lost = any(state == "drawing" for state, _ in journal(ledger).values())
    done = process(*arguments(folder))
    assert (done.code, lost) in ((0, False), (3, True))
    assert books(ledger)[1] == spent == 4 and books(ledger)[0][: len(kinds)] == kinds
    assert books(ledger)[0][-1] == ("close" if lost else "release")
    if done.code == 0:
        assert done.json["resumed"] and sum(c["cost"] for c in done.json["charges"]) == pytest.approx(4)
    assert data.exists() and schema.exists()


def _killed_at_five_charges(folder: Path, ledger: Path) -> bool:
    command = [sys.executable, "-m", "understudy", *arguments(folder)]
    victim = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 600
        while victim.poll() is None and time.monotonic() < deadline and _charges(ledger) < 5:
            time.sleep(0.002)
    finally:
        victim.kill()
        victim.wait()
    return victim.returncode == -signal.SIGKILL


def _charges(path: Path) -> int:
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=5)
    try:
        return int(connection.execute("SELECT COUNT(*) FROM entries WHERE kind = 'charge'").fetchone()[0])
    except sqlite3.OperationalError:  # the tables are not there yet
        return 0
    finally:
        connection.close()


def test_eight_racing_runs_and_room_for_three(tmp_path):
    write_people(tmp_path)
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "understudy", *arguments(tmp_path, f"out{i}.csv"), "--cap", "12"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for i in range(8)
    ]  # fmt: skip
    ends = [(racer.communicate(timeout=900), racer.returncode) for racer in racers]
    assert sorted(code for _, code in ends) == [0] * 3 + [3] * 5, ends
    for (out, err), code in ends:
        assert err == "" and (code == 0 or "short by 4" in json.loads(out)["error"]["message"])
    kinds, spent = books(tmp_path / "understudy-ledger.db")
    assert spent == 12 and kinds.count("reserve") == kinds.count("release") == 3
    assert len(list(tmp_path.glob("out*.csv"))) == len(list(tmp_path.glob("out*.release.zip"))) == 3
