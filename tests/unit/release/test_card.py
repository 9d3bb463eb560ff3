"""The privacy card: its numbers, its words, its warnings."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from conftest import schema_of
from understudy.privacy.budget import Budget
from understudy.privacy.entries import Account, ChargeEntry
from understudy.release.card import STAMP, Card, Together
from understudy.release.facts import ReleaseFacts
from understudy.release.protected_unit import NOT_PROMISED
from understudy.schema import Schema

CHARGES = [
    ChargeEntry("structure", Fraction(1, 10), "epsilon"),
    ChargeEntry("structure", Fraction(1, 10), "epsilon"),
    ChargeEntry("tables", Fraction(4, 5), "epsilon"),
]


def card(schema: Schema | None = None, epsilon: Any = 1, delta: Any = 0, private: bool = True, **account: Any) -> Card:
    schema = schema or schema_of({"a": 2, "b": 3}, rows=12_345)
    spent = {"spent_epsilon": Fraction(3, 2), "spent_delta": Fraction(0)} | account
    state = Account(schema.account, schema.neighbours, cap_epsilon=None, cap_delta=None, private=private, **spent)
    return Card.of(schema, Budget(epsilon, delta), "privbayes", {"score": "R"}, CHARGES, state, private, ("a note",))


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        ("0.01", "at most 50.3 %"),
        ("0.1", "at most 52.5 %"),
        ("1", "at most 73 %"),
        ("3", "at most 95.3 %"),
        ("5", "at most 99.4 %"),
        ("10", "at most 99.996 %"),
        ("50", "at most 100 %"),
        ("9999", "at most 100 %"),
    ],
)
def test_a_suspicion_in_words(epsilon, words):
    """1/(1 + e^-epsilon), Bayes' rule at even odds."""
    assert card(epsilon=epsilon).in_words == f"a 50 % suspicion about one person can become {words}"


def test_a_delta_in_words():
    assert card(delta="1e-9").in_words.endswith("but for a failure of probability 1e-09")


def test_the_unit_of_protection():
    assert card().unit == "one row of the table"
    many = card(schema_of({"a": 2}, rows=10, rows_per_person=4))
    assert many.unit == "one person with up to 4 rows" and many.as_json()["rows_per_person"] == 4


def test_neighbours_in_words():
    assert "that there are 12,345 rows is public" in card().neighbours_in_words
    hidden = card(schema_of({"a": 2}, None, "add-remove"))
    assert (
        "even the number of rows is protected" in hidden.neighbours_in_words
        and "12,345" not in hidden.neighbours_in_words
    )


def test_the_numbers():
    document = card().as_json()
    assert (document["epsilon"], document["delta"], document["account"]) == (1.0, 0.0, "people")
    assert document["account_total"] == {"epsilon": 1.5, "delta": 0.0}
    assert document["charges"] == [
        {"purpose": "structure", "cost": 0.2, "unit": "epsilon", "times": 2},
        {"purpose": "tables", "cost": 0.8, "unit": "epsilon", "times": 1},
    ]
    assert (
        document["schema_hash"] == schema_of({"a": 2, "b": 3}, rows=12_345).hash and len(document["schema_hash"]) == 64
    )
    assert {"understudy", "python", "numpy", "opendp"} == set(document["versions"])
    assert document["not_promised"] == list(NOT_PROMISED) and document["notes"] == ["a note"]
    assert document["private"] is True and document["warnings"] == []
    assert json.loads(json.dumps(document, allow_nan=False)) == document


@pytest.mark.parametrize(("epsilon", "warned"), [("10", False), ("10.001", True), ("5000", True)])
def test_a_large_epsilon_warns(epsilon, warned):
    assert ("epsilon above 10 promises very little" in card(epsilon=epsilon).as_json()["warnings"]) is warned
    assert card(epsilon=epsilon).text().startswith("!! epsilon above 10") is warned


def test_a_seeded_run_is_stamped():
    document = card(private=False).as_json()
    assert document["private"] is False and document["warnings"] == [STAMP]
    assert "!! NOT PRIVATE" in Card.from_json(document).text()


def test_the_page():
    text = card(delta="1e-6", spent_delta=Fraction(1, 10**6)).text()
    for words in (
        "epsilon 1, delta 1e-06 for one row of the table",
        "people: epsilon 1.5, delta 1e-06 spent in all so far",
        "structure epsilon 0.2 (2×); tables epsilon 0.8 (1×)",
        "privbayes score=R",
        "a note",
        "exit 4",
    ):
        assert words in text


def test_several_owners():
    schema = schema_of({"a": 2, "b": 3}, rows=12_345)
    together = Together("strokes", ("ada", "bea", "cy"), colluding=1, dropping=0, honest=2, roster_hash="ab" * 32)
    made = Card.of(schema, Budget("0.5"), "privbayes", {}, CHARGES, None, True, (), together)
    document = json.loads(json.dumps(made.as_json()))
    assert document["federation"]["owners"] == ["ada", "bea", "cy"]
    assert document["federation"]["epsilon_of_each_owner"] == 0.5
    assert {k: document["federation"][k] for k in ("colluding", "dropping", "honest")} == {
        "colluding": 1, "dropping": 0, "honest": 2,
    }  # fmt: skip
    assert "account" not in document and "account_total" not in document  # every owner has its own
    assert document["unit"] == "one row of one owner"
    text = Card.from_json(document).text()
    assert "ada, bea, cy: each spent epsilon 0.5 on an account of its own" in text
    assert "the curator together with up to one owner" in text
    assert "A person held by p owners has p times the loss: at two owners epsilon 1." in text


def test_a_card_comes_back_from_its_file_as_it_was():
    for made in (card(), card(delta="1e-6"), card(private=False, epsilon=20)):
        assert Card.from_json(json.loads(json.dumps(made.as_json()))) == made


def test_the_former_spelling_warns_and_still_reads() -> None:
    made, facts = card(), ReleaseFacts.of({"tables": [["a", "b"]], "rounds": 3})
    with pytest.warns(DeprecationWarning, match="a Card has attributes"):
        assert made["epsilon"] == made.epsilon
    with pytest.warns(DeprecationWarning, match="a ReleaseFacts has attributes"):
        assert facts["rounds"] == 3 and facts.get("network") is None and "tables" in facts
