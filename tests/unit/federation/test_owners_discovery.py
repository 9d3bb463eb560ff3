"""Several owners buy what their schema leaves open: sums on public probes, and each owner's lists, united."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from conftest import another_source
from federating import QuietSource
from understudy.engines.opening import PrivateData, open_engine, open_groups
from understudy.errors import FederationAborted, FederationError, MessageRefused, UsageError
from understudy.federation.completing import completed_by, discovery_of, lists_from_json, united
from understudy.federation.local import LocalFederation, local_federation
from understudy.federation.messages import Place
from understudy.federation.owner import OwnerAnswers
from understudy.federation.roster import Owner, Roster, schema_hash
from understudy.methods import method_named
from understudy.methods.discovery import Among, Discovered, Discovery
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.noise import Gaussian
from understudy.privacy.questions import Marginals, ValueList
from understudy.privacy.questions.value_lists import Grouping, ValueLists
from understudy.privacy.thresholds import gaussian_tail, uncounted, value_threshold
from understudy.schema import Axis, Schema

pytestmark = pytest.mark.costly  # 9,000 rows of three owners

OWNERS, ROWS = ("ada", "bea", "cy"), 9_000
BUDGET = Budget(4, "1e-6")
TEXT = """
[table]
name = "people"
{table}

[attributes.job]
kind = "category"
values = "discover"
missing = [""]

[attributes.age]
kind = "integer"
range = "discover"

[attributes.pay]
kind = "discover"

[attributes.ward]
kind = "discover"

