"""Lines on a terminal: broken between words, under their column; a pipe and a file of some format get them whole."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from understudy.cli import output
from understudy.relations.table_tree import spoken_column

CARD = (
    "Neighbours  replace-one: the values of one row of the table may be anything; that there are 20,000 rows is public"
)
POINT = "  · Facts about groups are meant to come through: what holds for people like you can be learned with or without you."
PHASE = (
    "  tables         0.57508       15          340      52.2         0.049  the pair that the model gets most wrong"
)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_lines_fit_and_no_word_is_cut() -> None:
    for width in (40, 80, 120):
        for line in (CARD, POINT, PHASE):
            broken = output.fitted(line, width).split("\n")
            assert all(len(part) <= width for part in broken), broken
            assert " ".join(" ".join(broken).split()) == " ".join(line.split())
    assert output.fitted(CARD, 80).split("\n")[1].startswith(" " * 12 + "that")
    assert output.fitted(POINT, 80).split("\n")[1].startswith("    can")
    assert output.fitted(PHASE, 80).split("\n")[1] == "      the pair that the model gets most wrong"
    assert output.fitted("short\n\n  lines", 80) == "short\n\n  lines"
    assert output.fitted("x" * 200, 80) == "x" * 200  # a hash or a path stays whole


def test_only_a_terminal_gets_broken_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output.shutil, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    for stream, broken in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stdout", stream)
        output.say(CARD)
        assert (stream.getvalue().count("\n") > 1) == broken
    monkeypatch.setattr(sys, "stdout", stream := Terminal())
    output.say(CARD, as_it_is=True)
    output.say_json({"text": CARD})
    card, document = stream.getvalue().splitlines()
    assert card == CARD and json.loads(document) == {"text": CARD}


def test_columns_of_linked_tables_are_spoken() -> None:
    names = {
        "price": "price",
        "region@accounts": "accounts.region",
        "age@accounts@1": "accounts.age, coarsely",
        "age@1": "age, coarsely",
    }
    counts = {"@items": "number of items", "@items@orders": "number of items of orders"}
    for name, words in (names | counts).items():
        assert spoken_column(name) == words
