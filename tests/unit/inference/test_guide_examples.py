"""The examples of docs/guide/inference.md run as they stand, where what they need is installed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.demo import demo_schema, demo_table
from understudy.schema import Schema
from understudy.testing import publish_seeded

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "inference.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_examples_run(tmp_path):
    table = demo_table(2000, np.random.default_rng(1)).to_pandas()
    made = publish_seeded(
        table, demo_schema(rows=2000), seed=1, epsilon=8, delta=1e-6, ledger=tmp_path / "l.db", cap="none"
    )
    space = {"release": made.release}
    exec(EXAMPLES[0], space)
    found = space["found"]
    assert found.stderr > 0 and 0 <= found.p_value() <= 1
    pytest.importorskip("statsmodels")
    exec(EXAMPLES[1], space)
    assert space["slope"].stderr > 0 and space["effect"].stderr > 0


TRIAL = """
[table]
name = "trial"
neighbours = "replace-one"
rows = 4000

[attributes.months]
kind = "integer"
range = [0, 60]
bins = 12

[attributes.died]
kind = "category"
values = ["no", "yes"]

[attributes.arm]
kind = "category"
values = ["placebo", "drug"]

[[uses]]
analysis = ["months", "died", "arm"]
"""


@pytest.mark.slow
def test_the_survival_analysis_runs_and_finds_the_effect(tmp_path):
    pytest.importorskip("lifelines")
    rng = np.random.default_rng(3)
    arm = rng.integers(0, 2, 4000)
    time = rng.exponential(40 * np.exp(0.7 * arm))
    rows = {"months": np.minimum(time, 60).astype(int), "died": np.where(time < 60, "yes", "no")}
    table = pd.DataFrame(rows | {"arm": np.where(arm, "drug", "placebo")})
    made = publish_seeded(
        table, Schema.from_toml(TRIAL), seed=1, epsilon=2, delta=1e-6, ledger=tmp_path / "l.db", cap="none"
    )
    space = {"trial": made.release}
    exec(EXAMPLES[2], space)
    low, high = space["hazard"].interval(0.95)
    assert low < -0.7 < high < 0
