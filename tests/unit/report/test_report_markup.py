"""Whatever is not markup is escaped, everywhere it can stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from understudy.report.markup import Markup, join, number, shape, tag, text


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
