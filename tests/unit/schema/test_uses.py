"""[[uses]]: read strictly, hashed only where they are, carried by releases."""

from __future__ import annotations

from typing import Any

import pytest

from understudy import Schema
from understudy.errors import SchemaError
from understudy.schema.uses import Use

BASE: dict[str, Any] = {
    "table": {"name": "t", "rows": 500},
    "attributes": {
        "id": {"kind": "id"},
        "sex": {"kind": "category", "values": ["f", "m"]},
        "region": {"kind": "category", "values": ["n", "s", "w"]},
        "income": {"kind": "integer", "range": [0, 9]},
    },
}


def with_uses(*uses: dict[str, Any]) -> Schema:
    return Schema.from_dict(BASE | {"uses": list(uses)})


def test_a_table_is_a_text_or_a_list() -> None:
    schema = with_uses({"analysis": "income by sex, region"}, {"analysis": ["income", "sex", "region"]})
    assert schema.uses == (Use(("income", "sex", "region")),)  # said twice, kept once
    assert with_uses({"target": "income", "from": "sex, region"}).uses == (Use(("sex", "region"), "income"),)


def test_without_uses_nothing_is_written_and_the_hash_is_what_it_was() -> None:
    plain = Schema.from_dict(BASE)
    assert "uses" not in plain.as_json() and with_uses().hash == plain.hash
    assert with_uses({"target": "income"}).hash != plain.hash


def test_uses_survive_writing_and_are_dropped_by_a_projection() -> None:
    schema = with_uses({"analysis": "income by sex"}, {"target": "income"}, {"target": "sex", "from": ["region"]})
    assert Schema.from_toml(schema.to_toml()).uses == schema.uses == Schema.from_dict(schema.as_json()).uses
    assert schema.project(["sex"]).uses == ()


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ({"analysis": "incom by sex"}, "did you mean 'income'"),
        ({"analysis": "income"}, "2 to 6 columns"),
        ({"analysis": "id by sex"}, "no column that is published"),
        ({"analysis": "income by sex", "target": "sex"}, "has an `analysis`, or a `target`"),
        ({"from": "sex"}, "has an `analysis`, or a `target`"),
        ({"target": "income", "from": "income, sex"}, "cannot be predicted `from` itself"),
        ({"target": 3}, "the name of a column"),
        ({"analysis": [1, 2]}, "or a list of columns"),
        ({"analyses": "income by sex"}, "has no key 'analyses'"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(use: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError) as error:
        with_uses(use)
    assert said.lower() in str(error.value).lower()


def test_uses_are_a_list_of_tables() -> None:
    with pytest.raises(SchemaError, match="written as"):
        Schema.from_dict(BASE | {"uses": {"target": "income"}})
    with pytest.raises(SchemaError, match="at most 100 uses"):
        with_uses(*[{"target": "income"}] * 101)
