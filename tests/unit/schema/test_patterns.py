"""Patterns of ids: the grammar, texts in the declared format, and no two alike in one sample."""

from __future__ import annotations

import re

import numpy as np
import pytest

from understudy.errors import SchemaError, UsageError
from understudy.schema import Identifier, Schema
from understudy.schema.patterns import Pattern

HEAD = '[table]\nname = "t"\nrows = 10\n[attributes.x]\nkind = "boolean"\n[attributes.id]\nkind = "id"\n'


def ids(pattern: str, count: int, seed: int = 1) -> list[str]:
    generator = np.random.default_rng(seed)
    return Pattern.of(pattern).keyed(generator).texts(0, count, generator)


@pytest.mark.parametrize("pattern,expression,capacity", [
    ("P-{5 digits}", r"P-[0-9]{5}", 10**5),
    ("{2 LETTERS}{3 letters}.{2 hex}{1 HEX}", r"[A-Z]{2}[a-z]{3}\.[0-9a-f]{2}[0-9A-F]", 26**5 * 16**3),
    ("{8 hex}-{4 hex}-{4 hex}-{4 hex}-{12 hex}", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", 16**32),
    ("ß{1 digits}€", "ß[0-9]€", 10),
])  # fmt: skip
def test_ids_have_the_declared_format(pattern: str, expression: str, capacity: int) -> None:
    assert Pattern.of(pattern).capacity == capacity
    found = ids(pattern, min(capacity, 5000))
    assert all(re.fullmatch(expression, text) for text in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("pattern", ["{1 digits}", "{3 digits}", "a{1 LETTERS}b{1 hex}", "{2 letters}{1 digits}"])
def test_all_ids_of_a_pattern_are_used_before_one_comes_twice(pattern: str) -> None:
    capacity = Pattern.of(pattern).capacity
    assert len(set(ids(pattern, capacity))) == capacity


def test_parts_of_one_sample_share_no_id_and_another_sample_has_another_order() -> None:
    generator = np.random.default_rng(4)
    fresh = Pattern.of("{4 digits}").keyed(generator)
    parts = [fresh.texts(start, 2500, generator) for start in (0, 2500, 5000, 7500)]
    assert len({text for part in parts for text in part}) == 10_000
    assert ids("{4 digits}", 100, seed=1) != ids("{4 digits}", 100, seed=2)
    assert ids("{4 digits}", 100) == ids("{4 digits}", 100)
    assert ids("{4 digits}", 100) != sorted(ids("{4 digits}", 100))


@pytest.mark.parametrize(
    "pattern", ["", "P-7", "{5}", "{digits}", "{0 digits}", "{5 digit}", "{5 digits", "5 digits}", "{}", "{999 digits}"]
)
def test_other_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(SchemaError, match="pattern"):
        Schema.from_toml(HEAD + f'pattern = "{pattern}"')


def test_the_schema_keeps_the_pattern_and_refuses_too_few_ids() -> None:
    schema = Schema.from_toml(HEAD + 'pattern = "{1 digits}"')
    assert schema["id"].domain == Identifier(Pattern.of("{1 digits}"))
    assert schema.as_json()["attributes"]["id"] == {"kind": "id", "pattern": "{1 digits}"}
    assert Schema.from_toml(HEAD).as_json()["attributes"]["id"] == {"kind": "id"}
    with pytest.raises(SchemaError, match="10 distinct ids, fewer than"):
        Schema.from_toml(HEAD.replace("rows = 10", "rows = 11") + 'pattern = "{1 digits}"')
    with pytest.raises(UsageError, match="10 distinct ids and 11 rows are asked"):
        Pattern.of("{1 digits}").check(11, "id")
