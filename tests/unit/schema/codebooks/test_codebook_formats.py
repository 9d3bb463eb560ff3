"""Codebooks of every format: what each says, what it is trusted with, and what is never read from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.codebooks import READERS, read_codebook, read_object
from understudy.schema.codebooks.prose import prose_facts
from understudy.schema.draft import drafted
from understudy.schema.facts import Facts, Source

CANARY = "31337"  # a statistic: it must not reach any draft


def saved(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def schema_of(path: Path, names: list[str]) -> Schema:
    return Schema.from_toml(drafted(names, codebook=path).text)


# -- JSON and YAML -------------------------------------------------------------------------------------------

FRICTIONLESS = {
    "resources": [
        {
            "name": "people",
            "schema": {
                "missingValues": ["", "NA"],
                "primaryKey": "pid",
                "fields": [
                    {"name": "pid", "type": "integer", "constraints": {"required": True}},
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
                    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
                    {"name": "seen", "type": "date", "format": "%d.%m.%Y", "constraints": {"minimum": "2001-01-01", "maximum": "2021-01-01"}},
                    {"name": "smokes", "type": "boolean", "trueValues": ["j"], "falseValues": ["n"], "constraints": {"required": True}},
                    {"name": "born", "type": "year", "constraints": {"required": True}},
                ],
            },
        }
    ]
}  # fmt: skip


def test_frictionless(tmp_path: Path) -> None:
    schema = schema_of(
        saved(tmp_path, "datapackage.json", FRICTIONLESS), ["pid", "age", "sex", "seen", "smokes", "born"]
    )
    assert schema["pid"].kind == "id" and schema["age"].missing == ("", "NA")
    assert schema["sex"].labels == ("f", "m") and not schema["sex"].has_missing
    assert schema["seen"].domain.format == "%d.%m.%Y"  # type: ignore[union-attr]
    assert schema["smokes"].labels == ("n", "j")
    assert schema["born"].provenance == "proposed: years"  # a declared type that means a public domain
    assert schema["sex"].provenance == "codebook: Frictionless Table Schema"
    assert "origin" not in schema.confirm


def test_frictionless_types_without_constraints_are_asked_about(tmp_path: Path) -> None:
    bare = {"fields": [{"name": "x", "type": "integer"}, {"name": "y", "type": "string"}]}
    source = read_codebook(saved(tmp_path, "schema.json", bare))
    assert source.points == ("origin",) and source.attributes["y"].kind is None


def test_csvw(tmp_path: Path) -> None:
    columns = [
        {
            "titles": "Age",
            "name": "age",
            "datatype": {"base": "integer", "minimum": "0", "maximum": "99"},
            "null": ["", "-"],
        },
        {"name": "day", "datatype": {"base": "date", "format": "dd.MM.yyyy"}, "required": True},
        {"name": "ok", "datatype": {"base": "boolean", "format": "Y|N"}, "required": True},
        {"name": "month", "datatype": "gMonth", "required": True},
    ]
    document = {
        "@context": "http://www.w3.org/ns/csvw",
        "dialect": {"delimiter": ";"},
        "tableSchema": {"columns": columns},
    }
    schema = schema_of(saved(tmp_path, "t.csv-metadata.json", document), ["Age", "day", "ok", "month"])
    assert schema.csv.delimiter == ";" and schema["Age"].missing == ("", "-")
    assert schema["ok"].labels == ("N", "Y") and schema["month"].provenance == "proposed: months"
    assert [key for name, key in schema.unconfirmed if name == "day"] == ["range"]


JSON_SCHEMA = {
    "type": "array",
    "items": {"$ref": "#/$defs/Person"},
    "$defs": {
        "Level": {"enum": ["low", "high"]},
        "Person": {
            "type": "object",
            "required": ["age", "level"],
            "properties": {
                "age": {"type": "integer", "minimum": 0, "maximum": 99, "description": "in years"},
                "level": {"$ref": "#/$defs/Level"},
                "pay": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 10}, {"type": "null"}]},
                "grade": {"oneOf": [{"const": 1, "title": "good"}, {"const": 2, "title": "bad"}]},
                "notes": {"type": "array"},
                "when": {"type": "string", "format": "date", "examples": [CANARY]},
            },
        },
    },
}


def test_json_schema(tmp_path: Path) -> None:
    schema = schema_of(saved(tmp_path, "s.json", JSON_SCHEMA), ["age", "level", "pay", "grade", "notes", "when"])
    assert schema["level"].labels == ("low", "high") and schema["grade"].domain.labels == ("1", "2")
    assert schema["pay"].missing == ("",) and not schema["age"].has_missing
    assert schema["notes"].kind == "drop" and schema["when"].kind == "date"


def test_pydantic_model() -> None:
    pydantic = pytest.importorskip("pydantic")
    from typing import Literal

    class Person(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        age: int = pydantic.Field(ge=0, le=99)
        team: Literal["red", "blue"]
        pay: float | None = pydantic.Field(default=None, ge=0, le=10)

    facts = read_object(Person).attributes
    assert facts["age"].high == "99" and facts["team"].values == ("red", "blue") and facts["pay"].missing == ("",)


def test_nist_dictionary(tmp_path: Path) -> None:
    document = {
        "REGION": {"description": "Where", "values": {"1": "North", "2": "South"}},
        "AGE": {"description": "Age", "values": {"min": 0, "max": 99}},
        "INC": {"description": "Income", "values": {"N": "N/A (child)", "min": 0, "max": 500, "501": "above"}},
        "CODE": {"description": "Industry", "details": f"{CANARY} appear"},
    }
    path = saved(tmp_path, "dict.json", document)
    schema = schema_of(path, ["REGION", "AGE", "INC", "CODE"])
    assert schema["REGION"].labels == ("1", "2") and schema["INC"].missing == ("N",)
    grid = schema["INC"].grid
    assert grid is not None and grid.high == 501 and grid.points == (501.0,)
    assert schema["CODE"].kind == "drop" and CANARY not in drafted(["CODE", "AGE"], codebook=path).text
    assert "origin" in schema.confirm  # some of its ends are those of one file


def test_a_profile_is_asked_about_and_its_extremes_are_not_read(tmp_path: Path) -> None:
    document = {
        "schema": {
            "AGEX": {"dtype": "int64", "min": 3, "max": int(CANARY)},
            "S": {"dtype": "object", "values": ["N", "1"], "has_null": True, "null_value": "N"},
        }
    }
    path = saved(tmp_path, "schema.json", document)
    text = drafted(["AGEX", "S"], codebook=path).text
    schema = Schema.from_toml(text)
    assert CANARY not in text and ("AGEX", "range") in schema.unconfirmed and "origin" in schema.confirm
    assert schema["S"].labels == ("N", "1") and schema["S"].provenance == "codebook: NIST schema.json"


def test_croissant(tmp_path: Path) -> None:
    field = {"@type": "cr:Field", "dataType": "sc:Integer", "source": {"extract": {"column": "count_x"}}}
    kinds = {"@id": "kinds", "data": [{"kinds/name": "a"}, {"kinds/name": "b"}]}
    refers = {"@id": "rows/kind", "name": "kind", "dataType": "sc:Text", "references": {"field": {"@id": "kinds/name"}}}
    document = {
        "@type": "sc:Dataset",
        "recordSet": [kinds, {"@id": "rows", "field": [field, refers, {"name": "d", "dataType": "sc:Date"}]}],
    }
    source = read_codebook(saved(tmp_path, "croissant.json", document))
    assert source.attributes["count_x"].kind == "integer" and source.attributes["kind"].values == ("a", "b")
    assert source.attributes["d"].kind == "date" and source.points == ("origin",)


def test_sdv(tmp_path: Path) -> None:
    columns = {
        "id": {"sdtype": "id"}, "x": {"sdtype": "numerical", "computer_representation": "Int64"}, "y": {"sdtype": "numerical"},
        "d": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"}, "who": {"sdtype": "name", "pii": True}, "c": {"sdtype": "categorical"},
    }  # fmt: skip
    source = read_codebook(
        saved(tmp_path, "m.json", {"METADATA_SPEC_VERSION": "V1", "tables": {"t": {"columns": columns}}})
    )
    kinds = {name: facts.kind for name, facts in source.attributes.items()}
    assert kinds == {"id": "id", "x": "integer", "y": "number", "d": "date", "who": "drop", "c": None}
    assert source.points == ("origin",)


DBT = """
version: 2
models:
  - name: people
    columns:
      - name: id
        tests: [unique, not_null]
      - name: sex
        description: as registered
        tests:
          - not_null
          - accepted_values: {values: [f, m]}
      - name: age
        data_type: int
        data_tests:
          - dbt_utils.accepted_range: {arguments: {min_value: 0, max_value: 120}}
      - name: name
        data_type: varchar(20)
