"""Domains and attributes: every kind, every rule for a cell, and encode(decode(c)) = c for every code."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import Attribute, Axis, Booleans, Categories, Dropped, Identifier, Intervals
from understudy.schema.domain import MAX_CODES, UNFIT
from understudy.schema.scales import ordered_scale


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def every_code(domain: Categories | Booleans | Intervals, times: int = 40) -> np.ndarray:
    return np.repeat(np.arange(domain.size, dtype=np.int32), times)


def days(text: str) -> float:
    return ordered_scale("date").parse(text)


def assert_comes_back(domain: Intervals) -> None:
    """As numbers and as the text of a cell, every decoded value has the code it was decoded from."""
    codes = every_code(domain)
    values = domain.decode(codes, rng())
    assert (domain.encode_numbers(values.astype(float)) == codes).all()
    assert (domain.encode([domain.show(v) for v in values.tolist()]) == codes).all()


# -- categories and booleans ---------------------------------------------------------------------------------


def test_categories_compare_text_exactly():
    domain = Categories(("7", "007", "Käse", " a"))
    assert domain.encode(["007", "7", "Käse", " a", "a", "KÄSE", ""]).tolist() == [1, 0, 2, 3, UNFIT, UNFIT, UNFIT]
    codes = every_code(domain)
    assert (domain.encode(domain.decode(codes, rng()).tolist()) == codes).all()


@pytest.mark.parametrize("values", [(), ("a", "a"), tuple(str(i) for i in range(MAX_CODES + 1))])
def test_categories_refuse(values):
    with pytest.raises(SchemaError):
        Categories(values)


def test_the_most_values_are_allowed():
    assert Categories(tuple(str(i) for i in range(MAX_CODES))).size == MAX_CODES


def test_booleans_know_their_texts():
    domain = Booleans(("J", "ja"), ("N",))
    assert domain.encode(["J", "ja", "N", "nein"]).tolist() == [1, 1, 0, UNFIT]
    assert domain.labels == ("N", "J")
    assert Booleans().encode(["true", "False", "1", "0", "yes"]).tolist() == [1, 0, 1, 0, UNFIT]


@pytest.mark.parametrize(("true", "false"), [((), ("N",)), (("J",), ()), (("J", "x"), ("x",))])
def test_booleans_refuse(true, false):
    with pytest.raises(SchemaError):
        Booleans(true, false)


# -- intervals -----------------------------------------------------------------------------------------------


def test_bins_are_half_open_and_the_last_is_closed():
    domain = Intervals("number", (0.0, 1.0, 2.0))
    assert domain.encode(["0", "0.999", "1", "2"]).tolist() == [0, 0, 1, 1]


def test_outside_is_clamped_and_nonsense_is_unfit():
    domain = Intervals("integer", (0.0, 10.0, 20.0))
    assert domain.encode(["-5", "99", "3.0", "3.5", "", "x", "nan", "inf", "1e400"]).tolist() == [0, 1, 0] + [UNFIT] * 6


def test_points_have_cells_of_their_own():
    domain = Intervals("integer", (0.0, 10.0, 20.0), (0.0, 15.0))
    assert domain.labels == ("0", "1..9", "10..20", "15")
    assert domain.encode(["0", "1", "15", "14", "-3"]).tolist() == [0, 1, 3, 2, 0]
    assert domain.bounds(1) == (1, 9) and domain.bounds(3) == (15, 15)
    assert_comes_back(domain)


def test_labels_leave_points_at_both_ends_out():
    assert Intervals("integer", (0.0, 5.0), (0.0, 1.0, 5.0)).labels == ("0", "2..4", "1", "5")


def test_decoded_values_are_uniform_in_the_bin():
    domain = Intervals("integer", (0.0, 10.0), (3.0, 4.0))
    values = domain.decode(np.zeros(80_000, dtype=np.int32), rng())
    counts = np.bincount(values, minlength=11)
    assert set(np.flatnonzero(counts)) == {0, 1, 2, 5, 6, 7, 8, 9, 10}
    assert abs(counts[counts > 0] / 80_000 - 1 / 9).max() < 0.006


def test_decimal_comma():
    domain = Intervals("number", (0.0, 1.0, 2.0))
    assert domain.encode(["1,5", "0,2", "1.5", "1,2,3"], decimal=",").tolist() == [1, 0, UNFIT, UNFIT]
    assert domain.show(0.25, ",") == "0,25"


@pytest.mark.parametrize(
    "domain",
    [
        Intervals("integer", (16.5, 17.5, 18.5)),
        Intervals("integer", tuple(17 + 73 * i / 16 for i in range(17))),
        Intervals("number", (0.0, 1e-9, 1.0, 1e9), (0.0, 0.5, 1e9)),
        Intervals("number", (-3.5, -1.25, 7.0), (-3.5, -1.25, 7.0)),
        Intervals("number", (0.0, 1e-320, 2e-320)),
        Intervals("date", (days("0001-01-01"), days("1969-12-31"), days("9999-12-31"))),
        Intervals("date", (days("2024-01-01"), days("2024-03-01"), days("2024-12-31")), format="%d.%m.%Y"),
        Intervals("date", (days("2024-01-01"), days("2024-03-01"), days("2024-12-31")), (days("2024-02-29"),)),
        Intervals("datetime", (-1e9, 0.0, 1.7e9)),
        Intervals("datetime", (0.0, 86400.0, 1.7e9), format="%d.%m.%Y %H:%M:%S"),
    ],
    ids=str,
)
def test_every_code_comes_back(domain):
    assert_comes_back(domain)


@pytest.mark.costly
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_code_comes_back_for_any_domain(data):
    kind = data.draw(st.sampled_from(["integer", "number"]))
    scale = data.draw(st.sampled_from([1.0, 0.01, 1000.0])) if kind == "number" else 1.0
    edges = sorted(data.draw(st.sets(st.integers(-10_000, 10_000), min_size=2, max_size=12)))
    inside = st.integers(edges[0], edges[-1])
    points = data.draw(st.sets(inside, max_size=4))
    try:
        domain = Intervals(kind, tuple(e * scale for e in edges), tuple(p * scale for p in points))
    except SchemaError as error:  # only when points fill a bin of whole numbers
        assert kind == "integer" and "no value of its own" in error.message
        return
    assert_comes_back(domain)


@pytest.mark.parametrize(
    ("edges", "points", "kind", "words"),
    [
        ((1.0,), (), "number", "at least two"),
        ((1.0, 1.0), (), "number", "increase"),
        ((2.0, 1.0), (), "number", "increase"),
        ((0.0, math.inf), (), "number", "finite"),
        ((math.nan, 1.0), (), "number", "finite"),
        ((0.0, 10.0), (3.0, 3.0), "number", "twice"),
        ((0.0, 10.0), (11.0,), "number", "outside"),
        ((0.0, 10.0), (0.5,), "integer", "whole"),
        ((0.0, 2.0**60), (), "integer", "2^53"),
        ((0.2, 0.8, 5.0), (), "integer", "from 0.2 to 0.8 holds no value"),
        ((0.0, 1.0, 5.0), (0.0,), "integer", "holds no value"),
        ((-0.5, 0.5, 1.5), (0.0,), "integer", "take a point out"),
        ((0.0, 5e-324), (0.0, 5e-324), "number", "holds no value"),
        (tuple(float(i) for i in range(MAX_CODES + 2)), (), "integer", "65,535"),
    ],
)
def test_impossible_intervals(edges, points, kind, words):
    with pytest.raises(SchemaError, match=words.replace("^", r"\^")):
        Intervals(kind, edges, points)


@pytest.mark.parametrize("format", ["%d.%m.%y", "%m.%Y", "%d.%m.", "%Y.%Y", "no sign"])
def test_a_format_that_loses_the_bin_is_refused(format):
    edges = (days("1920-01-01"), days("1950-01-15"), days("2024-12-31"))
    with pytest.raises(SchemaError, match="read back in another cell"):
        Intervals("date", edges, format=format)


@pytest.mark.parametrize(
    ("text", "format", "meant"),
    [
        ("31.12.", "%d.%m.", "1900-12-31"), ("29.02.", "%d.%m.", None), ("7%", "%d%%", "1900-01-07"), ("%Y 7", "%%Y %d", "1900-01-07"),
        ("3.4.24", "%d.%m.%y", "2024-04-03"), ("3 May", "%d %B", "1900-05-03"), ("May", "%B", "1900-05-01"),
    ],
)  # fmt: skip
def test_a_day_without_a_year_is_one_of_1900_without_a_warning(text, format, meant):
    """From Python 3.13 on its own reader warns, and 3.15 may read another year."""
    found = ordered_scale("date").parse(text, format)
    assert math.isnan(found) if meant is None else found == days(meant)


def test_a_format_by_month_fits_bins_of_months():
    domain = Intervals("date", (days("2024-01-01"), days("2024-03-01"), days("2024-12-31")), format="%m/%Y")
    assert domain.encode(["02/2024", "03/2024", "2024"]).tolist() == [0, 1, UNFIT]


@pytest.mark.parametrize(
    ("text", "kind", "format", "value"),
    [
        ("1970-01-02", "date", None, 1),
        ("31.12.1969", "date", "%d.%m.%Y", -1),
        ("1970-01-01T00:01:00", "datetime", None, 60),
        ("1970-01-01T01:00:00+01:00", "datetime", None, 0),
        ("1969-12-31T23:59:59.5", "datetime", None, -1),
    ],
)
def test_moments(text, kind, format, value):
    assert ordered_scale(kind).parse(text, format) == value


@pytest.mark.parametrize("text", ["", "31.12.2024", "2024-02-30", "0001-01-01T00:00:00+14:00", "0"])
def test_no_moment(text):
    assert math.isnan(ordered_scale("datetime" if "T" in text else "date").parse(text))


# -- attributes ----------------------------------------------------------------------------------------------


def test_missing_is_the_last_code():
    attribute = Attribute("a", Categories(("x", "y")), missing=("", "NA"))
    assert attribute.encode(["x", "NA", "", "z"]).tolist() == [0, 2, 2, UNFIT]
    assert attribute.size == 3 and attribute.labels[-1] == "missing" and attribute.missing_text == ""
    values, absent = attribute.decode(np.asarray([0, 2, 1], dtype=np.uint8), rng())
    assert values[~absent].tolist() == ["x", "y"] and absent.tolist() == [False, True, False]


def test_other_goes_to_a_value_or_to_missing():
    assert Attribute("a", Categories(("x", "y")), other="y").encode(["q", ""]).tolist() == [1, 1]
    assert Attribute("a", Categories(("x", "y")), other="missing").encode(["q", "x"]).tolist() == [2, 0]
    assert Attribute("n", Intervals("integer", (0.0, 5.0, 10.0)), other="7").encode(["?", "1"]).tolist() == [1, 0]
    named = Attribute("a", Categories(("x", "missing")), other="missing")
    assert named.encode(["q"]).tolist() == [1] and named.size == 2


def test_other_must_be_declared():
    with pytest.raises(SchemaError, match="`other`"):
        Attribute("a", Categories(("x",)), other="z")


def test_missing_codes_of_typed_columns():
    attribute = Attribute("n", Intervals("integer", (0.0, 5.0, 10.0)), missing=("", "999", "k.A."))
    absent = np.asarray([False, False, True, False])
    assert attribute.encode_numbers(np.asarray([1.0, 999.0, 0.0, 50.0]), absent).tolist() == [0, 2, 2, 1]
    strict = Attribute("n", Intervals("integer", (0.0, 5.0, 10.0)))
    assert strict.encode_numbers(np.asarray([1.0, np.nan]), np.asarray([False, True])).tolist() == [0, UNFIT]


@pytest.mark.parametrize(
    ("domain", "missing"),
    [
        (Categories(("1", "9")), "9"),
        (Booleans(), "0"),
        (Intervals("integer", (-0.5, 0.5, 10.5)), "9"),
        (Intervals("number", (0.0, 10000.0)), "9999"),
        (Categories(("missing", "x")), "NA"),
    ],
    ids=str,
)
def test_a_missing_code_is_no_value(domain, missing):
    with pytest.raises(SchemaError, match="missing"):
        Attribute("a", domain, missing=(missing,))


@pytest.mark.parametrize("domain", [Identifier(), Dropped()])
def test_ids_and_dropped_columns_are_not_modelled(domain):
    attribute = Attribute("a", domain)
    assert not attribute.modelled and attribute.size == 0 and attribute.labels == () and attribute.taxonomy is None


def test_an_attribute_needs_a_name():
    with pytest.raises(SchemaError):
        Attribute("", Booleans())


@given(size=st.integers(1, 300), gray=st.booleans())
def test_bits_code_every_value(size, gray):
    attribute = Attribute("a", Categories(tuple(str(i) for i in range(size))))
    digits = [attribute.view_map(Axis("a", bit=b, gray=gray)) for b in range(attribute.bits)]
    shown = sum(d.astype(int) << (attribute.bits - 1 - b) for b, d in enumerate(digits))
    assert len(set(shown.tolist())) == size
    if gray:
        assert all(bin(a ^ b).count("1") == 1 for a, b in pairwise(shown.tolist()))
    else:
        assert shown.tolist() == list(range(size))


@given(
    edges=st.lists(st.integers(-60, 60), min_size=2, max_size=9, unique=True),
    points=st.lists(st.integers(-60, 60), max_size=20, unique=True),
    half=st.sampled_from([0.0, 0.5]),
)
def test_own_values_are_the_whole_numbers_that_are_no_points(edges: list[int], points: list[int], half: float) -> None:
    """Bin by bin and in order, however many points lie in one bin."""
    cut = [edge + half for edge in sorted(edges)]
    try:
        domain = Intervals("integer", tuple(cut), tuple(float(p) for p in points if cut[0] <= p <= cut[-1]))
    except SchemaError:
        return  # a bin without a value of its own
    bins = np.repeat(np.arange(domain.bins), domain.own_values)
    index = np.concatenate([np.arange(count) for count in domain.own_values])
    whole = [v for v in range(math.ceil(cut[0]), math.floor(cut[-1]) + 1) if v not in domain.points]
    assert domain.own_value(bins, index).tolist() == whole
    assert domain.encode_numbers(np.asarray(whole, dtype=float)).tolist() == domain.bin_codes[bins].tolist()
    for point in domain.points:
        assert domain.labels[domain.encode_numbers(np.asarray([point]))[0]] == domain.show(point)


def test_a_range_wider_than_the_largest_number_is_refused():
    assert Intervals("number", (-8e307, 8e307)).bins == 1
    with pytest.raises(SchemaError, match="wider than the largest number"):
        Intervals("number", (-1e308, 0.0, 1e308))
