"""The way in on the command line: questions a column, proposals with reasons, and the friction that was found there."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from command import ROWS, run, write_people

from understudy.schema import Schema

CANARY = "Zaphod"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch):
    def give(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return give


def test_ask_stops_goes_on_and_publishes(tmp_path: Path, answers) -> None:
    data, _ = write_people(tmp_path)
    schema = tmp_path / "asked.toml"
    answers(str(ROWS), "y", "", "0..99")  # rows, header, id, age; then the input ends
    stopped = run("init", data, "--ask", "-o", schema)
    assert stopped.code == 0 and "the same command goes on" in stopped.out, stopped.err
    answers("Female|Male", "Anders|Brae|Cormont|Dunmere missing ?", "category Y|N", "number 0..1000")
    done = run("init", data, "--ask", "-o", schema)
    assert "is complete" in done.out and Schema.open(schema).unconfirmed == []
    assert run("check", data, "--schema", schema).code == 0


def test_points_come_with_reasons(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"age,zeta,Unnamed: 0\n{CANARY},1,2\n")
    done = run("init", tmp_path / "t.csv", "-o", tmp_path / "s.toml")
    assert "4 points to look at" in done.out and CANARY not in done.text
    assert "[table]: proposed - " in done.out and "(2: age, Unnamed: 0)" in done.out
    assert "[table]: undescribed - " in done.out and "(1: zeta)" in done.out


def test_the_draft_does_not_depend_on_cells(tmp_path: Path) -> None:
    drafts = []
    for cells in ("1,a,x", f"1.5,{CANARY},2020-01-01 00:00:00", ", ,"):
        (tmp_path / "t.csv").write_text(f"age,sex,zeta\n{cells}\n{cells}\n")
        run("init", tmp_path / "t.csv", "-o", tmp_path / "s.toml", "--force")
        drafts.append((tmp_path / "s.toml").read_text())
    assert len(set(drafts)) == 1


def test_a_draft_of_nothing_known_is_refused_by_publish_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("zeta,eta\n1,2\n")
    run("init", tmp_path / "t.csv", "-o", tmp_path / "s.toml")
    done = run(
        "publish", tmp_path / "t.csv", "--schema", tmp_path / "s.toml", "--epsilon", "1", "-o", tmp_path / "o.csv"
    )
    assert done.code == 2 and "open points" in done.err
    assert run("check", tmp_path / "t.csv", "--schema", tmp_path / "s.toml").code in (0, 4)


def test_method_names_in_capitals_and_an_unused_row_count(tmp_path: Path) -> None:
    _, schema = write_people(tmp_path)
    done = run("plan", "--schema", schema, "--epsilon", "1", "--method", "AIM", "--rows", "5")
    assert done.code == 0 and f"the schema declares rows = {ROWS}" in done.out


def test_an_address_is_not_drafted_from(tmp_path: Path) -> None:
    done = run("init", "postgresql://me:secret@host/db?table=t", "-o", tmp_path / "s.toml")
    assert done.code == 2 and "secret" not in done.text and not os.path.lexists(tmp_path / "s.toml")


@pytest.mark.costly
def test_what_no_source_describes_is_left_to_publish(tmp_path: Path) -> None:
    """Two commands and no edit: the draft has "discover" in it, `publish` buys it, and no cell is read for the draft."""
    towns = ["Anders", "Brae"] * 2000
    lines = [f"{i},{town},{20 + i % 40}" for i, town in enumerate(towns)]
    (tmp_path / "t.dat").write_text("\n".join(["person_id;place;years", *(x.replace(",", ";") for x in lines)]))
    schema = tmp_path / "s.toml"
    done = run("init", tmp_path / "t.dat", "--header", "--discover", "--rows", "4000", "--decimal", ".", "-o", schema)
    assert done.code == 0 and "2 attributes are to be bought" in done.out and "Anders" not in schema.read_text()
    assert {a.name for a in Schema.open(schema).undiscovered} == {"place", "years"}
    assert Schema.open(schema).rows == 4000 and Schema.open(schema)["person_id"].kind == "id"
    flags = ("--schema", schema, "--epsilon", "4", "--delta", "1e-6", "-o", tmp_path / "o.csv")
    made = run("publish", tmp_path / "t.dat", *flags)
    assert made.code == 0 and "paid for: kind of place, years" in made.out, made.err
    places = {line.split(";")[1] for line in (tmp_path / "o.csv").read_text().splitlines()[1:]}
    assert places <= {"Anders", "Brae", "other", ""}


def test_a_row_count_is_asked_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,zeta\n1,2\n")
    done = run("init", tmp_path / "t.csv", "--rows", "1", "-o", tmp_path / "s.toml")
    assert done.code == 0 and "[table]: rows" not in done.out and "--discover" in done.out
    assert ("[table]", "rows") not in Schema.open(tmp_path / "s.toml").unconfirmed
    left = run("init", tmp_path / "t.csv", "--discover", "-o", tmp_path / "d.toml")
    assert left.code == 0 and "[table]: header" in left.out and "private" in left.out
    assert "plan --schema d.toml --epsilon 1 --delta 1e-9 --rows N" in left.out  # without, `plan` asks for it
    assert Schema.open(tmp_path / "d.toml").neighbours == "add-remove"
    for clash in (("--ask",), ("--epsilon", "1")):
        refused = run("init", tmp_path / "t.csv", "--discover", *clash, "-o", tmp_path / "e.toml")
        assert refused.code == 2 and "take one of them" in refused.err


@pytest.mark.parametrize("flags", [(), ("--header",), ("--discover",)])
def test_row_numbers_under_an_empty_name_are_left_out(tmp_path: Path, flags: tuple[str, ...]) -> None:
    (tmp_path / "t.csv").write_text(f",zeta,eta\n0,{CANARY},1\n")
    done = run("init", tmp_path / "t.csv", *flags, "-o", tmp_path / "s.toml")
    assert done.code == 0 and CANARY not in done.text, done.err
    assert Schema.open(tmp_path / "s.toml")["column_1"].kind == "drop"
    (tmp_path / "u.csv").write_text(",zeta,\n0,1,2\n")
    assert flags or run("init", tmp_path / "u.csv", "-o", tmp_path / "u.toml").code == 2


def test_a_file_cut_by_semicolons_is_asked_for_its_decimal_sign(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("zeta;eta\n3,1;2\n")
    asked = run("init", tmp_path / "t.csv", "--discover", "--header", "--rows", "1", "-o", tmp_path / "s.toml")
    assert "[table]: decimal - " in asked.out
    assert Schema.open(tmp_path / "s.toml").unconfirmed == [("[table]", "decimal")]
    for sign in ",.":
        run("init", tmp_path / "t.csv", "--header", "--decimal", sign, "--force", "-o", tmp_path / "s.toml")
        schema = Schema.open(tmp_path / "s.toml")
        assert schema.csv.decimal == sign and ("[table]", "decimal") not in schema.unconfirmed
    assert run("init", tmp_path / "t.csv", "--decimal", "x", "--force", "-o", tmp_path / "s.toml").code == 2


def test_a_proposal_does_not_choose_the_word_for_missing(tmp_path: Path) -> None:
    """`publish` finds "NA" in the rows and writes it; that an age may be empty was only a guess."""
    (tmp_path / "t.csv").write_text("age,zeta\nNA,1\n")
    run("init", tmp_path / "t.csv", "--header", "--discover", "--rows", "1", "-o", tmp_path / "s.toml")
    assert Schema.open(tmp_path / "s.toml")["age"].missing == ()


def test_what_has_no_range_can_be_bought(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("zeta\n1\n")
    (tmp_path / "t.sql").write_text("CREATE TABLE t (zeta integer);")
    assert "--discover" in run("init", tmp_path / "t.csv", "--ddl", tmp_path / "t.sql", "-o", tmp_path / "s.toml").out
