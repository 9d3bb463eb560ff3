"""Drafts: what public sources settle, what stays open, and that no row of the private table is ever read."""

from __future__ import annotations

import csv
import gzip
import runpy
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.drafting import Documents, draft_file
from understudy.errors import SchemaError, UsageError
from understudy.schema import Booleans, Categories, CsvDialect, Intervals, Schema
from understudy.schema.codebook import strptime_format
from understudy.schema.codebooks import read_codebook
from understudy.schema.draft import drafted as make_draft
from understudy.schema.header import read_header

HOSPITAL = Path(__file__).parents[3] / "examples" / "hospital" / "make_hospital.py"


def write(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def draft(*args: object, **sources: object) -> str:
    return make_draft(*args, **sources).text  # type: ignore[arg-type]


def drafted(*args: object, **sources: object) -> Schema:
    return Schema.from_toml(draft(*args, **sources))


# -- names and types -----------------------------------------------------------------------------------------


def test_names_alone_leave_everything_open():
    schema = drafted(["age", "patient_id", "Größe in cm", "caseID"])
    assert schema.unconfirmed == [
        ("[table]", "rows"), ("[table]", "proposed"), ("[table]", "undescribed"),
    ]  # fmt: skip
    assert schema["age"].provenance == "proposed: ages" and schema["Größe in cm"].kind == "drop"
    assert schema["patient_id"].kind == schema["caseID"].kind == "id"
    assert schema.rows == 1 and schema.neighbours == "replace-one"


def test_every_open_point_says_what_to_do():
    text = draft(["age", "x"], ["int64", "bool"])
    lines = [line for line in text.splitlines() if line.startswith("confirm")]
    assert len(lines) == 3 and all("# " in line for line in lines)


@pytest.mark.parametrize(
    ("typed", "kind", "open_points"),
    [
        ("int64", "integer", ["kind", "range"]),
        ("uint8", "integer", ["kind", "range"]),
        ("decimal128(10, 0)", "integer", ["kind", "range"]),
        ("decimal128(10, 2)", "number", ["kind", "range"]),
        ("double", "number", ["kind", "range"]),
        ("bool", "boolean", ["kind"]),
        ("string", "drop", []),
        ("dictionary<values=string, indices=int32, ordered=0>", "drop", []),
        ("date32[day]", "date", ["kind", "range"]),
        ("timestamp[us]", "datetime", ["kind", "range"]),
        ("Datetime(time_unit='us')", "datetime", ["kind", "range"]),
        ("list<item: int64>", "drop", []),
    ],
)
def test_declared_types(typed, kind, open_points):
    """A type may have been inferred from the rows, so the kind that follows from it is an open point."""
    attribute = drafted(["a", "b"], [typed, "bool"])["a"]
    assert attribute.kind == kind and list(attribute.confirm) == open_points


@pytest.mark.parametrize("names", [[], ["a", ""], ["a", "b", "a"]])
def test_impossible_headers(names):
    with pytest.raises(UsageError):
        draft(names)


# -- codebooks -----------------------------------------------------------------------------------------------

BOOK = """\
Attribute,Kind,Values,Range,Bins,Points,Missing,Format,Label,Taxonomy,Unit
[table],rows,1200
[table],neighbours,replace-one
[table],delimiter,tab
age,int,,0..120,24,,999|(empty),,Age in years,,years
sex,categorical,m|w | d,,,,9,,"line one
line two",,
job,,a|b|c,,,,,,,North: a|b; South: c,
income,number,,0 - 5000,10,0,true,,,,
smoker,bool,N|J,,,,,,,,
born,date,,01.01.1900..31.12.2024,10,,,DD.MM.YYYY,,,
note,drop,,,,,,,,,
extra,integer,,,,,,,,,
children,integer,,0..8,,0,,,,,
"""
NAMES = ["age", "sex", "job", "income", "SMOKER", "born", "note", "children"]


def test_a_codebook_settles_everything(tmp_path):
    text = draft(NAMES, codebook=write(tmp_path, "book.csv", BOOK))
    schema = Schema.from_toml(text)
    assert schema.unconfirmed == [] and schema.rows == 1200 and schema.csv == CsvDialect("\t")
    assert schema["age"].missing == ("999", "") and schema["age"].domain == _equal("integer", 0, 120, 24)
    assert schema["sex"].domain == Categories(("m", "w", "d")) and schema["sex"].missing == ("9",)
    assert schema["job"].taxonomy is not None and schema["job"].taxonomy.levels[0].labels == ("North", "South")
    assert schema["income"].domain == _equal("number", 0, 5000, 10, (0.0,)) and schema["income"].missing == ("",)
    assert schema["SMOKER"].domain == Booleans(("J",), ("N",))
    assert isinstance(schema["born"].domain, Intervals) and schema["born"].domain.format == "%d.%m.%Y"
    assert schema["children"].size == 9  # one cell a value: the point 0 has its cell already
    assert "# Age in years" in text and "# line one line two" in text
    assert "not used: Unit" in text and "also describes extra" in text


def _equal(kind, low, high, bins, points=()):
    return Intervals(kind, tuple(low + (high - low) * i / bins for i in range(bins + 1)), points)


def test_value_rows_make_nested_groups(tmp_path):
    book = write(tmp_path, "book.csv", (
        "variable;code;gruppe;gruppe2;missing\n"
        "icd;A1;A;Infekt;\nicd;A2;A;Infekt;\nicd;B1;B;Infekt;\nicd;C1;C;Krebs ä;\n"
        "icd;C2;C;Krebs ä;\nicd;D;;;\nicd;9;;;x\n"
        '[table];encoding;cp1252\n[table];decimal;,\n[table];delimiter;";"\n'
    ), "cp1252")  # fmt: skip
    schema = drafted(["icd"], codebook=book)
    attribute = schema["icd"]
    assert attribute.domain == Categories(("A1", "A2", "B1", "C1", "C2", "D")) and attribute.missing == ("9",)
    assert attribute.taxonomy is not None
    assert [level.labels for level in attribute.taxonomy.levels] == [("A", "B", "C", "D"), ("Infekt", "Krebs ä", "D")]
    assert schema.csv == CsvDialect(";", "cp1252", ",")


def test_groups_of_uneven_depth(tmp_path):
    book = write(tmp_path, "b.csv", "attribute,value,group,group2\nx,a,G,\nx,b,H,G\nx,c,H,G\nx,d,K,\n")
    taxonomy = drafted(["x"], codebook=book)["x"].taxonomy
    assert taxonomy is not None and [level.group for level in taxonomy.levels] == [(0, 1, 1, 2), (0, 0, 0, 1)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind,values\ninteger,\n", "column `attribute`"),
        ("attribute,kind\na,intger\n", "'integer'"),
        ("attribute,kind\n[table],rows\n", "key and a setting"),
        ("attribute,kind,values\n[table],delimeter,;\n", "Did you mean 'delimiter'"),
        ("attribute,kind\na,integer\na,number\n", "row already"),
        ("attribute,kind,range\na,integer,many\n", "write it 0..120"),
        ("attribute,kind,bins\na,integer,ten\n", "whole number"),
        ("attribute,values,taxonomy\na,x|y,x and y\n", "Group: a"),
        ("attribute,kind,low,high\na,integer,zero,ten\n", "'zero', which is no integer"),
        ("attribute,kind,low,high,missing\na,integer,0,99,99\n", "also one of its values"),
        ("attribute,kind,values\n[table],rows,many\na,boolean,\n", "`rows`"),
    ],
)
def test_codebooks_that_cannot_be_used(tmp_path, text, words):
    with pytest.raises(SchemaError, match=words):
        draft(["a"], codebook=write(tmp_path, "book.csv", text))


