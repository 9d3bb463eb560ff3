"""`understudy publish`: its outputs, its JSON, its refusals, and what each refusal leaves behind."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command import ROWS, SCHEMA, Outcome, header_and_rows, process, run, write_people

from understudy.privacy.ledger import Ledger
from understudy.release import Release


@pytest.fixture(autouse=True)
def no_ledger_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNDERSTUDY_LEDGER", raising=False)


@pytest.fixture
def table(tmp_path: Path) -> tuple[Path, Path]:
    return write_people(tmp_path)


def publish(
    table: tuple[Path, Path], *more: object, out: str = "out.csv", epsilon: object = 1, force: bool = True
) -> Outcome:
    data, schema = table
    more = (*more, "--force") if force else more
    return run("publish", data, "--schema", schema, "--epsilon", epsilon, "-o", data.parent / out, *more)


def entries(path: Path) -> list[Any]:
    ledger = Ledger(path)
    try:
        return ledger.entries()
    finally:
        ledger.close()


def test_one_command_leaves_table_release_ledger_and_a_page(table):
    done = publish(table)
    folder = table[0].parent
    assert done.code == 0 and done.err == ""
    head, rows = header_and_rows(folder / "out.csv")
    assert head == "id,age,sex,town,smokes,income" and len(rows) == ROWS
    assert {row.split(",")[2] for row in rows} <= {"Female", "Male"}
    assert [row.split(",")[0] for row in rows] == [str(i + 1) for i in range(ROWS)]  # fresh ids
    for words in (
        "people: 120 rows, 5 attributes modelled",
        "epsilon 1 for one row of the table",
        "a 50 % suspicion about one person can become at most 73 %",
        "people: epsilon 1 spent in all so far",
        "Not promised",
        "Wrote out.csv and out.release.zip; the spend is in understudy-ledger.db.",
    ):
        assert words in done.out
    release = Release.open(folder / "out.release.zip")
    assert release.rows == ROWS and release.card.private is True
    kinds = [e.kind for e in entries(folder / "understudy-ledger.db")]
    assert kinds[:2] == ["open", "reserve"] and kinds[-1] == "release" and set(kinds[2:-1]) == {"charge"}


def test_json_is_one_object_and_adds_up(table):
    done = publish(table, "--json", "--quiet", epsilon="0.7")
    document = done.json
    assert done.code == 0 and done.err == ""
    assert {"method", "epsilon", "delta", "neighbours", "rows", "seconds", "charges"} <= set(document)
    assert document["epsilon"] == 0.7 and document["delta"] == 0 and document["rows"] == ROWS
    assert document["neighbours"] == "replace-one" and document["resumed"] is False
    assert sum(charge["cost"] for charge in document["charges"]) == pytest.approx(0.7)
    assert {charge["unit"] for charge in document["charges"]} == {"epsilon"}
    assert all(seconds >= 0 for seconds in document["seconds"].values())


def test_a_delta_keeps_books_in_mu_squared(table):
    document = publish(table, "--json", "--delta", "1e-9").json
    assert document["delta"] == 1e-9 and {charge["unit"] for charge in document["charges"]} == {"mu^2"}


def test_a_release_says_nothing_about_the_machine(table):
    publish(table)
    with zipfile.ZipFile(table[0].parent / "out.release.zip") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    host = os.uname().nodename if hasattr(os, "uname") else ""
    for private in (str(table[0].parent), *([host] if len(host) > 7 else []), "seconds"):  # "people" would be there
        assert private.encode() not in content


@pytest.mark.parametrize(
    ("out", "release"),
    [
        ("a.csv", "a.release.zip"),
        ("a.csv.gz", "a.release.zip"),
        ("b.tsv", "b.release.zip"),
        ("c.parquet", "c.release.zip"),
        ("d.e.csv", "d.e.release.zip"),
    ],
)
def test_the_release_lies_beside_the_output(table, out, release):
    folder = table[0].parent
    assert publish(table, out=out).code == 0
    assert (folder / release).exists() and (folder / out).exists()
    if out.endswith(".parquet"):
        assert pq.read_table(folder / out).column_names == ["id", "age", "sex", "town", "smokes", "income"]


def test_or_where_it_is_told_to(table):
    folder = table[0].parent
    (folder / "away").mkdir()
    assert publish(table, "--release", folder / "away" / "r.zip").code == 0
    assert Release.open(folder / "away" / "r.zip").rows == ROWS and not (folder / "out.release.zip").exists()


@pytest.mark.parametrize("rows", [0, 1, 7, 500])
def test_rows(table, rows):
    document = publish(table, "--rows", rows, "--json").json
    assert document["rows"] == rows and len(header_and_rows(table[0].parent / "out.csv")[1]) == rows


# -- the budget ------------------------------------------------------------------------------------------------


def test_a_second_run_is_refused_and_nothing_is_read(table):
    data, _ = table
    folder = data.parent
    assert publish(table).code == 0
    before = (folder / "out.csv").read_bytes()
    count = len(entries(folder / "understudy-ledger.db"))
    data.unlink()  # were anything read, this would be another error
    done = publish(table, "--json", epsilon="0.25")
    assert done.code == 3 and done.err == ""
    assert done.error["kind"] == "budget" and done.error["attribute"] is None
    assert "requested epsilon 0.25, left 0, short by 0.25" in done.error["message"]
    assert (folder / "out.csv").read_bytes() == before
    assert len(entries(folder / "understudy-ledger.db")) == count


def test_a_refusal_in_words(table):
    publish(table, "--cap", "1.5")
    done = publish(table)
    assert (done.code, done.out) == (3, "")
    assert "understudy: account 'people': requested epsilon 1, left 0.5, short by 0.5. Nothing was read." in done.err
    assert publish(table, epsilon="0.5").code == 0  # what is left can still be spent
    assert publish(table, epsilon="0.0001").code == 3


def test_a_changed_schema_is_the_same_account(table):
    assert publish(table).code == 0
    table[1].write_text(SCHEMA.format(rows=ROWS).replace("bins = 5", "bins = 4"), encoding="utf-8")
    assert publish(table).code == 3
    table[1].write_text(SCHEMA.format(rows=ROWS).replace('name = "people"', 'name = "p2"\naccount = "people"'))
    assert publish(table).code == 3


def test_cap_none_is_no_cap(table):
    for _ in range(3):
        assert publish(table, "--cap", "none").code == 0
    shown = run("ledger", "show", table[0].parent / "understudy-ledger.db")
    assert "people: epsilon 3 spent, no cap, replace-one" in shown.out


def test_an_account_keeps_its_cap(table):
    assert publish(table, "--cap", 5).code == 0
    assert publish(table, "--cap", 5).code == 0
    done = publish(table, "--cap", 50)
    assert done.code == 2 and "understudy ledger cap understudy-ledger.db people 50 --reason TEXT" in done.err


def test_where_the_ledger_is(table, monkeypatch, tmp_path):
    assert publish(table, "--ledger", tmp_path / "mine.db").code == 0
    assert not (tmp_path / "understudy-ledger.db").exists()
    monkeypatch.setenv("UNDERSTUDY_LEDGER", str(tmp_path / "ours.db"))
    document = publish(table, "--json").json
    assert document["ledger"] == str(tmp_path / "ours.db") and not (tmp_path / "understudy-ledger.db").exists()
    assert publish(table).code == 3
    assert publish(table, "--ledger", tmp_path / "third.db").code == 0  # the option wins


def test_a_ledger_that_cannot_be_one(table, tmp_path):
    done = publish(table, "--ledger", tmp_path / "no" / "ledger.db", "--json")
    assert (done.code, done.error["kind"]) == (1, "ledger")
    (tmp_path / "odd.db").write_text("not a ledger at all " * 60)
    done = publish(table, "--ledger", tmp_path / "odd.db", "--json")
    assert (done.code, done.error["kind"]) == (1, "ledger") and not (tmp_path / "out.csv").exists()


@pytest.mark.costly
def test_a_release_that_was_paid_for_is_not_overwritten(table):
    folder = table[0].parent
    assert publish(table, "--cap", 9, force=False).code == 0
    before, spent = (folder / "out.release.zip").read_bytes(), len(entries(folder / "understudy-ledger.db"))
    done = publish(table, "--json", force=False)
    assert done.code == 2 and "--force" in done.error["message"]
    assert (folder / "out.release.zip").read_bytes() == before
    assert len(entries(folder / "understudy-ledger.db")) == spent  # refused before anything was reserved
    assert publish(table, force=False, out="other.csv").code == 0
    assert publish(table, force=True).code == 0 and (folder / "out.release.zip").read_bytes() != before


def test_epsilon_above_ten_needs_a_word(table):
    done = publish(table, "--json", epsilon="10.001")
    assert done.code == 2 and "--accept-large-epsilon" in done.error["message"]
    assert not (table[0].parent / "understudy-ledger.db").exists()


@pytest.mark.costly
def test_epsilon_above_ten_warns_here_and_on_the_card(table):
    done = publish(table, "--accept-large-epsilon", epsilon=11)
    assert done.code == 0 and "!! epsilon above 10 promises very little" in done.out
    assert Release.open(table[0].parent / "out.release.zip").card.as_json()["warnings"] == [
        "epsilon above 10 promises very little"
    ]
    again = "--ledger", table[0].parent / "b.db", "--json", "--accept-large-epsilon"
    assert publish(table, *again, epsilon=11).json["warnings"]
    quiet = publish(table, "--ledger", table[0].parent / "c.db", epsilon=10)
    assert "!!" not in quiet.out


# -- wrong requests --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--set", "thetta=4"], "Did you mean 'theta'?"),
        (["--set", "score=r"], "score is one of"),
        (["--set", "theta"], "--set takes key=value"),
        (["--set", "theta=many"], "theta must be a number"),
        (["--set", "degree=1.5"], "degree must be a whole number"),
        (["--set", "beta=7"], "beta must be from 0.01 to 0.99"),
        (["--method", "privbayse"], "Did you mean 'privbayes'?"),
        (["--delta", "1"], "delta must be"),
        (["--delta", "1e-99"], "delta below 1e-15"),
        (["--cap", "lots"], "the cap must be a number"),
        (["--rows", "-1"], "--rows"),
        (["--rows", "many"], "--rows"),
        (["--frobnicate"], "--frobnicate"),
    ],
)
def test_wrong_requests_are_exit_2_and_cost_nothing(table, more, words):
    for flags in ([], ["--json"]):
        done = publish(table, *more, *flags)
        assert done.code == 2
        message = done.error["message"] if flags else done.err
        assert words in message
    folder = table[0].parent
    assert not (folder / "out.csv").exists() and not (folder / "out.release.zip").exists()
    ledger = folder / "understudy-ledger.db"
    assert not ledger.exists() or entries(ledger) == []


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "abc", "", "1e400", "10001"])
def test_an_epsilon_is_a_positive_number(table, epsilon):
    done = publish(table, "--json", epsilon=epsilon)
    assert (done.code, done.error["kind"]) == (2, "usage") and "epsilon" in done.error["message"]


@pytest.mark.parametrize("out", ["out.txt", "out", "no/such/out.csv", "."])
def test_an_output_that_cannot_be_written_is_refused_first(table, out):
    done = publish(table, "--json", out=out)
    assert (done.code, done.error["kind"]) == (2, "usage")
    assert not (table[0].parent / "understudy-ledger.db").exists()


@pytest.mark.parametrize("target", ["no/such/r.zip", "folder", "people.csv", "schema.toml", "out.csv"])
def test_a_release_that_cannot_be_written_is_refused_first(table, target):
    folder = table[0].parent
    (folder / "folder").mkdir()
    before = [path.read_bytes() for path in table]
    done = publish(table, "--json", "--release", folder / target)
    assert (done.code, done.error["kind"]) == (2, "usage")
    assert [path.read_bytes() for path in table] == before and not (folder / "understudy-ledger.db").exists()


def test_the_output_never_takes_the_place_of_the_data(table):
    before = table[0].read_bytes()
    done = publish(table, out="people.csv")
    assert done.code == 2 and "take the place of the data" in done.err and table[0].read_bytes() == before


def test_an_open_point_is_refused(table):
    text = SCHEMA.format(rows=ROWS)
    table[1].write_text(text.replace('missing = ["?"]', 'missing = ["?"]\nconfirm = ["values", "missing"]'))
    done = publish(table, "--json")
    assert done.code == 2 and done.error["kind"] == "schema" and done.error["attribute"] == "town"
    assert "values of 'town' (1 more)" in done.error["message"] and not (table[0].parent / "out.csv").exists()
    table[1].write_text(text.replace(f"rows = {ROWS}", f'rows = {ROWS}\nconfirm = ["rows"]'))
    assert "rows of '[table]'" in publish(table, "--json").error["message"]


@pytest.mark.parametrize("broken", ["[table", "", "[table]\nname = 'x'\nrows = 3", "\xff"])
def test_a_broken_schema(table, broken):
    table[1].write_bytes(broken.encode("latin-1"))
    done = publish(table, "--json")
    assert (done.code, done.error["kind"]) == (2, "schema")


def test_files_that_are_not_there(table, tmp_path):
    done = run("publish", tmp_path / "none.csv", "--schema", table[1], "--epsilon", 1, "-o", tmp_path / "o.csv")
    assert done.code == 2 and "there is no file" in done.err
    done = run("publish", table[0], "--schema", tmp_path / "none.toml", "--epsilon", 1, "-o", tmp_path / "o.csv")
    assert done.code == 2 and "cannot read the schema file 'none.toml'" in done.err


# -- as a process ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_as_a_process(table, tmp_path):
    arguments = ("publish", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "-o", "out.csv", "--json")
    done = process(*arguments, cwd=tmp_path)
    assert (done.code, done.err) == (0, "") and done.json["rows"] == ROWS
    done = process(*arguments, cwd=tmp_path)
    assert (done.code, done.err) == (3, "") and done.error["kind"] == "budget"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are a POSIX thing")
@pytest.mark.parametrize(("flag", "shown"), [("--quiet", False), ("--json", False), (None, True)])
def test_the_progress_line_is_for_terminals(table, flag, shown):
    import pty
    import subprocess

    master, slave = pty.openpty()
    data, schema = table
    command = [sys.executable, "-m", "understudy", "publish", str(data), "--schema", str(schema), "--epsilon", "1"]
    command += ["-o", str(data.parent / "out.csv"), *([flag] if flag else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=slave, timeout=600)
    os.close(slave)
    seen = b""
    try:
        while chunk := os.read(master, 65536):
            seen += chunk
    except OSError:  # how a terminal says that the other end is gone
        pass
    finally:
        os.close(master)
    assert done.returncode == 0
    assert (b"read, epsilon 0 of 1 spent" in seen and b"write, epsilon 1 of 1 spent" in seen) if shown else seen == b""
    if flag == "--json":
        json.loads(done.stdout)


@pytest.mark.costly
def test_too_few_rows_are_told_before_anything_is_spent(tmp_path):
    (tmp_path / "few.csv").write_text("a,b\n" + "x,0\ny,1\n" * 10)
    (tmp_path / "few.toml").write_text(
        '[table]\nname = "few"\nrows = 20\n[attributes.a]\nkind = "category"\nvalues = ["x", "y", "z"]\n'
        '[attributes.b]\nkind = "integer"\nrange = [0, 99]\nbins = "each"\n'
    )
    arguments = ("publish", "few.csv", "--schema", "few.toml", "--epsilon", "1", "-o", "out.csv", "--cap", "9")
    done = process(*arguments, cwd=tmp_path)
    assert done.code == 0 and "too few rows for this epsilon" in done.err
    assert "b (100 values) has more values than the table has rows (20)" in done.err
    assert "note: noise in a cell at epsilon 1" in done.out
    done = process(*arguments, "--force", "--json", cwd=tmp_path)
    assert (done.code, done.err) == (0, "") and done.json["notes"][0].startswith("too few rows")
    assert not any(note.startswith("noise in a cell") for note in done.json["notes"])  # not the first time