[attributes.sex]
kind = "category"
values = ["f", "m"]
"""


def schema_of(neighbours: str = "add-remove", rows: int = ROWS) -> Schema:
    declared = f"rows = {rows}\n" if neighbours == "replace-one" else ""
    return Schema.from_toml(TEXT.format(table=f'{declared}neighbours = "{neighbours}"'))


@cache
def people() -> list[dict[str, str]]:
    """A pilot is at the first owner alone; weavers are a seventh of what one owner would have to have."""
    draw = np.random.default_rng(8)
    rows = []
    for i in range(ROWS):
        jobs = ["nurse", "clerk", "cook", ""] + (["pilot"] if i % len(OWNERS) == 0 else [])
        rows.append(
            {
                "job": "weaver" if i < 60 else str(draw.choice(jobs)),
                "age": str(draw.integers(18, 90)),
                "pay": f"{draw.lognormal(10, 0.4):.2f}",
                "ward": str(draw.choice(["N", "E", "S"])),
                "sex": str(draw.choice(["f", "m"])),
            }
        )
    return rows


def tables_of(rows: list[dict[str, str]], owners: int = len(OWNERS)) -> list[pa.Table]:
    return [pa.Table.from_pylist(rows[i::owners]) for i in range(owners)]


@cache
def rows_of(neighbours: str) -> dict[str, tuple[pa.Table, Any, Any]]:
    """Each owner's table, its codes on the probes, and its texts."""
    probes = Discovery.of(schema_of(neighbours, ROWS // len(OWNERS)), BUDGET).probes()
    return {
        name: (
            table,
            open_engine(PrivateData(table, types="declared"), probes).engine,
            open_groups(PrivateData(table, types="declared"), probes),
        )
        for name, table in zip(OWNERS, tables_of(people()))
    }


@contextmanager
def federation(folder: Path, neighbours: str = "add-remove", **more: Any) -> Iterator[LocalFederation]:
    held = rows_of(neighbours)
    more.setdefault("source", another_source())
    engines, texts = ({name: parts[i] for name, parts in held.items()} for i in (1, 2))
    with local_federation(
        engines, schema_of(neighbours), BUDGET, folder, texts=texts,
        reopen=lambda name, found: open_engine(PrivateData(held[name][0], types="declared"), found).engine, **more,
    ) as made:  # fmt: skip
        yield made


def bought(made: LocalFederation) -> tuple[Discovered, Discovery]:
    wanted = discovery_of(made.table.schema, made.roster)
    assert wanted is not None
    return wanted.buy(made.table.coded_by(wanted.probes())), wanted


def alone(folder: Path, source: Any, neighbours: str = "add-remove") -> Discovered:
    """What one owner of all rows buys."""
    (table,) = tables_of(people(), 1)
    wanted = Discovery.of(schema_of(neighbours), BUDGET)
    probes = wanted.probes()
    with Ledger(folder / "one.db") as book:
        reservation = book.reserve(wanted.schema, wanted.budget, {}, unlimited=True, private=False, fingerprint="one")
        engine, texts = (
            open_engine(PrivateData(table, types="declared"), probes).engine,
            open_groups(PrivateData(table, types="declared"), probes),
        )
        found = wanted.buy(LocalPrivateTable(probes, engine, reservation, source, groups=texts))
        reservation.abandon("done")
    return found


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_without_noise_owners_find_what_one_table_shows(neighbours: str, tmp_path: Path) -> None:
    with federation(tmp_path, neighbours, source=QuietSource()) as made:
        found, wanted = bought(made)
    whole = alone(tmp_path, QuietSource(), neighbours)
    for name in ("age", "ward"):
        assert found.schema[name] == whole.schema[name]
    assert found.bodies["pay"] | {"range": 0} == whole.bodies["pay"] | {"range": 0}  # more noise sees a shorter range
    assert found.schema["age"].kind == "integer" and found.schema["pay"].kind == "number"
    assert set(found.schema["ward"].labels) >= {"N", "E", "S"}
    assert {"clerk", "cook", "nurse", "pilot"} < set(found.schema["job"].labels)  # the pilots are one owner's
    assert "weaver" not in found.schema["job"].labels and wanted.list_threshold()[1] > 20
    assert completed_by(schema_of(neighbours), json.loads(json.dumps(found.bodies))).hash == found.schema.hash


def test_counts_are_a_one_way_table_where_all_owners_list_the_same(tmp_path: Path) -> None:
    with federation(tmp_path, source=QuietSource()) as made:
        found, _ = bought(made)
    known = {measured.axes[0].attribute: measured for measured in found.known}
    assert "ward" in known and "job" not in known  # the pilots are a part of two owners' rest
    real = Counter(row["ward"] for row in people())
    counts = dict(zip(found.schema["ward"].labels, known["ward"].values.tolist()))
    assert {name: counts[name] for name in real} == dict(real)


def test_the_budget_is_one(tmp_path: Path) -> None:
    """Prices and delta add up at every owner as they do for one; a method gets the rest."""
    with federation(tmp_path) as made:
        found, wanted = bought(made)
        table = made.table.coded_by(found.schema, found.bodies)
        method = method_named("dp-subn", {}, found.schema, owners=len(OWNERS))
        method.fit(table.knowing(found.known).with_total_cost(table.left))
        for reservation in made.reservations.values():
            spent = sum(charge.cost for charge in reservation.charges())
            assert spent <= reservation.total_cost and reservation.budget.aside == BUDGET.delta / 2
            lists = [c for c in reservation.charges() if c.purpose == "value lists"]
            assert len(lists) == 1 and reservation.delta_left >= 0
            assert {"formats", "ranges", "value lists"} < {charge.purpose for charge in reservation.charges()}
            assert sum(c.cost for c in reservation.charges()[:4]) <= wanted.cost + lists[0].cost


def test_pure_epsilon_buys_ranges(tmp_path: Path) -> None:
    text = '[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.age]\nkind = "integer"\nrange = "discover"\n'
    schema = Schema.from_toml(text)
    held = dict(zip(OWNERS, (table.select(["age"]) for table in tables_of(people()))))
    probes = Discovery.of(schema, Budget(4)).probes()
    engines = {name: open_engine(PrivateData(table, types="declared"), probes).engine for name, table in held.items()}
    with local_federation(engines, schema, Budget(4), tmp_path, source=another_source()) as made:
        found, _ = bought(made)
    low, high = (found.bodies["age"]["range"][end] for end in (0, 1))
    assert 0 <= low <= 18 and 90 <= high <= 512
    with pytest.raises(UsageError, match="pure epsilon"):
        discovery_of(schema_of(), Roster(made.roster.owners, schema_hash(schema_of()), Budget(4)))


# -- what one person can move ------------------------------------------------------------------------------------------

VALUES = ("x", "y", "z")


def grouped(rows: tuple[str, ...]) -> np.ndarray:
    return np.asarray([rows.count(value) for value in VALUES])


def neighbours_of(rows: tuple[str, ...], kind: str) -> Iterator[tuple[str, ...]]:
    for i in range(len(rows)):
        yield rows[:i] + rows[i + 1 :]
        if kind == "replace-one":
            yield from (rows[:i] + (value,) + rows[i + 1 :] for value in VALUES if value != rows[i])
    if kind == "add-remove":
        yield from (rows + (value,) for value in VALUES)


@pytest.mark.parametrize(("kind", "most"), [("add-remove", 1), ("replace-one", 2)])
def test_sensitivity_of_all_owners_lists_by_brute_force(kind: str, most: int) -> None:
    """A person's row is at one owner: all lists together move as far as that owner's do; at two, twice as far."""
    tables = [rows for n in (1, 2, 3) for rows in itertools.combinations_with_replacement(VALUES, n)]
    furthest = both = 0
    for mine, others in itertools.product(tables, tables):
        before = np.concatenate([grouped(mine), grouped(others)])
        for changed in neighbours_of(mine, kind):
            if kind == "replace-one" and len(changed) != len(mine):
                continue
            moved = np.concatenate([grouped(changed), grouped(others)]) - before
            assert not moved[len(VALUES) :].any()
            furthest = max(furthest, int(moved @ moved))
            for changed_too in neighbours_of(others, kind):
                if kind == "add-remove" or len(changed_too) == len(others):
                    twice = np.concatenate([grouped(changed), grouped(changed_too)]) - before
                    both = max(both, int(twice @ twice))
    assert furthest == most and both == 2 * most  # the twin whose people are at two owners is found out
    declared = ValueLists((Grouping("job"),), Fraction(1, 10**6)).sensitivity(schema_of(kind))
    assert declared.l2_squared == most + 1  # and one for the rest, once the list is fixed


@pytest.mark.parametrize("owners", [2, 3, 10])
def test_a_threshold_divided_among_owners_is_the_twin_that_fails(owners: int) -> None:
    """A text of one person alone passes with at most delta at its owner; at a K-th of the threshold it does not."""
    scale, delta = 40.0, Fraction(1, 10**6)
    threshold = value_threshold(scale, 1, delta)
    lone = uncounted(scale) + 1  # rows of a text that is counted with the person and not without
    assert gaussian_tail(threshold - lone, scale) <= delta
    assert gaussian_tail(max(1, threshold // owners - lone), scale) > 100 * delta


# -- what an owner refuses ---------------------------------------------------------------------------------------------


def ask(made: LocalFederation, stage: str, round: int = 1, **fields: Any) -> bytes:
    place = made.table._session.place
    said = {"cost": "1/1000", "purpose": "x"} | fields
    body = Place(place.session, place.roster, round).pack(stage, **said)
    return made.owners.answers["ada"].answer(round, stage, body)


SEX = Marginals.of([(Axis("sex"),)]).as_json()
GOOD = {
    "job": {"kind": "category", "values": ["a", "other"], "other": "other"},
    "age": {"kind": "integer", "range": [0, 99], "other": "missing"},
    "pay": {"kind": "number", "range": [0, 99], "other": "missing"},
    "ward": {"kind": "drop"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"job": None}, {"sex": {"kind": "drop"}}, {"job": []}, {"job": {"kind": "category", "values": ["a"]}},
        {"age": {"kind": "integer", "range": [0, 99]}}, {"pay": {"kind": "discover"}},
        {"age": {"kind": "integer", "range": "discover"}}, {"ward": {"kind": "text"}}, {"ward": {}},
        {"age": {"kind": "integer", "range": [99, 0], "other": "missing"}}, {"ward": {"kind": "drop", "read_from": "x"}},
        {"age": {"kind": "integer", "range": [0, 9_000_000], "bins": "each", "other": "missing"}},
        {"job": {"kind": "category", "values": [1], "other": "missing"}},
        {"age": {"kind": "category", "values": ["18"], "other": "missing"}},
        {"job": {"kind": "integer", "range": [0, 9], "other": "missing"}},
    ],
)  # fmt: skip
def test_a_completed_schema_that_might_refuse_a_cell_is_refused(change: Any, tmp_path: Path) -> None:
    """Whether a cell fits must not be seen in whether an owner answers: every cell has a code, or nobody is asked."""
    found = {name: body for name, body in (GOOD | change).items() if body is not None}
    with federation(tmp_path, source=QuietSource()) as made:
        with pytest.raises(MessageRefused):
            ask(made, "alone", question=SEX, found=found)
        assert not made.reservations["ada"].charges()
        assert ask(made, "alone", question=SEX, found=GOOD)  # and a good one is still answered
        with pytest.raises(MessageRefused, match="another completed schema"):
            ask(made, "alone", 2, question=SEX, found=GOOD | {"ward": {"kind": "id"}})


def lists(columns: list[Any], delta: str = "1/10000000") -> list[Any]:
    return ["value lists", columns, delta]


@pytest.mark.parametrize(
    "question",
    [
        lists([["sex", [], [], False]]), lists([["age", [], [], False]]), lists([["nobody", [], [], False]]), lists([]),
        lists([["job", [], [], False]], "1/2"), lists([["job", [], [], False]], "0"), lists([["job", [], [], 1]]),
        lists([["job", [], [], False]], "-1/10"), lists([["job", [], [], False]], "1/" + "1" * 60),
        lists([["job", [], [], False]], "1/1000000"), lists([["job", [], [], False]] * 2), lists([["job", "", [], False]]),
        lists([["job", ["\ud800"], [], False]]), lists([["job", [""] * 2000, [], False]]), lists([["job", [], []]]), SEX,
    ],
)  # fmt: skip
def test_odd_questions_for_lists_are_refused_before_anything_is_paid(question: Any, tmp_path: Path) -> None:
    with federation(tmp_path) as made:
        with pytest.raises(MessageRefused):
            ask(made, "lists", question=question)
        assert not made.reservations["ada"].charges() and made.reservations["ada"].delta_left == BUDGET.delta / 2


def test_lists_of_noise_beyond_the_sampler_are_refused(tmp_path: Path) -> None:
    with federation(tmp_path) as made, pytest.raises(MessageRefused):
        ask(made, "lists", question=lists([["job", [], [], False]]), cost="1/" + "1" + "0" * 40)


def test_lists_are_not_for_a_schema_that_is_declared_whole(tmp_path: Path) -> None:
    with federation(tmp_path, source=QuietSource()) as made:
        answers = made.owners.answers["ada"]
        assert isinstance(answers, OwnerAnswers)
        answers._complete = None
        with pytest.raises(MessageRefused, match="leaves nothing open"):
            ask(made, "alone", question=SEX, found=GOOD)


def test_owners_who_are_told_different_schemas_do_not_add_up(tmp_path: Path) -> None:
    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Any) -> bytes | None:
        return deliver(body.replace(b"[0,99]", b"[0,98]") if name == "bea" and stage == "keys" else body)

    with federation(tmp_path, disturb=disturb) as made:
        table = made.table.coded_by(completed_by(made.table.schema, GOOD), GOOD)
        with pytest.raises(FederationAborted):
            table.measure([(Axis("age"),)], Fraction(1, 1000), "tables")


# -- what the curator takes --------------------------------------------------------------------------------------------

QUESTION = ValueLists((Grouping("job", ("",), ("other", "missing"), True),), Fraction(1, 10**6))


@pytest.mark.parametrize(
    "data",
    [
        [], [[["a"], [1, 2]]], [[["a", "a"], [1, 2, 3, 4]]], [[["other"], [1, 2, 3]]], [[[""], [1, 2, 3]]],
        [[["a"], [1, 2, 2**60]]], [[["a"], [1, 2, 1.5]]], [[["\ud800"], [1, 2, 3]]], [[["a" * 201], [1, 2, 3]]], [["a", [1]]],
        [[[str(i) for i in range(501)], [1] * 503]], [[["a"], [1, 2, True]]], [[["a"], [1, 2, 3]]] * 2, {"a": 1},
    ],
)  # fmt: skip
def test_odd_lists_are_not_taken(data: Any) -> None:
    with pytest.raises(FederationError):
        lists_from_json(data, QUESTION, Gaussian(10.0))


def test_the_union_keeps_the_largest_and_says_when_it_is_no_table() -> None:
    def part(values: list[str], counts: list[int]) -> list[ValueList]:
        return lists_from_json([[values, counts]], QUESTION, Gaussian(10.0))

    same = [part(["a", "b"], [100, 50, 3, 1]), part(["a", "b"], [70, 60, 2, 0])]
    (found,) = united(same, everyone=True)
    assert found.values == ("a", "b") and found.counts.tolist() == [170, 110, 5, 1] and found.is_table
    assert found.noise.variance == pytest.approx(200)
    assert not united(same, everyone=False)[0].is_table
    (found,) = united([same[0], part(["c"], [90, 1, 1])], everyone=True)
    assert found.values == ("a", "b", "c") and not found.is_table
    many = [part([f"{i:03}" for i in range(n, n + 400)], [i + 1 for i in range(402)]) for n in (0, 400)]
    (found,) = united(many, everyone=True)
    assert len(found.values) == 500 and "399" in found.values and "000" not in found.values


def test_a_missing_owner_ends_the_lists_unless_it_may_be_missing(tmp_path: Path) -> None:
    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Any) -> bytes | None:
        return None if name == "cy" and stage == "lists" else deliver(body)

    with federation(tmp_path, disturb=disturb) as made, pytest.raises(FederationAborted, match="value lists: 1"):
        bought(made)


# -- what is said beforehand -------------------------------------------------------------------------------------------


def test_what_is_lost_is_said_and_what_would_see_nothing_is_refused() -> None:
    schema = schema_of("replace-one")
    one = Discovery.of(schema, BUDGET)
    several = Discovery.of(schema, BUDGET, Among(3, 2, (3000, 3000, 3000)))
    assert (
        several.groups["ranges"] > one.groups["ranges"] and several.groups["value lists"] == one.groups["value lists"]
    )
    assert any("union" in note for note in several.notes()) and not any("union" in note for note in one.notes())
    several.check(ROWS)
    small = Discovery.of(schema, BUDGET, Among(3, 2, (90, 90, 90)))
    with pytest.raises(UsageError, match="90 the largest owner has"):
        small.check(ROWS)


def test_the_roster_binds_the_declared_schema() -> None:
    owners = tuple(Owner(name, None, "", b"") for name in OWNERS)
    roster = Roster(owners, schema_hash(schema_of()), BUDGET)
    assert roster.agreed_schema(schema_of()) == schema_of()
    with pytest.raises(UsageError, match="not the one in the roster"):
        roster.common_schema(completed_by(schema_of(), GOOD))
