"""Whatever is not markup is escaped, everywhere it can stand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.report.bars import Bar, Whisker, table_of
from understudy.report.cells import ALL_LINES
from understudy.report.markup import Markup, coded, join, number, shape, shortened, tag, text
from understudy.report.page import MAX_BYTES
from understudy.report.style import DARK, LIGHT


def test_text_and_settings_are_escaped() -> None:
    assert tag("p", "<b>", title='"&') == '<p title="&quot;&amp;">&lt;b&gt;</p>'
    assert tag("p", tag("b", "x"), None, "<") == "<p><b>x</b>&lt;</p>"
    assert shape("rect", width=1.0, class_="a") == '<rect width="1" class="a"/>'
    assert tag("p", hidden=True, lang=None, id=False) == "<p hidden></p>"


def test_an_escaped_text_is_not_escaped_again() -> None:
    assert join([text("<"), "<"]) == "&lt;&lt;"
    assert isinstance(join([]), Markup)


@given(st.text())
def test_no_text_becomes_code(name: str) -> None:
    inside = tag("td", name, title=name)
    assert inside.count("<") == 2 and inside.count('"') == 2
    inside.encode("utf-8")  # half characters are gone


def test_numbers_are_short() -> None:
    assert [number(x) for x in (1, 0.04, -0.04, 2.26, 1000.0, -3.5)] == ["1", "0", "0", "2.3", "1000", "-3.5"]


def test_backticks_become_code_and_a_lone_one_stays() -> None:
    assert coded("see `rows < 2` here") == "see <code>rows &lt; 2</code> here"
    assert coded("a ` b <") == "a ` b &lt;"


@given(st.text())
def test_coded_text_is_escaped(name: str) -> None:
    assert re.sub("</?code>", "", coded(name)).count("<") == 0


def test_long_names_keep_their_ends() -> None:
    names = [f"household_of_the_reference_person_{i}" for i in range(40)]
    shown = [shortened(name, 20) for name in names]
    assert len(set(shown)) == 40 and max(map(len, shown)) == 20
    assert shortened("short", 20) == "short" and shortened("x" * 21, 20).count("…") == 1


def test_a_label_is_cut_where_it_would_fill_the_page_and_named_where_it_is_empty() -> None:
    long = "z" * 5000
    table = table_of([Bar(long, 0.5, ()), Bar(" ", 0.5, ())], [])
    assert 80 < table.count("z") < 80 + 240 and 'title="z' in table
    names = table_of([Bar(" × ".join(["household_of_the_reference_person"] * 3), 0.5, ())], [], class_="bars names")
    assert "title=" not in names  # a table of three is named whole
    bar = Bar(long, 0.5, ("1,234", "12.3 %", "± 1.0 %"), Whisker(0.1, 0.2, 0.3))
    assert ALL_LINES * len(table_of([bar] * 50, ["rows:wide", "share", "noise"])) / 50 < MAX_BYTES
    assert "(empty)" in table


def test_no_header_of_a_table_of_bars_is_empty() -> None:
    assert "<th></th>" not in re.sub(r"(<th)[^>]*", r"\1", str(table_of([Bar("a", 0.5, ("1",))], ["rows"])))


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_digits_in_colour_can_be_read(colours: str) -> None:
    """WCAG 2.2 asks for a contrast of 4.5 between text and what is behind it."""
    shades = dict(re.findall(r"--([a-z0-9]+):#([0-9a-f]{6})", colours))
    for name in ("ink", "muted", "accent", "gained", "alarm"):
        assert _contrast(shades[name], shades["sheet"]) >= 4.5, name
        assert _contrast(shades[name], shades["paper"]) >= 4.5, name


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(shade: str) -> float:
    parts = [int(shade[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear))