"""


def test_dbt(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    schema = schema_of(saved(tmp_path, "schema.yml", DBT), ["id", "sex", "age", "name"])
    assert schema["id"].kind == "id" and schema["sex"].labels == ("f", "m") and schema["age"].missing == ("",)
    assert schema["name"].kind == "drop" and schema["sex"].provenance == "codebook: dbt schema.yml"


PANDERA = """
schema_type: dataframe
columns:
  age: {dtype: int64, nullable: false, checks: {greater_than_or_equal_to: 0, less_than_or_equal_to: 99}}
  sex: {dtype: object, nullable: true, checks: {isin: [f, m]}}
  pay: {dtype: float64, nullable: false, checks: [{min_value: 0, max_value: 5, options: {check_name: in_range}}]}
"""


def test_pandera(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    source = read_codebook(saved(tmp_path, "s.yaml", PANDERA))
    facts = source.attributes
    assert (facts["age"].low, facts["age"].high) == ("0", "99") and facts["pay"].high == "5"
    assert facts["sex"].values == ("f", "m") and facts["sex"].missing == ("",) and source.points == ("origin",)


DDI = f"""<?xml version="1.0"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
 <var name="sex" intrvl="discrete"><labl>Sex</labl><varFormat type="numeric"/>
  <catgry><catValu>1</catValu><labl>male</labl><catStat type="freq">{CANARY}</catStat></catgry>
  <catgry><catValu>2</catValu><labl>female</labl></catgry>
  <catgry missing="Y"><catValu>9</catValu></catgry></var>
 <var name="score" dcml="0"><varFormat type="numeric"/><valrng><range min="0" max="40"/></valrng><sumStat type="max">{CANARY}</sumStat></var>
 <var name="seen"><varFormat type="numeric"/><valrng><range UNITS="REAL" min="1" max="{CANARY}"/></valrng></var>
