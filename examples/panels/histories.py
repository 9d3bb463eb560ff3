"""Say what holds in every history of a synthetic panel, and how often a state follows another."""

import csv
import itertools
import sys
from collections import Counter, defaultdict
from pathlib import Path

people = defaultdict(list)
with Path(sys.argv[1]).open(encoding="utf-8") as file:
    for row in csv.DictReader(file):
        people[row["patient"]].append(row)
for rows in people.values():
    assert [r["year"] for r in rows] == sorted(r["year"] for r in rows)
    assert len({(r["sex"], r["born"]) for r in rows}) == 1 and len(rows) <= 6
print("every history is in order, of one sex and one year of birth, and has at most 6 rows")
steps = Counter((a["state"], b["state"]) for rows in people.values() for a, b in itertools.pairwise(rows))
for state in ("well", "ill", "chronic"):
    total = sum(n for (before, _), n in steps.items() if before == state)
    print(state, {after: round(steps[state, after] / total, 2) for after in ("well", "ill", "chronic")})
