"""The screen Schema: drafts, edits, open points, the text in step, and the check under its stamp."""

from __future__ import annotations

import html
import re

import pytest
from visitor import Visitor, write_table

from understudy.schema import Schema
from understudy.studio.texts import TEXTS

CODEBOOK = "name,kind,values,range\nage,integer,,0..99\nsex,category,Female|Male,\ntown,category,Anders|Brae|Cormont,\n"


@pytest.fixture
def visitor(tmp_path):
    write_table(tmp_path)
    return Visitor(tmp_path)


def version(visitor, name="schema.toml"):
    found = re.search(r'name="version" value="([0-9a-f]+)"', visitor.get("/schema/edit", schema=name).text)
    assert found
    return found[1]


def edited(visitor, path, name="schema.toml", **fields):
    return visitor.post(path, schema=name, version=version(visitor, name), **fields)


def schema(visitor, name="schema.toml"):
    return Schema.open(visitor.studio.folder.root / name)


def test_a_draft_asks_and_reads_no_row(visitor):
    (visitor.studio.folder.root / "people.csv").write_text("age,sex,town\n" + "Zaphod4711,x,y\n" * 9)
    done = visitor.post("/schema/draft", data="people.csv", output="new.toml", header="yes")
    assert done.status_code == 204 and done.headers["hx-redirect"].endswith("/schema/edit?schema=new.toml")
    page = visitor.get("/schema/edit", schema="new.toml").text
    assert "4 points are left open" in page and "Zaphod" not in page
    assert (
        visitor.post("/publish/prepare", schema="new.toml", data="people.csv", epsilon="1", output="o.csv").status_code
        == 422
    )


def test_with_a_codebook_the_row_count_is_all_that_is_left(visitor):
    (visitor.studio.folder.root / "codebook.csv").write_text(CODEBOOK)
    assert (
        visitor.post("/schema/draft", data="people.csv", codebook="codebook.csv", output="new.toml").status_code == 204
    )
    assert schema(visitor, "new.toml").unconfirmed == [("[table]", "rows")]


def test_the_table_itself_is_no_codebook(visitor):
    done = visitor.post("/schema/draft", data="people.csv", codebook="people.csv", output="new.toml")
    assert done.status_code == 422 and "private table itself" in done.text


def test_a_table_in_a_database_is_drafted_from_its_statement(visitor):
    root = visitor.studio.folder.root
    page = html.unescape(visitor.get("/schema").text)
    assert TEXTS["database_lead"] in page and TEXTS["in_database"] not in page, "there is no statement yet"
    refused = visitor.post("/schema/draft", data="", output="new.toml")
    assert refused.status_code == 422 and "CREATE TABLE" in refused.text
    for name in ("people.csv", "schema.toml"):
        (root / name).unlink()
    (root / "people.sql").write_text(
        "CREATE TYPE public.sexes AS ENUM ('Female', 'Male');\nCREATE TABLE public.people (age smallint NOT NULL "
        "CHECK (age BETWEEN 0 AND 99), sex public.sexes NOT NULL, town text, PRIMARY KEY (town, age));\n"
    )
    assert TEXTS["in_database"] in visitor.get("/schema").text
    assert visitor.post("/schema/draft", data="", ddl="people.sql", output="new.toml").status_code == 204
    made = schema(visitor, "new.toml")
    assert made.name == "people" and [a.name for a in made.attributes] == ["age", "sex", "town"]
    assert made["age"].kind == "integer" and made["sex"].domain.texts == ("Female", "Male")
    assert {name for name, _ in made.unconfirmed} == {"[table]", "town"}
    for text, said in (("SELECT 1", "no CREATE TABLE"), ("CREATE TABLE a (x int); CREATE TABLE b (x int)", "2 CREATE")):
        (root / "people.sql").write_text(text)
        done = visitor.post("/schema/draft", data="", ddl="people.sql", output="other.toml")
        assert done.status_code == 422 and said in html.unescape(done.text) and not (root / "other.toml").exists()


def test_points_are_settled_one_by_one_and_the_text_is_in_step(visitor):
    visitor.post("/schema/draft", data="people.csv", output="new.toml", header="yes")
    assert "rows" in edited(visitor, "/schema/table/settle", "new.toml", point="rows").text
    edited(
        visitor, "/schema/table", "new.toml", neighbours="replace-one", rows="60", rows_per_person="1", account="clinic"
    )
    answer = edited(visitor, "/schema/settle", "new.toml", index="0")
    assert "integer 0..120" in answer.text and "Drafted by" in answer.text, "comments stay, and the text comes along"
    edited(visitor, "/schema/column", "new.toml", index="1", kind="category", values="Female\r\nMale")
    done = edited(visitor, "/schema/column", "new.toml", index="2", kind="category", values="Anders\nBrae\nCormont")
    assert TEXTS["open_none"] in done.text
    made = schema(visitor, "new.toml")
    assert not made.unconfirmed and made.account == "clinic" and made.rows == 60 and made["town"].size == 3
    assert done.text.count("Drafted by") == 1


