"""Heaps: what the rounding classes cost, what they change, and that values which were heaped stay heaped."""

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
from understudy.errors import ReleaseError, SchemaError
from understudy.methods.binned import HEAPS_SHARE
from understudy.models.heaping import heaped
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.privacy.ledger import Ledger
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.privacy.sensitivity import table_sensitivity
from understudy.publishing import plan, publish
from understudy.release import Release
from understudy.schema import Axis, Schema
from understudy.schema.files import schema_from_dict
from understudy.schema.heaps import rounding_classes
from understudy.testing import publish_seeded

ROWS = 6_000
TEXT = """
[table]
name = "work"
{table}
[attributes.minute]
kind = "integer"
range = [0, 1439]
missing = [""]
{heaps}
[attributes.group]
kind = "category"
values = ["a", "b"]
"""
HEAPED = "heaps = [60, 15, 5]"


def schema_of(heaps: str = HEAPED, neighbours: str = "replace-one") -> Schema:
    rows = f"rows = {ROWS}\n" if neighbours == "replace-one" else ""
    return Schema.from_toml(TEXT.format(table=f'{rows}neighbours = "{neighbours}"', heaps=heaps))


def table(plain: bool = False) -> pd.DataFrame:
    """Half of the times on the hour, a third on the quarter, the rest as they are, a tenth missing."""
    draw = np.random.default_rng(5)
    minute, kind = draw.normal(720, 200, ROWS), draw.random(ROWS)
    rounded = np.where(
        kind < 0.5, np.round(minute / 60) * 60, np.where(kind < 0.85, np.round(minute / 15) * 15, minute)
    )
    values = np.clip(np.round(minute if plain else rounded), 0, 1439).astype(int)
    texts = np.where(draw.random(ROWS) < 0.1, "", values.astype(str))
    return pd.DataFrame({"minute": texts, "group": np.where(minute > 700, "b", "a")})


def published(folder: Path, schema: Schema, frame: pd.DataFrame, **more: Any) -> Release:
    frame.to_csv(folder / "data.csv", index=False)
    with same_noise():
        return publish(folder / "data.csv", schema, epsilon=1, ledger=folder / "l.db", save=folder / "r.zip", **more)


def round_shares(values: Any) -> np.ndarray:
    known = pd.to_numeric(pd.Series(values), errors="coerce").dropna().to_numpy().astype(int)
    return np.asarray([(known % heap == 0).mean() for heap in (60, 15, 5)])


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return published(tmp_path_factory.mktemp("heaps"), schema_of(), table())


# -- what comes back -------------------------------------------------------------------------------------------


def test_heaped_values_stay_heaped(release: Release, tmp_path: Path) -> None:
    real = round_shares(table()["minute"])
    assert np.abs(round_shares(release.sample(seed=1)["minute"]) - real).max() < 0.12  # the noise of a class is .05
    without = published(tmp_path, schema_of(""), table())  # the twin that did not ask
    assert np.abs(round_shares(without.sample(seed=1)["minute"]) - real).max() > 0.3


def test_values_that_are_not_heaped_are_left_alone(tmp_path: Path) -> None:
    frame = table(plain=True)
    rows = published(tmp_path, schema_of(), frame).sample(seed=1)
    assert np.abs(round_shares(rows["minute"]) - round_shares(frame["minute"])).max() < 0.12


def test_values_are_in_the_range_and_bins_keep_their_rows(release: Release) -> None:
    known = release.sample(20_000, seed=1)["minute"].dropna()
    assert known.min() >= 0 and known.max() <= 1439
    shape = release.shapes["minute"]
    held = np.bincount(shape.home, shape.shares, shape.attribute.size)
    assert np.allclose(held, 1.0)


def test_saved_and_opened(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "again.zip")
    opened = Release.open(tmp_path / "again.zip")
    assert opened.hash == release.hash
    assert np.allclose(opened.shapes["minute"].shares, release.shapes["minute"].shares)
    assert opened.sample(50, seed=3).equals(release.sample(50, seed=3))


@pytest.mark.parametrize("damage", [{"noise": "none", "scale": 3.0}, {"noise": "laplace", "scale": 0.0}, {}, 7])
def test_damaged_heaps_are_refused(damage: Any, release: Release) -> None:
    listed, arrays = trees_parts(release.trees)
    assert trees_from_parts(listed, arrays, release.schema)[0].heaps is not None
    with pytest.raises(ReleaseError, match="damaged"):
        trees_from_parts([{**listed[0], "heaps": damage}], arrays, release.schema)
    levels = [{**listed[0]["levels"][0], "level": len(release.trees[0].attribute.grid.sizes) + 1}]  # type: ignore[union-attr]
    with pytest.raises(ReleaseError, match="damaged"):
        trees_from_parts([{**listed[0], "levels": levels}], arrays, release.schema)


