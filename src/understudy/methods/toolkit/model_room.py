"""Which parents may be offered so that the model stays small, for tables too wide to triangulate at every step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

from understudy.methods.toolkit.size_limit import SizeLimit
from understudy.schema import Axes, Axis, Schema

TRIANGULATED = 120  # attributes up to which every offer is triangulated; beyond, that would take minutes


class Room(Protocol):
    """What a search asks before it offers parents: a function of the schema and of earlier outputs alone."""

    def add(self, axes: Axes) -> None: ...

    def allows(self, child: Axis, parents: Axes) -> bool: ...


def room_for(schema: Schema, variables: Sequence[Axis], limit: int, cells: int, ml: bool) -> Room:
    """Limit tables to `cells` cells and, with maximum likelihood, the triangulated model to `limit`."""
    if not ml and not schema.constraints:  # a network with rules becomes a tree
        return TableSize(schema, cells)
    if len(variables) <= TRIANGULATED or schema.constraints:
        return Both(TableSize(schema, cells), SizeLimit(schema, variables, limit))
    return Both(TableSize(schema, cells), Joined(schema, variables, limit))


class TableSize:
    """No table of more than so many cells, unless it is that of one attribute."""

    def __init__(self, schema: Schema, cells: int) -> None:
        self._schema = schema
        self._cells = cells

    def add(self, axes: Axes) -> None:
        """Do nothing: there is nothing to remember."""

    def allows(self, child: Axis, parents: Axes) -> bool:
        return not parents or self._schema.cells((*parents, child)) <= self._cells


class Joined:
    """Several parents must already be neighbours of each other: then the graph is triangulated as it grows.

    A new attribute with a clique as its neighbours is simplicial, so its own table is a clique of the junction tree
    and no other grows. The model has at most the sum of the tables' cells.
    """

    def __init__(self, schema: Schema, variables: Sequence[Axis], limit: int) -> None:
        self._schema = schema
        self._limit = limit
        self._cells = sum(schema.sizes(tuple(variables)))
        self._near: dict[Axis, set[Axis]] = {axis: set() for axis in variables}

    def add(self, axes: Axes) -> None:
        self._cells += math.prod(self._schema.sizes(axes))
        for u, v in combinations(axes, 2):
            self._near[u].add(v)
            self._near[v].add(u)

    def allows(self, child: Axis, parents: Axes) -> bool:
        own = self._schema.cells((*parents, child))
        return self._cells + own <= self._limit and all(v in self._near[u] for u, v in combinations(parents, 2))


class Both:
    """What both allow."""

    def __init__(self, *rooms: Room) -> None:
        self._rooms = rooms

    def add(self, axes: Axes) -> None:
        for room in self._rooms:
            room.add(axes)

    def allows(self, child: Axis, parents: Axes) -> bool:
        return all(room.allows(child, parents) for room in self._rooms)
