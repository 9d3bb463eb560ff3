"""Counts over hops: those of memory, cell by cell, where the tables stay in a database; only counts leave it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from databases import Load
from orders import orders, orders_schema
from understudy.errors import DataError, UsageError
from understudy.evaluate.hops import compare_tables
from understudy.relations.hop_counts import hop_counts, looked_at
from understudy.relations.table_tree import TableTree

TREE = TableTree.of(orders_schema())
PAIRS = [("accounts", "orders"), ("orders", "items"), ("accounts", "items"), ("orders", "cards")]


def everything(data: Any) -> dict[Any, Any]:
    """Return all counts that evaluation may ask for."""
    with hop_counts(data, TREE, "declared") as counts:
        found: dict[Any, Any] = {"rows": dict(counts.rows)}
        found |= {pair: [table.tolist() for table in counts.tables(*pair)] for pair in PAIRS}
        return found | {child.name: counts.fan_out(child.name).tolist() for child in TREE.schema.tables}


def by_hand(tables: Any) -> dict[Any, Any]:
    """Count by loops over rows what two pairs of tables and one fan-out should be."""
    rows = {name: table.to_pylist() for name, table in tables.items()}
    regions, channels = ["north", "south", "west"], ["web", "shop"]
    region = {row["account_id"]: regions.index(row["region"]) for row in rows["accounts"]}
    one, two = np.zeros((3, 2), dtype=int), np.zeros((2, 2), dtype=int)
    for order in rows["orders"]:
        one[region[order["account_id"]], channels.index(order["channel"])] += 1
        for card in rows["cards"]:
            if card["account_id"] == order["account_id"]:
                two[channels.index(order["channel"]), ["no", "yes"].index(card["gold"])] += 1
    many = [sum(o["account_id"] == own for o in rows["orders"]) for own in region]
    return {"one": one.ravel().tolist(), "two": two.ravel().tolist(), "orders": np.bincount(many).tolist()}


def test_counts_of_memory_are_those_of_a_loop_over_rows() -> None:
    found, expected = everything(orders(60)), by_hand(orders(60))
    at = list(itertools.product(looked_at(TREE, "accounts"), looked_at(TREE, "orders"))).index(("region", "channel"))
    assert found["accounts", "orders"][at] == expected["one"]
    assert found["orders", "cards"][0] == expected["two"] and found["orders"] == expected["orders"]


def test_counts_of_a_database_are_those_of_memory(load: Load) -> None:
    """More rows than are used, too: evaluation looks at all."""
    tables = orders(120)
    assert everything(load(tables)) == everything(tables)
    empty = {**tables, "items": tables["items"].slice(0, 0)}
    assert everything(load(empty)) == everything(empty) != everything(tables)


def test_figures_of_tables_in_a_database_are_those_of_memory(load: Load) -> None:
    real, other = orders(200), orders(150)
    address, theirs = load(real), compare_tables(real, other, orders_schema(), types="declared").as_json()
    assert compare_tables(address, other, orders_schema(), types="declared").as_json() == theirs
    same = compare_tables(address, address, orders_schema())
    assert same.median == {1: 0.0, 2: 0.0} and set(same.fan_out.values()) == {0.0}


def test_rows_of_a_database_that_do_not_hang_together_are_refused_without_a_value(load: Load) -> None:
    tables = orders(40)
    keys = pa.array(["SECRET", *tables["orders"]["account_id"].to_pylist()[1:]])
    broken = {**tables, "orders": tables["orders"].set_column(1, "account_id", keys)}
    with pytest.raises(DataError, match="no row of 'accounts' has") as caught:
        compare_tables(load(broken), tables, orders_schema(), types="declared")
    assert "SECRET" not in caught.value.message


def test_a_database_that_is_not_there_is_refused_and_the_address_is_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        compare_tables("postgresql://somebody:hush@nowhere.invalid/db", orders(9), orders_schema())
    assert "hush" not in caught.value.message and "somebody" not in caught.value.message
