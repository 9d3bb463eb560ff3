"""`understudy init` and `understudy check`: from a header to a schema that fits."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command import ROWS, SCHEMA, run, write_people

from understudy.schema import Schema

CANARY = "Zaphod4711"


def test_init_reads_the_header_and_nothing_else(tmp_path):
    data = tmp_path / "t.csv"
    data.write_bytes(f"id,age,sex\n1,{CANARY},x\n".encode() + b"\xff\xfe broken \x00 rows")
    done = run("init", data, "-o", tmp_path / "schema.toml")
    assert done.code == 0 and "no other line was read" in done.out and "points to look at" in done.out
    text = (tmp_path / "schema.toml").read_text(encoding="utf-8")
    assert CANARY not in text + done.text
    schema = Schema.from_toml(text)
    assert [a.name for a in schema.attributes] == ["id", "age", "sex"] and schema.unconfirmed
    for name, key in schema.unconfirmed:
        assert f"{name}: {key}" in done.out


def test_init_keeps_what_is_there(tmp_path):
    data, schema = write_people(tmp_path)
    before = schema.read_bytes()
    done = run("init", data, "-o", schema)
    assert done.code == 2 and "--force" in done.err and schema.read_bytes() == before
    assert run("init", data, "-o", schema, "--force").code == 0 and schema.read_bytes() != before


def test_init_from_public_things(tmp_path):
    data, _ = write_people(tmp_path)
    codebook = tmp_path / "codebook.csv"
    codebook.write_text(
        "attribute,kind,values,low,high,bins\nid,id,,,,\nage,integer,,0,99,5\nsex,category,Female|Male,,,\n"
        "town,category,Anders|Brae|Cormont|Dunmere|?,,,\nsmokes,boolean,Y|N,,,\nincome,number,,0,1000,4\n"
    )
    done = run("init", data, "--codebook", codebook, "-o", tmp_path / "new.toml")
    assert done.code == 0
    schema = Schema.open(tmp_path / "new.toml")
    assert {a.kind for a in schema.attributes} == {"id", "integer", "category", "boolean", "number"}
    assert [name for name, _ in schema.unconfirmed] == ["[table]"]  # how many rows there are
    ddl = tmp_path / "t.sql"
    ddl.write_text(
        "CREATE TABLE t (id bigint primary key, age integer, sex text, town text, smokes boolean, income real);"
    )
    assert run("init", data, "--ddl", ddl, "-o", tmp_path / "ddl.toml").code == 0
    assert Schema.open(tmp_path / "ddl.toml")["age"].kind == "integer"


def test_init_does_not_write_over_what_it_reads(tmp_path):
    data, _ = write_people(tmp_path)
    book = tmp_path / "book.csv"
    book.write_text("attribute,kind\nid,id\n")
    for target in (data, book):
        before = target.read_bytes()
        done = run("init", data, "--codebook", book, "-o", target, "--force")
        assert done.code == 2 and "-o" in done.err and target.read_bytes() == before


@pytest.mark.parametrize("flag", ["--codebook", "--ddl", "--public"])
def test_init_from_files_that_are_not_there(tmp_path, flag):
    data, _ = write_people(tmp_path)
    done = run("init", data, flag, tmp_path / "none.csv", "-o", tmp_path / "new.toml")
    assert done.code in (1, 2) and "none.csv" in done.err and not (tmp_path / "new.toml").exists()
    assert "unexpected" not in done.err


def test_check_fits(tmp_path):
    data, schema = write_people(tmp_path)
    assert run("check", data, "--schema", schema).out == "The data fits the schema.\n"
    document = run("check", data, "--schema", schema, "--json").json
    assert {k: document[k] for k in ("fits", "problems", "confirm")} == {"fits": True, "problems": [], "confirm": []}
    assert list(document["cells"]) == ["town"] and document["cells"]["town"]["missing"] == 4
    packed = tmp_path / "p.csv.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    assert run("check", packed, "--schema", schema).code == 0


def test_check_names_the_attribute_and_has_the_sql_but_no_cell(tmp_path):
    data, schema = write_people(tmp_path)
    text = data.read_text().replace("Female", CANARY, 1).replace("\nP7,", f"\nP7,{CANARY}", 1)
    data.write_text(text.replace("income", "wage"))
    done = run("check", data, "--schema", schema)
    assert done.code == 4 and done.err == ""
    assert "attribute 'sex'" in done.out and "attribute 'age'" in done.out and "column 6 of the data" in done.out
    assert "wage" not in done.out  # what is not in the schema may be a cell
    assert "SELECT" not in done.out and "--show 5" in done.out  # a file needs no other program
    document = run("check", data, "--schema", schema, "--json")
    found = {p["attribute"]: p["sql"] for p in document.json["problems"]}
    assert found["sex"].startswith("SELECT") and "'Female', 'Male'" in found["sex"]
    assert document.code == 4 and document.json["fits"] is False
    assert {p["attribute"] for p in document.json["problems"]} == {None, "income", "age", "sex"}
    assert CANARY not in done.text + document.text


def test_check_reminds_of_open_points(tmp_path):
    data, schema = write_people(tmp_path)
    schema.write_text(SCHEMA.format(rows=ROWS).replace('missing = ["?"]', 'missing = ["?"]\nconfirm = ["values"]'))
    done = run("check", data, "--schema", schema)
    assert done.code == 0 and "Still to confirm in the schema: values of town" in done.out
    assert run("check", data, "--schema", schema, "--json").json["confirm"] == [["town", "values"]]


def test_check_charges_nothing(tmp_path):
    data, schema = write_people(tmp_path)
    run("check", data, "--schema", schema)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "schema.toml"]


def test_the_files_of_the_check_are_named(tmp_path: Path):
    _, schema = write_people(tmp_path)
    assert run("check", tmp_path / "none.csv", "--schema", schema).code == 2
    assert run("check", tmp_path, "--schema", schema).code == 2
    assert run("check", schema, "--schema", schema, "--json").error["kind"] == "usage"


def test_check_says_what_is_clamped_and_shows_cells_only_when_asked(tmp_path):
    data, schema = write_people(tmp_path)
    text = SCHEMA.format(rows=ROWS).replace("range = [0, 99]", "range = [0, 9]")
    schema.write_text(text)
    done = run("check", data, "--schema", schema)
    assert done.code == 0 and "CUSTODIAN ONLY" in done.out and "% clamped (0 below the range" in done.out
    assert not (tmp_path / "understudy-rows-seen.json").exists()
    shown = run("check", data, "--schema", schema, "--show", "2")
    assert "above the range: '" in shown.out and "above the range: '" not in done.out
    document = run("check", data, "--schema", schema, "--show", "2", "--json").json
    assert document["fits"] and "CUSTODIAN ONLY" in document["stamp"]
    assert document["cells"]["age"]["above"] > 0 and len(document["cells"]["age"]["cells"]["above"]) == 2


def test_a_schema_changed_after_the_show_is_recorded_on_the_card(tmp_path):
    data, schema = write_people(tmp_path)
    right = SCHEMA.format(rows=ROWS)
    schema.write_text(right.replace("range = [0, 99]", "range = [0, 9]"))
    assert run("check", data, "--schema", schema, "--show", "1").code == 0
    schema.write_text(right)
    arguments = ("publish", data, "--schema", schema, "--epsilon", "1", "--cap", "none", "-o", tmp_path / "out.csv")
    done = run(*arguments, "--ledger", tmp_path / "l.db")
    assert done.code == 0, done.err
    assert "declared after rows were seen (`check --show`): age" in done.out
    from understudy import Release

    release = Release.open(tmp_path / "out.release.zip")
    assert release.schema["age"].provenance == "after seeing rows" and release.schema["sex"].provenance == "declared"
    (tmp_path / "understudy-rows-seen.json").unlink()
    again = run(*arguments, "--ledger", tmp_path / "l.db", "--force")
    assert again.code == 0 and "declared after rows" not in again.out


def test_without_a_place_for_the_note_no_cell_is_shown(tmp_path):
    data, schema = write_people(tmp_path)
    (tmp_path / "understudy-rows-seen.json").mkdir()
    done = run("check", data, "--schema", schema, "--show", "1")
    assert done.code == 2 and "rows were shown" in done.err and done.out == ""
