"""Small tables with foreign keys that tests of relations use: accounts with orders, orders with items, and cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from understudy.schema import Schema

TEXT = """
[table]
name = "accounts"
neighbours = "add-remove"

[attributes.account_id]
kind = "id"

[attributes.region]
kind = "category"
values = ["north", "south", "west"]

[attributes.age]
kind = "integer"
range = [18, 97]
bins = 8

[tables.orders]
parent = "accounts"
key = "account_id"
at_most = 3

[tables.orders.attributes.order_id]
kind = "id"

[tables.orders.attributes.account_id]
kind = "id"

[tables.orders.attributes.channel]
kind = "category"
values = ["web", "shop"]

[tables.items]
parent = "orders"
key = "order"
references = "order_id"
at_most = 2

[tables.items.attributes.order]
kind = "id"

[tables.items.attributes.price]
kind = "number"
range = [0, 100]
bins = 5
missing = [""]

[tables.cards]
parent = "accounts"
key = "account_id"
at_most = 1
file = "payment-cards.csv"

[tables.cards.attributes.account_id]
kind = "id"

[tables.cards.attributes.gold]
kind = "boolean"
true = "yes"
false = "no"
"""
FILES = {"accounts": "accounts.csv", "orders": "orders.csv", "items": "items.csv", "cards": "payment-cards.csv"}
LINKS = {"orders": ("account_id", "accounts", "account_id", 3), "items": ("order", "orders", "order_id", 2),
         "cards": ("account_id", "accounts", "account_id", 1)}  # fmt: skip


def orders_text(**more: str) -> str:
    """Return the schema as a file; `more` replaces lines of it."""
    text = TEXT
    for old, new in more.items():
        assert old in text
        text = text.replace(old, new)
    return text


def orders_schema(**more: str) -> Schema:
    return Schema.from_toml(orders_text(**more))


def orders(accounts: int, seed: int = 0) -> dict[str, Any]:
    """Return the tables by name, as texts: up to four orders an account, up to three items an order."""
    draw = np.random.default_rng(seed)
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in FILES}
    for i in range(accounts):
        region = int(draw.integers(3))
        found["accounts"].append((f"A{i:05}", ("north", "south", "west")[region], str(draw.integers(18, 98))))
        if draw.random() < 0.4:
            found["cards"].append((f"A{i:05}", ("no", "yes")[int(draw.random() < 0.2 + 0.3 * region)]))
        for _ in range(int(draw.integers(0, 5))):
            web = draw.random() < 0.2 + 0.3 * region
            order = f"O{len(found['orders']):05}"
            found["orders"].append((order, f"A{i:05}", "web" if web else "shop"))
            for _ in range(int(draw.integers(0, 4))):
                price = "" if draw.random() < 0.05 else str(round(draw.uniform(0, 50) + 50 * web, 2))
                found["items"].append((order, price))
    names = {"accounts": ("account_id", "region", "age"), "orders": ("order_id", "account_id", "channel"),
             "items": ("order", "price"), "cards": ("account_id", "gold")}  # fmt: skip
    return {
        table: pa.table({n: pa.array([row[k] for row in rows], pa.string()) for k, n in enumerate(names[table])})
        for table, rows in found.items()
    }


def write_orders(folder: Path, accounts: int = 150, seed: int = 0, **more: str) -> tuple[Path, Path]:
    """Write the folder `data` with a file for each table, and tables.toml beside it."""
    data, path = folder / "data", folder / "tables.toml"
    data.mkdir()
    for name, table in orders(accounts, seed).items():
        csv.write_csv(table, data / FILES[name])
    path.write_text(orders_text(**more), encoding="utf-8")
    return data, path
