"""One row of the root moves a table by at most the product of `at_most` down to it: brute force, and broken twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, product
from typing import Any
from unittest import mock

import numpy as np
import pytest

from understudy.engines.memory import MemoryEngine
from understudy.privacy.sensitivity import table_sensitivity
from understudy.relations import linking
from understudy.relations.linking import CodedRows, linked_tables, used_rows
from understudy.relations.table_tree import Branch, TableTree
from understudy.schema import Axis, Schema

Order = tuple[int, tuple[int, ...]]  # the code of a row of `orders`, and those of the items that belong to it
Entity = tuple[int, tuple[Order, ...], int]  # the code of an account, its orders, and how many cards it has
OTHERS: list[Entity] = [(0, ((1, (0, 1, 1)), (0, ()), (1, (0,))), 2), (1, (), 0), (1, ((0, (1, 1)),), 1)]


def tree(orders: int = 2, items: int = 2, cards: int = 1) -> TableTree:
    ids = {"id": {"kind": "id"}, "above": {"kind": "id"}}

    def child(parent: str, at_most: int, **attributes: Any) -> dict[str, Any]:
        link = {"parent": parent, "key": "above", "references": "id", "at_most": at_most}
        return {**link, "attributes": ids | attributes}

    return TableTree.of(Schema.from_dict({
        "table": {"name": "accounts", "neighbours": "add-remove"},
        "attributes": {"id": {"kind": "id"}, "a": {"kind": "boolean"}},
        "tables": {
            "orders": child("accounts", orders, b={"kind": "boolean"}),
            "items": child("orders", items, c={"kind": "boolean"}),
            "cards": child("accounts", cards, d={"kind": "boolean"}),
        },
    }))  # fmt: skip


def entities(orders: int = 3, items: int = 3) -> Iterator[Entity]:
    """Yield every account with up to so many orders, and up to so many items in each."""
    inside = [codes for many in range(items + 1) for codes in combinations_with_replacement((0, 1), many)]
    kinds = list(product((0, 1), inside))
    for many in range(orders + 1):
        for own in combinations_with_replacement(kinds, many):
            yield from ((a, own, len(own)) for a in (0, 1))  # as many cards as orders: beyond at_most, too


def coded(people: list[Entity]) -> dict[str, CodedRows]:
    orders = [(i, *order) for i, (_, own, _) in enumerate(people) for order in own]
    items = [(i, code) for i, (_, _, codes) in enumerate(orders) for code in codes]
    cards = [(i, k % 2) for i, (_, _, many) in enumerate(people) for k in range(many)]

    def rows(name: str, codes: list[int], parent: list[int] | None) -> CodedRows:
        above = None if parent is None else np.asarray(parent, dtype=np.int64)
        ids = tuple(map(repr, people)) if parent is None else ()  # an account has its own, whoever else is there
        return CodedRows({name: np.asarray(codes, dtype=np.uint8)}, len(codes), above, ids)

    return {
        "accounts": rows("a", [a for a, _, _ in people], None),
        "orders": rows("b", [b for _, b, _ in orders], [i for i, _, _ in orders]),
        "items": rows("c", [c for _, c in items], [i for i, _ in items]),
        "cards": rows("d", [d for _, d in cards], [i for i, _ in cards]),
    }


def counted(branch: Branch, columns: dict[str, Any]) -> list[Any]:
    """Return the row count, every one-way and two-way table, and the table of all attributes."""
    names = branch.derived.names
    engine = MemoryEngine(columns, len(columns[names[0]]), branch.derived)
    asked = [(), *((n,) for n in names), *combinations(names, 2), names]
    return [np.asarray(t, dtype=np.int64) for t in engine.marginals([tuple(map(Axis, ask)) for ask in asked])]


def all_counts(of: TableTree, people: list[Entity]) -> dict[str, list[Any]]:
    columns = linked_tables(of, coded(people))
    return {name: counted(branch, columns[name]) for name, branch in of.branches.items()}


def largest_moves(of: TableTree, added: list[Entity]) -> dict[str, tuple[int, int]]:
    """Return how far one account moves any table of counts, in L1 and in squared L2; nobody else's rows may change."""
    base = all_counts(of, OTHERS)
    found = dict.fromkeys(of.branches, (0, 0))
    for i, entity in enumerate(added):
        at = i % (len(OTHERS) + 1)  # anywhere in the files
        for name, tables in all_counts(of, [*OTHERS[:at], entity, *OTHERS[at:]]).items():
            for one, other in zip(base[name], tables):
                moved = other - one
                assert (moved >= 0).all()
                l1, l2 = found[name]
                found[name] = max(l1, int(moved.sum())), max(l2, int((moved * moved).sum()))
    return found


