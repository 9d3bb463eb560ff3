from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from understudy.demo import demo_schema
from understudy.errors import UsageError
from understudy.federation.roster import Curator, Owner, Roster, schema_hash
from understudy.privacy.budget import Budget

SCHEMA = demo_schema(rows=60)


def a_roster(count: int = 3, **more: object) -> Roster:
    given = {
        "owners": tuple(Owner(f"h{i}", 20, f"{i:064x}", bytes([i])) for i in range(1, count + 1)),
        "schema_hash": schema_hash(SCHEMA),
        "budget": Budget("0.7"),
        "curator": Curator("office", "f" * 64, b"c"),
    }
    return Roster(**{**given, **more})  # type: ignore[arg-type]


def test_a_roster_survives_its_file(tmp_path):
    roster = a_roster(5, dropping=1, options=(("theta", "4"),), budget=Budget(Fraction(1, 3), "1e-9"), method="jtree")
    roster.save(tmp_path / "roster.toml")
    again = Roster.open(tmp_path / "roster.toml")
    assert again == roster
    assert again.hash == roster.hash
    assert (again.honest, again.threshold, again.rows) == (3, 4, 100)


@pytest.mark.parametrize(
    "change",
    [
        {"count": 4},
        {"budget": Budget("0.70001")},
        {"budget": Budget("0.7", "1e-9")},
        {"method": "jtree"},
        {"options": (("theta", "5"),)},
        {"schema_hash": "0" * 64},
        {"curator": Curator("office", "e" * 64, b"c")},
        {"owners": (replace(a_roster().owners[0], rows=21), *a_roster().owners[1:])},
        {"owners": (replace(a_roster().owners[0], public_key=b"x"), *a_roster().owners[1:])},
        {"name": "other"},
    ],
)
def test_everything_relied_on_is_in_the_hash(change):
    assert a_roster(**change).hash != a_roster().hash


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colluding": 0}, "at least 1"),
        ({"colluding": 3}, "no honest owner"),
        ({"dropping": 1}, "at most u = 0"),
        ({"owners": a_roster().owners[:1]}, "2 to 100 owners"),
        ({"owners": (*a_roster().owners, Owner("h1", 3, "a" * 64))}, "same name"),
        ({"owners": (*a_roster().owners, Owner("h9", 3, f"{1:064x}"))}, "same certificate"),
        ({"owners": (*a_roster().owners, Owner("office", 3, "a" * 64))}, "same name"),
        ({"owners": (*a_roster().owners, Owner("h9", None, "a" * 64))}, "every owner has `rows`"),
        ({"owners": (*a_roster().owners, Owner("h 9", 5, "a" * 64))}, "cannot be a name"),
        ({"owners": (*a_roster().owners, Owner("h9", 0, "a" * 64))}, "whole number"),
    ],
)
def test_a_roster_that_cannot_hold_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        a_roster(**change)


def test_two_signed_lists_share_an_honest_owner():
    for owners in range(2, 15):
        for colluding in range(1, owners):
            for dropping in range(owners):
                try:
                    roster = a_roster(owners, colluding=colluding, dropping=dropping)
                except UsageError:
                    continue
                assert 2 * roster.threshold - owners > colluding  # of two lists' overlap, one is honest
                assert roster.threshold <= owners - dropping


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("colluding = 1", "colludng = 1"),
        ("colluding = 1", "colluding = true"),
        ("colluding = 1", ""),
        ("format = 1", "format = 2"),
        ('fingerprint = "' + "f" * 64, 'fingerprint = "' + "F" * 64),
        ('public_key = "63"', 'public_key = "xx"'),
        ("[curator]", "[[curator]]"),
        ("rows = 20", 'rows = "20"'),
        ("[federation]", "[federation"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, line, message):
    text = a_roster().to_toml()
    assert line in text
    (tmp_path / "roster.toml").write_text(text.replace(line, message, 1), encoding="utf-8")
    with pytest.raises(UsageError):
        Roster.open(tmp_path / "roster.toml")


def test_schemas_may_differ_in_rows_account_and_dialect_only():
    roster = a_roster()
    own = replace(SCHEMA, rows=20, account="ward", text=None)
    assert roster.own_schema(own, "h1").rows == roster.own_schema(SCHEMA, "h1").rows == 20
    assert roster.own_schema(own, "h1").account == "ward"
    assert roster.common_schema(own).rows == 60
    with pytest.raises(UsageError, match="not the one in the roster"):
        roster.common_schema(SCHEMA.project(SCHEMA.names[:2]))
    with pytest.raises(UsageError, match="rows = 21"):
        roster.own_schema(replace(SCHEMA, rows=21, text=None), "h1")
    with pytest.raises(UsageError, match="under replace-one"):
        a_roster(owners=(Owner("a"), Owner("b"))).own_schema(SCHEMA, "a")
