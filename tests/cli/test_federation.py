"""`understudy federation`, `curator` and `party`: set-up, refusals, and whole sessions as processes on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from command import SCHEMA, Outcome, header_and_rows, process, run, write_people

from understudy.federation.roster import Roster
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.release import Release
from understudy.schema import Schema

OWNERS = ("ada", "bea", "cy")
ROWS = 40


@pytest.fixture
def town(tmp_path: Path) -> Path:
    """certs/, roster.toml, schema.toml, and NAME.csv for each owner."""
    data, _ = write_people(tmp_path, ROWS * len(OWNERS))
    head, rows = header_and_rows(data)
    for number, name in enumerate(OWNERS):
        lines = [head, *rows[number * ROWS : (number + 1) * ROWS]]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("federation", "certs", tmp_path / "certs", "--owners", ",".join(OWNERS), "--curator", "office").code == 0
    made = make_roster(tmp_path)
    assert made.code == 0, made.err
    return tmp_path


def make_roster(folder: Path, *more: object) -> Outcome:
    return run(
        "federation", "roster", "--schema", folder / "schema.toml", "--epsilon", "2", "--owners",
        ",".join(f"{name}={ROWS}" for name in OWNERS), "--certs", folder / "certs", "--curator", "office",
        "--name", "three", "--method", "privbayes", "-o", folder / "roster.toml", *more,
    )  # fmt: skip


def curator(folder: Path, port: int, *more: object, epsilon: str = "2", name: str = "office") -> list[str]:
    certs = folder / "certs"
    given = [
        "curator", "--schema", folder / "schema.toml", "--epsilon", epsilon, "--roster", folder / "roster.toml",
        "--listen", f"127.0.0.1:{port}", "--cert", certs / f"{name}.pem", "--key", certs / f"{name}.key", "--ca",
        certs / "ca.pem", "-o", folder / "out.csv", "--timeout", "300", "--wait", "600", *more,
    ]  # fmt: skip
    return [str(part) for part in given]


def party(folder: Path, name: str, port: int, *more: object, data: str | None = None) -> list[str]:
    certs = folder / "certs"
    given = [
        "party", folder / f"{data or name}.csv", "--schema", folder / "schema.toml", "--roster",
        folder / "roster.toml", "--curator", f"https://127.0.0.1:{port}", "--cert", certs / f"{name}.pem", "--key",
        certs / f"{name}.key", "--ca", certs / "ca.pem", "--ledger", folder / f"{name}.db", "--patience", "120", *more,
    ]  # fmt: skip
    return [str(part) for part in given]


# -- setting up --------------------------------------------------------------------------------------------------


def test_certificates(town):
    files = {path.name for path in (town / "certs").iterdir()}
    assert files == {f"{name}.{end}" for name in ("ca", "office", *OWNERS) for end in ("pem", "key")}
    for name in OWNERS:
        assert stat.S_IMODE((town / "certs" / f"{name}.key").stat().st_mode) == 0o600
    again = run("federation", "certs", town / "certs", "--owners", "ada,dee", "--curator", "office")
    assert again.code == 2 and "is there already" in again.err
    assert run("federation", "certs", town / "more", "--owners", "ada").code == 2
    assert run("federation", "certs", town / "more", "--owners", "ada,ca").code == 2
    assert run("federation", "certs", town / "more", "--owners", "ada,ada").code == 2


def test_the_roster(town):
    roster = Roster.open(town / "roster.toml")
    assert roster.names == OWNERS and roster.rows == ROWS * 3 and roster.method == "privbayes"
    assert roster.honest == 2 and roster.curator.name == "office"
    made = make_roster(town, "--set", "theta=4")
    assert made.code == 0 and Roster.open(town / "roster.toml").hash in made.out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-t", "3"], "no honest owner"),
        (["-u", "1"], "at most u = 0"),
        (["--method", "privbayse"], "Did you mean 'privbayes'"),
        (["--set", "thta=4"], "has no option 'thta'"),
        (["--epsilon", "0"], "epsilon must be greater"),
        (["--owners", "ada=1,dee=2"], "cannot read the certificate 'dee.pem'"),
        (["--owners", "ada,bea"], "write NAME=ROWS"),
        (["--owners", "ada=x,bea=2"], "NAME=ROWS"),
    ],
)
def test_a_roster_that_cannot_hold(town, more, words):
    made = make_roster(town, *more)
    assert made.code == 2 and words in made.err


# -- refused before anyone is spoken to ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--method", "jtree"], "method is jtree here and privbayes in the roster"),
        (["--delta", "0.1"], "delta is 0.1 here and 0 in the roster"),
        (["--set", "theta=3"], "--set theta is 3 here and not set in the roster"),
        (["--listen", "nowhere"], "HOST:PORT"),
        (["--listen", "203.0.113.7:1"], "cannot listen"),
        (["-o", "schema.toml"], "schema.toml"),
    ],
)
def test_a_curator_that_says_otherwise(town, more, words):
    done = run(*curator(town, 0, *more))
    assert done.code == 2 and words in done.err, done.err
    assert not list(town.glob("out*"))


def test_a_curator_with_another_epsilon_or_certificate(town):
    done = run(*curator(town, 0, epsilon="3"))
    assert done.code == 2 and "epsilon is 3 here and 2 in the roster" in done.err
    done = run(*curator(town, 0, name="ada"))
    assert done.code == 2 and "is not the one of 'office'" in done.err


def test_a_party_has_to_agree(town):
    done = run(*party(town, "ada", 1))
    assert done.code == 2 and "--approve" in done.err
    assert not (town / "ada.db").exists()


@pytest.mark.costly
def test_a_party_with_the_wrong_files(town):
    done = run(*party(town, "office", 1, "--approve", data="ada"))
    assert done.code == 2 and "none of the roster's owners: ada, bea, cy" in done.err
    done = run(*party(town, "ada", 1, "--approve", "--key", town / "certs" / "bea.key"))
    assert done.code == 2 and "does not belong" in done.err
    done = run(*party(town, "ada", 1, "--approve", "--curator", "http://127.0.0.1:1"))
    assert done.code == 2 and "https://" in done.err
    other = town / "other.toml"
    other.write_text(SCHEMA.format(rows=ROWS).replace("bins = 5", "bins = 10"), encoding="utf-8")
    done = run(*party(town, "ada", 1, "--approve", "--schema", other))
    assert done.code == 2 and "not the one in the roster" in done.err
    done = run(*party(town, "ada", 1, "--approve", data="people"))
    assert done.code == 4  # three times the rows that the roster says
    done = run(*party(town, "ada", 1, "--approve", "--patience", "1"))
    assert done.code == 1 and "cannot be reached" in done.err


def test_a_party_without_the_budget(town):
    Ledger(town / "ada.db").close()
    spent = run("publish", town / "ada.csv", "--schema", _own_schema(town), "--epsilon", "1", "-o", town / "own.csv",
                "--ledger", town / "ada.db", "--quiet")  # fmt: skip
    assert spent.code == 0, spent.err
    done = run(*party(town, "ada", 1, "--approve"))
    assert done.code == 3 and "short by 2" in done.err


def _own_schema(folder: Path) -> Path:
    path = folder / "own.toml"
    path.write_text(SCHEMA.format(rows=ROWS), encoding="utf-8")
    return path


# -- sessions ----------------------------------------------------------------------------------------------------


class Running:
    """Processes that are ended with the test."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, arguments: list[str], *program: str) -> subprocess.Popen[str]:
        command = [sys.executable, *(program or ("-m", "understudy")), *arguments]
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip
        self.processes.append(started)
        return started

    def start_curator(self, folder: Path, *more: object, program: tuple[str, ...] = ()) -> int:
        """The port it listens at; the process is the first."""
        arguments = curator(folder, 0, *more)
        self.office = self.start([*program[2:], *arguments], *program[:2])
        line = self.office.stderr.readline()
        return int(re.fullmatch(r"office listens at https://127\.0\.0\.1:(\d+)\n", line)[1])

    def end(self, process: subprocess.Popen[str], seconds: float = 600) -> tuple[int, str, str]:
        out, err = process.communicate(timeout=seconds)
        assert "Traceback" not in err, err
        return process.returncode, out, err


