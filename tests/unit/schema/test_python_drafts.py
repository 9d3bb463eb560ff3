"""Schemas in Python: drafted from frames, read from dictionaries, edited; and the rules of public domains."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import understudy
from understudy.errors import SchemaError, UsageError
from understudy.schema import Schema
from understudy.schema.facts import Facts
from understudy.schema.public_domains import COUNTRIES, CURRENCIES, DOMAINS, LANGUAGES, US_STATES, plain_name, propose
from understudy.schema.written_forms import written_forms

FRAME = pd.DataFrame({"age": [31, 41], "town": ["Zaphod", "b"], "rownames": [1, 2]})


def test_a_draft_of_a_frame_reads_no_row() -> None:
    schema = Schema.draft(FRAME)
    assert [a.kind for a in schema.attributes] == ["integer", "drop", "drop"] and "Zaphod" not in schema.to_toml()
    other = FRAME.assign(age=[7, 8], town=["x", "y"])
    assert Schema.draft(other).to_toml() == schema.to_toml()
    assert Schema.draft(pl.from_pandas(FRAME))["age"].kind == "integer"
    assert Schema.draft(pl.from_pandas(FRAME).to_arrow())["town"].kind == "drop"


def test_a_frame_without_a_header_is_refused() -> None:
    with pytest.raises(UsageError, match="person's row"):
        Schema.draft(pd.DataFrame({"39": [1], "State-gov": [2]}))


def test_a_codebook_in_python(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("attribute,values\ntown,a|b\n")
    schema = Schema.draft(FRAME, codebook=tmp_path / "b.csv")
    assert schema["town"].labels == ("a", "b")
    described = {"properties": {"town": {"enum": ["c", "d"]}}}
    assert Schema.draft(FRAME, codebook=described)["town"].labels == ("c", "d", "missing")
    with pytest.raises(SchemaError, match="codebook is"):
        Schema.draft(FRAME, codebook=3)


def test_edits() -> None:
    schema = Schema.draft(["age", "town", "pay"]).edit(rows=2).edit("age", range=(0, 120), bins=24)
    assert schema.rows == 2 and schema["age"].size == 25 and schema["age"].provenance == "declared"
    schema = schema.edit("town", values=["a", "b"], missing=True).edit("pay", kind="number", range=(0, 9), bins=3)
    assert schema["town"].labels == ("a", "b", "missing") and schema["pay"].size == 3
    assert schema.edit("town", missing=None)["town"].labels == ("a", "b")
    assert schema.edit("age", edges=[0, 50, 120])["age"].domain.bins == 2  # type: ignore[union-attr]
    assert schema.edit(confirm=None).unconfirmed == [] and schema.edit(neighbours="add-remove").rows is None
    assert schema.edit("pay", kind="integer")["pay"].kind == "integer"
    with pytest.raises(SchemaError, match="kind"):
        Schema.draft(["zeta"]).edit("zeta", range=(0, 3))
    with pytest.raises(UsageError, match="no attribute"):
        schema.edit("agee", missing=True)


def test_an_edit_leaves_the_others_as_they_are() -> None:
    text = '[table]\nname = "t"\nrows = 9\n[attributes.a]\nkind = "integer"\nrange = [0, 500]\nbins = "each"\n'
    schema = Schema.from_toml(
        text + '[attributes.b]\nkind = "integer"\nrange = [0, 5000]\n[attributes.c]\nkind = "boolean"\n'
    )
    after = schema.edit("c", true=["y"], false=["n"])
    assert after["a"] == schema["a"] and after["b"] == schema["b"] and after["c"].labels == ("n", "y")


def test_from_dict() -> None:
    document = {"table": {"name": "t", "rows": 5}, "attributes": {"x": {"kind": "integer", "range": (0, 3)}}}
    assert Schema.from_dict(document) == Schema.from_toml(
        '[table]\nname = "t"\nrows = 5\n[attributes.x]\nkind = "integer"\nrange = [0, 3]\n'
    )


def test_publish_without_a_schema_shows_the_draft() -> None:
    with pytest.raises(UsageError, match="needs a schema") as caught:
        understudy.publish(FRAME, epsilon=1)
    assert "[attributes.age]" in caught.value.message and "Zaphod" not in caught.value.message
    with pytest.raises(UsageError, match="understudy init people.csv"):
        understudy.publish("people.csv", epsilon=1)


def test_a_name_with_a_dot_needs_quotes() -> None:
    with pytest.raises(SchemaError, match=r'\[attributes."ph.ecog"\]'):
        Schema.from_toml('[table]\nname = "t"\nrows = 1\n[attributes.ph.ecog]\nkind = "integer"\nrange = [0, 3]\n')


# -- public domains ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("age", "ages"), ("Age_Years", "ages"), ("patientAge", "ages"), ("SEX", "sex"), ("birth.year", "years"),
        ("month", "months"), ("weekday", "weekdays"), ("country", "countries (ISO 3166)"), ("currency", "currencies (ISO 4217)"),
        ("state", "US states"), ("pct_done", "percentages"), ("hourly_wage", "money"), ("is_smoker", "yes or no"),
        ("visit_date", "dates"), ("num_children", "counts"), ("patient_id", "identifiers"), ("caseID", "identifiers"),
        ("Unnamed: 0", "index"), ("__index_level_0__", "index"), ("rownames", "index"), ("language", "languages (ISO 639)"),
    ],
)  # fmt: skip
def test_proposals_by_name(name: str, domain: str) -> None:
    proposal = propose(name, Facts())
    assert proposal is not None and proposal.domain == domain


@pytest.mark.parametrize("name", ["zeta", "stage", "package", "agency", "time", "island_name", "nose"])
def test_names_that_mean_nothing_known(name: str) -> None:
    assert propose(name, Facts()) is None


def test_proposals_follow_what_is_stated() -> None:
    assert propose("age", Facts(kind="category")) is None  # a group of ages
    assert propose("wage", Facts()) is not None and propose("ln_wage", Facts()) is None  # not in money
    assert propose("y", Facts(label="ln(wage/GNP deflator)")) is None
    assert propose("age", Facts(kind="number")).facts.kind == "number"  # type: ignore[union-attr]
    assert propose("age", Facts(kind="integer", low="1", high="9")) is None
    assert propose("x", Facts(kind="integer", declared_type="year")).domain == "years"  # type: ignore[union-attr]
    assert propose("x", Facts(label="Weight in kilograms")).domain == "weights (kg)"  # type: ignore[union-attr]


def test_the_lists() -> None:
    assert (len(COUNTRIES), len(LANGUAGES), len(US_STATES)) == (249, 183, 56) and "EUR" in CURRENCIES
    assert all(len(set(found)) == len(found) for found in (COUNTRIES, LANGUAGES, CURRENCIES, US_STATES))
    assert len({domain.name for domain in DOMAINS}) == len(DOMAINS)
    assert plain_name("birthYear") == plain_name("BIRTH_YEAR") == plain_name("birth.year") == "birth year"


def test_written_forms() -> None:
    assert written_forms(["1", "2", "2.0", "01", "x"]) == {"1.0": "1"}
    assert written_forms(["true"]) == {"True": "true", "TRUE": "true"}
    assert written_forms(["True", "true"]) == {}
