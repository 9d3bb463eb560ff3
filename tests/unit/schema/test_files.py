"""schema.toml: strict reading, helpful refusals, and round trips that lose nothing."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError, UsageError
from understudy.schema import Attribute, Axis, Booleans, Categories, CsvDialect, Identifier, Intervals, Schema, Taxonomy
from understudy.schema.files import schema_from_dict

FULL = """\
# a comment that must survive
[table]
name = "adult"
account = "people"
rows = 45222                    # public
neighbours = "replace-one"
rows_per_person = 2
confirm = ["rows"]
[table.csv]
delimiter = ";"
encoding = "cp1252"
decimal = ","

[attributes.key]
kind = "id"
[attributes.note]
kind = "drop"
[attributes.age]
kind = "integer"
range = [17, 90]
bins = 16
[attributes.children]
kind = "integer"
range = [0, 8]
missing = "99"
[attributes."höhe.m"]
kind = "number"
range = [0.5, 2.5]
bins = 8
points = [0.5, 1.75]
missing = ["", "k.A."]
[attributes.gain]
kind = "number"
edges = [0, 10, 100.5, 1e6]
points = [0]
[attributes.born]
kind = "date"
range = [1900-01-01, "2024-12-31"]
bins = 10
format = "%d.%m.%Y"
missing = true
[attributes.day]
kind = "date"
range = [2024-01-01, 2024-01-31]
[attributes.seen]
kind = "datetime"
edges = [2020-01-01T00:00:00, 2021-01-01T12:30:00, "2022-01-01T00:00:00"]
[attributes.smoker]
kind = "boolean"
true = ["J", "ja"]
false = "N"
[attributes.workclass]
kind = "category"
values = ["Federal-gov", "Local-gov", "Private", "Never", "Käse \\"x\\""]
taxonomy = { Government = { Far = ["Federal-gov"], Near = "Local-gov" }, "Other work" = ["Private", "Never"] }
other = "Private"
provenance = "public"
confirm = ["values"]
"""
TABLE = '[table]\nname = "t"\nrows = 5\n'


def one(body: str, table: str = TABLE) -> Schema:
    return Schema.from_toml(f"{table}[attributes.a]\n{body}\n")


def test_every_kind_is_read():
    schema = Schema.from_toml(FULL)
    assert [a.kind for a in schema.attributes] == [
        "id", "drop", "integer", "integer", "number", "number", "date", "date", "datetime", "boolean", "category",
    ]  # fmt: skip
    assert schema.names == tuple(a.name for a in schema.attributes[2:])
    assert (schema.account, schema.rows, schema.rows_per_person) == ("people", 45222, 2)
    assert schema.csv == CsvDialect(";", "cp1252", ",")
    assert schema.unconfirmed == [("[table]", "rows"), ("workclass", "values")]
    assert schema["workclass"].provenance == "public" and schema["age"].provenance == "declared"
    assert schema["children"].size == 10 and schema["children"].encode(["99", "3"]).tolist() == [9, 3]
    assert schema["born"].missing == ("",) and schema["born"].encode(["31.12.2024", ""]).tolist() == [9, 10]
    assert schema["day"].size == 31
    assert schema["workclass"].levels == 2  # Far and Near are single values, so only the top level is coarser
    assert schema.cells(["smoker", "day"]) == 62 and schema.size(Axis("age", 1)) == 8


def test_the_file_comes_back_with_its_comments(tmp_path):
    path, again = tmp_path / "schema.toml", tmp_path / "again.toml"
    path.write_bytes(("\ufeff" + FULL.replace("\n", "\r\n")).encode())
    schema = Schema.open(path)
    assert schema.path == path and schema == Schema.from_toml(FULL)
    schema.save(again)
    assert again.read_bytes() == FULL.replace("\n", "\r\n").encode()
    assert Schema.open(again) == schema


def test_the_plain_form_comes_back():
    schema = Schema.from_toml(FULL)
    plain = json.loads(json.dumps(schema.as_json()))
    assert schema_from_dict(plain) == schema and schema_from_dict(plain).hash == schema.hash


def test_a_schema_without_text_is_written_afresh():
    schema = Schema.from_toml(FULL)
    fresh = schema_from_dict(schema.as_json())
    assert fresh.text is None and Schema.from_toml(fresh.to_toml()) == schema


def test_the_hash_follows_the_meaning_not_the_text():
    schema = Schema.from_toml(FULL)
    assert Schema.from_toml(FULL + "# more\n").hash == schema.hash
    assert Schema.from_toml(FULL.replace("bins = 16", "bins = 15")).hash != schema.hash


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@st.composite
def attributes(draw, name: str) -> Attribute:
    missing = tuple(draw(st.sets(st.sampled_from(["", "NA", "-99999"]))))
    kind = draw(st.sampled_from(["category", "boolean", "id", "integer", "number", "date", "datetime"]))
    if kind == "id":
        return Attribute(name, Identifier())
    if kind == "boolean":
        return Attribute(name, Booleans(("J",), ("N",)), missing=missing)
    if kind == "category":
        values = draw(
            st.lists(texts.filter(lambda t: t not in ("NA", "-99999", "missing")), min_size=2, max_size=6, unique=True)
        )
        tree = {"group one": values[:2], "group two": {"inner": values[2:]}} if draw(st.booleans()) else None
        domain = Categories(tuple(values))
        groups = Taxonomy.of_groups(tree, domain) if tree and not {"group one", "group two"} & set(values) else None
        return Attribute(name, domain, groups, missing, draw(st.sampled_from([None, values[0], "missing"])))
    whole = sorted(draw(st.sets(st.integers(-5000, 5000), min_size=2, max_size=8)))
    scale = 1.0 if kind != "number" else draw(st.sampled_from([1.0, 0.1, 1 / 3]))
    return Attribute(name, Intervals(kind, tuple(e * scale for e in whole)), missing=missing)


@settings(max_examples=80, deadline=None)
@given(st.data(), st.lists(texts, min_size=1, max_size=4, unique=True))
def test_any_schema_comes_back(data, names):
    columns = [data.draw(attributes(name)) for name in names]
    schema = Schema("t", (*columns, Attribute("at least one" * 9, Booleans())), rows=3)
    assert schema_from_dict(json.loads(json.dumps(schema.as_json()))) == schema
    assert Schema.from_toml(schema.to_toml()) == schema
    for a in schema.modelled:
        codes = np.arange(a.size, dtype=np.int32)
        values, absent = a.decode(codes, np.random.default_rng(1))
        shown = [_cell(a, v, gone) for v, gone in zip(values.tolist(), absent)]
        assert a.encode(shown).tolist() == codes.tolist()


def _cell(attribute: Attribute, value: object, absent: bool) -> str:
    if absent:
        return attribute.missing_text
    if isinstance(attribute.domain, Booleans):
        return attribute.labels[int(bool(value))]
    return attribute.domain.show(value) if isinstance(attribute.domain, Intervals) else str(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not toml", "not valid TOML"),
        ("", r"\[table\]"),
        ("[table]\nrows = 3\n", "`name`"),
        (TABLE, r"\[attributes\]"),
        ("[tabel]\n" + TABLE, "Did you mean 'table'"),
        (TABLE + "row = 5\n", "Did you mean 'rows'"),
        (TABLE + "rows_max = 0\n", "rows_max"),
        (TABLE + "rows_per_person = 1.5\n", "whole number"),
        (TABLE + 'neighbours = "replace-on"\n', "Did you mean 'replace-one'"),
        (TABLE + "csv = 3\n", r"\[table.csv\] must be a table"),
        (TABLE + '[table.csv]\nseparator = ";"\n', "no key 'separator'"),
        (TABLE + '[table.csv]\ndelimiter = ";;"\n', "one character"),
        (TABLE + '[table.csv]\ndelimiter = ","\ndecimal = ","\n', "must differ"),
        (TABLE + '[table.csv]\nencoding = "klingon"\n', "encoding"),
        (TABLE + "[table.csv]\nencoding = 5\n", "encoding"),
        (TABLE + '[table.csv]\nencoding = "zlib"\n', "encoding"),
        (TABLE + '[table.csv]\nencoding = "undefined"\n', "encoding"),
        (TABLE + '[table.csv]\ndelimiter = "\\""\n', "quotation mark"),
        (TABLE + '[table.csv]\ndelimiter = "\\u0000"\n', "null"),
        (
            TABLE
            + "[attributes.a]\nkind = 'category'\nvalues = ['x']\ntaxonomy = "
            + "{g=" * 900
            + "['x']"
            + "}" * 900,
            "deep",
        ),
        ('[table]\nname = "t"\n', "row count is public"),
        (TABLE + 'neighbours = "add-remove"\n', "leave `rows` out"),
    ],
)
def test_table_errors(text, words):
    with pytest.raises(SchemaError, match=words):
        Schema.from_toml(text + ("" if text in ("not toml", TABLE) else '[attributes.a]\nkind = "boolean"\n'))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "`kind` is one of"),
        ('kind = "intger"', "Did you mean 'integer'"),
        ('kind = "integer"\nrang = [0, 1]', "Did you mean 'range'"),
        ('kind = "category"\nvalues = ["a"]\nbins = 3', "no key 'bins'"),
        ('kind = "integer"', "needs `range"),
        ('kind = "integer"\nrange = [5]', "needs `range"),
        ('kind = "integer"\nrange = [5, 5]', "low < high"),
        ('kind = "integer"\nrange = 5', "must be a list"),
        ('kind = "integer"\nrange = ["0", "9"]', "hold numbers"),
        ('kind = "integer"\nrange = [0, true]', "hold numbers"),
        ('kind = "integer"\nrange = [0.5, 9]', "must be whole"),
        ('kind = "integer"\nrange = [0, nan]', "finite"),
        ('kind = "integer"\nrange = [0, inf]\nbins = 3', "finite"),
        (f'kind = "number"\nrange = [0, {10**400}]\nbins = 3', "finite"),
        ('kind = "integer"\nrange = [0, 65535]\nbins = "each"', "set `bins`"),
        ('kind = "integer"\nrange = [0, 10]\nbins = 12', "holds no value of its own"),
        ('kind = "integer"\nrange = [0, 10]\nbins = 0', "`bins` must be"),
        ('kind = "integer"\nrange = [0, 10]\nbins = 2.5', "`bins` must be"),
        ('kind = "integer"\nrange = [0, 99]\nbins = 70000', "`bins` must be"),
        ('kind = "integer"\nrange = [0, 10]\nedges = [0, 5]', "stands alone"),
        ('kind = "number"\nrange = [0, 10]\nbins = "each"', "needs `bins`"),
        ('kind = "datetime"\nrange = [2020-01-01T00:00:00, 2021-01-01T00:00:00]\nbins = "each"', "needs `bins`"),
        ('kind = "number"\nrange = [0, 10]\nbins = "atuo"', "Did you mean 'auto'"),
        ('kind = "number"\nrange = [0, 10]\nbins = "auto"\nfine = "wavelet"', "`fine` goes with bins that are given"),
        ('kind = "integer"\nrange = [0, 1000.5]\nbins = "auto"', "must be whole"),
        ('kind = "date"\nrange = ["1.1.2020", "2.1.2020"]', "2024-12-31"),
        ('kind = "date"\nrange = [2020-01-01, 2021-01-01]\nformat = 5', "`format`"),
        ('kind = "date"\nrange = [1920-01-01, 2021-01-01]\nformat = "%d.%m.%y"', "another cell"),
        ('kind = "category"', "at least one value"),
        ('kind = "category"\nvalues = ["a", "a"]', "twice"),
        ('kind = "category"\nvalues = [1, 2]', "in quotes"),
        ('kind = "category"\nvalues = ["a"]\nmissing = 9', "in quotes"),
        ('kind = "category"\nvalues = ["a"]\nmissing = ["a"]', "also one of its values"),
        ('kind = "category"\nvalues = ["a"]\nother = "b"', "`other`"),
        ('kind = "category"\nvalues = ["a"]\ntaxonomy = ["a"]', "table of groups"),
        ('kind = "category"\nvalues = ["a"]\ntaxonomy = { G = ["b"] }', "'b'"),
        ('kind = "category"\nvalues = ["a"]\nprovenance = "guessed"', "provenance"),
        ('kind = "boolean"\ntrue = "x"\nfalse = "x"', "none in both"),
    ],
)
def test_attribute_errors_name_the_attribute(body, words):
    with pytest.raises(SchemaError, match=words) as caught:
        one(body)
    assert caught.value.attribute == "a" and caught.value.message.startswith("attribute 'a': ")


@pytest.mark.parametrize("body", ['kind = "id"', 'kind = "drop"'])
def test_something_must_be_published(body):
    with pytest.raises(SchemaError, match="no attribute to publish"):
        one(body)


def test_unreadable_files(tmp_path):
    with pytest.raises(SchemaError, match="cannot read"):
        Schema.open(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes("# ä".encode("cp1252"))
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.open(tmp_path / "latin.toml")


def test_add_remove_needs_no_rows():
    schema = one('kind = "boolean"', '[table]\nname = "t"\nneighbours = "add-remove"\nrows_max = 9\n')
    assert schema.rows is None and schema.rows_max == 9 and schema_from_dict(schema.as_json()) == schema


def test_the_largest_range_of_single_values():
    assert one('kind = "integer"\nrange = [1, 65535]\nbins = "each"').attributes[0].size == 65535


def test_unknown_attribute_and_projection():
    schema = Schema.from_toml(FULL)
    with pytest.raises(UsageError, match="Did you mean 'age'"):
        schema["agee"]
    part = schema.project(["day", "age"])
    assert part.names == ("day", "age") and part.text is None and part.rows == schema.rows


def test_two_attributes_of_one_name():
    with pytest.raises(SchemaError, match="same name"):
        Schema("t", (Attribute("a", Booleans()), Attribute("a", Booleans())), rows=1)


JUNK = [0, -1, 1.5, True, "", "x", "\x00", [], ["x"], [1], [[1]], {}, {"a": 1}, float("nan"), float("inf"), 10**30]


def _places(body, path=()):
    for key, below in body.items():
        yield (*path, key)
        if isinstance(below, dict):
            yield from _places(below, (*path, key))


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_a_wrong_type_anywhere_is_a_schema_error(junk):
    for path in _places(tomllib.loads(FULL)):
        document = tomllib.loads(FULL)
        body = document
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = junk
        try:
            schema_from_dict(document)
        except SchemaError as error:
            assert error.message