def test_a_codebook_that_is_not_there(tmp_path):
    with pytest.raises(SchemaError, match="cannot read"):
        draft(["a"], codebook=tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("TT.MM.JJJJ", "%d.%m.%Y"),
        ("dd/mm/yy", "%d/%m/%y"),
        ("YYYY-MM-DDThh:mm:ss", "%Y-%m-%dT%H:%M:%S"),
        ("%d.%m.%Y", "%d.%m.%Y"),
    ],
)
def test_formats_as_people_write_them(written, meant):
    assert strptime_format(written) == meant


@pytest.mark.parametrize("span", ["0..120", "[0, 120]", "0|120", "0-120", "0 to 120", "0 bis 120", "0;120", "0 – 120"])
def test_ranges_as_people_write_them(tmp_path, span):
    book = read_codebook(write(tmp_path, "b.csv", f'attribute,range\na,"{span}"\n'))
    facts = book.about("a")
    assert (facts.low, facts.high, facts.kind) == ("0", "120", "integer")


def test_a_boolean_with_unknown_texts_is_open(tmp_path):
    book = write(tmp_path, "b.csv", "attribute,kind,values\na,boolean,on|off\n")
    assert drafted(["a"], codebook=book)["a"].confirm == ("true",)


# -- DDL -----------------------------------------------------------------------------------------------------

