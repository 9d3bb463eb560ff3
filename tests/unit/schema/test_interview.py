"""The interview: what answers mean, that each is in the file at once, and that it stops and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.draft import drafted
from understudy.schema.interview import answered, described, interview

DROPPED = {"kind": "drop", "confirm": ["kind"]}


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("0..99", {"kind": "integer", "range": [0, 99]}),
        ("number 0..9.5", {"kind": "number", "range": [0.0, 9.5]}),
        ("number 0..10", {"kind": "number", "range": [0, 10]}),
        ("date 2000-01-01..2020-12-31", {"kind": "date", "range": ["2000-01-01", "2020-12-31"]}),
        ("2000-01-01..2020-12-31", {"kind": "date", "range": ["2000-01-01", "2020-12-31"]}),
        ("time 08:00..18:00", {"kind": "time", "range": ["08:00", "18:00"]}),
        ("a|b | c", {"kind": "category", "values": ["a", "b", "c"]}),
        ("a|b missing NA|9", {"kind": "category", "values": ["a", "b"], "missing": ["NA", "9"]}),
        ("0..5 missing", {"kind": "integer", "range": [0, 5], "missing": True}),
        ("ages", {"kind": "integer", "range": [0, 120]}),
        ("drop", {"kind": "drop"}),
        ("id", {"kind": "id"}),
        ("", {"kind": "drop"}),
    ],
)
def test_answers(text: str, body: dict[str, Any]) -> None:
    assert answered(text, DROPPED) == body


def test_a_kind_that_is_known_stays() -> None:
    assert answered("0..9", {"kind": "number", "range": [0, 100], "confirm": ["range"]})["kind"] == "number"
    assert answered("yes/no", DROPPED)["true"][0] == "yes"
    assert answered("missing", {"kind": "integer", "range": [0, 9], "confirm": ["proposed"]}) == {
        "kind": "integer", "range": [0, 9], "missing": True,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["what", "number a..b", "5", "1..x"])
def test_answers_that_are_not_understood(text: str) -> None:
    with pytest.raises(SchemaError):
        answered(text, DROPPED)


def test_descriptions() -> None:
    assert described({"kind": "category", "values": list("abcdefgh")}) == "a|b|c|d|e|f|…"
    assert described({"kind": "boolean"}) == "yes/no" and described({"kind": "id"}) == "id"


def asking(answers: list[str]) -> Callable[[str], str]:
    left = iter(answers)

    def ask(prompt: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return ask


def test_it_stops_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(drafted(["age", "town", "smokes", "Unnamed: 0"], origin="first line", grouped=False).text)
    said: list[str] = []
    assert interview(path, asking(["120", "y", "", "nonsense", "a|b"]), said.append) == 2
    schema = Schema.open(path)
    assert schema.rows == 120 and schema.confirm == () and schema["town"].labels == ("a", "b")
    assert schema["age"].confirm == () and schema["age"].provenance == "proposed: ages"
    assert any("not understood" in line for line in said) and "# Drafted by" in path.read_text()
    assert interview(path, asking(["later", ""]), said.append) == 1
    assert interview(path, asking(["yes/no"]), said.append) == 0
    assert Schema.open(path)["Unnamed: 0"].kind == "drop"


def test_the_row_count_may_be_private_or_wait(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(drafted(["age"], origin="first line", grouped=False).text)
    said: list[str] = []
    assert interview(path, asking(["many", "n", ""]), said.append) == 2
    assert "no number of rows" in said[0] and "delete" in said[1]
    assert interview(path, asking(["private", "y"]), said.append) == 0
    assert Schema.open(path).neighbours == "add-remove"
