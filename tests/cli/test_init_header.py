"""Files without a header: no cell reaches a draft, a message or a name; a person says what the first line is."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import ROWS, SCHEMA, header_and_rows, run, write_people

from understudy.schema import CsvDialect, Schema
from understudy.schema.column_names import why_a_cell

CANARY = "Zaphod"
ROW = f"39, State-gov, 77516, {CANARY}, Never-married"


def init(folder: Path, text: str | bytes, *more: object, name: str = "t.csv"):
    data = folder / name
    data.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run("init", data, "-o", folder / "draft.toml", "--force", *more)
    draft = folder / "draft.toml"
    return done, draft.read_text(encoding="utf-8") if draft.exists() else ""


# -- what is refused -------------------------------------------------------------------------------------------

ROWS_AS_HEADERS = {
    "numbers": f"39,{CANARY},77516",
    "one number among texts": f"{CANARY},b,c,d,e,7",
    "a decimal comma": f'{CANARY};"12,5";c',
    "money": f"{CANARY},€ 12.50,c",
    "thousands": f"{CANARY},\"12,345,678\",c",
    "a date": f"{CANARY},2019-03-04,c",
    "a german date": f"{CANARY};04.03.2019;c",
    "a time": f"{CANARY},12:30,c",
    "blank-led": f"a, {CANARY},c",
    "twice": f"{CANARY},b,{CANARY}",
    "blank-led and twice": f"a, {CANARY}, {CANARY}",
    "an empty cell": f"a,,{CANARY}",
    "a blank": f"a, ,{CANARY}",
    "a common value": f"{CANARY},Female,c",
    "not available": f"{CANARY},N/A,c",
    "no letter": f"{CANARY},?,c",
    "a comparison": f"{CANARY},<=50K,c",
    "a mail address": f"{CANARY}@example.org,b",
    "a long number": f"{CANARY}-0012345,b",
    "a uuid": f"{CANARY},123e4567-e89b-12d3-a456-426614174000",
    "a remark": f"a,{CANARY} came in with a cough and a fever that had lasted for more than a week; sent home with the usual advice",
    "a control character": f"a,{CANARY}\x07",
    "json": f'{{"name": "{CANARY}"}}',
    "old mac": f"a b,7\r{CANARY},8\r",
    "utf-16": f"a,{CANARY}\n".encode("utf-16"),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS_AS_HEADERS)
def test_a_first_line_that_looks_like_a_row_is_refused_and_not_quoted(tmp_path, what):
    row = ROWS_AS_HEADERS[what]
    done, draft = init(tmp_path, row + (b"\n" if isinstance(row, bytes) else "\n"))
    assert done.code == 2 and draft == "" and done.out == ""
    assert "--no-header" in done.err and "--names" in done.err
    assert CANARY not in done.text and "77516" not in done.text and "State" not in done.text


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.xls", "t.feather", "t.txt", "t"])
def test_other_formats_have_no_first_line(tmp_path, name):
    done, draft = init(tmp_path, f"{CANARY},b\n", name=name)
    assert done.code == 2 and draft == "" and CANARY not in done.text and ".csv" in done.err


@pytest.mark.parametrize("name", ["t.txt", "t.dat", "t.asc"])
def test_a_text_file_is_a_table_if_somebody_says_so(tmp_path, name):
    done, draft = init(tmp_path, f"age;zeta\n1;{CANARY}\n", "--header", name=name)
    assert done.code == 0 and 'delimiter = ";"' in draft and CANARY not in draft + done.text
    assert Schema.from_toml(draft).columns == ("age", "zeta")


def test_a_parquet_file_is_one_whatever_the_case_of_its_name(tmp_path):
    """Read as text, the first line of the bytes of a Parquet file holds cells."""
    pq.write_table(pa.table({"note": [CANARY] * 3}), tmp_path / "T.PARQUET", compression="none", use_dictionary=False)
    done = run("init", tmp_path / "T.PARQUET", "-o", tmp_path / "d.toml")
    assert done.code == 0 and CANARY not in (tmp_path / "d.toml").read_text() + done.text


def test_names_of_a_frame_read_without_a_header_are_refused(tmp_path):
    """pandas takes the first person for the names of the columns, and writes them into a Parquet file."""
    frame = pd.read_csv(io.StringIO(f"{ROW}\n50, Private, 83311, Ford, Married\n"))
    frame.to_parquet(tmp_path / "t.parquet")
    done = run("init", tmp_path / "t.parquet", "-o", tmp_path / "d.toml")
    assert done.code == 2 and not (tmp_path / "d.toml").exists() and CANARY not in done.text
    (tmp_path / "s.toml").write_text(SCHEMA.format(rows=1))
    checked = run("check", tmp_path / "t.parquet", "--schema", tmp_path / "s.toml")
    assert checked.code == 4 and CANARY not in checked.text and "State" not in checked.text


# -- what cannot be known is asked -----------------------------------------------------------------------------


def test_texts_that_may_be_names_are_an_open_point(tmp_path):
    """Nobody can tell a row of plain words from a header: the draft asks, and nothing is published meanwhile."""
    done, draft = init(tmp_path, "Anders,Brae,Yul\nCormont,Dunmere,Nil\n")
    assert done.code == 0 and "taken to name its columns" in done.out and "--no-header" in done.out
    assert "public things only" not in done.out + draft and "no row was read" not in (done.out + draft).lower()
    assert ("[table]", "header") in Schema.from_toml(draft).unconfirmed
    flags = ("--schema", tmp_path / "draft.toml", "--epsilon", 1, "-o", tmp_path / "o.csv")
    refused = run("publish", tmp_path / "t.csv", *flags)
    assert refused.code == 2 and "confirm" in refused.err


def test_names_that_a_public_document_lists_need_no_question(tmp_path):
    book, ddl = tmp_path / "book.csv", tmp_path / "t.sql"
    book.write_text("attribute,kind\n2019,drop\nTown ,category\n")
    ddl.write_text("CREATE TABLE t (town text, born date);")
    for header, sources, asked in (
        ("2019,town", ("--codebook", book), False),
        ("2019,town,born", ("--codebook", book), True),
        ("2019,town,born", ("--codebook", book, "--ddl", ddl), False),
        ("Town,born", ("--ddl", ddl), False),
    ):
        done, draft = init(tmp_path, f"{header}\n{CANARY}\n", *sources)
        assert done.code == 0 and (("[table]", "header") in Schema.from_toml(draft).unconfirmed) is asked
        assert ("no row was read" in done.out) is not asked
    done, _ = init(tmp_path, "2020,town\n", "--codebook", book)
    assert done.code == 2 and "2020" not in done.err


def test_a_public_file_vouches_for_no_name(tmp_path):
    """It may lack a header itself, and begin with the same person's row."""
    text = f"{CANARY},39\nFord,42\n"
    (tmp_path / "public.csv").write_text(text + "Arthur,30\n")
    done, draft = init(tmp_path, text, "--public", tmp_path / "public.csv")
    assert done.code == 2 and draft == "" and CANARY not in done.text


