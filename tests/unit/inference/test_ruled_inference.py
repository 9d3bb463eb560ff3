"""Inference under rules: intervals of free and computed columns hold the truth, and drawn tables keep the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.models.ruled_model import RuledModel, computed_tables
from understudy.release import Release
from understudy.schema import Schema
from understudy.testing import publish_seeded

ROWS = 2000
SCHEMA = Schema.from_toml(f"""
[table]
name = "people"
rows = {ROWS}
[attributes.a]
kind = "integer"
range = [0, 4]
[attributes.b]
kind = "integer"
range = [0, 4]
[attributes.total]
kind = "integer"
range = [0, 8]
[attributes.group]
kind = "category"
values = ["x", "y", "z"]
[attributes.low]
kind = "integer"
range = [0, 5]
[[rules]]
rule = "total == a + b"
[[rules]]
rule = "low <= a + 1"
""")


def people() -> Any:
    import pandas as pd

    generator = np.random.default_rng(2)
    hidden = generator.standard_normal(ROWS)
    a, b = (np.clip(np.rint(2 + hidden + generator.standard_normal(ROWS)), 0, 4).astype(int) for _ in range(2))
    group = np.asarray(["x", "y", "z"])[np.clip(np.rint(1 + 0.4 * hidden), 0, 2).astype(int)]
    low = np.minimum(generator.integers(0, 6, ROWS), a + 1)
    return pd.DataFrame({"a": a, "b": b, "total": a + b, "group": group, "low": low})


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    ledger = tmp_path_factory.mktemp("ledger") / "l.db"
    return publish_seeded(people(), SCHEMA, seed=3, epsilon=2, delta=1e-9, ledger=ledger, cap="none").release


@pytest.mark.costly
def test_every_kind_of_column_has_an_interval(release):
    frame = people()
    asked = {
        "count where a >= 3": (frame["a"] >= 3).sum(),
        "count where total >= 5": (frame["total"] >= 5).sum(),
        "count where total >= 5 and group = x": ((frame["total"] >= 5) & (frame["group"] == "x")).sum(),
        "mean(total) where group = z": frame["total"][frame["group"] == "z"].mean(),
        "count where total <= 2 and low = 0": ((frame["total"] <= 2) & (frame["low"] == 0)).sum(),
    }
    held = 0
    for text, truth in asked.items():
        low, high = release.query(text, 0.99).interval
        assert high > low
        held += low - 0.5 <= truth <= high + 0.5
    assert held >= 4


@pytest.mark.costly
def test_refits_are_of_the_free_columns_and_are_kept(release, tmp_path):
    file = tmp_path / "r.release.zip"
    release.save(file)
    first = release.inference().refits
    assert first is not None and "total" not in first.models[0].schema.names
    again = Release.open(file)
    from understudy.inference.kept_refits import refits_beside

    beside = refits_beside(file, "finite")
    made = again.inference("finite", beside).refits
    assert beside.exists()
    kept = Release.open(file).inference("finite", beside).refits
    for one, other in zip(made.project(("total", "group")), kept.project(("total", "group"))):
        assert np.allclose(one, other, atol=1e-5)


def test_computed_tables_are_those_of_the_model(release):
    model = release.model
    assert isinstance(model, RuledModel)
    free = model.sources(("total", "group"))
    assert set(free) == {"a", "b", "group"}
    stacked = np.stack([model.project(free).table] * 2)
    found = computed_tables(model, stacked, free, ("total", "group"))
    assert np.allclose(found[1], model.project(("total", "group")).table)


@pytest.mark.costly
def test_drawn_tables_keep_the_rules(release):
    draws = release.draws(2, about=["total", "group"], seed=1)
    for frame in draws:
        assert len(frame) == ROWS
        assert (frame["total"] == frame["a"] + frame["b"]).all()
        assert (frame["low"] <= frame["a"] + 1).all()
