"""The levels of a tree as views of an attribute: each groups the units of the grid, laid out when looked at."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.schema.heaps import class_names
from understudy.schema.taxonomy import LazyLevels, Level
from understudy.schema.tree_grid import TreeGrid


@dataclass(frozen=True)
class TreeLevels(LazyLevels):
    """The levels of a tree as groupings of units, laid out when looked at; after them, the rounding classes."""

    grid: TreeGrid

    def __len__(self) -> int:
        return len(self.grid.sizes) + bool(self.grid.heaps)

    def _level(self, place: int) -> Level:
        if place == len(self.grid.sizes):
            return Level(class_names(self.grid.heaps), tuple(self.grid.classes.tolist()))
        starts = self.grid.first_units(self.grid.sizes[len(self.grid.sizes) - 1 - place])
        return Level(tuple(f"node {i}" for i in range(len(starts))), tuple(self.grid.homes(starts).tolist()))
