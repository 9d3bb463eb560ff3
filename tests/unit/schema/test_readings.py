"""Readings: the one text of a cell whatever a library took it for, and the declarations that this would change."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.schema import Attribute, Booleans, Categories, Intervals
from understudy.schema.canonical import canonical, canonical_number, numeral
from understudy.schema.domain import UNFIT
from understudy.schema.readings import Readings


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (("3", "3.0", "3.", " 3", "03", "+3", "3e0", "0x3", "0b11"), "3"),
        (("0.5", ".5", "0.50", "5e-1"), "0.5"),
        (("true", "True", "TRUE", " true ", "1", "1.0"), "1"),
        (("false", "FALSE", "0", "-0", "0.0"), "0"),
        (("", "NA", "N/A", "null", "NaN", "nan", "-nan", "NAN"), None),
        (("9007199254740993", "9007199254740992", "9007199254740992.0"), "9007199254740992"),
        (("1e999", "inf", "Infinity", "+inf", "9" * 400), "inf"),
    ],
)
def test_one_text_for_all_readings(texts: tuple[str, ...], one: str | None) -> None:
    assert {canonical(text) for text in texts} == {one}


@pytest.mark.parametrize(
    "text", ["x", "?", "None", "1,000", "1_000", "2024-01-31", "yes", "T", "1 2", "0x", "--1", "e3"]
)
def test_other_texts_are_themselves(text: str) -> None:
    assert canonical(text) == text and numeral(text) is None


def test_the_declared_decimal_sign_is_read_too() -> None:
    assert canonical("1,5", ",") == canonical("1.5", ",") == "1.5"
    assert canonical("1,5") == "1,5"


@given(st.floats() | st.integers(-(2**70), 2**70).map(float))
def test_a_canonical_text_is_its_own(value: float) -> None:
    text = canonical_number(value)
    assert (text is None) == math.isnan(value)
    if text is not None:
        assert canonical(text) == text and numeral(text) == value


def category(*values: str, **more: Any) -> Attribute:
    return Attribute("a", Categories(values), **more)


DAY = Intervals("date", (0.0, 10_000.0, 20_000.0))
ACCEPTED = [
    category("Female", "Male"), category("0", "1"), category("1", "2", "3", missing=("",)), category("True", "False"),
    category("0.5", "1"), category("yes", "no", "?"), category("F", "M"), category("10-19", "20-29"), category("<=50K", ">50K"),
    category("Jan", "Feb", "May"), category("None", "Some"), category("a", missing=("NA", "", "?")),
    Attribute("a", Booleans()), Attribute("a", Booleans(("Y",), ("N",))), Attribute("a", Booleans(("1",), ("2",))),
    Attribute("a", DAY, missing=("9999-12-31", "")), Attribute("a", Intervals("date", DAY.edges, format="%Y%m%d")),
    Attribute("a", Intervals("date", DAY.edges, format="%Y/%m/%d")),
    Attribute("a", Intervals("integer", (0.0, 9.0)), missing=("-9", "NA")),
]  # fmt: skip
REFUSED = [
    category("01", "02"), category("1", "1.0"), category("1.50", "2"), category("1e3", "2"), category("True", "true"),
    category("1", "true"), category("NA", "DE"), category("", "x", missing=("NA",)), category("2024-01-31"), category("12:30"),
    category("1/2/2024"), category("1,000", "2"), category("9007199254740993"), category("a", missing=("099",)),
    category("Infinity", "x"), category(" 1", "2"), category("0x10", "2"),
    Attribute("a", Booleans(("2",), ("1",))), Attribute("a", Booleans(("0",), ("1",))),
    Attribute("a", Intervals("date", DAY.edges, format="%d.%m.%Y")), Attribute("a", Intervals("date", DAY.edges, format="%m/%d/%Y")),
    Attribute("a", Intervals("integer", (0.0, 9.0)), missing=("-9.0",)),
    Attribute("a", Intervals("integer", (0.0, 9.0)), missing=("9999-12-31",)),
]  # fmt: skip


@pytest.mark.parametrize("attribute", ACCEPTED, ids=repr)
def test_ordinary_declarations_are_accepted(attribute: Attribute) -> None:
    readings = Readings(attribute)
    assert readings.fault is None
    assert [readings.code(text) for text in readings.declared] == attribute.encode(readings.declared).tolist()


@pytest.mark.parametrize("attribute", REFUSED, ids=repr)
def test_what_would_not_survive_is_refused(attribute: Attribute) -> None:
    assert Readings(attribute).fault is not None


def test_other_takes_texts_and_not_what_may_have_been_something_else() -> None:
    numbers = Readings(category("1", "2", other="2"))
    assert [numbers.code(text) for text in ("x", "3", "1.0", "true", "4.5")] == [1, 1, 0, 0, 1]
    assert [numbers.code(text) for text in ("2024-01-31", "12:30", "1,000", "1'000")] == [UNFIT] * 4
    assert [numbers.code(text) for text in ("yes", "f", " Y ")] == [0, 1, 0]  # booleans to some readers, 1 and 0
    words = Readings(category("Female", "Male", other="Male"))
    assert [words.code(text) for text in ("x", "3", "true", "1,000")] == [1] * 4
    pair = Readings(category("yes", "no", other="no"))
    assert [pair.code(text) for text in ("yes", "true", "1", "False", "perhaps")] == [0, 0, 0, 1, 1]
    half = Readings(category("F", "M", other="M"))
    assert [half.code(text) for text in ("F", "M", "x", "true", "0", "2")] == [0, 1, 1, UNFIT, UNFIT, 1]
    day = Readings(Attribute("a", DAY, other="missing"))
    assert [day.code(text) for text in ("1970-01-02", "1970-01-02 00:00:00", "19700102", "?")] == [0, 0, 0, 2]
    assert [day.code(text) for text in ("1970-01-02T12:00:00", "2.1.1970", "1/2/1970", "5")] == [2, UNFIT, UNFIT, UNFIT]


def test_a_null_is_missing_or_an_empty_cell() -> None:
    assert (
        Readings(category("x", missing=("NA",))).code("") == Readings(category("x", missing=("NA",))).code("NaN") == 1
    )
    assert Readings(category("x", "y", other="y")).code("NA") == 1
    assert Readings(category("x")).code("") == UNFIT