DDL = """
-- CREATE TABLE decoy (age TEXT);
CREATE TYPE public.mood AS ENUM ('sad', 'it''s ok', 'happy');
CREATE TABLE other (x INT);
/* a comment, with a comma */
CREATE TABLE IF NOT EXISTS clinic."stays" (
    id BIGINT PRIMARY KEY,
    age SMALLINT NOT NULL CHECK (age BETWEEN 0 AND 120),
    "Sex" CHAR(1) CHECK ("Sex" IN ('m', 'w')),
    weight NUMERIC(5, 1),
    visits NUMERIC(5, 0) NOT NULL,
    level INT NOT NULL CHECK (level IN (1, 2, 3)),
    state mood NOT NULL,
    size ENUM('S', 'M') NOT NULL,
    flag TINYINT(1) NOT NULL,
    alive BOOLEAN,
    born DATE NOT NULL,
    seen TIMESTAMP WITH TIME ZONE,
    blob BYTEA,
    odd INT CHECK (odd < 0 OR odd > 10),
    temp REAL,
    CONSTRAINT born_ok CHECK (born >= DATE '1900-01-01' AND born <= '2030-12-31'),
    CONSTRAINT temp_ok CHECK (temp IS NULL OR temp BETWEEN -5.5 AND 45),
    UNIQUE (age, weight)
);
"""


def test_ddl_settles_types_checks_and_nulls(tmp_path):
    names = ["id", "age", "Sex", "weight", "visits", "level", "state", "size", "flag", "alive", "born", "seen", "blob",
             "odd", "temp"]  # fmt: skip
    schema = drafted(names, ddl=write(tmp_path, "t.sql", DDL), table_name="stays")
    assert [a.kind for a in schema.attributes] == [
        "id", "integer", "category", "number", "integer", "category", "category", "category", "boolean", "boolean",
        "date", "datetime", "drop", "integer", "number",
    ]  # fmt: skip
    assert (schema["age"].grid.low, schema["age"].grid.high) == (0, 120) and schema["age"].missing == ()
    assert schema["Sex"].domain == Categories(("m", "w")) and schema["Sex"].missing == ("",)
    assert schema["state"].domain == Categories(("sad", "it's ok", "happy"))
    assert schema["level"].domain == Categories(("1", "2", "3"))
    assert schema["born"].labels[0].startswith("1900-01-01") and schema["born"].labels[-1].endswith("2030-12-31")
    assert isinstance(schema["temp"].domain, Intervals) and schema["temp"].domain.edges[0] == -5.5
    assert {name for name, _ in schema.unconfirmed} == {"[table]", "weight", "visits", "seen", "odd"}
    assert "undescribed" in schema.confirm  # blob


