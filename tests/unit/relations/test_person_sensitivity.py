"""One person moves PEOPLE by one row and STEPS by K − 1 rows, whatever the history: brute force, and broken twins."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any
from unittest import mock

import numpy as np
import pytest

from understudy.engines.memory import MemoryEngine
from understudy.privacy.sensitivity import table_sensitivity
from understudy.relations import derivation
from understudy.relations.derivation import Derived, derived_tables
from understudy.relations.panel import Panel
from understudy.schema import Axis, Schema

ROW = tuple[int, int, int]  # codes of the order, of a constant and of an attribute that varies
PLACES, VALUES = 2, 3


def tiny(at_most: int) -> Panel:
    return Panel.of(Schema.from_dict({
        "table": {"name": "tiny", "neighbours": "add-remove"},
        "person": {"id": "id", "order": "at", "at_most": at_most, "constant": ["c"]},
        "attributes": {
            "id": {"kind": "id"},
            "at": {"kind": "integer", "range": [1, PLACES]},
            "c": {"kind": "boolean"},
            "x": {"kind": "category", "values": ["a", "b", "c"]},
        },
    }))  # fmt: skip


def histories(longest: int) -> list[tuple[ROW, ...]]:
    """Every history of up to so many rows, in every order of the file."""
    rows = [(at, x) for at, x in product(range(PLACES), range(VALUES))]
    found = [()]
    for length in range(1, longest + 1):
        found += [tuple((at, c, x) for at, x in many) for many in product(rows, repeat=length) for c in (0, 1)]
    return found


def derive(panel: Panel, people: list[tuple[ROW, ...]]) -> Derived:
    rows = [(i, *row) for i, history in enumerate(people) for row in history]
    table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
    columns = {"at": table[:, 1], "c": table[:, 2], "x": table[:, 3]}
    return derived_tables(panel, {n: codes.astype(np.uint8) for n, codes in columns.items()}, table[:, 0])


def counted(schema: Schema, columns: dict[str, Any], rows: int) -> list[Any]:
    """Return every one-way and two-way table, and the row count."""
    engine = MemoryEngine(columns, rows, schema)
    names = [(), *((n,) for n in schema.names), *combinations(schema.names, 2)]
    return [np.asarray(t, dtype=np.int64) for t in engine.marginals([tuple(Axis(n) for n in ask) for ask in names])]


def largest_moves(panel: Panel, schema: Schema, table: str) -> tuple[int, int]:
    """Return how far one person moves any table of counts, in L1 and in squared L2, over all histories."""
    others = [((0, 1, 0), (1, 1, 2), (1, 1, 0)), ((1, 0, 1),)]
    without = derive(panel, others)
    base = counted(schema, getattr(without, table), without.persons if table == "people" else without.pairs)
    l1 = l2 = 0
    for history in histories(3):
        found = derive(panel, [*others, history])
        many = found.persons if table == "people" else found.pairs
        for one, other in zip(base, counted(schema, getattr(found, table), many)):
            moved = other - one
            assert (moved >= 0).all()  # nobody else's rows change
            l1, l2 = max(l1, int(moved.sum())), max(l2, int((moved * moved).sum()))
    return l1, l2


@pytest.mark.costly
@pytest.mark.parametrize("at_most", [2, 3])
def test_no_history_moves_a_count_by_more_than_is_charged_and_some_by_as_much(at_most: int) -> None:
    panel = tiny(at_most)
    assert panel.people.rows_per_person == 1 and panel.steps.rows_per_person == at_most - 1
    assert largest_moves(panel, panel.people, "people") == tuple(table_sensitivity(panel.people))
    assert largest_moves(panel, panel.steps, "steps") == tuple(table_sensitivity(panel.steps))


@pytest.mark.costly
def test_a_twin_that_charges_for_one_row_less_is_caught() -> None:
    panel = tiny(3)
    twin = replace(panel.steps, rows_per_person=panel.steps.rows_per_person - 1)
    moved, charged = largest_moves(panel, panel.steps, "steps"), table_sensitivity(twin)
    assert moved[0] > charged.l1 and moved[1] > charged.l2_squared


def _orders_agree(panel: Panel) -> bool:
    """Whether the order of a person's rows in the file moves nothing."""
    for rows in ([(0, 1, 0), (1, 1, 2), (1, 1, 1)], [(1, 0, 2), (1, 0, 0), (1, 0, 1)]):
        one, other = derive(panel, [tuple(rows)]), derive(panel, [tuple(rows[::-1])])
        same = all((one.people[n] == other.people[n]).all() for n in one.people)
        if not same or any(sorted(one.steps[n]) != sorted(other.steps[n]) for n in one.steps):
            return False
    return True


def test_the_cut_is_a_function_of_the_rows_and_not_of_the_file() -> None:
    assert _orders_agree(tiny(2)) and _orders_agree(tiny(3))

    def in_file_order(keys: tuple[Any, ...]) -> Any:
        return np.argsort(keys[-1], kind="stable")

    with mock.patch.object(derivation.np, "lexsort", in_file_order):
        assert not _orders_agree(tiny(2))


def test_rows_beyond_at_most_are_cut_and_counted_up_to_it() -> None:
    panel = tiny(2)
    found = derive(panel, [((0, 1, 0), (1, 1, 1), (1, 1, 2))])
    assert found.pairs == 1 and found.people["@rows"].tolist() == [1]  # the code of two rows
    assert found.steps["x@now"].tolist() == [1] and found.steps["x@previous"].tolist() == [0]
