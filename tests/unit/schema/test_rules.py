"""Rules of a schema: what they come to, against a brute force over every value of small domains."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from understudy.errors import SchemaError, TooLarge, UsageError
from understudy.schema import Schema
from understudy.schema.expressions import parse_condition
from understudy.schema.predicates import Cells
from understudy.schema.rules import Rule

TABLE = '[table]\nname = "t"\nrows = 100\n'
NUMBERS = """
[attributes.a]
kind = "integer"
range = [0, 11]
bins = 3
[attributes.b]
kind = "integer"
range = [0, 9]
bins = 4
missing = true
[attributes.c]
kind = "category"
values = ["x", "y", "z"]
"""


def schema(*rules: str, body: str = NUMBERS) -> Schema:
    return Schema.from_toml(TABLE + body + "".join(f'\n[[rules]]\nrule = "{rule}"' for rule in rules))


def brute_force(holds: Callable[[int, int], bool]) -> dict[tuple[int, int], bool]:
    """For each cell of a and b whether some values inside meet the rule, by looking at every value."""
    made = schema()
    found: dict[tuple[int, int], bool] = {}
    for a, b in product(range(12), [*range(10), None]):
        text = "" if b is None else str(b)
        codes = int(made["a"].encode([str(a)])[0]), int(made["b"].encode([text])[0])
        found[codes] = found.get(codes, False) or b is None or holds(a, b)
    return found


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("a <= b", lambda a, b: a <= b),
        ("a < b", lambda a, b: a < b),
        ("a + b <= 7", lambda a, b: a + b <= 7),
        ("a != b", lambda a, b: a != b),
        ("2 * a - b == 3", lambda a, b: 2 * a - b == 3),
        ("a * b <= 12", lambda a, b: a * b <= 12),
        ("a**2 <= b", lambda a, b: a**2 <= b),
        ("a < 3 implies b > 6", lambda a, b: a >= 3 or b > 6),
        ("3 <= a + b < 9", lambda a, b: 3 <= a + b < 9),
        ("a == 4 or b == 4", lambda a, b: a == 4 or b == 4),
        ("not (a > b and a + b > 9)", lambda a, b: not (a > b and a + b > 9)),
        ("a - b > 3", lambda a, b: a - b > 3),
    ],
)
def test_a_cell_is_struck_out_if_no_values_inside_meet_the_rule(rule: str, holds: Callable[[int, int], bool]) -> None:
    (block,) = schema(rule).free.blocks
    possible = block.possible.transpose([block.names.index(name) for name in ("a", "b")])
    expected = brute_force(holds)
    if "or" not in rule and "implies" not in rule and "not" not in rule:  # b missing leaves these unknown: met
        assert possible[:, -1].all()
    found = {cell: bool(possible[cell]) for cell in expected}
    present = {cell for cell in expected if cell[1] != 4}
    assert {c: found[c] for c in present} == {c: expected[c] for c in present}


def test_a_witness_meets_all_rules_of_its_cell_and_lies_in_it() -> None:
    made = schema("a < b", "b < a + 3", "a + b >= 5")
    (block,) = made.free.blocks
    codes = dict(zip(block.names, np.unravel_index(np.flatnonzero(block.open), block.possible.shape)))
    columns = {}
    for i, name in enumerate(block.wide):
        own = made[name].domain.encode_numbers(block.witness[:, i])
        present = codes[name] != made[name].missing_code
        assert (own == codes[name])[present].all()
        columns[name] = Cells.of_values(codes[name], block.witness[:, i], ~present)
    assert len(block.witness) and block.held(columns).all()


def test_rules_that_are_possible_alone_may_exclude_each_other_in_a_cell() -> None:
    """8 <= a, b <= 9 and c <= 7 in steps: a <= b and b <= c leave no value of b."""
    body = """
[attributes.a]
kind = "integer"
edges = [0, 8, 11]
[attributes.b]
kind = "integer"
edges = [0, 5, 16]
[attributes.c]
kind = "integer"
edges = [0, 8, 12]
"""
    (block,) = schema("a <= b", "b <= c", body=body).free.blocks
    assert block.names == ("a", "b", "c")
    assert not block.possible[1, 1, 0] and block.possible[0, 1, 0] and block.possible[1, 1, 1]


def test_missing_values_break_nothing() -> None:
    (block,) = schema("a <= b").free.blocks
    assert block.possible[:, -1].all() and not block.open[:, -1].any()


def test_what_is_missing_can_be_said() -> None:
    (block,) = schema("c == 'x' implies b is missing").free.blocks
    assert block.names == ("c", "b")
    assert block.possible[0].tolist() == [False] * 4 + [True] and block.possible[1:].all()


def test_computed_columns_leave_the_model() -> None:
    body = NUMBERS + '[attributes.t]\nkind = "integer"\nrange = [0, 20]\nmissing = true\n'
    body += '[attributes.u]\nkind = "integer"\nrange = [0, 40]\nmissing = true\n'
    made = schema("u == t + a", "a + b == t", "u <= 25", body=body)
    assert list(made.rule_book.determined) == ["t", "u"] and made.free.names == ("a", "b", "c")
    assert made.rule_book.determined["u"].sources == ("a", "b")
    assert {text for block in made.free.blocks for text in block.texts} == {"u <= 25"}
    assert made.names == ("a", "b", "c", "t", "u")


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("1960-01-10 - born >= 4", lambda day: 9 - day >= 4),
        ("born - '1960-01-03' < 2", lambda day: day - 2 < 2),
        ("(1960-01-12 - born) / 2 <= n", lambda day: any((11 - day) / 2 <= n for n in range(4))),
        ("born - 19600101 > 1960-01-05", lambda day: False),  # so many days, long before
        ("born - 3 > 1960-01-05", lambda day: day - 3 > 4),  # a number beside a date is a number of days
    ],
)
def test_a_written_date_is_one_side_of_a_difference(rule: str, holds: Callable[[int], bool]) -> None:
    body = """
