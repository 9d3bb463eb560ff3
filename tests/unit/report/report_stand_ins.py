"""Small releases and evaluations that the report's tests share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.evaluate.evaluation import Evaluation, evaluate
from understudy.release import Release
from understudy.schema import Attribute, Categories, Intervals, Schema
from understudy.testing import publish_seeded

ROWS = 600
SCRIPT = "<script>alert(1)</script>"


def nasty_schema(neighbours: str = "replace-one") -> Schema:
    """Names and values that would be code if anyone let them."""
    attributes = (
        Attribute(SCRIPT, Categories(("a & b", '"><img src=x onerror=alert(2)>', "c"))),
        Attribute("age", Intervals("integer", (0.0, 20.0, 40.0, 60.0, 100.0))),
        Attribute("town", Categories(tuple(f"town {i}" for i in range(5)))),
    )
    return Schema(
        "<b>people</b>", attributes, rows=ROWS if neighbours == "replace-one" else None, neighbours=neighbours
    )  # type: ignore[arg-type]


def nasty_frame(seed: int = 3, rows: int = ROWS) -> Any:
    g = np.random.default_rng(seed)
    first = g.integers(0, 3, rows)
    town = np.where(g.random(rows) < 0.7, first, g.integers(0, 5, rows))
    labels = nasty_schema()[SCRIPT].labels
    columns = {SCRIPT: [labels[i] for i in first], "age": g.integers(0, 101, rows), "town": [f"town {i}" for i in town]}
    return pd.DataFrame(columns)


def nasty_release(folder: Path, **options: Any) -> Release:
    given = {"epsilon": 2, "seed": 1, "method": "privbayes", **options}
    schema = nasty_schema(given.pop("neighbours", "replace-one"))
    return publish_seeded(nasty_frame(), schema, ledger=folder / "ledger.db", cap="none", **given).release


def nasty_evaluation(release: Release, **question: Any) -> Evaluation:
    given = {"alpha": [2, 3], "classify": ["town"], "models": ["svm"], "network": release.facts, **question}
    return evaluate(nasty_frame(), release.sample(seed=4), nasty_schema(), **given)


def outside(html: str) -> list[str]:
    """Everything in a page that could make a browser ask for something."""
    tags = "".join(re.findall(r"<[a-z][^>]*>", html))
    found = re.findall(r'\b(?:src|href|action|data|poster|srcset)="(?!#)[^"]*"', tags)
    return found + re.findall(r"url\((?!#)[^)]*\)|@import[^;]*|<(?:script|link|iframe|object|embed|img)[^>]*>", html)
