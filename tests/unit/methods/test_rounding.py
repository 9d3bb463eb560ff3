"""How round values are: what their classes cost, and that numbers come back as round, with as many decimals, as they were."""

from __future__ import annotations

import json
import zipfile
from fractions import Fraction
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
from understudy.methods.binned import ROUNDING_SHARE
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.models.value_weights import value_weights, with_spikes
from understudy.privacy.ledger import Ledger
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.privacy.sensitivity import table_sensitivity
from understudy.publishing import plan, publish
from understudy.release import Release
from understudy.release.storage import Format
from understudy.schema import Axis, Schema
from understudy.schema.attribute import rounding_name
from understudy.schema.rounded_units import RoundedUnits, class_sizes, first_classes
from understudy.schema.rounding_classes import RoundingClasses, rounding_of
from understudy.schema.tree_grid import TreeGrid
from understudy.schema.tree_levels import class_names_of, unit_classes
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
    for places in range(2):  # without classes nearly all have three
        assert abs((decimals == places).mean() - (real == places).mean()) < 0.1
    assert (decimals > 1).mean() < 0.02


def test_more_decimals_than_a_guess_writes_come_back(tmp_path: Path) -> None:
    frame = table()
    frame["hours"] = [f"{value:.4f}" for value in np.random.default_rng(2).gamma(3.0, 4.0, ROWS).clip(0, 60)]
    texts = written(published(tmp_path, schema_of(neighbours="add-remove"), frame, delta="1e-6"), tmp_path)
    assert np.mean([len(text.partition(".")[2]) == 4 for text in texts]) > 0.8  # a guess is three


@pytest.mark.parametrize("kind,high", [("integer", 1_000_000), ("number", 100_000)])
def test_heaped_values_stay_heaped(kind: str, high: int, tmp_path: Path) -> None:
    """Of 60 % multiples of 1,000 as many come back; without classes one in ten, of values that are leaves of the tree."""
    draw = np.random.default_rng(4)
    pay = draw.lognormal(10, 0.5, ROWS).clip(1, high - 1)
    pay = np.where(draw.random(ROWS) < 0.6, np.round(pay, -3), np.floor(pay)).clip(1, high - 1)
    body = f'kind = "{kind}"\nrange = [0, {high}]'
    schema = Schema.from_toml(
        f'[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.pay]\n{body}\n'
        '[attributes.group]\nkind = "category"\nvalues = ["a", "b"]\n'
    )
    frame = pd.DataFrame({"pay": pay.astype(int).astype(str), "group": "a"})
    release = published(tmp_path, schema, frame, delta="1e-6")
    release.write(tmp_path / "out.csv", seed=1)
    made = pd.read_csv(tmp_path / "out.csv")["pay"].to_numpy()
    assert abs((made % 1000 == 0).mean() - (pay % 1000 == 0).mean()) < 0.1
    assert abs(np.median(made) / np.median(pay) - 1) < 0.03


