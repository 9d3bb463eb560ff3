"""Write a made-up table of 4,000 loans, in which parts add up to totals: python examples/rules/loans.py loans.csv"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

GRADES = {"A": 4, "B": 7, "C": 11}


def loan(draw: random.Random) -> list[object]:
    grade = draw.choice("AABC")
    principal = 100 * draw.randint(5, 300)
    fees = draw.randint(0, 40) * 10
    paid = draw.randint(0, principal + fees)
    opened = date(2020, 1, 1) + timedelta(draw.randint(0, 1000))
    closed = opened + timedelta(draw.randint(0, 400)) if draw.random() < 0.5 else ""
    status = "closed" if closed else draw.choice(["open", "open", "late"])
    return [
        grade,
        GRADES[grade],
        principal,
        fees,
        principal + fees,
        paid,
        principal + fees - paid,
        opened,
        closed,
        status,
    ]


def main(path: str) -> None:
    draw = random.Random(7)
    names = ["grade", "rate", "principal", "fees", "total", "paid", "balance", "opened", "closed", "status"]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(loan(draw) for _ in range(4000))


if __name__ == "__main__":
    main(sys.argv[1])
