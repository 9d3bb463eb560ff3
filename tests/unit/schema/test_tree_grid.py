"""The public grid of a range: units, nested levels, round cuts, and bins made of it."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest

from understudy.errors import SchemaError
from understudy.schema import Axis, Schema
from understudy.schema.tree_grid import MAX_UNITS, TreeGrid

GRIDS = [
    TreeGrid("integer", 0, 120),
    TreeGrid("integer", 0, 10_000_000),
    TreeGrid("integer", -5_000, 70_000),
    TreeGrid("integer", 3, 999, points=(7.0,)),
    TreeGrid("number", 0, 60),
    TreeGrid("number", -5, 5),
    TreeGrid("number", 0.25, 1e9),
    TreeGrid("number", 1e-6, 2e-6),
    TreeGrid("number", 0, 1, decimals=2),
    TreeGrid("number", -5e15, 9e15),
    TreeGrid("number", 0, 1_000, every=0.25),
    TreeGrid("number", 0.1, 99.9, every=0.25),
    TreeGrid("integer", 0, 5_000, every=5),
    TreeGrid("integer", 3, 500_002, every=7),
    TreeGrid("number", 1 / 3, 1e5, decimals=1),
    TreeGrid("date", 16_000, 22_000),
    TreeGrid("date", 0, 60_000),
    TreeGrid("datetime", 0, 10**9),
]


@pytest.fixture(params=GRIDS, ids=lambda grid: f"{grid.kind} {grid.low}..{grid.high}")
def grid(request: pytest.FixtureRequest) -> TreeGrid:
    found: TreeGrid = request.param
    return found


def test_units_are_a_domain_of_the_range(grid: TreeGrid) -> None:
    assert grid.domain.size == len(grid.prior) == len(grid.widths) <= 2 * MAX_UNITS
    assert grid.prior.min() >= 0 and grid.prior.sum() == pytest.approx(1)
    assert (grid.widths >= 0).all() and grid.starts[0] == grid.low
    if grid.domain.steps is not None:
        assert grid.domain.own_values.min() >= 1  # each unit can be written
    ends = grid.domain.encode_numbers(np.asarray([grid.low, grid.high]))
    assert ends.tolist() == [0, grid.domain.size - 1]


def test_levels_are_nested_and_cover_everything(grid: TreeGrid) -> None:
    levels = [grid.first_units(size) for size in grid.sizes]
    for starts in levels:
        assert starts[0] == 0 and (np.diff(starts) > 0).all() and starts[-1] < len(grid.prior)
    for above, below in pairwise(levels):
        assert set(above) <= set(below)


def test_a_view_of_the_attribute_is_a_level(grid: TreeGrid) -> None:
    for size in grid.sizes:
        level = grid.taxonomy.levels[grid.level_of(size) - 1]
        starts = np.flatnonzero(np.diff(level.group, prepend=-1))
        assert starts.tolist() == grid.first_units(size).tolist() and len(level.labels) == len(starts)


@pytest.mark.parametrize("wanted", [5, 12, 32])
def test_bins_code_values_as_their_units_do(grid: TreeGrid, wanted: int) -> None:
    """The code of a value in its bin is that of its unit: rows coded on units can be counted on bins."""
    generator = np.random.default_rng(3)
    values = np.concatenate([generator.uniform(grid.low, grid.high, 500), [grid.low, grid.high], grid.starts])
    values = np.append(np.floor(values) if grid.integral else values, [grid.low - 5, grid.high + 5])
    for mass in (grid.prior, generator.exponential(1.0, len(grid.prior)) ** 4, np.zeros(len(grid.prior))):
        first = grid.equal_bins(mass, wanted, 0.0)
        bins = grid.binned(first)
        assert bins.size == len(first)
        assert (bins.encode_numbers(values) == grid.homes(first)[grid.domain.encode_numbers(values)]).all()


def test_a_value_that_stands_out_is_alone_and_cuts_are_round() -> None:
    grid = TreeGrid("integer", 0, 100_000)
    mass = np.ones(len(grid.prior))
    mass[grid.domain.encode_numbers(np.asarray([0.0]))] = 1e6
    bins = grid.binned(grid.equal_bins(mass, 12))
    assert bins.labels[0] == "0"
    inner = [edge for edge in bins.edges[2:-1] if edge > 1_000]
    assert inner and all(edge % 500 == 0 for edge in inner)


def test_ends_of_a_range_are_alone_where_rows_are_many() -> None:
    """A code of few rows at an end has a cell, though the tree shows nothing there; not in dates, not of few rows, not
    in public bins."""
    grid = TreeGrid("integer", 0, 99_999)
    mass = grid.prior * 50_000
    mass[[0, -1]] = 0.0
    last = len(mass) - 1
    assert {0, 1, last} <= set(grid.equal_bins(mass, 12, 100.0).tolist())
    assert last not in grid.equal_bins(mass, 12, 250.0) and last not in grid.public_bins(12)
    domain = grid.binned(grid.equal_bins(mass, 12, 100.0))
    assert domain.bounds(domain.size - 1) == (99_999, 99_999)
    dates = TreeGrid("date", 0, 60_000)
    assert len(dates.prior) - 1 not in dates.equal_bins(dates.prior * 50_000, 12, 100.0)


def test_a_declared_point_is_always_alone() -> None:
    grid = TreeGrid("integer", 0, 1_000, points=(77.0,))
    assert "77" in grid.binned(grid.public_bins(12)).labels


def test_what_has_no_range_is_refused() -> None:
    with pytest.raises(SchemaError, match="low < high"):
        TreeGrid("number", 3, 3)
    with pytest.raises(SchemaError, match="needs `bins`"):
        TreeGrid("number", 0, 1e300)
    with pytest.raises(SchemaError, match="one value"):
        assert TreeGrid("number", 0.2, 0.9, decimals=0).starts is None


TEXT = """
[table]
name = "t"
rows = 100

