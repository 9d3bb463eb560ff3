"""The junction tree: a distribution as calibrated tables over the cliques of a triangulated graph.

Its variables are axes: an attribute as it is, the binary digits of an attribute's code, or an attribute beside its
merged groups, which its values decide: then other attributes are joined to the groups, and the cliques stay small.
Everything outside speaks of attributes; digits are put together on the way out, and a code that no value has gets
probability zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.models.calibration import Layout, lay_out
from understudy.models.elimination import Part, contract, eliminate
from understudy.models.factor import MAX_CELLS, Factor, check_cells, sum_groups
from understudy.models.model import Evidence, Rows
from understudy.models.rounding import Columns, Rounding, draw
from understudy.models.structural_zeros import logarithm, over_codes, spelled, structural_zeros, written_code
from understudy.schema import Attribute, Axes, Axis, Floats, Schema


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """`beliefs` holds the probability table of each clique, laid out flat; neighbours agree on their separator."""

    schema: Schema
    layout: Layout
    beliefs: Floats

    @staticmethod
    def of(schema: Schema, potentials: Iterable[Factor], limit: int = MAX_CELLS) -> JunctionTree:
        """Return the distribution proportional to the exponential of these log tables' sum, with the schema's rules.

        A potential of -inf is a structural zero: it stays one. An attribute in no potential is uniform.
        """
        logs = list(potentials)
        sizes = variables(schema, (axis for log in logs for axis in log.axes))
        logs += structural_zeros(schema, sizes)
        layout = lay_out([log.axes for log in logs], sizes, limit)
        flat = layout.summed(logs)
        if layout.calibrate(flat) == -np.inf:
            raise UsageError("no combination of values is left: the conditions exclude each other under this model")
        return JunctionTree(schema, layout, flat)

    @staticmethod
    def of_beliefs(schema: Schema, beliefs: Sequence[Factor], limit: int = MAX_CELLS) -> JunctionTree:
        """Return the tree with these calibrated clique tables, as `belief` gave them; they may come in any order.

        Ties may join the cliques into another tree than before, which holds the same distribution.
        """
        sizes = variables(schema, (axis for belief in beliefs for axis in belief.axes))
        layout = lay_out([belief.axes for belief in beliefs], sizes, limit)
        homes = {frozenset(axes): i for i, axes in enumerate(layout.axes)}
        if {frozenset(belief.axes) for belief in beliefs} != set(homes):
            raise ValueError("these are not the maximal cliques of a triangulated graph over all attributes")
        flat = np.zeros(layout.cells)
        for belief in beliefs:
            home = homes[frozenset(belief.axes)]
            layout.table(flat, home)[...] = belief.expand(layout.axes[home])
        return JunctionTree(schema, layout, flat)

    @cached_property
    def variables(self) -> dict[Axis, int]:
        """Return every variable with its domain size."""
        pairs = zip(self.layout.axes, self.layout.shapes)
        return {axis: size for axes, shape in pairs for axis, size in zip(axes, shape)}

    @property
    def cliques(self) -> tuple[Axes, ...]:
        return self.layout.axes

    @property
    def cells(self) -> int:
        return self.layout.cells

    def belief(self, i: int) -> Factor:
        """Return the probability table of clique i."""
        return Factor(self.layout.axes[i], self.layout.table(self.beliefs, i))

    # -- project ---------------------------------------------------------------------------------------------

    def project(self, names: Sequence[str | Axis], limit: int = MAX_CELLS) -> Factor:
        """Return the probability table over these attributes (or views of attributes), in this order.

        Beyond one clique the others are summed out by elimination; a step above the limit is refused beforehand.
        """
        asked = tuple(Axis(name) if isinstance(name, str) else name for name in names)
        parts = [self._variables_of(axis) for axis in asked]
        needed = tuple(axis for part in parts for axis in part)
        if len(set(needed)) != len(needed):
            raise UsageError("a table needs different attributes; one was asked for twice")
        check_cells(math.prod(self.variables[axis] for axis in needed), needed, limit)
        table = self._marginal(needed, limit).table
        for dimension, (axis, part) in enumerate(zip(asked, parts)):
            if part != (axis,):
                table = self._as_view(table, dimension, axis, part)
        return Factor(asked, table)

    def _variables_of(self, axis: Axis) -> Axes:
        """Return the variables that decide a view of an attribute."""
        if (own := axis if axis in self.variables else Axis(axis.attribute)) in self.variables:
            return (own,)
        found = tuple(sorted(v for v in self.variables if v.attribute == axis.attribute))
        if not found:
            raise UsageError(f"the model has no attribute {axis.attribute!r}", attribute=axis.attribute)
        return found

    def _as_view(self, table: Floats, dimension: int, axis: Axis, part: Axes) -> Floats:
        """Put digits together into codes, then codes into the groups of a view."""
        if part[0].bit >= 0:
            table = over_codes(table, dimension, self.schema[axis.attribute], part)
        return table if axis.base else sum_groups(table, dimension, self.schema.view_map(axis), self.schema.size(axis))

    def _marginal(self, wanted: Axes, limit: int) -> Factor:
        home = self.layout.holding(wanted)
        if home is not None:
            return self.belief(home).project(wanted)
        names = tuple(self.variables)
        numbers = tuple(self._numbers[axis] for axis in wanted)

        def check(cells: int, scope: Sequence[int]) -> None:
            check_cells(cells, [names[v] for v in scope], limit)

        return Factor(wanted, eliminate(self._conditionals(numbers), numbers, check))

    def _conditionals(self, wanted: tuple[int, ...]) -> list[Part]:
        """Return tables whose product has the wanted marginal: the cliques between the wanted variables.

        Each is reduced at once to what the wanted table and the neighbouring cliques need of it.
        """
        part = self._subtree(set(wanted))
        above = {i: self._scopes[i][: len(self.layout.separators[i])] if i != part[0] else () for i in part}
        needed = {i: set(wanted).union(above[i]) for i in part}
        for i in part[1:]:
            needed[int(self.layout.parent[i])].update(above[i])
        found = []
        for i in part:
            kept = tuple(v for v in self._scopes[i] if v in needed[i])
            table = contract([(self._scopes[i], self.layout.table(self.beliefs, i))], kept)
            found.append((kept, _given(table, len(above[i]))))  # the separator's variables come first
        return found

    @cached_property
    def _numbers(self) -> dict[Axis, int]:
        return {axis: i for i, axis in enumerate(self.variables)}

    @cached_property
    def _scopes(self) -> list[tuple[int, ...]]:
        return [tuple(self._numbers[axis] for axis in axes) for axes in self.layout.axes]

    @cached_property
    def _neighbours(self) -> list[set[int]]:
        near: list[set[int]] = [set() for _ in self.layout.axes]
        for i, parent in enumerate(self.layout.parent.tolist()):
            if parent >= 0:
                near[i].add(parent)
                near[parent].add(i)
        return near

    def _subtree(self, wanted: set[int]) -> list[int]:
        """Return the smallest connected set of cliques with all wanted variables; a parent comes before its children.

        An end of the tree goes as long as its neighbour knows all that is wanted of it.
        """
        near = [set(cliques) for cliques in self._neighbours]
        part = set(range(len(near)))
        ends = [i for i in part if len(near[i]) == 1]
        while ends and len(part) > 1:
            end = ends.pop()
            beside = next(iter(near[end]))
            if wanted.intersection(self._scopes[end]).issubset(self._scopes[beside]):
                part.remove(end)
                near[beside].remove(end)
                if len(near[beside]) == 1:
                    ends.append(beside)
        return sorted(part)

    # -- condition -------------------------------------------------------------------------------------------

    def condition(self, evidence: Evidence) -> JunctionTree:
        """Return the distribution given that each named attribute has one of the allowed codes; exact."""
        allowed = [self._indicator(name, codes) for name, codes in evidence.items()]
        return JunctionTree.of(self.schema, [*self.potentials(), *allowed])

    def potentials(self) -> list[Factor]:
        """Return log tables whose sum is the log of the distribution: each clique given its separator."""
        logs = []
        for i, axes in enumerate(self.layout.axes):
            share = _given(self.layout.table(self.beliefs, i), len(self.layout.separators[i]))
            logs.append(Factor(axes, logarithm(share)))
        return logs

    def _indicator(self, name: str, codes: Sequence[int]) -> Factor:
        size = self.schema[name].size
        if any(not 0 <= code < size for code in codes):
            raise UsageError(f"{name!r} has the codes 0 to {size - 1}", attribute=name)
        allowed = np.zeros(size)
        allowed[list(codes)] = 1
        return spelled(self.schema, [self._variables_of(Axis(name))], allowed)

    # -- sample ----------------------------------------------------------------------------------------------

    def sample(self, rows: int, generator: np.random.Generator, rounding: Rounding = "systematic") -> Rows:
        """Draw coded rows. Systematic rounding adds almost no error to the tables; multinomial rows are independent."""
        columns = draw(self.layout, self.beliefs, rows, rounding, generator)
        return {a.name: self._codes(a, columns) for a in self.schema.modelled}

    def _codes(self, attribute: Attribute, columns: Columns) -> NDArray[Any]:
        part = self._variables_of(Axis(attribute.name))
        if part == (Axis(attribute.name),):
            return columns[part[0]]
        return written_code(attribute, part, [columns[axis] for axis in part])


def variables(schema: Schema, axes: Iterable[Axis]) -> dict[Axis, int]:
    """Return the variables of a model that speaks of these axes: all digits of an attribute if nothing else is used,
    and merged groups beside their attribute."""
    used: dict[str, set[Axis]] = {a.name: set() for a in schema.modelled}
    for axis in axes:
        used[schema[axis.attribute].name].add(axis)
    found: list[Axis] = []
    for name, views in used.items():
        spellings = {view.gray for view in views}
        if len(spellings) == 1 and all(view.bit >= 0 for view in views):
            found += [Axis(name, bit=bit, gray=gray) for gray in spellings for bit in range(schema[name].bits)]
        else:
            found += [Axis(name), *(view for view in views if view.merged)]
    return {axis: schema.size(axis) for axis in found}


def _given(table: Floats, separator: int) -> Floats:
    """Return a probability table given its first few dimensions; what cannot happen stays zero."""
    total = table.sum(axis=tuple(range(separator, table.ndim)), keepdims=True)
    return np.asarray(np.divide(table, total, out=np.zeros_like(table), where=total > 0))