def test_a_declared_header_is_taken_as_it_is(tmp_path):
    done, draft = init(tmp_path, ",2019, Town,2019-01-01\n0,1,2,3\n", "--header")
    schema = Schema.from_toml(draft)
    assert done.code == 0 and [a.name for a in schema.attributes] == ["column_1", "2019", " Town", "2019-01-01"]
    assert [point for name, point in schema.unconfirmed if name == "[table]"] == ["rows", "undescribed"]
    done, draft = init(tmp_path, "a,b,a\n", "--header", name="u.csv")
    assert done.code == 2 and "columns 1 and 3 have the same name" in done.err
    done, _ = init(tmp_path, "column_2,\n", "--header")
    assert done.code == 2 and "columns 1 and 2" in done.err


def test_the_index_that_pandas_writes_is_column_1_for_every_verb(tmp_path):
    frame = pd.DataFrame({"sex": ["m", "f"] * 30, "flag": ["Y", "N", "Y"] * 20})
    frame.to_csv(tmp_path / "t.csv")
    done = run("init", tmp_path / "t.csv", "--header", "-o", tmp_path / "d.toml")
    assert done.code == 0
    text = (
        '[table]\nname = "t"\nrows = 60\n[attributes.column_1]\nkind = "id"\n'
        '[attributes.sex]\nkind = "category"\nvalues = ["m", "f"]\n[attributes.flag]\nkind = "boolean"\ntrue = "Y"\nfalse = "N"\n'
    )
    assert [a.name for a in Schema.from_toml(text).attributes] == [
        a.name for a in Schema.open(tmp_path / "d.toml").attributes
    ]
    (tmp_path / "s.toml").write_text(text)
    assert run("check", tmp_path / "t.csv", "--schema", tmp_path / "s.toml").code == 0
    flags = ("--schema", tmp_path / "s.toml", "--epsilon", 1, "-o", tmp_path / "o.csv")
    assert run("publish", tmp_path / "t.csv", *flags).code == 0
    head, rows = header_and_rows(tmp_path / "o.csv")
    assert head == "column_1,sex,flag" and len(rows) == 60


