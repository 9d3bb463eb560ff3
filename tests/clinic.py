"""A small made-up clinic: a public schema and its private frame, for tests of what a Python user does."""

from __future__ import annotations

import numpy as np
import pandas

CLINIC = """
[table]
name = "clinic"
rows = 2000
[attributes.age]
kind = "integer"
edges = [18, 30, 45, 60, 75, 100]
[attributes.sex]
kind = "category"
values = ["Female", "Male"]
[attributes.smoker]
kind = "category"
values = ["no", "yes"]
[attributes.visits]
kind = "integer"
range = [0, 9]
bins = 5
"""


def people(rows: int = 2000) -> pandas.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 100, rows)
    return pandas.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["Female", "Male"], rows),
            "smoker": np.where(rng.random(rows) < 0.2 + age / 400, "yes", "no"),
            "visits": rng.integers(0, 10, rows),
        }
    )
