"""Write a made-up shop: `python shop.py FOLDER` writes accounts.csv, orders.csv and items.csv with keys that fit."""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

REGIONS = ("north", "south", "west")


def shop(accounts: int, seed: int = 7) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of each table, its header first: people of the north buy more, and on the web."""
    draw = random.Random(seed)
    tables: dict[str, list[tuple[object, ...]]] = {
        "accounts": [("account_id", "region", "age")],
        "orders": [("order_id", "account_id", "channel")],
        "items": [("order_id", "price")],
    }
    for i in range(accounts):
        account, region = f"A{i:05}", draw.choice(REGIONS)
        tables["accounts"].append((account, region, draw.randint(18, 97)))
        for _ in range(draw.randint(0, 6 if region == "north" else 3)):
            order, web = f"O{len(tables['orders']):06}", draw.random() < (0.8 if region == "north" else 0.3)
            tables["orders"].append((order, account, "web" if web else "shop"))
            for _ in range(draw.randint(1, 3)):
                tables["items"].append((order, round(draw.uniform(1, 40) + 50 * web, 2)))
    return tables


def main(folder: str) -> None:
    target = Path(folder)
    target.mkdir(exist_ok=True)
    for name, rows in shop(20_000).items():
        with (target / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1])
