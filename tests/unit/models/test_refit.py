"""Refitting: the tables of a release give its model and its row count again, whatever method measured them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import chained, private_table, schema_of
from understudy.demo import demo_schema, demo_table
from understudy.methods import method_named
from understudy.models.refit import Design, refit
from understudy.privacy.budget import Budget
from understudy.release import Release
from understudy.testing import publish_seeded

BINARY = {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2}
MIXED = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 3}
ROWS = 3000
METHODS: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    ("aim", {}, MIXED),
    ("swift", {}, MIXED),
    ("privbayes", {}, MIXED),
    ("privbayes", {}, BINARY),
    ("jtree", {"estimate": "ml"}, MIXED),
    ("priview", {}, BINARY),
    ("privabn", {}, MIXED),
    ("dp-subn", {"variant": "adaptive"}, MIXED),
    ("dp-subn", {"variant": "sequential"}, MIXED),
    ("dp-subn", {"variant": "frontier"}, BINARY),
    ("dp-ccbn", {}, BINARY),
]


@pytest.mark.costly
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("name", "options", "sizes"), METHODS)
def test_the_tables_of_a_fit_give_its_model_again(
    ledger_path: Path, name: str, options: dict[str, Any], sizes: dict[str, int], neighbours: str, delta: float
) -> None:
    schema = schema_of(sizes, ROWS if neighbours == "replace-one" else None, neighbours)
    table = private_table(schema, chained(sizes, ROWS), Budget(1, delta), ledger_path)
    fit = method_named(name, options, schema).fit(table)
    again = refit(fit.measurements, Design(schema))
    assert again.rows == fit.rows
    for pair in itertools.combinations(sizes, 2):
        assert np.array_equal(again.model.project(pair).table, fit.model.project(pair).table)


def test_other_noise_gives_another_model(ledger_path: Path) -> None:
    """The broken twin: a refit that returned the model it was given would pass the test above."""
    schema = schema_of(MIXED, ROWS)
    fit = method_named("aim", {}, schema).fit(private_table(schema, chained(MIXED, ROWS), Budget(1), ledger_path))
    moved = [replace(m, values=m.values + np.arange(m.values.size).reshape(m.values.shape)) for m in fit.measurements]
    again = refit(moved, Design(schema))
    assert not np.allclose(again.model.project(("d",)).table, fit.model.project(("d",)).table, atol=1e-4)


def test_a_release_file_is_enough(tmp_path: Path) -> None:
    """Bins that were found, missing values, columns in the file's order: all that the tables belong to is in it."""
    schema = demo_schema(rows=2000)
    frame = demo_table(2000, np.random.default_rng(1)).to_pandas()
    done = publish_seeded(frame, schema, seed=3, epsilon=2, ledger=tmp_path / "l.db")
    done.release.save(tmp_path / "r.zip")
    release = Release.open(tmp_path / "r.zip")
    assert release.design is not None
    again = refit(release.measurements, release.design)
    assert again.rows == release.rows
    for pair in itertools.combinations(release.schema.names[:6], 2):
        assert np.abs(again.model.project(pair).table - release.model.project(pair).table).sum() < 1e-6


def test_a_paper_s_own_estimate_has_no_design(tmp_path: Path) -> None:
    frame = demo_table(500, np.random.default_rng(1)).to_pandas()
    schema = demo_schema(rows=500)
    done = publish_seeded(frame, schema, seed=3, epsilon=1, ledger=tmp_path / "l.db", method="jtree", estimate="paper")
    assert done.release.design is None