@pytest.mark.costly
@pytest.mark.parametrize(("orders", "items"), [(2, 2), (1, 3), (3, 1)])
def test_no_entity_moves_a_count_by_more_than_is_charged_and_some_by_as_much(orders: int, items: int) -> None:
    of = tree(orders, items)
    charged = {name: branch.derived.rows_per_person for name, branch in of.branches.items()}
    assert charged == {"accounts": 1, "orders": orders, "items": orders * items, "cards": 1}
    added = [*entities(2, 3), *entities(3, 1), (0, ((1, (1,) * 4),) * 4, 3)]  # the last: too much at every level
    moved = largest_moves(of, added)
    assert moved == {name: tuple(table_sensitivity(branch.derived)) for name, branch in of.branches.items()}


def test_a_twin_that_charges_for_one_level_only_is_caught() -> None:
    of = tree()
    moved = largest_moves(of, list(entities())[-40:])["items"]
    items = of.branches["items"]
    assert items.child is not None
    twin = table_sensitivity(replace(items.derived, rows_per_person=items.child.at_most))
    assert moved[0] > twin.l1 and moved[1] > twin.l2_squared


def _adds_up(of: TableTree) -> bool:
    """Whether what an account adds to the tables is the same whoever else is there."""
    for entity in list(entities())[::29]:
        alone, base = all_counts(of, [entity]), all_counts(of, OTHERS)
        both, swapped = all_counts(of, [*OTHERS, entity]), all_counts(of, [entity, *OTHERS])
        for name in of.branches:
            for one, other, together, again in zip(alone[name], base[name], both[name], swapped[name]):
                if (together != one + other).any() or (again != together).any():
                    return False
    return True


@pytest.mark.costly
def test_what_an_entity_adds_is_a_function_of_its_own_rows_alone() -> None:
    assert _adds_up(tree())

    place_within = linking.place_within

    def among_all(parent: Any, digests: Any) -> Any:  # a twin: which rows are used depends on how many there are
        other = [linking.digest(one + str(len(parent)).encode()) for one in digests.tolist()]
        return place_within(parent, np.asarray(other, dtype="S32"))

    with mock.patch.object(linking, "place_within", among_all):
        assert not _adds_up(tree())


def _shuffled(rows: dict[str, CodedRows], seed: int) -> dict[str, CodedRows]:
    """Return the same tables with the rows of each file in another order."""
    draw = np.random.default_rng(seed)
    order = {name: draw.permutation(table.rows) for name, table in rows.items()}
    above = {"orders": "accounts", "items": "orders", "cards": "accounts"}
    found = {}
    for name, table in rows.items():
        columns = {n: codes[order[name]] for n, codes in table.columns.items()}
        parent = None if table.parent is None else np.argsort(order[above[name]])[table.parent[order[name]]]
        ids = tuple(table.ids[i] for i in order[name]) if table.ids else ()
        found[name] = CodedRows(columns, table.rows, parent, ids)
    return found


def test_the_order_of_the_files_moves_nothing() -> None:
    of, people = tree(), [*list(entities())[::53], *OTHERS]
    plain = linked_tables(of, coded(people))

    def agree() -> bool:
        other = linked_tables(of, _shuffled(coded(people), 4))
        pairs = ((counted(b, plain[name]), counted(b, other[name])) for name, b in of.branches.items())
        return all((one == two).all() for a, b in pairs for one, two in zip(a, b))

    assert agree()
    with mock.patch.object(linking, "digest", lambda text: b""):  # a twin: in the order of the file
        assert not agree()


def test_rows_of_rows_that_are_not_used_are_not_used() -> None:
    of, people = tree(1, 2), [(0, ((0, (0, 0, 0)), (1, (1, 1, 1)), (1, (0, 1))), 0)]
    rows = coded(people)
    used = used_rows(of, rows)
    assert [len(used[name].rows) for name in ("orders", "items")] == [1, 2]
    parent = rows["items"].parent
    assert parent is not None and set(parent[used["items"].rows]) == set(used["orders"].rows)
    columns = linked_tables(of, rows)
    assert columns["accounts"]["@orders"].tolist() == [1] and columns["items"]["@items@orders"].tolist() == [2, 2]
    assert set(columns["items"]["b@orders"].tolist()) == set(columns["orders"]["b"].tolist())


def test_tables_without_rows_are_counted_as_such() -> None:
    columns = linked_tables(tree(), coded([(1, (), 0), (0, (), 0)]))
    assert [len(columns[name]["a@accounts"]) for name in ("orders", "items", "cards")] == [0, 0, 0]
    assert columns["accounts"]["@orders"].tolist() == [0, 0]


def _kept_codes(salted: bool) -> set[int]:
    """Return the codes of the one order that is used of each of 200 accounts alike, all with one order of each code."""
    rows = coded([(0, ((0, ()), (1, ())), 0)] * 200)
    ids = tuple(map(str, range(200))) if salted else ()
    rows["accounts"] = replace(rows["accounts"], ids=ids)
    return set(linked_tables(tree(orders=1), rows)["orders"]["b"].tolist())


def test_accounts_alike_do_not_all_lose_the_same_value() -> None:
    """The order of the cut has the root's id in it; a twin without it leaves one value out everywhere."""
    assert _kept_codes(salted=True) == {0, 1}
    assert len(_kept_codes(salted=False)) == 1
