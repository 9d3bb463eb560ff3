"""Look at synthetic tables: `python keys.py FOLDER` says whether every key is there, and what people order."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main(folder: str) -> None:
    accounts, orders, items = (read(Path(folder) / f"{name}.csv") for name in ("accounts", "orders", "items"))
    assert {row["account_id"] for row in orders} <= {row["account_id"] for row in accounts}
    assert {row["order_id"] for row in items} <= {row["order_id"] for row in orders}
    assert max(Counter(row["account_id"] for row in orders).values()) <= 4
    print("every order has its account, every item its order, and no account has more than 4 orders")
    region = {row["account_id"]: row["region"] for row in accounts}
    for name in ("north", "south"):
        own = [row for row in orders if region[row["account_id"]] == name]
        web = sum(row["channel"] == "web" for row in own) / len(own)
        each = len(own) / sum(r == name for r in region.values())
        print(f"{name}: {each:.1f} orders an account, {web:.0%} of them on the web")


if __name__ == "__main__":
    main(sys.argv[1])