@pytest.mark.parametrize(
    ("index", "fields", "kind", "size"),
    [
        (0, {"kind": "integer", "low": "0", "high": "120", "bins": "12"}, "integer", 12),
        (0, {"kind": "integer", "low": "0", "high": "120", "bins": "0, 18, 65, 120"}, "integer", 3),
        (0, {"kind": "number", "low": "0.5", "high": "9.5", "bins": "9", "missing": "NA | 99", "empty": "yes"}, "number", 10),
        (0, {"kind": "time", "low": "08:00:00", "high": "18:00:00", "bins": "10"}, "time", 10),
        (0, {"kind": "date", "low": "2000-01-01", "high": "2009-12-31", "bins": "10"}, "date", 10),
        (1, {"kind": "boolean"}, "boolean", 2),
        (1, {"kind": "drop"}, "drop", 0),
        (1, {"kind": "id"}, "id", 0),
        (2, {"kind": "category", "values": "a\nb\nc\nd", "other": "d"}, "category", 4),
    ],
)  # fmt: skip
def test_every_kind_is_edited(visitor, index, fields, kind, size):
    if kind == "time":  # and once more, of the same kind
        edited(visitor, "/schema/column", index=str(index), **fields)
    done = edited(visitor, "/schema/column", index=str(index), **fields)
    attribute = schema(visitor).attributes[index]
    assert done.status_code == 200 and (attribute.kind, attribute.size) == (kind, size)


TOWN = {"index": "2", "kind": "category", "values": "Anders\nBrae\nCormont", "missing": "?", "empty": "yes"}


@pytest.mark.parametrize(
    ("text", "tree", "labels"),
    [
        ("prefix:1", "prefix:1", None),
        ('"prefix:1" = ["Anders", "Brae"]', {"prefix:1": ["Anders", "Brae"]}, ("prefix:1", "Cormont")),
        (' "prefix:1" ', "prefix:1", None),
        ('North = ["Anders", "Brae"]', {"North": ["Anders", "Brae"]}, ("North", "Cormont")),
        ('{ North = ["Anders"], South = ["Brae", "Cormont"] }', None, ("North", "South")),
        ('taxonomy = { North = ["Brae", "Anders"] }', {"North": ["Brae", "Anders"]}, ("North", "Cormont")),
        ('[All]\r\n"the <b>North" = ["Anders", "Brae"]', None, ("the <b>North", "Cormont")),
        ('[taxonomy]\nx = ["Anders", "Brae"]', {"taxonomy": {"x": ["Anders", "Brae"]}}, ("x", "Cormont")),
    ],
)
def test_groups_are_edited_as_the_file_spells_them(visitor, text, tree, labels):
    towns = {**TOWN, "values": "Anders\nAnneth\nBrae\nCormont"} if labels is None else TOWN
    path = visitor.studio.folder.root / "schema.toml"
    path.write_text("# kept\n" + path.read_text())
    done = edited(visitor, "/schema/column", **towns, taxonomy=text)
    made = schema(visitor)["town"]
    assert done.status_code == 200 and made.missing == ("", "?")
    assert made.taxonomy.levels[0].labels == (labels or ("A", "B", "C")) and (
        tree is None or made.taxonomy.tree == tree
    )
    assert path.read_text().startswith("# kept\n") and "<b>" not in done.text
    shown = html.unescape(re.search(r'name="taxonomy"[^>]*>([^<]*)</textarea>', column(done.text, 2))[1])
    before = path.read_text()
    again = edited(visitor, "/schema/column", **towns, taxonomy=shown)
    assert again.status_code == 200 and path.read_text() == before, "what is shown means what is held"
    edited(visitor, "/schema/column", **towns)
    assert schema(visitor)["town"].taxonomy == made.taxonomy, "a form without the field leaves the groups alone"
    assert edited(visitor, "/schema/column", **towns, taxonomy=" ").status_code == 200
    assert schema(visitor)["town"].taxonomy is None and "taxonomy" not in path.read_text()