@pytest.fixture
def running():
    these = Running()
    yield these
    for started in these.processes:
        if started.poll() is None:
            started.kill()
        started.communicate()


@pytest.mark.slow
def test_three_owners(town, running):
    port = running.start_curator(town, "--json", "--report", town / "out.html")
    parties = {name: running.start(party(town, name, port, "--approve", "--json")) for name in OWNERS}
    code, out, err = running.end(running.office)
    assert code == 0, err
    document = json.loads(out)
    assert document["owners"] == list(OWNERS) and document["dropped"] == {} and not document["resumed"]
    assert document["rounds"] > 2 and set(document["bytes"]) == set(OWNERS)
    assert document["epsilon"] == 2 and document["rows"] == 3 * ROWS and document["method"] == "privbayes"
    release = Release.open(town / "out.release.zip")
    for name, running_party in parties.items():
        code, out, _ = running.end(running_party)
        own = json.loads(out)
        assert code == 0 and own["owner"] == name and own["release"] == Release.open(town / "out.release.zip").hash
        paid = sum(c["cost"] for c in document["charges"] if c["owner"] in (name, "all"))
        assert sum(c["cost"] for c in own["charges"]) == pytest.approx(paid) and paid <= 2
        book = Ledger(town / f"{name}.db")
        book.verify()
        assert [e.kind for e in book.entries()].count("release") == 1
        book.close()
    assert len(header_and_rows(town / "out.csv")[1]) == 3 * ROWS
    card = release.card.as_json()
    assert card["federation"]["owners"] == list(OWNERS) and card["federation"]["honest"] == 2
    assert "p times the loss" in card["federation"]["held_by_several"]
    said = json.dumps(card)
    assert str(ROWS) + " rows" not in said and "account" not in card  # not whose rows, nor how many
    assert "p times the loss" in (town / "out.html").read_text(encoding="utf-8")
    assert run("query", town / "out.release.zip", "count").code == 0
    left = {path.name for path in town.iterdir()}
    assert not [name for name in left if "session" in name or name.endswith(".lock")], left