def test_the_way_pg_dump_writes(tmp_path):
    sql = """CREATE TABLE public.people (
    id integer NOT NULL,
    sex character varying(1),
    age integer NOT NULL,
    CONSTRAINT s CHECK (((sex)::text = ANY ((ARRAY['m'::character varying, 'f'::character varying])::text[]))),
    CONSTRAINT a CHECK (((age >= 0) AND (age <= 99)))
);
ALTER TABLE ONLY public.people ADD CONSTRAINT people_pkey PRIMARY KEY (id);
"""
    schema = drafted(["id", "sex", "age"], ddl=write(tmp_path, "p.sql", sql))
    assert schema["id"].kind == "id" and schema["sex"].domain == Categories(("m", "f")) and schema["age"].size == 100
    assert schema.unconfirmed == [("[table]", "rows")]


def test_the_codebook_is_stronger_than_ddl(tmp_path):
    book = write(tmp_path, "b.csv", "attribute,kind,low,high\nage,integer,18,65\n")
    sql = write(tmp_path, "t.sql", "CREATE TABLE t (age INT CHECK (age BETWEEN 0 AND 120))")
    attribute = drafted(["age"], codebook=book, ddl=sql)["age"]
    assert attribute.size == 49 and attribute.missing == ("",)  # 18 … 65 from one, nullable from the other


def test_ddl_without_a_table(tmp_path):
    with pytest.raises(SchemaError, match="no CREATE TABLE"):
        draft(["a"], ddl=write(tmp_path, "t.sql", "SELECT 1;"))


# -- public files --------------------------------------------------------------------------------------------


def test_a_public_file_gives_values_and_ranges(tmp_path):
    rows = [
        f"{30 + i % 40};{'mw'[i % 2]};{'' if i == 3 else i / 8};00{i % 5};2023-0{1 + i % 9}-01;{i % 4}"
        for i in range(80)
    ]
    path = write(tmp_path, "last_year.csv", "age;sex;score;code;day;level;gone\n" + "\n".join(rows) + "\n")
    schema = drafted(["age", "sex", "score", "code", "day", "level", "new"], public=path)
    assert schema["age"].domain == Intervals("integer", tuple(v - 0.5 for v in range(30, 71)))
    assert schema["sex"].domain == Categories(("m", "w"))
    assert schema["score"].kind == "number" and schema["score"].missing == ("",)
    assert schema["code"].domain == Categories(("000", "001", "002", "003", "004"))
    assert schema["day"].kind == "date" and schema["level"].domain == Categories(("0", "1", "2", "3"))
    assert all(
        schema[name].provenance == "public (declared)" for name in ("age", "sex", "score", "code", "day", "level")
    )
    assert schema["new"].kind == "drop" and "undescribed" in schema.confirm


def test_a_public_file_of_something_else(tmp_path):
    with pytest.raises(SchemaError, match="no column in common"):
        draft(["a"], public=write(tmp_path, "p.csv", "b\n1\n"))
    with pytest.raises(SchemaError, match="no column in common"):
        draft(["a"], public=write(tmp_path, "empty.csv", ""))
    for name in ("p.csv", "nowhere.parquet"):
        with pytest.raises(SchemaError, match="cannot read"):
            draft(["a"], public=tmp_path / name / "nowhere.parquet")


# -- the header of the private file --------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["codebook", "ddl", "public"])
def test_the_private_table_is_no_public_source(tmp_path, option):
    data = write(tmp_path, "d.csv", "attribute,b\nx,y\n")
    with pytest.raises(UsageError, match="private table itself"):
        draft_file(data, Documents(**{option: tmp_path / "." / "d.csv"}))


