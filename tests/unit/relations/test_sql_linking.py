"""Tables with foreign keys in a database: the counts of memory, cell by cell, the same release, the same refusals."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from databases import Load, Tables
from orders import orders, orders_schema
from understudy.checking import check_fit
from understudy.engines.addresses import address_of, table_addresses
from understudy.engines.opening import PrivateData
from understudy.errors import DataError, UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import run
from understudy.relations.reading import DerivedEngine
from understudy.relations.table_reading import opened_tables, tables_fit
from understudy.relations.table_tree import TableTree
from understudy.schema import Axis, Schema
from understudy.testing import SeededSource

KEY = b"a key of this test"


def counts_of(data: Any, schema: Schema) -> list[Any]:
    """Return the keyed fingerprint of whole rows, and every table of one and two attributes, of all counted tables."""
    opened = opened_tables(PrivateData(data, types="declared"), schema)
    assert isinstance(opened.engine, DerivedEngine)
    try:
        found: list[Any] = [opened.columns, opened.engine.fingerprint(KEY)]
        for name, branch in TableTree.of(schema).branches.items():
            names = branch.derived.names
            pairs = [(Axis(a), Axis(b)) for a, b in itertools.combinations(names, 2)]
            workload = [(), *((Axis(n),) for n in names), *pairs]
            found += [name, *(np.asarray(t).tolist() for t in opened.engine.tables[name].marginals(workload))]
        return found
    finally:
        opened.engine.close()


def test_all_counts_are_those_of_memory(load: Load) -> None:
    """Three levels and a second branch, with more rows than are used at both levels."""
    tables, schema = orders(120), orders_schema()
    fits = tables_fit(PrivateData(tables, types="declared"), schema)
    assert any(fit.used < fit.rows for fit in fits if fit.table == "orders")
    address = load(tables)
    assert counts_of(address, schema) == counts_of(tables, schema)
    assert tables_fit(PrivateData(address), schema) == fits
    assert check_fit(PrivateData(address), schema) == []


def small() -> tuple[Tables, Schema]:
    """Every account with up to three orders of every kind, with up to two items of every kind, and cards."""
    inside = [codes for many in range(3) for codes in itertools.combinations_with_replacement("ft", many)]
    kinds = list(itertools.product("ft", inside))
    people = [own for many in range(4) for own in itertools.combinations_with_replacement(kinds, many)][::7]
    rows: dict[str, list[tuple[str, ...]]] = {"accounts": [], "orders": [], "items": [], "cards": []}
    for i, own in enumerate(people):
        rows["accounts"].append((f"{i}", "ft"[i % 2]))
        rows["cards"] += [(f"0{i}.0", "ft"[k % 2]) for k in range(i % 3)]  # the same numbers, written otherwise
        for b, codes in own:
            order = f"o{len(rows['orders'])}"
            rows["orders"].append((order, f" {i}", b))
            rows["items"] += [(order, c) for c in codes]
    names = {"accounts": ("id", "a"), "orders": ("id", "above", "b"), "items": ("above", "c"), "cards": ("above", "d")}
    tables = {table: pa.table(dict(zip(names[table], map(list, zip(*own))))) for table, own in rows.items()}
    flag = {"kind": "category", "values": ["f", "t"]}

    def child(parent: str, at_most: int, **attributes: Any) -> dict[str, Any]:
        link = {"parent": parent, "key": "above", "references": "id", "at_most": at_most}
        return {**link, "attributes": {"above": {"kind": "id"}} | attributes}

    return tables, Schema.from_dict({
        "table": {"name": "accounts", "neighbours": "add-remove"},
        "attributes": {"id": {"kind": "id"}, "a": flag},
        "tables": {
            "orders": child("accounts", 2, id={"kind": "id"}, b=flag), "items": child("orders", 1, c=flag),
            "cards": child("accounts", 1, d=flag),
        },
    })  # fmt: skip


def test_every_small_entity_at_once_with_keys_written_otherwise(load: Load) -> None:
    tables, schema = small()
    expected = counts_of(tables, schema)
    assert counts_of(load(tables), schema) == expected
    draw = np.random.default_rng(3)
    shuffled = {name: table.take(draw.permutation(len(table))) for name, table in tables.items()}
    assert counts_of(load(shuffled), schema) == expected
    fewer = {**tables, "items": tables["items"].slice(40)}
    assert counts_of(load(fewer), schema) != expected  # the comparison sees rows


def test_the_release_is_that_of_memory_byte_for_byte(load: Load, tmp_path: Path) -> None:
    def released(data: Any, name: str) -> dict[str, bytes]:
        made = run(
            data, orders_schema(), Budget("2", "1e-6"), "auto", {}, ledger=tmp_path / name, cap="none",
            source=SeededSource(5), types="declared", quiet=True,
        )  # fmt: skip
        return made.release.members

    tables = orders(80)
    assert released(load(tables), "e.db") == released(tables, "m.db")


def test_typed_keys_are_compared_as_in_memory(load: Load) -> None:
    tables, schema = small()
    numbers = [int(text) for text in tables["accounts"]["id"].to_pylist()]
    typed = {**tables, "accounts": tables["accounts"].set_column(0, "id", pa.array(numbers))}
    assert counts_of(load(typed), schema) == counts_of(tables, schema)


def test_a_child_without_rows_is_counted_as_such(load: Load) -> None:
    tables, schema = small()
    empty = {**tables, "items": tables["items"].slice(0, 0), "cards": tables["cards"].slice(0, 0)}
    assert counts_of(load(empty), schema) == counts_of(empty, schema)
    assert check_fit(PrivateData(load(empty)), schema) == []


def _swapped(table: str, column: str, value: str | None) -> Tables:
    tables = orders(40)
    own = tables[table]
    values = pa.array([value, *own[column].to_pylist()[1:]], pa.string())
    return {**tables, table: own.set_column(own.column_names.index(column), column, values)}


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (lambda: _swapped("orders", "account_id", "SECRET"), "'orders'.*'account_id' that no row of 'accounts' has"),
        (lambda: _swapped("items", "order", "SECRET"), "'items'.*'order' that no row of 'orders' has"),
        (lambda: _swapped("accounts", "account_id", "A00007"), "'accounts'.*two rows have the same 'account_id'"),
        (lambda: _swapped("orders", "order_id", "O00003"), "'orders'.*two rows have the same 'order_id'"),
        (lambda: _swapped("items", "order", None), "'items'.*no 'order'"),
        (lambda: _swapped("accounts", "account_id", " "), "'accounts'.*no 'account_id'"),
        (lambda: _swapped("items", "order", "0x1F"), "'items'.*hexadecimal"),
        (lambda: _swapped("items", "price", "SECRET"), "'items'.*'price'"),
        (lambda: {**orders(9), "accounts": orders(9)["accounts"].slice(0, 0)}, "'accounts'.*no rows"),
        (lambda: {**orders(9), "cards": orders(9)["cards"].drop_columns(["gold"])}, "'cards'.*'gold'"),
    ],
    ids=["orphan", "orphan of a child", "two parents", "two parents that are children", "no key", "a blank id",
         "hexadecimal", "a cell", "no rows", "no column"],
)  # fmt: skip
def test_rows_that_do_not_hang_together_are_refused_before_a_charge(
    data: Any, match: str, load: Load, tmp_path: Path
) -> None:
    address = load(data())
    with pytest.raises(DataError, match=match) as caught:
        understudy.publish(address, orders_schema(), epsilon=1, ledger=tmp_path / "l.db")
    assert not any(private in caught.value.message for private in ("SECRET", "A000", "O000"))
    with Ledger(tmp_path / "l.db") as book:
        assert not book.entries()
    assert any("table '" in problem["message"] for problem in check_fit(PrivateData(address), orders_schema()))


def test_tables_by_addresses_of_their_own(load: Load) -> None:
    """A mapping of addresses names tables that are called otherwise; all are of one database."""
    tables = orders(30)
    address = load(tables | {"plastic": tables["cards"]})
    named = {name: f"{address}?table={'plastic' if name == 'cards' else name}" for name in tables}
    assert counts_of(named, orders_schema()) == counts_of(tables, orders_schema())
    with pytest.raises(UsageError, match="in one place"):
        opened_tables(PrivateData({**named, "cards": tables["cards"]}), orders_schema())
    with pytest.raises(UsageError, match="the addresses name several"):
        opened_tables(PrivateData({**named, "cards": "duckdb:///elsewhere.db?table=cards"}), orders_schema())


def test_an_absent_table_and_a_table_in_the_address_are_refused(load: Load) -> None:
    tables = orders(9)
    address = load({f"other_{name}" if name == "items" else name: table for name, table in tables.items()})
    if address.startswith("postgresql"):
        address = address.replace("/postgres", "/postgres?table=nowhere.*")
    with pytest.raises(UsageError, match=r"no table or view '(nowhere\.accounts|items)'"):
        opened_tables(PrivateData(address), orders_schema())
    with pytest.raises(UsageError, match="leave `table` out"):
        opened_tables(PrivateData(f"{address.partition('?')[0]}?table=accounts"), orders_schema())


def test_addresses_of_several_tables() -> None:
    found = table_addresses("postgresql://u:p%40ss@h/db?sslmode=require&table=sales.*", ["a", 'b "odd".c'])
    parts = {name: address_of(address) for name, address in found.items()}
    assert {name: own.table for name, own in parts.items()} == {
        "a": ("sales", "a"),
        'b "odd".c': ("sales", 'b "odd".c'),
    }
    assert {own.place for own in parts.values()} == {"postgresql://u:p%40ss@h/db?sslmode=require"}
    assert address_of(table_addresses("duckdb:////x/y.db", ["a"])["a"]).table == ("a",)
