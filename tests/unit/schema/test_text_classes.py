"""Text classes: one class a cell, and what the formats of a cell say."""

from __future__ import annotations

import re

import pytest

from understudy.schema.text_classes import DIGESTS, TextClasses, decades, digests, formats


def reads(text: str, decimal: str = ".") -> tuple[str, ...]:
    domain = formats(decimal)
    code = domain.class_of(text)
    return domain.classes[code].reads if code < len(domain.classes) else ("text",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", ("integer", "number")),
        (" -12 ", ("integer", "number")),
        ("12.", ("integer", "number")),
        ("1.0", ("integer", "number")),
        ("007", ("text", "integer", "number")),
        ("1.25", ("number",)),
        (".5", ("number",)),
        ("1e5", ("number",)),
        ("1234567890123456", ("text",)),
        ("True", ("boolean",)),
        ("20240131", ("integer", "number", "date:%Y%m%d")),
        ("20249931", ("integer", "number")),
        ("2024-01-31", ("date",)),
        ("31.01.2024", ("date:%d.%m.%Y",)),
        ("5/6/2024", ("date:%d/%m/%Y", "date:%m/%d/%Y")),
        ("13/06/2024", ("date:%d/%m/%Y",)),
        ("06/13/2024", ("date:%m/%d/%Y",)),
        ("2024-01-31 10:20", ("datetime",)),
        ("2024-01-31T10:20:30.5Z", ("datetime",)),
        ("13/06/2024 10:20", ("datetime:%d/%m/%Y %H:%M",)),
        ("", ()),
        ("NA", ()),
        ("apple", ("text",)),
        ("12\n", ("text",)),
        ("١٢", ("text",)),
    ],
)
def test_every_format_that_a_cell_can_be_read_in(text: str, expected: tuple[str, ...]) -> None:
    assert reads(text) == expected


def test_a_decimal_comma() -> None:
    assert reads("1,25", ",") == ("number",) and reads("1.25", ",") == ("text",)


@pytest.mark.parametrize(("places", "text"), [(1, "0.5"), (2, "3.25"), (6, "3.1415926")])
def test_decimals(places: int, text: str) -> None:
    domain = formats()
    assert domain.classes[domain.class_of(text)].decimals == places


@pytest.mark.parametrize("text", ["1987-05-12", "12.05.1987", "5/12/1987 10:00", "19870512", "1987-05-12T00:00:00"])
def test_decades(text: str) -> None:
    domain = decades()
    assert domain.labels[domain.class_of(text)] == "1980 to 1989"


def test_what_has_no_decade() -> None:
    domain = decades()
    assert {domain.class_of(text) for text in ("", "apple", "1000-01-01", "1987")} == {len(domain.classes)}


CELLS = [
    *("", "NA", "true", "12", "007", "1.0", "-3.25", ".5", "1e5", "20240131", "2024-01-31", "2024/1/31", "31.01.2024"),
    *("5/6/2024", "13/06/2024", "06/13/2024", "5-6-2024", "2024-01-31 10:20", "31.01.2024 10:20", "5/6/2024 10:20:30"),
    *("N", "did not drive", "<5", "1e5 :", "19870512", "12.05.1987", "1987-05-12T00:00:00", "198", "-", "0", "x0.5"),
]


@pytest.mark.parametrize("domain", [formats(), formats(","), decades()])
def test_what_a_class_needs_is_in_each_of_its_texts(domain: TextClasses) -> None:
    """A database looks for it before it tries the pattern: both ways give one class."""
    for text in CELLS:
        found = domain.class_of(text)
        for code, tried in enumerate(domain.classes):
            fits = (
                text in tried.texts if tried.texts else tried.needs in text and bool(re.fullmatch(tried.pattern, text))
            )
            if fits:
                assert code == found
                break
        else:
            assert found == len(domain.classes)


def test_a_digest_follows_the_whole_text() -> None:
    found = digests().encode(["nurse", "nurse", "Nurse", "", "nurse "])
    assert found[0] == found[1] and len(set(found.tolist())) == 4 and 0 <= found.min() <= found.max() < DIGESTS
    assert digests().class_of("abc") == 151000329 % DIGESTS  # md5("abc") begins with 900150983
