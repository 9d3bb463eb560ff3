"""Missing cells: their rates, their dependence on other columns, and cells that are missing together survive."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conftest import same_noise
from understudy.publishing import publish
from understudy.schema import Schema

ROWS = 8_000
SCHEMA = """
[table]
name = "visits"
rows = 8000
[attributes.ward]
kind = "category"
values = ["A", "B", "C"]
[attributes.height]
kind = "number"
range = [100, 220]
bins = 8
decimals = 1
missing = true
[attributes.weight]
kind = "integer"
range = [30, 180]
bins = 8
missing = ["-1"]
[attributes.seen]
kind = "date"
range = ["2024-01-01", "2024-12-31"]
bins = 6
missing = true
"""
HEIGHT_MISSING = {"A": 0.05, "B": 0.5, "C": 0.2}  # by ward


def visits() -> pd.DataFrame:
    """In a row without a height the weight is missing nearly always, elsewhere hardly ever; dates miss at random."""
    draw = np.random.default_rng(11)
    ward = draw.choice(list(HEIGHT_MISSING), ROWS, p=[0.5, 0.3, 0.2])
    measured = draw.random(ROWS) >= np.array([HEIGHT_MISSING[w] for w in ward])
    height = draw.normal(170, 10, ROWS).clip(100, 220)
    weighed = np.where(measured, draw.random(ROWS) > 0.02, draw.random(ROWS) > 0.95)
    weight = (height - 100 + draw.normal(0, 8, ROWS)).clip(30, 180)
    day = pd.to_datetime("2024-01-01") + pd.to_timedelta(draw.integers(0, 366, ROWS), unit="D")
    return pd.DataFrame({
        "ward": ward,
        "height": [f"{h:.1f}" if m else "" for h, m in zip(height, measured)],
        "weight": [f"{w:.0f}" if m else "-1" for w, m in zip(weight, weighed)],
        "seen": [d.date().isoformat() if draw.random() > 0.1 else "" for d in day],
    })  # fmt: skip


@pytest.fixture(scope="module", params=["auto", "privbayes"])
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("missing")
    visits().to_csv(folder / "visits.csv", index=False)
    schema = Schema.from_toml(SCHEMA)
    with same_noise():
        release = publish(
            folder / "visits.csv",
            schema,
            epsilon=1,
            method=request.param,
            ledger=folder / "l.db",
            save=folder / "r.zip",
        )
    release.write(folder / "out.csv", seed=1)
    return pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)


def test_rates_by_another_column(rows: pd.DataFrame) -> None:
    for ward, share in HEIGHT_MISSING.items():
        assert abs((rows[rows.ward == ward].height == "").mean() - share) < 0.08


def test_cells_that_are_missing_together(rows: pd.DataFrame) -> None:
    without = rows.height == ""
    assert (rows.weight[without] == "-1").mean() > 0.85
    assert (rows.weight[~without] == "-1").mean() < 0.08
    assert abs((rows.seen[without] == "").mean() - 0.1) < 0.06


def test_values_that_are_there_keep_their_dependence(rows: pd.DataFrame) -> None:
    both = rows[(rows.height != "") & (rows.weight != "-1")]
    assert np.corrcoef(both.height.astype(float), both.weight.astype(float))[0, 1] > 0.2  # bins are wide


def test_columns_drawn_alone_would_fail(rows: pd.DataFrame) -> None:
    """The broken twin: each column by itself has the rates, and nothing is missing together."""
    apart = pd.DataFrame({name: rows[name].sample(frac=1, random_state=i).values for i, name in enumerate(rows)})
    assert (apart.weight[apart.height == ""] == "-1").mean() < 0.5
    assert abs((apart[apart.ward == "B"].height == "").mean() - 0.5) > 0.1
