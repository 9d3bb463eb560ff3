"""Small panels that tests of relations use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from understudy.schema import Schema

TEXT = """
[table]
name = "visits"
neighbours = "add-remove"

[person]
id = "patient"
order = "year"
at_most = {at_most}
constant = ["sex", "born"]

[attributes.patient]
kind = "id"

[attributes.year]
kind = "integer"
range = [2001, 2012]

[attributes.born]
kind = "integer"
range = [1930, 2000]
bins = 7

[attributes.sex]
kind = "category"
values = ["f", "m"]

[attributes.state]
kind = "category"
values = ["well", "ill", "cured"]

[attributes.weight]
kind = "integer"
range = [40, 120]
bins = 16
missing = [""]
"""


def visits_schema(at_most: int = 5, **more: str) -> Schema:
    """Return the schema of visits; `more` replaces lines of it."""
    text = TEXT.format(at_most=at_most)
    for old, new in more.items():
        text = text.replace(old, new)
    return Schema.from_toml(text)


def visits(people: int, seed: int = 0, most: int = 7) -> Any:
    """Return rows of people whose state and weight persist, in no order."""
    draw = np.random.default_rng(seed)
    rows = []
    for patient in range(people):
        born = str(draw.integers(1930, 2000))
        year, weight, state = int(draw.integers(2001, 2005)), float(draw.normal(75, 12)), int(draw.integers(3))
        for _ in range(int(draw.integers(1, most + 1))):
            shown = None if draw.random() < 0.05 else str(round(min(max(weight, 40), 120)))
            rows.append((str(patient), str(year), born, "fm"[patient % 2], ("well", "ill", "cured")[state], shown))
            year += 1
            weight += float(draw.normal(0.5, 2))
            state = int(draw.integers(3)) if draw.random() < 0.2 else state
    order = draw.permutation(len(rows))
    columns = list(zip(*(rows[i] for i in order)))
    return pa.table(dict(zip(("patient", "year", "born", "sex", "state", "weight"), map(list, columns))))
