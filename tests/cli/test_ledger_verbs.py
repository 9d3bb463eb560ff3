"""`understudy ledger show | verify | cap`."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from command import run, write_people


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    data, schema = write_people(tmp_path)
    done = run("publish", data, "--schema", schema, "--epsilon", "0.5", "--cap", 2, "-o", tmp_path / "out.csv")
    assert done.code == 0
    return tmp_path / "understudy-ledger.db"


def again(ledger: Path, epsilon: object = "0.5") -> int:
    folder = ledger.parent
    schema = folder / "schema.toml"
    return run(
        "publish", folder / "people.csv", "--schema", schema, "--epsilon", epsilon, "-o", folder / "2.csv", "--force"
    ).code


def test_show(ledger):
    done = run("ledger", "show", ledger)
    assert done.code == 0 and "people: epsilon 0.5 spent, cap 2, replace-one" in done.out
    for words in ("open", "reserve", "charge", "release", "one-way epsilon", "basic composition"):
        assert words in done.out


def test_show_json(ledger):
    document = run("ledger", "show", ledger, "--json").json
    (account,) = document["accounts"]
    assert (account["account"], account["epsilon"], account["cap_epsilon"]) == ("people", 0.5, 2)
    assert [e["seq"] for e in document["entries"]] == list(range(1, len(document["entries"]) + 1))
    assert "epsilons to epsilons" in document["rule"]


def test_an_account_in_gaussian_dp(tmp_path):
    data, schema = write_people(tmp_path)
    book = tmp_path / "years.db"
    asked = ("--schema", schema, "--epsilon", 2, "--delta", "1e-6")
    done = run("ledger", "open", book, *asked)
    assert done.code == 0 and "Room for 1 run of 2 · 2 runs of 1.37 ·" in done.out
    assert run("ledger", "open", book, *asked).code == 2
    for year in (1, 2):
        publish = ("publish", data, "--schema", schema, "--delta", "1e-9", "--ledger", book, "--method", "privbayes")
        assert run(*publish, "--epsilon", 0.5, "-o", tmp_path / f"{year}.csv").code == 0
    shown = run("ledger", "show", book)
    assert "epsilon 0.536258, delta 1e-06 spent, cap 2" in shown.out and "(sums: epsilon 1)" in shown.out
    assert "cap 2, in Gaussian DP at delta 1e-06" in shown.out
    (account,) = run("ledger", "show", book, "--json").json["accounts"]
    assert (account["kept_in"], account["sum_of_epsilons"], account["more_like_the_last"]) == ("mu^2", 1, 20)
    refused = run(*publish, "--epsilon", 3, "-o", tmp_path / "3.csv")
    assert refused.code == 3 and "At most epsilon" in refused.err and not (tmp_path / "3.csv").exists()
    assert "epsilon 0.536258, delta 1e-06" in run("card", tmp_path / "2.release.zip").out
    assert run("ledger", "cap", book, "people", 3, "--reason", "the board", "--delta", "1e-5").code == 2


def test_verify(ledger):
    release = ledger.parent / "out.release.zip"
    done = run("ledger", "verify", ledger)
    assert done.code == 0 and "every hash fits." in done.out
    assert "and the release is known" in run("ledger", "verify", ledger, "--release", release).out
    document = run("ledger", "verify", ledger, "--json").json
    assert len(document["head"]) == 64 and document["entries"] >= 4


def test_verify_notices_a_ledger_that_was_rolled_back(ledger):
    backup = ledger.with_name("backup.db")
    shutil.copy(ledger, backup)
    assert again(ledger) == 0
    release = ledger.parent / "2.release.zip"
    assert run("ledger", "verify", ledger, "--release", release).code == 0
    done = run("ledger", "verify", backup, "--release", release, "--json")
    assert done.code == 1 and done.error["kind"] == "ledger" and "rolled back" in done.error["message"]
    assert run("ledger", "verify", backup).code == 0  # by itself it is whole


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET body = replace(body, '1/2', '1/4') WHERE kind = 'reserve'",
        "DELETE FROM entries WHERE kind = 'charge'",
        "UPDATE entries SET at = '2020-01-01T00:00:00Z' WHERE seq = 1",
        "UPDATE entries SET hash = previous WHERE seq = 2",
    ],
)
def test_verify_notices_a_changed_line(ledger, change):
    connection = sqlite3.connect(ledger)
    connection.execute(change)
    connection.commit()
    connection.close()
    done = run("ledger", "verify", ledger, "--json")
    assert (done.code, done.error["kind"]) == (1, "ledger") and "changed or damaged" in done.error["message"]


@pytest.mark.costly
def test_cap_is_on_the_record(ledger):
    assert again(ledger, 2) == 3
    done = run("ledger", "cap", ledger, "people", "2.5", "--reason", "the board agreed on 3 May")
    assert (done.code, done.out) == (0, "people: the cap is now 2.5.\n")
    assert again(ledger, 2) == 0 and again(ledger, "0.1") == 3
    assert "cap 2.5: the board agreed on 3 May" in run("ledger", "show", ledger).out
    assert run("ledger", "cap", ledger, "people", "none", "--reason", "made-up data").code == 0
    assert again(ledger, 9) == 0
    assert run("ledger", "verify", ledger).code == 0


def test_a_cap_may_be_lowered(ledger):
    assert run("ledger", "cap", ledger, "people", "0.6", "--reason", "caution").code == 0
    assert again(ledger) == 3 and again(ledger, "0.1") == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["people", "3"], 2, "--reason"),
        (["people", "3", "--reason", " "], 2, "reason"),
        (["people", "much", "--reason", "x"], 2, "the cap must be a number"),
        (["nobody", "3", "--reason", "x"], 1, "no account 'nobody'"),
    ],
)
def test_wrong_caps(ledger, arguments, code, words):
    done = run("ledger", "cap", ledger, *arguments)
    assert done.code == code and words in done.err


@pytest.mark.parametrize("verb", ["show", "verify"])
def test_files_that_are_no_ledger(tmp_path, verb):
    done = run("ledger", verb, tmp_path / "none.db", "--json")
    assert (done.code, done.error["kind"]) == (1, "ledger") and not (tmp_path / "none.db").exists()
    (tmp_path / "odd.db").write_bytes(b"odd" * 999)
    assert run("ledger", verb, tmp_path / "odd.db", "--json").error["kind"] == "ledger"
    (tmp_path / "folder").mkdir()
    assert run("ledger", verb, tmp_path / "folder", "--json").error["kind"] == "ledger"