def column(page, index):
    """The part of a page that is one column's form."""
    return re.search(rf'id="column-{index}".*?</details>', page, re.DOTALL)[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('North = ["Anders", "Elsewhere"]', "not in `values`"),
        ('North = ["Anders"]\nSouth = ["Anders"]', "twice"),
        ("North: Anders, Brae", "cannot be read"),
        ("North = 5", "list of values or a table"),
        ("prefix:x", "how many first characters"),
        ('[attributes.town.taxonomy]\nNorth = ["Anders"]', "leave out the line"),
        ('{ North = ["Anders"] }\nx = 1', "nothing after it"),
        ("a = " + "[" * 5000, "cannot be read"),
    ],
)
def test_wrong_groups_are_words_and_change_nothing(visitor, text, said):
    before = (visitor.studio.folder.root / "schema.toml").read_text()
    done = edited(visitor, "/schema/column", **TOWN, taxonomy=text)
    assert done.status_code == 422 and said in html.unescape(done.text)
    assert (visitor.studio.folder.root / "schema.toml").read_text() == before


def test_groups_go_with_declared_values_of_a_category(visitor):
    groups = 'North = ["Anders", "Brae"]'
    edited(visitor, "/schema/column", **TOWN, taxonomy=groups)
    done = edited(visitor, "/schema/column", **{**TOWN, "values": "discover"}, taxonomy=groups)
    assert done.status_code == 422 and "taxonomy" in done.text
    assert edited(visitor, "/schema/column", **{**TOWN, "values": "discover"}, taxonomy="").status_code == 200
    edited(visitor, "/schema/column", **TOWN, taxonomy=groups)
    assert edited(visitor, "/schema/column", **{**TOWN, "kind": "drop"}, taxonomy=groups).status_code == 200
    assert schema(visitor)["town"].kind == "drop"


def test_what_nobody_knows_is_marked_as_bought(visitor):
    done = edited(visitor, "/schema/column", index="0", kind="discover")
    assert TEXTS["paid_words"] in done.text and schema(visitor).undiscovered
    assert re.search(r"takes up to [1-9][0-9]?% of it", done.text), "with its price"
    edited(visitor, "/schema/column", index="2", kind="category", values="discover")
    edited(visitor, "/schema/column", index="0", kind="integer", low="discover", high="")
    assert [a.name for a in schema(visitor).undiscovered] == ["age", "town"]


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "integer", "low": "9", "high": "1"},
        {"kind": "category", "values": ""},
        {"kind": "shoes"},
        {"kind": "integer", "low": "", "high": ""},
        {"kind": "integer", "low": "0", "high": "9", "bins": "1, x"},
    ],
)
def test_a_wrong_edit_is_words_and_changes_nothing(visitor, fields):
    before = (visitor.studio.folder.root / "schema.toml").read_text()
    done = edited(visitor, "/schema/column", index="0", **fields)
    assert done.status_code == 422 and done.headers["hx-retarget"] == "#message" and 'class="bad"' in done.text
    assert (visitor.studio.folder.root / "schema.toml").read_text() == before


def test_the_second_of_two_windows_must_look_again(visitor):
    seen = version(visitor)
    assert visitor.post("/schema/column", schema="schema.toml", version=seen, index="0", kind="drop").status_code == 200
    late = visitor.post("/schema/column", schema="schema.toml", version=seen, index="1", kind="drop")
    assert late.status_code == 422 and "another window" in late.text and schema(visitor)["sex"].kind == "category"


def test_rules_and_text_are_saved_if_they_are_a_schema(visitor):
    assert edited(visitor, "/schema/rules", rules="age < 18 implies sex = 'Female'").status_code == 204
    assert [rule.text for rule in schema(visitor).rules] == ["age < 18 implies sex = 'Female'"]
    assert edited(visitor, "/schema/rules", rules="nonsense ==").status_code == 422
    assert edited(visitor, "/schema/rules", rules="").status_code == 204 and not schema(visitor).rules
    text = (visitor.studio.folder.root / "schema.toml").read_text()
    assert edited(visitor, "/schema/text", text=text.replace("rows = 60", "rows = 61")).status_code == 204
    assert schema(visitor).rows == 61
    assert edited(visitor, "/schema/text", text="[table").status_code == 422


def test_a_rule_that_stays_keeps_its_map(visitor):
    path = visitor.studio.folder.root / "schema.toml"
    table = 'map = { Anders = "Female", Brae = "Male", Cormont = "Male" }'
    path.write_text(f'{path.read_text()}\n[[rules]]\nrule = "sex = map(town)"\n{table}\n')
    held = schema(visitor).rules
    assert edited(visitor, "/schema/rules", rules="sex = map(town)\nage >= 1").status_code == 204
    assert schema(visitor).rules[:1] == held and schema(visitor).rules[1].text == "age >= 1"
    assert edited(visitor, "/schema/rules", rules="age >= 1").status_code == 204
    assert [rule.text for rule in schema(visitor).rules] == ["age >= 1"]


