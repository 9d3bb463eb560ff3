"""The levels of a tree as views of an attribute: each groups the units of the grid, laid out when looked at."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.schema.heaps import CALENDAR, calendar_classes, class_names, rounding_classes
from understudy.schema.taxonomy import LazyLevels, Level
from understudy.schema.tree_grid import Index, TreeGrid


@dataclass(frozen=True)
class TreeLevels(LazyLevels):
    """The levels of a tree as groupings of units, laid out when looked at; after them, the rounding classes."""

    grid: TreeGrid

    def __len__(self) -> int:
        return len(self.grid.sizes) + bool(class_names_of(self.grid))

    def _level(self, place: int) -> Level:
        if place == len(self.grid.sizes):
            return Level(class_names_of(self.grid), tuple(unit_classes(self.grid).tolist()))
        starts = self.grid.first_units(self.grid.sizes[len(self.grid.sizes) - 1 - place])
        return Level(tuple(f"node {i}" for i in range(len(starts))), tuple(self.grid.homes(starts).tolist()))


def class_names_of(grid: TreeGrid) -> tuple[str, ...]:
    """Return a public name for each rounding class of units; () where they have none."""
    if grid.calendar:
        return CALENDAR
    return class_names(grid.heaps) if grid.heaps else ()


def unit_classes(grid: TreeGrid) -> Index:
    """Return the rounding class of each unit."""
    if grid.calendar:
        return calendar_classes(grid.scale.roundness(grid.unit_starts))
    return rounding_classes(grid.unit_starts, grid.heaps)