</dataDscr></codeBook>"""


def test_ddi(tmp_path: Path) -> None:
    path = saved(tmp_path, "study.xml", DDI)
    text = drafted(["sex", "score", "seen"], codebook=path).text
    schema = Schema.from_toml(text)
    assert schema["sex"].labels == ("1", "2", "missing") and schema["sex"].missing == ("9",)
    assert schema["score"].labels[0] == "0" and CANARY not in text and ("seen", "range") in schema.unconfirmed
    with pytest.raises(SchemaError, match="entities"):
        read_codebook(saved(tmp_path, "bomb.xml", '<!DOCTYPE codeBook [<!ENTITY a "b">]><codeBook/>'))


# -- rows ----------------------------------------------------------------------------------------------------

REDCAP = '''"Variable / Field Name","Form Name","Field Type","Field Label","Choices, Calculations, OR Slider Labels","Text Validation Type OR Show Slider Number","Text Validation Min","Text Validation Max",Identifier?,"Required Field?"
record,f,text,Record,,,,,,
mrn,f,text,MRN,,,,,y,
age,f,text,Age,,integer,0,120,,y
bmi,f,text,BMI,,number_2dp,10,80,,
visit,f,text,Visit,,date_dmy,2010-01-01,2030-12-31,,
sex,f,radio,"<b>Sex</b>","1, male | 2, female | 9, other",,,,,y
symptoms,f,checkbox,Symptoms,"a, cough | b, fever",,,,,
smoker,f,yesno,Smoker,,,,,,
remarks,f,notes,Remarks,,,,,,
intro,f,descriptive,Hello,,,,,,
'''  # fmt: skip


def test_redcap(tmp_path: Path) -> None:
    names = ["mrn", "age", "bmi", "visit", "sex", "symptoms___a", "symptoms___b", "smoker", "remarks"]
    schema = schema_of(saved(tmp_path, "dict.csv", REDCAP), names)
    assert schema["mrn"].kind == "drop" and schema["sex"].labels == ("1", "2", "9")
    assert (
        schema["symptoms___b"].kind == "boolean"
        and schema["smoker"].missing == ("",)
        and schema["visit"].kind == "date"
    )
    assert schema["bmi"].grid is not None and schema["bmi"].grid.decimals == 2 and schema["remarks"].kind == "drop"
    assert schema["sex"].provenance == "codebook: REDCap data dictionary"


@pytest.mark.parametrize(
    ("sentence", "values", "missing"),
    [
        ("HAD 1 DRINK PAST YEAR? IN 1971,  1:EVER, 0:NEVER; 2:MISSING", ("1", "0"), ("2",)),
        ("0: MALE 1: FEMALE", ("0", "1"), None),
        ("EDUCATION BY 1971: 1: 8TH GRADE OR LESS, 2: HS DROPOUT, 3: HS", ("1", "2", "3"), None),
        (
            "HOW OFTEN?  0: Almost every day, 1: 2-3 times/week, 2: < 12 times/year, 5: Unknown",
            ("0", "1", "2", "5"),
            None,
        ),
        ("INCOME  11:<$1000, 12: 1000-1999, 13: 2000+", ("11", "12", "13"), None),
        ("LIVING IN A TAXED STATE, High taxed state of residence=1, 0 otherwise", ("1", "0"), None),
        ("1 = yes; 2 = no; 9 = refused", ("1", "2"), ("9",)),
    ],
)
def test_prose(sentence: str, values: tuple[str, ...], missing: tuple[str, ...] | None) -> None:
    facts = prose_facts(sentence)
    assert facts is not None and facts.values == values and facts.missing == missing


@pytest.mark.parametrize("sentence", ["AGE IN 1971", "HEIGHT IN CM", "", "SEE NOTE 3: it is long", "1:a, 1:b"])
def test_prose_that_lists_nothing(sentence: str) -> None:
    assert prose_facts(sentence) is None


def test_prose_is_one_open_point(tmp_path: Path) -> None:
    path = saved(tmp_path, "book.csv", 'variable,description\nq,"QUIT, 1:YES, 0:NO"\nage,AGE\nsex,"0: M 1: F"\n')
    made = drafted(["q", "age", "sex"], codebook=path)
    assert made.groups == {"prose": ("q", "sex"), "proposed": ("age",)}
    schema = Schema.from_toml(made.text)
    assert schema.confirm == ("rows", "prose", "proposed") and schema["q"].provenance == "codebook: prose"
    alone = Schema.from_toml(drafted(["q", "age", "sex"], codebook=path, grouped=False).text)
    assert alone.unconfirmed == [("[table]", "rows"), ("q", "prose"), ("age", "proposed"), ("sex", "prose")]


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    sheet = book.create_sheet("Codebook")
    for row in (
        ["attribute", "kind", "low", "high", "values"],
        ["age", "integer", 0, 99, None],
        ["sex", None, None, None, "f|m"],
    ):
        sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    schema = schema_of(tmp_path / "book.xlsx", ["age", "sex"])
    assert schema["sex"].labels == ("f", "m") and schema["age"].kind == "integer"
    (tmp_path / "broken.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(SchemaError, match="Excel"):
        read_codebook(tmp_path / "broken.xlsx")


# -- the interface -------------------------------------------------------------------------------------------


def test_each_format_has_a_name_of_its_own() -> None:
    assert len({reader.name for reader in READERS}) == len(READERS)


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", "[1, 2]"), ("a.json", "{"), ("a.json", {"a": 1}), ("a.xml", "<a/>")]
)
def test_what_is_no_codebook(tmp_path: Path, name: str, content: Any) -> None:
    with pytest.raises(SchemaError, match="a\\."):
        read_codebook(saved(tmp_path, name, content))


@pytest.mark.parametrize("content", [{"fields": [{"name": "x", "constraints": 3}]}, {"properties": {"a": 3}}])
def test_a_document_that_does_not_follow_its_format(tmp_path: Path, content: Any) -> None:
    with pytest.raises(SchemaError, match="does not follow"):
        read_codebook(saved(tmp_path, "a.json", content))


def test_names_are_found_by_letters_alone() -> None:
    source = Source({"smkintensity 82_71": Facts(kind="integer"), "AGE": Facts(kind="id")})
    assert source.about("smkintensity82_71").kind == "integer" and source.about("age").kind == "id"
