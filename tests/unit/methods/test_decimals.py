"""Decimal classes of releases of earlier versions: they are read, and numbers are drawn by them, as they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import same_noise
from understudy.errors import ReleaseError
from understudy.models.noisy_tree import NoisyTree
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.publishing import publish
from understudy.release import Release
from understudy.schema import Axis, Schema
from understudy.schema.decimal_classes import DecimalClasses
from understudy.schema.rounded_units import RoundedUnits, class_sizes
from understudy.schema.rounding_classes import decimal_rounding

ROWS = 4_000
TEXT = """
[table]
name = "visits"
neighbours = "add-remove"
[attributes.hours]
kind = "number"
range = [-3, 60]
missing = [""]
[attributes.group]
kind = "category"
values = ["a", "b"]
"""


def schema_of() -> Schema:
    return Schema.from_toml(TEXT)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release whose tree has decimal classes: three in four numbers are whole, the others have one decimal."""
    draw, folder = np.random.default_rng(5), tmp_path_factory.mktemp("decimals")
    hours, kind = draw.gamma(3.0, 4.0, ROWS).clip(0, 60), draw.random(ROWS)
    values = np.where(kind < 0.75, np.round(hours), np.round(hours, 1))
    pd.DataFrame({"hours": values, "group": np.where(hours > 12, "b", "a")}).to_csv(folder / "d.csv", index=False)
    with same_noise():
        found = publish(folder / "d.csv", schema_of(), epsilon=1, delta="1e-6", ledger=folder / "l.db")
    seen = schema_of()["hours"].decimals_seen
    assert seen is not None
    counts = np.append(np.bincount(seen.ordered.encode_numbers(values), minlength=seen.size - 1), 0)
    classes = Measurement((Axis(seen.name),), counts, Gaussian(20.0))
    return replace(found, trees=(replace(found.trees[0], rounding=None, decimals=classes),))


def test_numbers_are_drawn_with_these_decimals(earlier: Release, tmp_path: Path) -> None:
    earlier.write(tmp_path / "out.csv", seed=1)
    texts = [t for t in pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)["hours"] if t]
    decimals = np.asarray([len(t.partition(".")[2]) for t in texts])
    assert (decimals == 0).mean() > 0.5 and (decimals > 1).mean() < 0.05
    domain = earlier.shapes["hours"].fine.domain
    assert isinstance(domain, RoundedUnits)
    codes = np.repeat(np.arange(domain.size, dtype=np.int32), 5)
    assert (domain.encode_numbers(domain.decode(codes, np.random.default_rng(1))) == codes).all()


def test_they_are_read_back(earlier: Release) -> None:
    listed, arrays = trees_parts(earlier.trees)
    found: NoisyTree = trees_from_parts(listed, arrays, earlier.schema)[0]
    assert found.decimals is not None and found.rounding is None
    assert (found.decimals.values == earlier.trees[0].decimals.values).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("damage", [{"noise": "none", "scale": 3.0}, {"noise": "laplace", "scale": 0.0}, {}, 7])
def test_damaged_decimals_are_refused(damage: Any, earlier: Release) -> None:
    listed, arrays = trees_parts(earlier.trees)
    with pytest.raises(ReleaseError, match="damaged"):
        trees_from_parts([{**listed[0], "decimals": damage}], arrays, earlier.schema)


def test_the_class_of_a_number_is_that_of_its_shortest_text() -> None:
    domain = DecimalClasses("number", (-1000.0, 1000.0), most=4)
    draw = np.random.default_rng(3)
    values = np.concatenate([np.round(draw.uniform(-1000, 1000, 500), places) for places in range(8)])
    expected = [min(4, len(repr(float(v)).removesuffix(".0").partition(".")[2])) for v in values if "e" not in repr(v)]
    assert domain.encode_numbers(values).tolist() == expected
    assert domain.encode_numbers(np.asarray([5000.25, np.nan, np.inf])).tolist() == [0, -1, -1]  # clamped; no number


def test_class_sizes_count_every_value_once() -> None:
    grid = schema_of()["hours"].grid
    assert grid is not None
    sizes = class_sizes(grid.domain, decimal_rounding(grid.steps.digits))
    values = np.asarray(grid.steps.value(np.arange(grid.steps.at_least(-3), grid.steps.at_most(60) + 1)))
    units = grid.domain.encode_numbers(values)
    classes = DecimalClasses("number", (grid.low, grid.high), most=grid.steps.digits).encode_numbers(values)
    found = np.zeros_like(sizes)
    np.add.at(found, (units, classes), 1)
    assert (found == sizes).all()
