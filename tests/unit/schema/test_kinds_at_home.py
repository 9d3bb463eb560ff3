"""A kind of column is a file of `schema/scales`, a word of its table and the names of its type in databases, no more.

`time` shows it, the kind that was added last: nothing else in the program names it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import pytest

from programs import SOURCE, nodes_of, programs
from understudy.schema.scales import (
    DISCOVERABLE_KINDS,
    FLAG_KINDS,
    LISTED_KINDS,
    MOMENT_SCALES,
    NUMBER_KINDS,
    ORDERED_KINDS,
    SCALES,
    UNREAD_KINDS,
    WHOLE_KINDS,
)
from understudy.schema.scales.sql_types import NATIVE, type_of

KIND = "time"
DOMAINS = {
    "Booleans", "Categories", "Category", "Date", "Dropped", "Identifier", "Integer", "Intervals", "Listed", "Moment",
    "NeverRead", "Number", "OrderedScale", "Undiscovered",
}  # fmt: skip
# comparisons of kinds that are left outside `schema/scales`; none may be added (there were 105 in 38 files)
LEFT = {
    "drafting.py": 1,  # an id by its name alone
    "inference/discrepancy.py": 1,
    "inference/inside_bins.py": 2,
    "schema/attribute.py": 4,  # the questions that others ask: intervals, undiscovered, is_id, published
    "schema/files.py": 1,
    "schema/interview.py": 1,
    "schema/table.py": 1,
}
TOKENS = {"schema/expressions.py", "schema/resolution.py"}  # a word of an expression has a kind too
THEIR_FILES = {"schema/scales/times.py", "schema/scales/sql_types.py"}
OTHER_WORDS = {"schema/codebooks/frictionless.py"}  # a type of that format, which has the same name


def named_in(program: Sequence[ast.AST]) -> bool:
    """Return whether the kind stands in a program as a text of its own."""
    return any(isinstance(n, ast.Constant) and n.value == KIND for n in program)


def texts_in(node: ast.expr) -> set[str]:
    """Return the texts that are compared with, alone or in a tuple."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def compares_kinds(node: ast.AST) -> bool:
    """Return whether a kind is compared with the name of one, or a domain with the class of one."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        named = any(texts_in(side) & {*SCALES, "discover"} for side in sides)
        return named and any("kind" in ast.unparse(side) for side in sides if not texts_in(side))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        return any(isinstance(n, ast.Name) and n.id in DOMAINS for n in ast.walk(node.args[1]))
    return False


def comparisons(program: Sequence[ast.AST]) -> int:
    """Return how many times a program compares kinds."""
    return sum(map(compares_kinds, program))


@pytest.mark.costly
def test_comparisons_of_kinds_do_not_grow() -> None:
    found = {
        name: count
        for name, program in programs().items()
        if not name.startswith("schema/scales/") and name not in TOKENS
        if (count := comparisons(program))
    }
    assert {name: count for name, count in found.items() if count > LEFT.get(name, 0)} == {}


@pytest.mark.parametrize(
    "line",
    ['kind == "date"', 'facts.kind in ("id", "drop")', 'body["kind"] != "number"', "isinstance(d, Intervals | Listed)"],
)
def test_a_comparison_would_be_seen(line: str) -> None:
    assert comparisons(nodes_of(line)) == 1


@pytest.mark.parametrize(
    "line", ["kind in UNREAD_KINDS", 'cell.type == "date"', "kind == other", 'takes(kind, "step")']
)
def test_a_table_is_no_comparison(line: str) -> None:
    assert comparisons(nodes_of(line)) == 0


def test_tables_of_kinds_hold_what_their_scales_say() -> None:
    assert NUMBER_KINDS == ("integer", "number")
    assert WHOLE_KINDS == ("integer",)
    assert DISCOVERABLE_KINDS == ("integer", "number", "date", "datetime")
    assert UNREAD_KINDS == ("id", "drop")
    assert (LISTED_KINDS, FLAG_KINDS) == (("category",), ("boolean",))


@pytest.mark.costly
def test_nothing_else_names_the_kind() -> None:
    found = {name for name, program in programs().items() if named_in(program)}
    assert found == THEIR_FILES | OTHER_WORDS


def test_no_template_lists_the_kinds() -> None:
    pages = list(SOURCE.rglob("*.html"))
    assert pages
    assert not [page.name for page in pages if re.search(r"datetime time\b", page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("line", ['x = kind == "time"', 'x = ("date", "time")', '{"time": 1}[kind]'])
def test_a_name_would_be_seen(line: str) -> None:
    assert named_in(nodes_of(line))


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