# -- a file without a header -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "listed", ["age\nwork\nweight\nwho\n\n", "age,work,weight,who", 'age;"work";weight;who\n', None]
)
def test_names_for_a_file_without_a_header(tmp_path, listed):
    names = ["age", "work", "weight", "who"] if listed else ["column_1", "column_2", "column_3", "column_4"]
    flags: tuple[object, ...] = ("--no-header",)
    if listed:
        (tmp_path / "names.txt").write_text(listed)
        flags = ("--names", tmp_path / "names.txt")
    done, draft = init(tmp_path, f'39;State-gov, "x";77516;"{CANARY};\n{CANARY}"\n1;2;3;4\n', *flags)
    schema = Schema.from_toml(draft)
    assert done.code == 0 and [a.name for a in schema.attributes] == names
    assert schema.csv == CsvDialect(";", decimal=",", header=False, trim=True) and "header = false" in draft
    assert (("[table]", "columns") in schema.unconfirmed) is (listed is None)
    assert CANARY not in done.text + draft and "77516" not in done.text + draft and "State" not in done.text + draft


def test_the_encoding_of_a_row_is_not_looked_at(tmp_path):
    """Whether the first person's row shows that a file is cp1252 depends on that person's letters."""
    drafts = {init(tmp_path, f"{who},39\nFord,42\n".encode("cp1252"), "--no-header")[1] for who in ("Müller", "Maier")}
    assert len(drafts) == 1


@pytest.mark.parametrize(
    ("names", "words"),
    [("a\nb\n", "as many columns"), ("a\n\nb\n", "none blank"), ("a\nb\na\n", "columns 1 and 3"), ("", "must hold")],
)
def test_names_that_do_not_fit(tmp_path, names, words):
    (tmp_path / "names.txt").write_text(names)
    done, draft = init(tmp_path, f"39,{CANARY},x\n", "--names", tmp_path / "names.txt")
    assert done.code == 2 and words in done.err and draft == "" and CANARY not in done.text


def test_requests_that_contradict_themselves(tmp_path):
    (tmp_path / "names.txt").write_text("a\nb\n")
    assert init(tmp_path, "a,b\n", "--header", "--names", tmp_path / "names.txt")[0].code == 2
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    for flags in (("--no-header",), ("--names", tmp_path / "names.txt")):
        done = run("init", tmp_path / "t.parquet", *flags, "-o", tmp_path / "d.toml")
        assert done.code == 2 and "for CSV and TSV" in done.err
    done, _ = init(tmp_path, "a,b\n1,2\n", "--names", tmp_path / "t.csv")
    assert done.code == 2 and "--names names the private table itself" in done.err
    done, _ = init(tmp_path, "", "--no-header")
    assert done.code == 2 and "must be a row" in done.err


HEADLESS = SCHEMA.replace("rows = {rows}\n", "rows = {rows}\n\n[table.csv]\nheader = false\n").replace(
    "[attributes.age]", '[attributes.note]\nkind = "drop"\n\n[attributes.age]'
)


def headless(folder: Path, name: str = "people.csv") -> tuple[Path, Path]:
    """The people without their header, with a column to drop, and a schema that says so."""
    data, schema = write_people(folder, schema=HEADLESS)
    _, rows = header_and_rows(data)
    text = "\n".join(f"{who},{CANARY},{rest}" for who, rest in (row.split(",", 1) for row in rows)) + "\n"
    data.unlink()
    data = folder / name
    data.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return data, schema


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_every_verb_takes_a_file_without_a_header(tmp_path, name):
    data, schema = headless(tmp_path, name)
    assert run("check", data, "--schema", schema).out == "The data fits the schema.\n"
    done = run("publish", data, "--schema", schema, "--epsilon", 1, "-o", tmp_path / "out.csv", "--json")
    assert done.code == 0 and done.json["rows"] == ROWS
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == ROWS and {len(row) for row in rows} == {6}  # as many, no header, the dropped column left out
    assert {row[2] for row in rows} == {"Female", "Male"} and CANARY not in (tmp_path / "out.csv").read_text()
    judged = run("evaluate", data, tmp_path / "out.csv", "--schema", schema, "--json")
    assert judged.code == 0
    assert run("sample", tmp_path / "out.release.zip", "--rows", 5, "-o", tmp_path / "more.csv").code == 0
    assert len((tmp_path / "more.csv").read_text().splitlines()) == 5