[attributes.a]
kind = "integer"
range = [0, 9999]
missing = ["?"]

[attributes.b]
kind = "integer"
range = [1, 5]

[attributes.c]
kind = "number"
range = [0, 10]

[attributes.d]
kind = "date"
range = [2000-01-01, 2020-12-31]
bins = "each"
"""


def test_a_long_range_without_bins_is_unbinned() -> None:
    schema = Schema.from_toml(TEXT)
    assert [a.name for a in schema.unbinned] == ["a", "c"]
    assert schema["b"].size == 5 and schema["d"].size == 7671
    assert schema["a"].missing_code == schema["a"].size - 1


def test_the_plain_form_says_auto_and_keeps_what_it_was(tmp_path: object) -> None:
    schema = Schema.from_toml(TEXT)
    plain = schema.as_json()["attributes"]
    assert plain["a"]["bins"] == "auto" and "bins" not in plain["d"]
    again = Schema.from_toml(schema.project(schema.names).to_toml())
    assert again == schema and again.hash == schema.hash


def test_binned_schemas_have_plain_bins() -> None:
    schema = Schema.from_toml(TEXT)
    public = schema.with_public_bins()
    assert not public.unbinned and 12 <= public["a"].size <= 40
    homes = schema["a"].homes(schema["a"].grid.public_bins(20))  # type: ignore[union-attr]
    assert homes[-1] == public["a"].missing_code and len(homes) == schema["a"].size
    assert schema.for_owners()["a"].size == 10_001 and not schema.for_owners().unbinned
    assert public.with_public_bins() is public


def test_views_of_units_count_missing_apart() -> None:
    attribute = Schema.from_toml(TEXT)["a"]
    assert attribute.grid is not None
    for size in attribute.grid.sizes:
        axis = Axis("a", attribute.grid.level_of(size))
        assert attribute.view_map(axis)[-1] == attribute.view_size(axis) - 1


@pytest.mark.parametrize(
    ("format", "step"),
    [("%Y-%m-%d %H:%M", 60), ("%d/%m/%Y %I %p", 3600), ("%Y-%m-%d %H:%M:%S", 1), ("%Y-%m-%dT%H:%M:%S.%f", 1)],
)
def test_a_moment_is_found_in_the_steps_that_its_format_writes(format: str, step: int) -> None:
    """Without `step`: a unit that began between two minutes could not be read back, and such schemas were refused."""
    low, high = (datetime(year, 1, 1).strftime(format) for year in (2019, 2020))
    lines = f'range = ["{low}", "{high}"]\nformat = "{format}"\n'
    schema = Schema.from_toml(f'[table]\nname = "t"\nrows = 9\n[attributes.seen]\nkind = "datetime"\n{lines}')
    attribute = schema["seen"]
    assert attribute.grid is not None and attribute.grid.step == step
    assert Schema.from_toml(schema.to_toml())["seen"].grid == attribute.grid
    shown = [attribute.ordered.show(float(v)) for v in attribute.grid.starts[:: len(attribute.grid.starts) // 50]]
    assert [datetime.strptime(text, format).strftime(format) for text in shown] == shown


def test_a_time_of_day_without_seconds_is_found_in_minutes() -> None:
    lines = 'kind = "time"\nrange = ["00:00", "23:59"]\nformat = "%H:%M"\n'
    attribute = Schema.from_toml(f'[table]\nname = "t"\nrows = 9\n[attributes.at]\n{lines}')["at"]
    assert attribute.grid is not None and attribute.grid.step == 60 and len(attribute.grid.starts) == 1440
