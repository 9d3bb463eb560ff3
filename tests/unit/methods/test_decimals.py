"""Decimals that nobody declared: what their classes cost, and that numbers come back with as many as they had."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from conftest import same_noise
from understudy.errors import ReleaseError
from understudy.methods.binned import DECIMALS_SHARE
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.privacy.ledger import Ledger
from understudy.privacy.sensitivity import table_sensitivity
from understudy.publishing import plan, publish
from understudy.release import Release
from understudy.schema import Schema
from understudy.schema.attribute import decimals_name
from understudy.schema.decimal_classes import DecimalClasses
from understudy.schema.rounded_units import RoundedUnits, class_sizes
from understudy.testing import publish_seeded

ROWS = 6_000
TEXT = """
[table]
name = "visits"
{table}
[attributes.hours]
kind = "number"
range = [-3, 60]
missing = [""]
{more}
[attributes.group]
kind = "category"
values = ["a", "b"]
"""


def schema_of(more: str = "", neighbours: str = "replace-one") -> Schema:
    rows = f"rows = {ROWS}\n" if neighbours == "replace-one" else ""
    return Schema.from_toml(TEXT.format(table=f'{rows}neighbours = "{neighbours}"', more=more))


def table() -> pd.DataFrame:
    """Three in four numbers are whole, the others have one decimal, a tenth are missing."""
    draw = np.random.default_rng(5)
    hours, kind = draw.gamma(3.0, 4.0, ROWS).clip(0, 60), draw.random(ROWS)
    values = np.where(kind < 0.75, np.round(hours), np.round(hours, 1))
    texts = [f"{v:.1f}".removesuffix(".0") for v in values]
    return pd.DataFrame({
        "hours": np.where(draw.random(ROWS) < 0.1, "", texts), "group": np.where(hours > 12, "b", "a")
    })  # fmt: skip


def published(folder: Path, schema: Schema, frame: pd.DataFrame, **more: Any) -> Release:
    frame.to_csv(folder / "data.csv", index=False)
    with same_noise():
        return publish(folder / "data.csv", schema, epsilon=1, ledger=folder / "l.db", save=folder / "r.zip", **more)


def written(release: Release, folder: Path) -> list[str]:
    release.write(folder / "out.csv", seed=1)
    return [t for t in pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)["hours"] if t]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return published(tmp_path_factory.mktemp("decimals"), schema_of(neighbours="add-remove"), table(), delta="1e-6")


# -- what comes back -------------------------------------------------------------------------------------------


def test_numbers_have_as_many_decimals_as_they_had(release: Release, tmp_path: Path) -> None:
    decimals = np.asarray([len(t.partition(".")[2]) for t in written(release, tmp_path)])
    real = np.asarray([len(t.partition(".")[2]) for t in table()["hours"] if t])
    for places in range(2):  # values that the tree counted keep their shares; without classes nearly all have three
        assert abs((decimals == places).mean() - (real == places).mean()) < 0.15
    assert (decimals > 1).mean() < 0.05


def test_without_the_histogram_numbers_are_written_short(tmp_path: Path) -> None:
    small = Schema.from_toml(TEXT.format(table="rows = 60", more=""))
    texts = written(published(tmp_path, small, table()[:60]), tmp_path)
    assert not any("." in text and text.endswith("0") for text in texts)
    assert {len(text.partition(".")[2]) for text in texts} == {0, 1}  # three digits of the range, 63 long


@pytest.mark.parametrize("more,pattern", [("decimals = 2", r"-?\d+\.\d\d"), ("step = 0.5", r"-?\d+(\.5)?")])
def test_what_is_declared_is_kept_and_nothing_is_bought(more: str, pattern: str, tmp_path: Path) -> None:
    schema = schema_of(more)
    assert not any(p.name == "decimals" for p in plan(schema, epsilon=1).phases)
    assert schema["hours"].decimals_seen is None
    texts = pd.Series(written(published(tmp_path, schema, table()), tmp_path))
    assert texts.str.fullmatch(pattern).all()


def test_bins_keep_their_rows_and_units_their_values(release: Release) -> None:
    shape = release.shapes["hours"]
    assert np.allclose(np.bincount(shape.home, shape.shares, shape.attribute.size), 1.0)
    domain = shape.fine.domain
    assert isinstance(domain, RoundedUnits)
    codes = np.repeat(np.arange(domain.size, dtype=np.int32), 5)
    assert (domain.encode_numbers(domain.decode(codes, np.random.default_rng(1))) == codes).all()


def test_saved_and_opened(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "again.zip")
    opened = Release.open(tmp_path / "again.zip")
    assert opened.hash == release.hash
    assert opened.sample(50, seed=3).equals(release.sample(50, seed=3))


@pytest.mark.parametrize("damage", [{"noise": "none", "scale": 3.0}, {"noise": "laplace", "scale": 0.0}, {}, 7])
def test_damaged_decimals_are_refused(damage: Any, release: Release) -> None:
    listed, arrays = trees_parts(release.trees)
    assert trees_from_parts(listed, arrays, release.schema)[0].decimals is not None
    with pytest.raises(ReleaseError, match="damaged"):
        trees_from_parts([{**listed[0], "decimals": damage}], arrays, release.schema)


# -- classes ---------------------------------------------------------------------------------------------------


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
    sizes = class_sizes(grid.domain, grid.steps.digits)
    values = np.asarray(grid.steps.value(np.arange(grid.steps.at_least(-3), grid.steps.at_most(60) + 1)))
    units = grid.domain.encode_numbers(values)
    classes = DecimalClasses("number", (grid.low, grid.high), most=grid.steps.digits).encode_numbers(values)
    found = np.zeros_like(sizes)
    np.add.at(found, (units, classes), 1)
    assert (found == sizes).all()


# -- what it costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_one_row_is_in_one_class(neighbours: str) -> None:
    """Brute force: whatever number a row has, comes with or changes to, its classes move by what a table costs."""
    schema = schema_of(neighbours=neighbours)
    seen = schema[decimals_name("hours")]
    texts = ["", "0", "-3", "1.5", "2.25", "2.125", "1e-9", "60", "7000.5"]
    kinds = np.eye(seen.size, dtype=int)[seen.encode(texts)]
    moves = list(kinds) if neighbours == "add-remove" else [a - b for a, b in product(kinds, kinds)]
    assert max(np.abs(move).sum() for move in moves) == table_sensitivity(schema).l1
    assert max((move**2).sum() for move in moves) == table_sensitivity(schema).l2_squared


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_the_plan_says_what_the_ledger_says(neighbours: str, delta: str, tmp_path: Path) -> None:
    schema = schema_of(neighbours=neighbours)
    published(tmp_path, schema, table(), delta=delta)
    phase = next(p for p in plan(schema, epsilon=1, delta=delta, rows=ROWS).phases if p.name == "decimals")
    with Ledger(tmp_path / "l.db") as book:
        costs = [e.body["cost"] for e in book.entries() if e.kind == "charge" and e.body["purpose"] == "decimals"]
    assert costs == [str(phase.cost)]
    if delta == "0":
        assert phase.cost == DECIMALS_SHARE


@pytest.mark.costly
@pytest.mark.parametrize("engine", ["mapped", "duckdb"])
def test_every_engine_counts_the_same_classes(engine: str, tmp_path: Path) -> None:
    frame = table()
    hours = pa.array([float(text) if text else None for text in frame["hours"]], pa.float64())
    parquet.write_table(pa.table({"hours": hours, "group": pa.array(frame["group"])}), tmp_path / "data.parquet")
    frame.to_csv(tmp_path / "data.csv", index=False)
    found = [
        publish_seeded(tmp_path / file, schema_of(), epsilon=1, seed=5, ledger=tmp_path / f"{number}.db", **more)
        for number, (file, more) in enumerate(
            [("data.parquet", {}), ("data.parquet", {"engine": engine}), ("data.csv", {})]
        )
    ]
    for other in found[1:]:
        assert found[0].release.trees[0].decimals is not None and other.release.trees[0].decimals is not None
        assert (found[0].release.trees[0].decimals.values == other.release.trees[0].decimals.values).all()