[attributes.born]
kind = "date"
range = [1960-01-01, 1960-01-12]
bins = "each"
[attributes.n]
kind = "integer"
range = [0, 3]
bins = "each"
"""
    (block,) = schema(rule, body=body).free.blocks
    possible = block.possible.any(axis=tuple(i for i, name in enumerate(block.names) if name != "born"))
    assert possible.tolist() == [holds(day) for day in range(12)]
    with pytest.raises(SchemaError, match="a number is wanted, and '1960-01-10' is none"):
        schema("1960-01-10 - born < 1960-01-10", body=body)


def test_a_circle_leaves_one_column_to_be_computed() -> None:
    body = '[attributes.a]\nkind = "integer"\nrange = [0, 5]\n[attributes.b]\nkind = "integer"\nrange = [0, 5]\n'
    made = schema("a == b + 1", "b == a - 1", body=body)
    assert list(made.rule_book.determined) == ["a"]
    assert all(block.possible.all() or block.names == ("b",) for block in made.free.blocks)


def test_the_plain_form_has_rules_only_if_there_are_any() -> None:
    assert "rules" not in schema().as_json()
    made = schema("a <= b")
    assert made.as_json()["rules"] == [{"rule": "a <= b"}]
    assert Schema.from_toml(made.to_toml()) == made and made.hash != schema().hash
    assert schema("a <= b").project(["a", "c"]).rules == ()


def test_a_map_gives_each_value_one() -> None:
    body = NUMBERS + '[attributes.n]\nkind = "integer"\nrange = [1, 9]\n'
    text = TABLE + body + "\n[[rules]]\nrule = 'n = map(c)'\nmap = { x = 4, y = 1, z = 9 }\n"
    known = Schema.from_toml(text).rule_book.determined["n"]
    assert known.sources == ("c",) and known.term.values.tolist() == [4, 1, 9]
    both = text.replace("n = map(c)", "c <-> n")
    assert Schema.from_toml(both).rule_book.determined["n"].term.values.tolist() == [4, 1, 9]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("x = 4, ", ""), "says nothing of 'x'"),
        (("x = 4", "w = 4"), "speaks of 'w'"),
        (("x = 4", "x = 40"), "'40', which is no value of n"),
        (("map(c)", "map(a)"), "needs a cell for each value of a"),
        (("map = { x = 4, y = 1, z = 9 }", ""), "never read from rows: write a line `map"),
        (("n = map(c)", "c <-> n'\n#"), "never read from rows"),
    ],
)
def test_a_map_that_does_not_fit(change: tuple[str, str], words: str) -> None:
    body = NUMBERS + '[attributes.n]\nkind = "integer"\nrange = [1, 9]\n'
    text = TABLE + body + "\n[[rules]]\nrule = 'n = map(c)'\nmap = { x = 4, y = 1, z = 9 }\n"
    if "<->" in change[1]:
        text = TABLE + body + "\n[[rules]]\nrule = 'c <-> n'\n"
    with pytest.raises(SchemaError, match=words):
        Schema.from_toml(text.replace(*change))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("a <= d", "a is compared with a number, and 'd' is none"),
        ("agee + b < 4", "a number is wanted, and 'agee' is none"),
        ("c < 'y'", "c has no order"),
        ("c == 'w'", "c has no value 'w'"),
        ("a <", "expected a value, the rule ends here"),
        ("a <= b <= c", "these cannot be compared"),
        ("a ** b <= 3", "a whole power"),
        ("a <= b implies c = 'x' implies c = 'y'", "`implies` stands once"),
        ("a; drop", "has no meaning in a rule"),
        ("a.__class__ <= b", "'a.__class__' is none"),
        ("(" * 80 + "a < b" + ")" * 80, "nested too deeply"),
    ],
)
def test_a_rule_that_does_not_fit_is_named(rule: str, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema(rule)
    assert words in caught.value.message and caught.value.message.startswith("rule ")


def test_odd_documents() -> None:
    with pytest.raises(SchemaError, match=r"\[\[rules\]\]"):
        Schema.from_toml(TABLE + NUMBERS + "\n[rules]\nrule = 'a <= b'")
    with pytest.raises(SchemaError, match="needs rule"):
        Schema.from_toml(TABLE + NUMBERS + "\n[[rules]]\n")
    with pytest.raises(SchemaError, match="no key 'rules'"):
        Schema.from_toml(TABLE + NUMBERS + "\n[[rules]]\nrules = 'a <= b'")
    with pytest.raises(SchemaError, match="may be missing"):
        schema("t == a + b", body=NUMBERS + '[attributes.t]\nkind = "integer"\nrange = [0, 20]\n')


def test_a_table_of_rules_may_be_too_large() -> None:
    body = "".join(f'[attributes.v{i}]\nkind = "number"\nrange = [0, 1]\nbins = 60\n' for i in range(4))
    with pytest.raises(TooLarge, match="'v0 <= v1', 'v1 <= v2', 'v2 <= v3'.*12,960,000 cells"):
        assert schema("v0 <= v1", "v1 <= v2", "v2 <= v3", body=body).free.blocks


def test_the_grammar_runs_nothing() -> None:
    for text in ("__import__('os')", "a if b else c", "[a]", "lambda: 0", "a == b; c", "f(a) < 3"):
        with pytest.raises(UsageError):
            parse_condition(text)
    assert Rule("a <= b").as_json() == {"rule": "a <= b"}