def test_only_the_first_line_of_a_csv_is_read(tmp_path):
    data = tmp_path / "d.csv"
    data.write_bytes('\ufeffalter;"größe; cm";name\r\n'.encode() + b"\xff\xfeSECRET;1\n" * 3)
    text = draft_file(data).text
    schema = Schema.from_toml(text)
    assert [a.name for a in schema.attributes] == ["alter", "größe; cm", "name"]
    assert (
        schema.csv == CsvDialect(";", decimal=",")
        and ("[table]", "decimal") in schema.unconfirmed
        and schema.name == "d"
        and "SECRET" not in text
    )


def test_headers_show_their_dialect(tmp_path):
    assert read_header(write(tmp_path, "a.csv", "größe;b\n", "cp1252")).settings == {
        "delimiter": ";",
        "encoding": "cp1252",
    }
    assert read_header(write(tmp_path, "b.tsv", "one\n")).settings == {"delimiter": "\t"}
    assert read_header(write(tmp_path, "c.csv", "a|b;c\n"), {"delimiter": "|"}).names == ("a", "b;c")
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_header(tmp_path / "d.csv.gz").names == ("a", "b")


@pytest.mark.parametrize("text", ["", "\n", "1,2,male\n", 'a,"b\n1,2"\n'])
def test_headers_that_are_none(tmp_path, text):
    with pytest.raises(UsageError) as caught:
        draft_file(write(tmp_path, "d.csv", text))
    assert "male" not in caught.value.message


def test_of_parquet_names_and_types_are_read(tmp_path):
    table = pa.table({"n": [77, 78], "t": ["SECRET", "b"], "d": pa.array([1, 2], pa.date32())})
    parquet.write_table(table, tmp_path / "d.parquet")
    text = draft_file(tmp_path / "d.parquet").text
    assert [a.kind for a in Schema.from_toml(text).attributes] == ["integer", "drop", "date"]
    assert "SECRET" not in text and "77" not in text and "rows = 1\n" in text


def test_files_that_cannot_be_read(tmp_path):
    for name in ("no.csv", "no.parquet"):
        with pytest.raises(UsageError, match="cannot read"):
            draft_file(tmp_path / name)
    with pytest.raises(UsageError, match="not a Parquet file"):
        draft_file(write(tmp_path, "x.parquet", "hello"))


# -- the hospital of the guide -------------------------------------------------------------------------------


def test_the_hospital_goes_from_codebook_to_schema(tmp_path):
    runpy.run_path(str(HOSPITAL))["write"](tmp_path, rows=2_000)
    schema = Schema.from_toml(draft_file(tmp_path / "hospital.csv", Documents(codebook=tmp_path / "codebook.csv")).text)
    assert schema.unconfirmed == [("[table]", "rows"), ("Größe_cm", "range")]
    assert schema["Hauptdiagnose"].size == 300 and schema["Hauptdiagnose"].levels == 3 and len(schema.attributes) == 25
    with (tmp_path / "hospital.csv").open(encoding=schema.csv.encoding, newline="") as file:
        head, *rows = csv.reader(file, delimiter=schema.csv.delimiter)
    for i, name in enumerate(head):
        if schema[name].modelled:
            assert (schema[name].encode([row[i] for row in rows], schema.csv.decimal) >= 0).all(), name


# -- damaged sources -----------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_source_is_read_or_refused(data, tmp_path_factory):
    option, text = data.draw(st.sampled_from([("ddl", DDL), ("codebook", BOOK)]))
    letters = list(text)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(letters) - 1))
        letters[at : at + data.draw(st.integers(0, 1))] = data.draw(st.sampled_from(["", *"(),;|'\"[]`:x%1- \n"]))
    source = write(tmp_path_factory.mktemp("damaged"), "source", "".join(letters))
    try:
        draft(NAMES, **{option: source})
    except SchemaError as error:
        assert error.message