def test_dates_and_times_stay_heaped(tmp_path: Path) -> None:
    """A fifth begin a year, a fifth a month, and every login is of a whole minute: without classes 1, 3 and 2 in a hundred."""
    draw = np.random.default_rng(3)
    days = np.datetime64("2010-01-01") + draw.integers(0, 5_400, ROWS).astype("m8[D]")
    kind = draw.random(ROWS)
    days = np.where(kind < 0.2, days.astype("M8[Y]").astype("M8[D]"), days)
    days = np.where((kind >= 0.2) & (kind < 0.4), days.astype("M8[M]").astype("M8[D]"), days)
    moments = np.datetime64("2020-01-01T00:00:00") + 60 * draw.integers(0, 2_500_000, ROWS).astype("m8[s]")
    schema = Schema.from_toml(
        '[table]\nname = "t"\nneighbours = "add-remove"\n'
        '[attributes.day]\nkind = "date"\nrange = ["2010-01-01", "2025-12-31"]\n'
        '[attributes.login]\nkind = "datetime"\nrange = ["2020-01-01 00:00:00", "2024-12-31 23:59:59"]\n'
    )
    frame = pd.DataFrame({"day": days.astype(str), "login": moments.astype(str)})
    release = published(tmp_path, schema, frame, delta="1e-6")
    release.save(tmp_path / "again.zip")
    Release.open(tmp_path / "again.zip").write(tmp_path / "out.csv", seed=1)
    made = pd.read_csv(tmp_path / "out.csv", dtype=str)
    for ending in ("-01-01", "-01"):
        assert abs(made["day"].str.endswith(ending).mean() - frame["day"].str.endswith(ending).mean()) < 0.05
    assert (made["login"].str.endswith(":00")).mean() > 0.97
    with zipfile.ZipFile(tmp_path / "again.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == Format.SPIKES


def test_days_are_classed_by_the_calendar() -> None:
    grid = TreeGrid("date", 0, 800)
    first = [str(np.datetime64(int(day), "D")) for day in grid.unit_starts]
    wanted = [0 if day.endswith("-01-01") else 1 if day.endswith("-01") else 2 for day in first]
    assert unit_classes(grid).tolist() == wanted and len(class_names_of(grid)) == 3
    assert not TreeGrid("date", 0, 40_000).calendar and not TreeGrid("datetime", 0, 10_000).calendar


def test_without_the_histogram_numbers_are_written_short(tmp_path: Path) -> None:
    small = Schema.from_toml(TEXT.format(table="rows = 60", more=""))
    texts = written(published(tmp_path, small, table()[:60]), tmp_path)
    assert not any("." in text and text.endswith("0") for text in texts)
    assert {len(text.partition(".")[2]) for text in texts} == {0, 1}  # three digits of the range, 63 long


@pytest.mark.parametrize(
    "more,pattern,bought",
    [
        ("decimals = 2", r"-?\d+\.\d\d", True),
        ("step = 0.25", r"-?\d+(\.[257]+)?", False),
        ("heaps = [5]\nstep=0.5", r"-?\d+(\.5)?", False),
    ],
)
def test_what_is_declared_is_kept(more: str, pattern: str, bought: bool, tmp_path: Path) -> None:
    schema = schema_of(more)
    assert any(p.name == "rounding" for p in plan(schema, epsilon=1).phases) == bought
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
def test_damaged_classes_are_refused(damage: Any, release: Release) -> None:
    listed, arrays = trees_parts(release.trees)
    assert trees_from_parts(listed, arrays, release.schema)[0].rounding is not None
    with pytest.raises(ReleaseError, match="damaged"):
        trees_from_parts([{**listed[0], "rounding": damage}], arrays, release.schema)


# -- classes ---------------------------------------------------------------------------------------------------


GRIDS = {
    "guessed": TreeGrid("number", -3, 60),
    "long": TreeGrid("number", 0, 1_000_000),
    "whole": TreeGrid("integer", 0, 9_999_999),
    "signed": TreeGrid("integer", -1_000, 1_000),
    "cents": TreeGrid("number", 0, 500, decimals=2),
    "moments": TreeGrid("datetime", 1_500_000_123, 1_500_700_000),
    "times": TreeGrid("time", 0, 86_399),
}


@pytest.mark.parametrize("name", GRIDS)
def test_the_class_of_a_number_is_the_roundest_unit_it_is_a_multiple_of(name: str) -> None:
    grid = GRIDS[name]
    rounding = rounding_of(grid)
    assert rounding is not None
    domain, draw = RoundingClasses.of(grid, rounding), np.random.default_rng(3)
    values = np.concatenate([np.round(draw.uniform(grid.low, grid.high, 300), places) for places in range(-4, 7)])
    if grid.integral:
        values = np.round(values)
    values = np.append(values, [0.0, grid.low, grid.high]).clip(grid.low, grid.high)
    exact = [Fraction(repr(float(value))) for value in values]
    expected = [
        0 if value in (0, grid.low, grid.high) and grid.logarithmic
        else next((code for code, unit in enumerate(domain.units, 1) if value % unit == 0), domain.size - 1)
        for value in exact
    ]  # fmt: skip
    assert domain.encode_numbers(values).tolist() == expected
    clamped = expected[-1]  # to the upper end
    assert domain.encode_numbers(np.asarray([1e12, np.nan, np.inf])).tolist() == [clamped, -1, -1]  # no number
    assert len(domain.labels) == domain.size == rounding.size


@pytest.mark.parametrize("name", ["guessed", "signed", "cents"])
def test_class_sizes_count_every_value_once(name: str) -> None:
    grid = GRIDS[name]
    rounding = rounding_of(grid)
    assert rounding is not None
    sizes = class_sizes(grid.domain, rounding)
    finest = 10**rounding.finer
    index = np.arange(grid.steps.at_least(grid.low), grid.steps.at_most(grid.high) + 1)
    fine = (index[:, None] * finest + np.arange(finest)).ravel()
    values = fine / 10.0 ** (grid.steps.digits + rounding.finer)
    values = values[values <= grid.high]
    units = grid.domain.encode_numbers(values)
    classes = RoundingClasses.of(grid, rounding).encode_numbers(values)
    found = np.zeros_like(sizes)
    np.add.at(found, (units, classes), 1)
    apart = sizes[:, 0] > 0
    assert (found[~apart] == sizes[~apart]).all()
    assert (sizes[apart].sum(axis=1) == 1).all() and (found[apart, 0] == 1).all()


@pytest.mark.parametrize("name", GRIDS)
def test_values_have_the_class_that_was_drawn(name: str) -> None:
    grid = GRIDS[name]
    rounding = rounding_of(grid)
    assert rounding is not None
    sizes, classes = class_sizes(grid.domain, rounding), RoundingClasses.of(grid, rounding)
    for wanted in range(rounding.size):
        held = np.flatnonzero(sizes[:, wanted] > 0).astype(np.int32)
        shares = np.where(np.arange(rounding.size) == wanted, 1.0, np.zeros_like(sizes))
        domain = RoundedUnits.of(grid.domain, rounding, shares)
        values = domain.decode(np.repeat(held, 3), np.random.default_rng(1)).astype(np.float64)
        assert (domain.encode_numbers(values) == np.repeat(held, 3)).all()
        assert (classes.encode_numbers(values) == wanted).all()


# -- weights ---------------------------------------------------------------------------------------------------


def measured(counts: list[int], scale: float) -> Measurement:
    return Measurement((Axis("x"),), np.asarray(counts), Gaussian(scale))


def test_values_of_a_class_weigh_what_it_holds_over_how_many_they_are() -> None:
    sizes = np.asarray([[1.0, 0, 0], [0, 1, 9], [0, 1, 9], [0, 0, 10]])
    weights = value_weights(sizes, 1.0, measured([5000, 2800, 2800], 1.0))
    assert np.allclose(weights[:, 1:].sum(axis=0), [2800, 2800], rtol=1e-3)
    assert np.allclose(weights[0], [5600 / 30, 0, 0], rtol=1e-2)  # a value apart weighs as any other


def test_a_difference_that_is_noise_changes_nothing_and_a_class_that_nobody_has_is_empty() -> None:
    sizes = np.asarray([[0.0, 1, 9]] * 10)
    flat = value_weights(sizes, 1.0, measured([0, 120, 880], 100.0))
    assert np.allclose(flat[:, 1] / flat[:, 2], 1 / 9)
    weights = value_weights(sizes, 1.0, measured([0, 1000, 3], 10.0))
    assert (weights[:, 2] == 0).all() and (weights[:, 1] > 0).all()


def test_classes_that_nobody_has_between_those_that_are_there_are_empty() -> None:
    """0.05 has five values a unit, and 40 rows by chance: they are no reason to write it."""
    sizes = np.asarray([[0.0, 1, 1, 8, 10, 80]] * 600)
    weights = value_weights(sizes, 1.0, measured([0, 4000, 150, 1100, 44, -9], 32.0))
    assert (weights[:, 4:] == 0).all() and (weights[:, 1:4] > 0).all()


def test_without_rows_all_values_are_alike() -> None:
    sizes = np.asarray([[1.0, 0, 0], [0, 1, 9]])
    assert (value_weights(sizes, 1.0, measured([900, -40, -50], 100.0)) == sizes).all()


def test_rows_of_a_spike_are_at_its_value_and_others_are_not() -> None:
    """0.8 has 300 rows where those beside it have 20: 280 are at 0.8. What noise explains, and what is apart, stays."""
    shares = np.tile([0.0, 0.1, 0.9], (6, 1))
    shares[5] = [1.0, 0.0, 0.0]
    mass, single = np.asarray([20.0, 300.0, 20.0, 35.0, 20.0, 900.0]), np.asarray([True] * 6)
    found = with_spikes(shares, mass, single, np.asarray([1, 1, 2, 1, 2, 0]), deviation=10.0)
    assert np.allclose(found[1], [0, 280 / 300 + 0.1 * 20 / 300, 0.9 * 20 / 300])
    assert (found[[0, 2, 3, 4, 5]] == shares[[0, 2, 3, 4, 5]]).all() and np.allclose(found.sum(axis=1), 1)
    assert (with_spikes(shares, mass, ~single, np.ones(6, dtype=int), 10.0) == shares).all()


@pytest.mark.parametrize("name", GRIDS)
def test_the_first_value_of_a_unit_has_its_class(name: str) -> None:
    grid = GRIDS[name]
    rounding = rounding_of(grid)
    assert rounding is not None
    single = grid.single & (class_sizes(grid.domain, rounding)[:, 0] == 0)
    found = first_classes(grid.domain, rounding)[single]
    assert (RoundingClasses.of(grid, rounding).encode_numbers(grid.unit_starts[single]) == found).all()


# -- what it costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_one_row_is_in_one_class(neighbours: str) -> None:
    """Brute force: whatever number or day a row has, comes with or changes to, its classes move by what a table costs."""
    day = '[attributes.day]\nkind = "date"\nrange = ["2019-12-01", "2021-03-01"]\nmissing = [""]'
    schema = schema_of(day, neighbours)
    seen, grid = schema[rounding_name("hours")], schema["day"].grid
    assert grid is not None
    numbers = seen.encode(["", "0", "-3", "1.5", "2.25", "2.125", "1e-9", "60", "7000.5"])
    days = schema["day"].view_map(Axis("day", grid.heap_level))
    for codes in (numbers, days):
        kinds = np.unique(np.eye(codes.max() + 1, dtype=int)[codes], axis=0)
        moves = list(kinds) if neighbours == "add-remove" else [a - b for a, b in product(kinds, kinds)]
        assert max(np.abs(move).sum() for move in moves) == table_sensitivity(schema).l1
        assert max((move**2).sum() for move in moves) == table_sensitivity(schema).l2_squared


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_the_plan_says_what_the_ledger_says(neighbours: str, delta: str, tmp_path: Path) -> None:
    schema = schema_of(neighbours=neighbours)
    published(tmp_path, schema, table(), delta=delta)
    phase = next(p for p in plan(schema, epsilon=1, delta=delta, rows=ROWS).phases if p.name == "rounding")
    with Ledger(tmp_path / "l.db") as book:
        costs = [e.body["cost"] for e in book.entries() if e.kind == "charge" and e.body["purpose"] == "rounding"]
    assert costs == [str(phase.cost)]
    if delta == "0":
        assert phase.cost == ROUNDING_SHARE


@pytest.mark.costly
@pytest.mark.parametrize("engine", ["mapped", "duckdb"])
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_every_engine_counts_the_same_classes(kind: str, engine: str, tmp_path: Path) -> None:
    frame, schema = table(), schema_of()
    if kind == "integer":
        text = TEXT.replace('"number"', '"integer"').replace("60]", "100000]")
        schema = Schema.from_toml(text.format(table=f"rows = {ROWS}", more=""))
        frame["hours"] = [cell and str(round(250 * float(cell))) for cell in frame["hours"]]
    type = pa.float64() if kind == "number" else pa.int64()
    hours = pa.array([type.to_pandas_dtype()(text) if text else None for text in frame["hours"]], type)
    parquet.write_table(pa.table({"hours": hours, "group": pa.array(frame["group"])}), tmp_path / "data.parquet")
    frame.to_csv(tmp_path / "data.csv", index=False)
    found = [
        publish_seeded(tmp_path / file, schema, epsilon=1, seed=5, ledger=tmp_path / f"{number}.db", **more)
        for number, (file, more) in enumerate(
            [("data.parquet", {}), ("data.parquet", {"engine": engine}), ("data.csv", {})]
        )
    ]
    for other in found[1:]:
        assert found[0].release.trees[0].rounding is not None and other.release.trees[0].rounding is not None
        assert (found[0].release.trees[0].rounding.values == other.release.trees[0].rounding.values).all()