def test_a_broken_file_can_be_repaired(visitor):
    (visitor.studio.folder.root / "schema.toml").write_text("[table")
    page = visitor.get("/schema/edit", schema="schema.toml")
    assert page.status_code == 200 and TEXTS["repair_title"] in page.text


def test_names_from_files_are_escaped(visitor):
    evil = "<img src=x onerror=alert(1)>"
    root = visitor.studio.folder.root
    (root / "people.csv").write_text(f'"{evil}",sex\n1,Female\n')
    (root / "a&b'c.csv").write_text("x\n1\n")
    assert visitor.post("/schema/draft", data="people.csv", output="new.toml", header="yes").status_code == 204
    pages = [visitor.get("/schema/edit", schema="new.toml").text, visitor.get("/schema").text]
    assert evil not in pages[0] and "&lt;img src=x" in pages[0]
    assert "a&amp;b&#39;c.csv" in pages[1] and "a&b'c.csv" not in pages[1]
    refused = visitor.post("/schema/draft", data=evil, output="x.toml")
    assert evil not in refused.text


# -- for the custodian ---------------------------------------------------------------------------------------------


def test_the_check_is_stamped_exact_and_leaves_nothing_on_disk(visitor):
    root = visitor.studio.folder.root
    with (root / "people.csv").open("a") as file:
        file.write("250,Female,Anders\n" * 3 + "9,Female,Zaphod\n")
    text = (root / "schema.toml").read_text().replace("rows = 60", "rows = 64")
    (root / "schema.toml").write_text(text)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    done = visitor.post("/schema/check", schema="schema.toml", data="people.csv")
    assert done.status_code == 200 and "CUSTODIAN ONLY" in done.text and "3 clamped" in done.text
    assert TEXTS["misfits"] in done.text and "Zaphod" not in done.text, "counts, no cells"
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert done.headers["cache-control"] == "no-store"


def test_a_table_that_fits(visitor):
    assert TEXTS["fits"] in visitor.post("/schema/check", schema="schema.toml", data="people.csv").text


def test_a_panel_is_checked_as_it_would_be_published(visitor):
    root = visitor.studio.folder.root
    table = '[table]\nname = "visits"\nneighbours = "add-remove"\n[person]\nid = "who"\norder = "year"\nat_most = 2\n'
    sex = '[attributes.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
    columns = '[attributes.who]\nkind = "id"\n[attributes.year]\nkind = "integer"\nrange = [2001, 2009]\n' + sex
    (root / "visits.toml").write_text(table.replace("at_most = 2", 'at_most = 2\nconstant = ["sex"]') + columns)
    (root / "visits.csv").write_text("who,year,sex\n1,2001,f\n1,2002,f\n1,2003,f\n2,2001,m\n")
    done = visitor.post("/schema/check", schema="visits.toml", data="visits.csv")
    assert TEXTS["fits"] in done.text and "4 rows of 2 people; with at_most = 2, 3 of them are used" in done.text
    (root / "visits.csv").write_text("who,year,sex\n1,2001,f\n1,2002,m\n")
    done = visitor.post("/schema/check", schema="visits.toml", data="visits.csv")
    assert done.status_code == 422 and TEXTS["fits"] not in done.text and "sex" in done.text


def test_a_password_is_never_shown(visitor):
    address = "postgresql://me:Zaphod4711@127.0.0.1:1/db?table=people&connect_timeout=2"
    done = visitor.post("/schema/check", schema="schema.toml", address=address)
    assert done.status_code == 422 and "Zaphod" not in done.text
    for bad in (
        "duckdb:///../x.db?table=people",
        address + "&passfile=/etc/passwd",
        "postgresql://me:Zaphod4711@h/db",
        "file:///etc/passwd",
    ):
        done = visitor.post("/schema/check", schema="schema.toml", address=bad)
        assert done.status_code == 422 and "Zaphod" not in done.text
    page = visitor.get("/schema/edit", schema="schema.toml").text
    assert 'id="address" name="address" type="password"' in page and "Zaphod" not in page


def test_an_unexpected_error_shows_no_cell(visitor, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a cell: Zaphod4711")

    monkeypatch.setattr("understudy.studio.schema_screen.check_fit", fail)
    done = visitor.post("/schema/check", schema="schema.toml", data="people.csv")
    assert done.status_code == 422 and "RuntimeError" in done.text and "Zaphod" not in done.text