# -- what it costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_one_row_is_in_one_class(neighbours: str) -> None:
    """Brute force: whatever value a row has, comes with or changes to, its classes move by what a table is paid for."""
    schema = schema_of(neighbours=neighbours)
    attribute = schema["minute"]
    assert attribute.grid is not None
    axis = Axis("minute", attribute.grid.heap_level)
    column = np.eye(schema.size(axis), dtype=int)[attribute.view_map(axis)]
    assert (column.sum(axis=1) == 1).all()
    kinds = np.unique(column, axis=0)
    moves = list(kinds) if neighbours == "add-remove" else [a - b for a, b in product(kinds, kinds)]
    assert max(np.abs(move).sum() for move in moves) == table_sensitivity(schema).l1
    assert max((move**2).sum() for move in moves) == table_sensitivity(schema).l2_squared


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_the_plan_says_what_the_ledger_says(neighbours: str, delta: str, tmp_path: Path) -> None:
    schema = schema_of(neighbours=neighbours)
    made = published(tmp_path, schema, table(), delta=delta)
    phase = next(p for p in plan(schema, epsilon=1, delta=delta, rows=ROWS).phases if p.name == "heaps")
    with Ledger(tmp_path / "l.db") as book:
        costs = [e.body["cost"] for e in book.entries() if e.kind == "charge" and e.body["purpose"] == "heaps"]
    assert costs == [str(phase.cost)]
    assert made.card.as_json()["charges"]
    if delta == "0":
        assert phase.cost == HEAPS_SHARE


def test_too_few_rows_buy_no_classes() -> None:
    small = Schema.from_toml(TEXT.format(table="rows = 60", heaps=HEAPED))
    assert not any(p.name == "heaps" for p in plan(small, epsilon=1).phases)


# -- the key ---------------------------------------------------------------------------------------------------


def test_the_key_is_kept_where_it_is_set() -> None:
    schema = schema_of()
    assert schema.as_json()["attributes"]["minute"]["heaps"] == [60, 15, 5]
    assert "heaps" not in schema_of("").as_json()["attributes"]["minute"]
    assert schema_from_dict(schema.as_json()) == schema


@pytest.mark.parametrize("lines,words", [
    ("heaps = []", "list of numbers"),
    ("heaps = 5", "list of numbers"),
    ("heaps = [0]", "list of numbers"),
    ("heaps = [true]", "list of numbers"),
    ("heaps = [5, 60]", "falling order"),
    ("heaps = [100, 30]", "multiple of the next"),
    ("heaps = [60]\nbins = 8", "leave `bins`"),
    ('heaps = [60]\nfine = "wavelet"\nbins = 8', "leave `bins`"),
])  # fmt: skip
def test_other_heaps_are_refused(lines: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema_of(lines)


def test_ranges_that_are_too_long_or_too_short_are_refused() -> None:
    text = TEXT.format(table="rows = 9", heaps="heaps = [10]")
    with pytest.raises(SchemaError, match="at most 16,384 values"):
        Schema.from_toml(text.replace("1439", "99999"))
    with pytest.raises(SchemaError, match="cell of its own"):
        Schema.from_toml(text.replace("1439", "20"))


def test_classes_of_decimals() -> None:
    values = np.arange(-300, 301) / 100
    classes = rounding_classes(values, (1.0, 0.5, 0.05))
    whole = np.round(values * 100).astype(int)
    expected = np.where(whole % 100 == 0, 0, np.where(whole % 50 == 0, 1, np.where(whole % 5 == 0, 2, 3)))
    assert (classes == expected).all()


# -- the fit ---------------------------------------------------------------------------------------------------


def test_the_fit_meets_both_totals() -> None:
    home, classes = np.repeat([0, 1], 10), np.tile([0, *[1] * 9], 2)
    bins, shares = np.asarray([300.0, 100.0]), np.full(20, 0.1)
    measured = Measurement((Axis("x", 1),), np.asarray([200, 200]), Gaussian(0.1))
    found = heaped(shares, bins, home, classes, measured)
    mass = found * bins[home]
    assert np.allclose(np.bincount(home, mass), bins)
    assert np.allclose(np.bincount(classes, mass), [200, 200], atol=1)


def test_a_difference_that_is_noise_changes_nothing() -> None:
    home, classes = np.zeros(10, dtype=np.int64), np.asarray([0, *[1] * 9])
    measured = Measurement((Axis("x", 1),), np.asarray([12, 88]), Gaussian(50.0))
    shares = np.full(10, 0.1)
    assert np.allclose(heaped(shares, np.asarray([100.0]), home, classes, measured), shares)


@pytest.mark.parametrize("engine", ["mapped", "duckdb"])
def test_every_engine_counts_the_same_classes(engine: str, tmp_path: Path) -> None:
    frame = table()
    minutes = pa.array([int(text) if text else None for text in frame["minute"]], pa.int64())
    parquet.write_table(pa.table({"minute": minutes, "group": pa.array(frame["group"])}), tmp_path / "data.parquet")
    found = [
        publish_seeded(
            tmp_path / "data.parquet", schema_of(), epsilon=1, seed=5, ledger=tmp_path / f"{name}.db", **more
        )
        for name, more in (("memory", {}), ("other", {"engine": engine}))
    ]
    assert found[0].release.trees[0].heaps is not None and found[0].release.members == found[1].release.members
