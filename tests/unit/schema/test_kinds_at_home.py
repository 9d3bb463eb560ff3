"""A kind of column is a file of `schema/scales`, a word of its table and the names of its type in databases, no more.

`time` shows it, the kind that was added last: nothing else in the program names it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import understudy
from understudy.schema.scales import MOMENT_SCALES, ORDERED_KINDS, SCALES
from understudy.schema.scales.sql_types import NATIVE, type_of

SOURCE = Path(understudy.__file__).parent
KIND = "time"
THEIR_FILES = {"schema/scales/times.py", "schema/scales/sql_types.py"}
OTHER_WORDS = {"schema/codebooks/frictionless.py"}  # a type of that format, which has the same name


def named_in(program: str) -> bool:
    """Return whether the kind stands in a program as a text of its own."""
    return any(isinstance(n, ast.Constant) and n.value == KIND for n in ast.walk(ast.parse(program)))


def test_nothing_else_names_the_kind() -> None:
    found = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if named_in(file.read_text(encoding="utf-8"))
    }
    assert found == THEIR_FILES | OTHER_WORDS


def test_no_template_lists_the_kinds() -> None:
    pages = list(SOURCE.rglob("*.html"))
    assert pages
    assert not [page.name for page in pages if re.search(r"datetime time\b", page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("line", ['x = kind == "time"', 'x = ("date", "time")', '{"time": 1}[kind]'])
def test_a_name_would_be_seen(line: str) -> None:
    assert named_in(line)


def test_lists_of_kinds_follow_the_table() -> None:
    assert ORDERED_KINDS == ("integer", "number", "date", "datetime", "time")
    assert [scale.kind for scale in MOMENT_SCALES] == ["date", "datetime", "time"]
    assert set(ORDERED_KINDS) < set(SCALES)


@pytest.mark.parametrize("format", ["%Y-%m-%d", "%d/%m/%y", "%Y", "%Y-%m-%d %H:%M", "%H:%M", "%I %p"])
def test_a_format_means_one_kind(format: str) -> None:
    assert sum(scale.is_format(format) for scale in MOMENT_SCALES) == 1


@pytest.mark.parametrize("end", ["2024-01-31", "08:00", "23:59:59", "2024-01-31T08:00", "soon", "", "08:00:00.5"])
def test_an_end_of_a_range_means_at_most_one_kind(end: str) -> None:
    assert sum(scale.is_end(end) for scale in MOMENT_SCALES) <= 1


@pytest.mark.parametrize("database", NATIVE)
def test_a_native_type_is_read_in_one_way(database: str) -> None:
    names = [name for names in NATIVE[database].values() for name in names]
    assert len(names) == len(set(names))
    assert all(name in NATIVE[database][type_of(database, name) or "text"] for name in names)
    assert type_of(database, "BLOB") is None