@pytest.mark.costly
def test_misfits_of_a_file_without_a_header(tmp_path):
    data, schema = headless(tmp_path)
    text = data.read_text()
    for spoiled, words in (
        ("id,note,age,sex,town,smokes,income\n" + text, "attribute 'age'"),  # it has a header after all
        (text.replace(f",{CANARY},", ",", 1), "exactly 7 cells, the number of columns that the schema declares"),
        (text + f"P9,{CANARY}\n", "exactly 7 cells"),
        (f"{CANARY},{CANARY}\n" + text, "exactly 7 cells"),
        ("", "no rows"),
        (text.replace("Female", f"{CANARY}man", 1), "attribute 'sex'"),
    ):
        data.write_text(spoiled)
        done = run("check", data, "--schema", schema)
        assert done.code == 4 and words in done.out and CANARY not in done.text
        if "attribute" in words:
            problems = run("check", data, "--schema", schema, "--json").json["problems"]
            assert any("header = false, names = ['id', 'note', 'age'," in (p["sql"] or "") for p in problems)


def test_the_sql_that_finds_the_cells_reads_a_file_without_a_header(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    data, schema = headless(tmp_path)
    data.write_text(data.read_text().replace("Female", "Martian", 3))
    (problem,) = run("check", data, "--schema", schema, "--json").json["problems"]
    with duckdb.connect() as connection:
        assert connection.execute(problem["sql"]).fetchall() == [("Martian", 3)]


def test_the_key_is_in_the_hash_only_when_it_is_set(tmp_path):
    plain = Schema.from_toml(SCHEMA.format(rows=9))
    said = Schema.from_toml(SCHEMA.format(rows=9) + "\n[table.csv]\nheader = true\n")
    without = Schema.from_toml(SCHEMA.format(rows=9) + "\n[table.csv]\nheader = false\n")
    assert plain.hash == said.hash != without.hash and "header" not in json.dumps(plain.as_json())
    assert Schema.from_toml(without.to_toml()) == without == Schema.from_toml(_fresh(without))


def _fresh(schema: Schema) -> str:
    from understudy.schema.writing import write_toml

    return write_toml(schema)


def test_the_key_is_true_or_false():
    from understudy.errors import SchemaError

    with pytest.raises(SchemaError, match="true or false"):
        Schema.from_toml(SCHEMA.format(rows=9) + '\n[table.csv]\nheader = "no"\n')


# -- names that people give ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["age", "Größe_cm", "native-country", "hours per week", "q1", "Q12_a", "1st_visit", "x", "Y", "id", "ICD-10",
     "income (€)", "% body fat", "alter/jahre", "a.b", "名前", "sex:2", "bmi>30", "no_of_visits", "unknown_cause"],
)  # fmt: skip
def test_plain_names_are_taken(name):
    assert why_a_cell(name) is None


# -- what else of the file could reach a draft -----------------------------------------------------------------


@pytest.mark.costly
def test_a_draft_is_a_function_of_names_types_and_public_documents(tmp_path):
    """Other rows, more rows, other statistics in a footer, another size: the same draft, byte for byte."""
    generator = np.random.default_rng(1)
    drafts: dict[str, set[str]] = {"csv": set(), "csv.gz": set(), "parquet": set()}
    for rows in (1, 2, 500):
        frame = pd.DataFrame({"age": generator.integers(0, 99, rows), "who": [f"{CANARY}{i}" for i in range(rows)]})
        for suffix, drafted in drafts.items():
            data = tmp_path / f"t.{suffix}"
            frame.to_parquet(data) if suffix == "parquet" else frame.to_csv(data, index=False)
            done = run("init", data, "-o", tmp_path / "d.toml", "--force")
            assert done.code == 0 and CANARY not in done.text
            drafted.add(done.out + (tmp_path / "d.toml").read_text())
    assert all(len(drafted) == 1 for drafted in drafts.values())


def test_a_kind_that_follows_a_type_is_an_open_point(tmp_path):
    """One empty cell turns a column of whole numbers into one of floats: the type tells about a row."""
    for cells in ([1, 2, 3], [1, 2, None]):
        pd.DataFrame({"a": cells}).to_parquet(tmp_path / "t.parquet")
        assert run("init", tmp_path / "t.parquet", "-o", tmp_path / "d.toml", "--force").code == 0
        assert ("a", "kind") in Schema.open(tmp_path / "d.toml").unconfirmed
    book = tmp_path / "book.csv"
    book.write_text("attribute,kind,low,high\na,integer,0,9\n")
    assert run("init", tmp_path / "t.parquet", "--codebook", book, "-o", tmp_path / "d.toml", "--force").code == 0
    assert Schema.open(tmp_path / "d.toml").unconfirmed == [("[table]", "rows")]
