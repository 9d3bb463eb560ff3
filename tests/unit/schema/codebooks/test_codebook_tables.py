"""Codebooks in rows as people write them: other heads, lists with labels, types of programs, profiles, slips of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.codebook import STATISTICS, listed_values
from understudy.schema.codebooks import read_codebook
from understudy.schema.draft import drafted
from understudy.schema.facts import Facts, Source
from understudy.schema.public_domains import propose

CANARY = "31337"


def saved(folder: Path, text: str, name: str = "codebook.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


HEADS = """Variable Name,Variable_Label,Data Type,Coding,Allowed Values
sex,Sex of respondent,numeric,"1 = male, 2 = female",
smoke,Smoking,factor,"0=never;1=former;2=current;9=refused",
town,Town,varchar(20),"Oslo; Bergen; Voss",
when,Day,Date,,
shape,Shape,multi-select,,
"""


def test_heads_lists_and_types_as_people_write_them(tmp_path: Path) -> None:
    source = read_codebook(saved(tmp_path, HEADS))
    facts = source.attributes
    assert facts["sex"].values == ("1", "2") and facts["sex"].kind == "category"
    assert facts["smoke"].values == ("0", "1", "2") and facts["smoke"].missing == ("9",)
    assert facts["town"].values == ("Oslo", "Bergen", "Voss") and facts["when"].kind == "date"
    assert facts["shape"].kind is None and any("multi-select" in remark for remark in source.remarks)
    schema = Schema.from_toml(drafted(list(facts), codebook=saved(tmp_path, HEADS)).text)
    assert schema["smoke"].labels == ("0", "1", "2", "missing")


@pytest.mark.parametrize(
    ("cell", "values", "missing"),
    [
        ("a|b; c", ("a", "b; c"), ()),
        ("a\nb", ("a", "b"), ()),
        ("yes", ("yes",), ()),
        ("1: low | 2: high", ("1", "2"), ()),
        ("Kept: a, b", ("Kept: a", "b"), ()),
        ("M = male; F = female; X = not reported", ("M", "F"), ("X",)),
        ("1 = low; high", ("1 = low", "high"), ()),
        ("", None, ()),
    ],
)
def test_lists_of_values(cell: str, values: tuple[str, ...] | None, missing: tuple[str, ...]) -> None:
    assert listed_values(cell) == (values, missing)


@pytest.mark.parametrize("head", sorted(STATISTICS))
def test_the_ends_of_a_profile_are_not_read(head: str, tmp_path: Path) -> None:
    """Whoever writes a mean beside a minimum counted rows: exact minima and maxima never reach a draft."""
    path = saved(tmp_path, f"name,type,min,max,{head}\nzeta,integer,1,{CANARY},5\n")
    text = drafted(["zeta"], codebook=path).text
    assert CANARY not in text and "origin" in Schema.from_toml(text).confirm


def test_a_minimum_alone_is_asked_about_and_a_low_end_is_not(tmp_path: Path) -> None:
    asked = drafted(["zeta"], codebook=saved(tmp_path, "name,type,min,max\nzeta,integer,0,99\n")).text
    assert "range = [0, 99]" in asked and "origin" in Schema.from_toml(asked).confirm
    stated = drafted(["zeta"], codebook=saved(tmp_path, "name,type,low,high\nzeta,integer,0,99\n")).text
    assert "range = [0, 99]" in stated and "origin" not in Schema.from_toml(stated).confirm


def test_a_program_is_no_codebook(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="codebook=Model"):
        read_codebook(saved(tmp_path, "class Person: ...\n", "model.py"))


@pytest.mark.parametrize(
    ("named", "columns", "found"),
    [
        ("bithcontrol", ["birthcontrol"], "birthcontrol"),
        ("birthcontroll", ["birthcontrol"], "birthcontrol"),
        ("brithcontrol", ["birthcontrol"], "birthcontrol"),
        ("incom", ["income"], None),  # too short to be sure
        ("weight71", ["weight72"], None),  # another year is another column
        ("bithcontrol", ["birthcontrol", "bithcontrol"], "bithcontrol"),
        ("bithcontrol", ["birthcontrol", "bitchcontrol"], None),  # two columns are as near
        ("pregnancy", ["pregnancies"], None),
    ],
)
def test_one_slip_in_a_name(named: str, columns: list[str], found: str | None) -> None:
    source, remarks = Source({named: Facts(label="x")}).respelt(columns)
    assert [c for c in columns if source.about(c).label == "x"] == ([found] if found else [])
    assert bool(remarks) == (found is not None and found != named)


@pytest.mark.parametrize(
    ("label", "low", "high"),
    [
        ("WEIGHT CHANGE IN KILOGRAMS", "-400", "400"),
        ("Weight in kg at baseline", "0", "400"),
        ("INCREASE IN NUMBER OF CIGARETTES/DAY", "-1000", "1000"),
        ("DIFFERENCE IN AVG PRICE (US$2008)", "-1000000", "1000000"),
        ("When you drink, how much do you drink?", "0", "1000"),
        ("HIGHEST GRADE OF REGULAR SCHOOL EVER", "0", "30"),
        ("SERUM CHOLESTEROL (MG/100ML)", "0", "1000"),
    ],
)
def test_what_a_label_says_of_a_range(label: str, low: str, high: str) -> None:
    proposal = propose("zeta", Facts(label=label))
    assert proposal is not None and (proposal.facts.low, proposal.facts.high) == (low, high)