def test_bins_of_a_range_that_nobody_cut_are_left_to_a_tree(tmp_path):
    book = "name,kind,low,high,points\ngain,integer,0,99999,\nheight,number,50,250,\nfee,number,0,10,5\nsize,integer,0,9,\n"
    schema = drafted(["gain", "height", "fee", "size"], codebook=write(tmp_path, "b.csv", book))
    assert [a.name for a in schema.unbinned] == ["gain", "height", "fee"]
    assert schema["fee"].grid.points == (5.0,) and schema["size"].size == 10


# -- how values are written ------------------------------------------------------------------------------------


def test_a_codebook_says_how_values_are_written(tmp_path):
    book = write(
        tmp_path,
        "book.csv",
        "attribute,kind,range,step,decimals,pattern,values,taxonomy\n"
        "patient,,,,,P-{5 digits},,\n"
        "price,number,0..500,,2,,,\n"
        "dose,,0..1,0.05,,,,\n"
        "karnofsky,integer,0..100,10,,,,\n"
        "seconds,integer,0..86400,10,,,,\n"
        'dx,,,,,,E11.9|E11.0|I10,"prefix:1,3"\n',
    )
    schema = drafted(["patient", "price", "dose", "karnofsky", "seconds", "dx"], codebook=book)
    plain = schema.as_json()["attributes"]
    assert plain["patient"] == {"kind": "id", "pattern": "P-{5 digits}"}
    assert (plain["price"]["decimals"], plain["price"]["bins"]) == (2, "auto")
    assert plain["dose"] == {"kind": "number", "range": [0, 1], "step": 0.05}
    assert plain["karnofsky"] == {"kind": "integer", "range": [0, 100], "step": 10}
    assert (plain["seconds"]["step"], plain["seconds"]["bins"]) == (10, "auto")
    assert plain["dx"]["taxonomy"] == "prefix:1,3"
    assert schema.unconfirmed == [("[table]", "rows")]


def test_ddl_says_how_many_decimals_there_are(tmp_path):
    ddl = write(
        tmp_path,
        "create.sql",
        "CREATE TABLE t (price NUMERIC(10, 2) CHECK (price BETWEEN 0 AND 900), pay money CHECK (pay BETWEEN 0 AND 90), "
        "share decimal(4,3) CHECK (share BETWEEN 0 AND 1), score numeric(2, 1) CHECK (score BETWEEN 0 AND 5), x real);",
    )
    plain = drafted(["price", "pay", "share", "score", "x"], ddl=ddl).as_json()["attributes"]
    assert {name: plain[name].get("decimals") for name in plain} == {
        "price": 2, "pay": 2, "share": 3, "score": 1, "x": None,
    }  # fmt: skip
    assert plain["score"]["step"] == 0.1 and "bins" not in plain["score"]  # 51 values: a cell each


@pytest.mark.parametrize(
    "row", ["x,integer,0..9,none,", "x,integer,0..9,0,", "x,integer,0..9,-5,", "x,number,0..9,,two"]
)
def test_steps_that_are_none(tmp_path, row):
    book = write(tmp_path, "book.csv", f"attribute,kind,range,step,decimals\n{row}\n")
    with pytest.raises(SchemaError, match="step|decimals"):
        drafted(["x"], codebook=book)


def test_a_boolean_without_words_shows_which_are_written():
    text = draft(["flag"], ["bool"])
    assert 'true = ["true", "True", "TRUE", "1"]' in text and "put the word that the file uses first" in text


def test_a_public_file_shows_decimals_that_all_its_numbers_have(tmp_path):
    rows = [f"{i / 4:.2f},{i / 8},{i / 7:.8f}" for i in range(400)]
    public = write(tmp_path, "last.csv", "\n".join(["price,free,long", *rows]))
    plain = drafted(["price", "free", "long"], public=public).as_json()["attributes"]
    assert [plain[name].get("decimals") for name in ("price", "free", "long")] == [2, None, None]