@pytest.mark.slow
def test_an_owner_with_another_roster_is_told_what_differs(town, running):
    port = running.start_curator(town)
    assert make_roster(town, "--epsilon", "3").code == 0
    other = running.start(party(town, "ada", port, "--approve"))
    code, _, err = running.end(other)
    assert code == 1 and "differ in epsilon (2 at curator, 3 at ada)" in err
    assert not (town / "ada.db.lock").exists() and not list(town.glob("out.csv"))


# The command line as it is, but for one method that ends its own process, as kill -9 would, at the N-th call.
VICTIM = """
import os, signal, sys
from understudy.cli import main
from understudy.federation.journal import CuratorJournal, OwnerJournal
from understudy.privacy.reservation import Charge

owner = {"CuratorJournal": CuratorJournal, "OwnerJournal": OwnerJournal, "Charge": Charge}[sys.argv[1]]
method, left = sys.argv[2], [int(sys.argv[3])]
original = getattr(owner, method)

def wrapped(self, *arguments, **named):
    result = original(self, *arguments, **named)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, method, wrapped)
main(sys.argv[4:])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
@pytest.mark.parametrize(
    ("who", "where"),
    [
        ("office", ("CuratorJournal", "close", "4")),
        ("bea", ("OwnerJournal", "accept", "3")),
        pytest.param("bea", ("Charge", "journal", "1"), marks=pytest.mark.long),
        pytest.param("office", ("CuratorJournal", "note", "1"), marks=pytest.mark.long),
    ],
)
def test_killed_and_started_again(town, running, who, where):
    port = running.start_curator(town, "--json", program=("-c", VICTIM, *where) if who == "office" else ())
    commands = {"office": curator(town, port, "--json")}
    commands |= {name: party(town, name, port, "--approve", "--json") for name in OWNERS}
    started = {"office": running.office}
    for name in OWNERS:
        victim = name == who
        started[name] = (
            running.start([*where, *commands[name]], "-c", VICTIM) if victim else running.start(commands[name])
        )
    started[who].wait(240)
    assert started[who].returncode == -signal.SIGKILL
    started[who] = running.start(commands[who])
    for name in ("office", *OWNERS):
        code, out, err = running.end(started[name])
        assert code == 0, (name, out, err)
    document = json.loads(out)
    assert Release.open(town / "out.release.zip").hash == document["release"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
def test_killed_between_draw_and_journal(town, running):
    """The charge is spent and its outcome lost: nobody gets a release, everybody is told, what was drawn stays spent."""
    port = running.start_curator(town)
    parties = {name: running.start(party(town, name, port, "--approve")) for name in ("ada", "cy")}
    victim = running.start(["Charge", "drawing", "1", *party(town, "bea", port, "--approve")], "-c", VICTIM)
    victim.wait(240)
    parties["bea"] = running.start(party(town, "bea", port, "--approve"))
    code, _, err = running.end(running.office)
    assert code == 1 and "bea: declined" in err, err
    for name, running_party in parties.items():
        code, _, err = running.end(running_party)
        assert code == 1 and "nothing was released" in err and "epsilon 2 of account 'people' stays spent" in err
        if name == "bea":
            assert "was asked before and could not be answered" in err
    assert not list(town.glob("out*"))


@pytest.mark.slow
@pytest.mark.parametrize("split", ["random", "by:sex"])
def test_simulate(tmp_path, split):
    data, schema = write_people(tmp_path, 90)
    if split == "random":
        text = schema.read_text(encoding="utf-8").replace("rows = 90", 'neighbours = "add-remove"')
        schema.write_text(text, encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = process(
        "federation", "simulate", data, "--schema", schema, "--epsilon", "4", "--delta", "1e-6", "--parties",
        "2" if split == "by:sex" else "3", "--split", split, "-o", tmp_path / "out.csv", "--json", "--timeout", "300",
        *(["--keep", tmp_path / "trial"] if split == "by:sex" else []), env={"TMPDIR": str(scratch)},
    )  # fmt: skip
    assert done.code == 0, done.text
    assert done.json["seconds"]["trial"] > 0 and len(done.json["bytes"]) == len(done.json["owners"])
    assert header_and_rows(tmp_path / "out.csv")[0] == header_and_rows(data)[0]
    assert not list(scratch.glob("understudy-federation-*"))
    if split == "by:sex":
        assert stat.S_IMODE((tmp_path / "trial").stat().st_mode) == 0o700
        parts = [header_and_rows(tmp_path / "trial" / f"owner{i}" / "rows.csv")[1] for i in (1, 2)]
        assert sorted(parts[0] + parts[1]) == sorted(header_and_rows(data)[1])
        assert [len({row.split(",")[2] for row in part}) for part in parts] == [1, 1]


def test_simulate_refuses(tmp_path):
    data, schema = write_people(tmp_path, 60)
    given = ["federation", "simulate", data, "--schema", schema, "--epsilon", "1", "-o", tmp_path / "out.csv"]
    assert "random or by:ATTRIBUTE" in run(*given, "--split", "evenly").err
    assert "no column 'country'" in run(*given, "--split", "by:country").err
    assert "fewer values than" in run(*given, "--split", "by:sex").err
    assert "is there already" in run(*given, "--keep", tmp_path).err
    schema.write_text(schema.read_text(encoding="utf-8").replace("rows = 60", "rows = 61"), encoding="utf-8")
    done = run(*given)
    assert done.code == 4 and "60" not in done.err


@pytest.mark.slow
def test_an_owner_without_the_budget_lets_nobody_wait(town, running):
    book = Ledger(town / "ada.db")
    book.reserve(Schema.open(_own_schema(town)), Budget("1"), {"method": "test"}, cap="2").finish("0" * 64)
    book.close()
    port = running.start_curator(town)
    started = time.monotonic()
    parties = {name: running.start(party(town, name, port, "--approve")) for name in OWNERS}
    code, _, err = running.end(parties["ada"])
    assert code == 3 and "short by 1" in err
    code, _, err = running.end(running.office)
    assert code == 1 and "ada does not take part: its ledger refused the budget. Nobody was charged" in err
    assert time.monotonic() - started < 500  # it would have waited 600 s for ada
    for name in ("bea", "cy"):  # one that came later waits for the curator to be started again
        parties[name].kill()
        parties[name].communicate()
        book = Ledger(town / f"{name}.db")
        assert not [e for e in book.entries() if e.kind == "charge"]
        book.close()


@pytest.mark.slow
def test_a_person_is_asked(town, running):
    """On a terminal: what is asked and what it costs, then y or N; N is told to the curator."""
    pty = pytest.importorskip("pty")
    port = running.start_curator(town)
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [sys.executable, "-m", "understudy", *party(town, "ada", port)], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 240
    while b"Take part? [y/N]" not in shown and time.monotonic() < deadline:
        shown += os.read(ours, 4096)
    for words in (b"epsilon 2", b"account 'people'", b"ada, bea, cy", b"p times the loss"):
        assert words in shown
    os.write(ours, b"n\n")
    assert asked.wait(240) == 1
    os.close(ours)
    code, _, err = running.end(running.office)
    assert code == 1 and "ada does not take part: its operator did not agree. Nobody was charged" in err
