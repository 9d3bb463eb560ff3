"""Model size, kept in check before anything is measured: only what fits a public cell limit is ever offered."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.models.graph import triangulated_cells
from understudy.schema import Axes, Axis, Schema


class SizeLimit:
    """Says whether the triangulated model of the pairs chosen so far stays under the limit with one more.

    A function of earlier outputs and the schema alone, never of the rows.
    """

    def __init__(self, schema: Schema, variables: Sequence[Axis], limit: int) -> None:
        self._schema = schema
        self._limit = limit
        self._sizes = {axis: schema.size(axis) for axis in variables}
        self._cliques: list[frozenset[Axis]] = []
        self._known: dict[frozenset[Axis], int] = {}
        self._always = schema.cells(list(variables)) <= limit
        self._cliques += _bits_with_unused_codes(schema, variables)
        self.fits = self._always or self._cells(self._cliques) + sum(self._sizes.values()) <= limit

    def add(self, axes: Axes) -> None:
        """A pair was chosen: its axes are a clique from now on."""
        self._cliques.append(frozenset(map(variable, axes)))
        self._known.clear()

    def allows(self, child: Axis, parents: Axes) -> bool:
        """Adding a new attribute to a set of placed ones costs the triangulation of that set, and its own table."""
        if self._always:
            return True
        bases = frozenset(map(variable, parents))
        own = self._schema.cells(list(bases)) * self._schema.size(child)
        if own > self._limit // 8:  # no single table may take all the room
            return False
        if bases not in self._known:
            if any(bases <= clique for clique in self._cliques):
                self._known[bases] = self._cells(self._cliques)
            else:
                self._known[bases] = self._cells([*self._cliques, bases])
        return self._known[bases] + own <= self._limit

    def _cells(self, cliques: Sequence[frozenset[Axis]]) -> int:
        key = frozenset().union(*cliques) if cliques else frozenset()
        sizes = {axis: self._sizes[axis] for axis in key}
        return triangulated_cells(cliques, sizes, self._limit) if cliques else 0


def _bits_with_unused_codes(schema: Schema, variables: Sequence[Axis]) -> list[frozenset[Axis]]:
    """Bits of an attribute whose codes are not all used stand together: which patterns exist is a fact about all."""
    names = {axis.attribute for axis in variables if axis.bit >= 0}
    uneven = [name for name in names if schema[name].size < 2 ** schema[name].bits]
    return [frozenset(axis for axis in variables if axis.attribute == name) for name in sorted(uneven)]


def variable(axis: Axis) -> Axis:
    """The variable of the model behind a generalised view."""
    return Axis(axis.attribute) if axis.level else axis
