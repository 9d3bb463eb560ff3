"""Last digits of numbers: the values that they tell apart are values of their unit, and none is beyond the range."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.schema.endings import Endings, endings_of
from understudy.schema.rounded_units import unit_ends
from understudy.schema.tree_grid import TreeGrid

GRIDS = {
    "guessed decimals": TreeGrid("number", 0, 20),
    "odd ends": TreeGrid("number", -3.7, 1000.25),
    "an end with many digits": TreeGrid("number", 0.1234567, 9.87654321),
    "below zero": TreeGrid("number", -100, 100),
    "two decimals": TreeGrid("number", 0, 5000, decimals=2),
    "ends between the decimals": TreeGrid("number", 0.005, 5000.006, decimals=2),
    "a point": TreeGrid("number", 0, 1000, (999.5,)),
    "whole numbers": TreeGrid("integer", -100_000, 100_003),
    "long": TreeGrid("number", 0, 1_000_000),
}


def endings(grid: TreeGrid) -> Endings:
    found = endings_of(grid)
    assert found is not None
    return found


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_the_values_of_a_unit_are_its_own(grid: TreeGrid) -> None:
    """None is beyond the range, or beyond the unit; and the endings of one unit differ."""
    told, units = endings(grid), len(grid.prior)
    for unit in {*range(0, units, 97), *range(units - 3, units)}:
        values = told.values(unit, grid.domain)
        assert told.count(unit, grid.domain) == len(values)
        assert ((values >= grid.low) & (values <= grid.high)).all()
        assert (grid.domain.encode_numbers(values) == unit).all()
        assert len(set(told.encode_numbers(values).tolist())) == len(values)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_the_end_of_a_range_is_one_value(grid: TreeGrid) -> None:
    if grid.pointed:
        assert endings(grid).values(len(grid.prior) - 1, grid.domain).tolist() == [grid.high]


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_every_leaf_that_may_be_looked_into_has_something_to_tell_apart(grid: TreeGrid) -> None:
    """A leaf of several units has several values as they are written."""
    first, last = unit_ends(grid.domain)
    for size in grid.sizes:
        starts = grid.first_units(size)
        ends = np.append(starts[1:], len(first)) - 1
        several = ends > starts
        assert (last[ends] > first[starts])[several].all()
