"""The junction tree: a distribution as calibrated tables over the cliques of a triangulated graph.

Its variables are axes: an attribute as it is, or the binary digits of an attribute's code. Everything outside speaks of
attributes; digits are put together on the way out, and a code that no value has gets probability zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.models.calibration import Floats, Layout, lay_out
from understudy.models.factor import MOST_CELLS, Factor, check_cells, sum_groups
from understudy.models.model import Evidence, Rows
from understudy.models.rounding import Columns, Rounding, draw
from understudy.schema import Attribute, Axes, Axis, Schema


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """`beliefs` holds the probability table of each clique, laid out flat; neighbours agree on their separator."""

    schema: Schema
    layout: Layout
    beliefs: Floats

    @staticmethod
    def of(schema: Schema, potentials: Iterable[Factor], limit: int = MOST_CELLS) -> JunctionTree:
        """The distribution proportional to the exponential of the sum of these log tables.

        A potential of -inf is a structural zero: it stays one. An attribute in no potential is uniform.
        """
        logs = list(potentials)
        sizes = variables(schema, (axis for log in logs for axis in log.axes))
        logs += valid_codes(schema, sizes)
        layout = lay_out([log.axes for log in logs], sizes, limit)
        flat = np.zeros(layout.cells)
        for log in logs:
            home = layout.holding(log.axes)
            assert home is not None
            cells = layout.table(flat, home)
            cells += log.expand(layout.axes[home])
        if layout.calibrate(flat) == -np.inf:
            raise UsageError("no combination of values is left: the conditions exclude each other under this model")
        return JunctionTree(schema, layout, flat)

    @cached_property
    def variables(self) -> dict[Axis, int]:
        """Every variable with its domain size."""
        pairs = zip(self.layout.axes, self.layout.shapes)
        return {axis: size for axes, shape in pairs for axis, size in zip(axes, shape)}

    @property
    def cliques(self) -> tuple[Axes, ...]:
        return self.layout.axes

    @property
    def cells(self) -> int:
        return self.layout.cells

    def belief(self, i: int) -> Factor:
        """The probability table of clique i."""
        return Factor(self.layout.axes[i], self.layout.table(self.beliefs, i))

    # -- project ---------------------------------------------------------------------------------------------

    def project(self, names: Sequence[str | Axis], limit: int = MOST_CELLS) -> Factor:
        """The probability table over these attributes (or views of attributes), in this order.

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
        """The variables that decide a view of an attribute."""
        if axis in self.variables:
            return (axis,)
        found = tuple(sorted(v for v in self.variables if v.attribute == axis.attribute))
        if not found:
            raise UsageError(f"the model has no attribute {axis.attribute!r}", attribute=axis.attribute)
        return found

    def _as_view(self, table: Floats, dimension: int, axis: Axis, part: Axes) -> Floats:
        """Put digits together into codes, then codes into the groups of a view."""
        if part[0].bit >= 0:
            before, after = table.shape[:dimension], table.shape[dimension + len(part) :]
            whole = table.reshape(*before, 1 << len(part), *after)
            table = np.take(whole, _written(self.schema[axis.attribute], part), axis=dimension)
        return table if axis.base else sum_groups(table, dimension, self.schema.view_map(axis), self.schema.size(axis))

    def _marginal(self, wanted: Axes, limit: int) -> Factor:
        home = self.layout.holding(wanted)
        if home is not None:
            return self.belief(home).project(wanted)
        return eliminate(self._conditionals(wanted), wanted, limit)

    def _conditionals(self, wanted: Axes) -> list[Factor]:
        """Factors whose product has the wanted marginal: the cliques between the wanted variables, given their parents.

        Each is reduced at once to what the wanted table and the neighbouring cliques need of it.
        """
        part = self._subtree(set(wanted))
        factors = []
        for i in part:
            separator = self.layout.separator_axes(i) if i != part[0] else ()
            needed = set(wanted).union(separator, *(self.layout.separator_axes(c) for c in part if self._above(c) == i))
            belief = self.belief(i).project([a for a in self.layout.axes[i] if a in needed])
            factors.append(_given(belief, separator))
        return factors

    def _above(self, i: int) -> int:
        return int(self.layout.parent[i])

    def _subtree(self, wanted: set[Axis]) -> list[int]:
        """The smallest connected set of cliques with all wanted variables; a parent comes before its children."""
        part = set(range(len(self.layout.axes)))
        while True:
            ends = {i for i in part if self._spare(i, part, wanted)}
            if not ends or len(part) == 1:
                return sorted(part)
            part.remove(max(ends))

    def _spare(self, i: int, part: set[int], wanted: set[Axis]) -> bool:
        """Whether a clique is an end of the part, and its neighbour knows all that is wanted of it."""
        beside = [c for c in part if self._above(c) == i] + ([self._above(i)] if self._above(i) in part else [])
        if len(beside) > 1:
            return False
        known = set(self.layout.axes[beside[0]]) if beside else set()
        return wanted.intersection(self.layout.axes[i]) <= known

    # -- condition -------------------------------------------------------------------------------------------

    def condition(self, evidence: Evidence) -> JunctionTree:
        """The distribution given that each named attribute has one of the allowed codes; exact."""
        allowed = [self._indicator(name, codes) for name, codes in evidence.items()]
        return JunctionTree.of(self.schema, [*self.potentials(), *allowed])

    def potentials(self) -> list[Factor]:
        """Log tables whose sum is the log of the distribution: each clique given its separator."""
        cliques = range(len(self.layout.axes))
        factors = [_given(self.belief(i), self.layout.separator_axes(i)) for i in cliques]
        return [Factor(factor.axes, _logarithm(factor.table)) for factor in factors]

    def _indicator(self, name: str, codes: Sequence[int]) -> Factor:
        size = self.schema[name].size
        if any(not 0 <= code < size for code in codes):
            raise UsageError(f"{name!r} has the codes 0 to {size - 1}", attribute=name)
        allowed = np.zeros(size)
        allowed[list(codes)] = 1
        return _spelled(self.schema[name], self._variables_of(Axis(name)), allowed)

    # -- sample ----------------------------------------------------------------------------------------------

    def sample(self, rows: int, generator: np.random.Generator, rounding: Rounding = "systematic") -> Rows:
        """Coded rows. Systematic rounding adds almost no error to the tables; multinomial rows are independent."""
        columns = draw(self.layout, self.beliefs, rows, rounding, generator)
        return {a.name: self._codes(a, columns) for a in self.schema.modelled}

    def _codes(self, attribute: Attribute, columns: Columns) -> NDArray[Any]:
        part = self._variables_of(Axis(attribute.name))
        if part == (Axis(attribute.name),):
            return columns[part[0]]
        written = np.zeros(len(columns[part[0]]), dtype=np.int64)
        for axis in part:
            written = written * 2 + columns[axis]
        code = np.zeros(1 << len(part), dtype=np.uint8 if attribute.size <= 256 else np.uint16)
        code[_written(attribute, part)] = np.arange(attribute.size)
        return code[written]


def variables(schema: Schema, axes: Iterable[Axis]) -> dict[Axis, int]:
    """The variables of a model that speaks of these axes: all digits of an attribute if nothing else of it is used."""
    used: dict[str, set[Axis]] = {a.name: set() for a in schema.modelled}
    for axis in axes:
        used[schema[axis.attribute].name].add(axis)
    found: list[Axis] = []
    for name, views in used.items():
        spellings = {view.gray for view in views}
        if len(spellings) == 1 and all(view.bit >= 0 for view in views):
            found += [Axis(name, bit=bit, gray=gray) for gray in spellings for bit in range(schema[name].bits)]
        else:
            found.append(Axis(name))
    return {axis: schema.size(axis) for axis in found}


def valid_codes(schema: Schema, sizes: Mapping[Axis, int]) -> list[Factor]:
    """The structural zeros of digits: a log table for each attribute with fewer values than its digits could write."""
    parts: dict[str, list[Axis]] = {}
    for axis in sizes:
        if axis.bit >= 0:
            parts.setdefault(axis.attribute, []).append(axis)
    return [
        _spelled(schema[name], tuple(part), np.ones(schema[name].size))
        for name, part in parts.items()
        if schema[name].size < 1 << len(part)
    ]


def eliminate(factors: Sequence[Factor], wanted: Axes, limit: int) -> Factor:
    """Multiply the factors and sum out all but the wanted axes, the cheapest axis first."""
    sizes = {axis: size for factor in factors for axis, size in zip(factor.axes, factor.table.shape)}
    left = list(factors)
    for axis in _elimination_order([set(factor.axes) for factor in factors], wanted, sizes, limit):
        product = _product([factor for factor in left if axis in factor.axes], limit)
        left = [factor for factor in left if axis not in factor.axes]
        left.append(product.project([a for a in product.axes if a != axis]))
    return _product(left, limit).project(wanted)


def _elimination_order(scopes: list[set[Axis]], wanted: Axes, sizes: Mapping[Axis, int], limit: int) -> Axes:
    """Greedy by the size of the table that each step makes; all sizes are checked here, before any table is."""
    order: list[Axis] = []
    hidden = set(sizes) - set(wanted)
    while hidden:
        merged = {axis: set().union(*(s for s in scopes if axis in s)) for axis in hidden}
        axis = min(sorted(hidden), key=lambda a: math.prod(sizes[b] for b in merged[a]))
        check_cells(math.prod(sizes[a] for a in merged[axis]), sorted(merged[axis]), limit)
        scopes = [s for s in scopes if axis not in s] + [merged[axis] - {axis}]
        hidden.remove(axis)
        order.append(axis)
    check_cells(math.prod(sizes[a] for a in wanted), wanted, limit)
    return tuple(order)


def _given(belief: Factor, axes: Sequence[Axis]) -> Factor:
    """A probability table given some of its axes; what cannot happen stays zero."""
    total = belief.project(axes).expand(belief.axes)
    return Factor(belief.axes, np.divide(belief.table, total, out=np.zeros_like(belief.table), where=total > 0))


def _product(factors: Sequence[Factor], limit: int) -> Factor:
    product = factors[0]
    for factor in factors[1:]:
        product = product.multiply(factor, limit)
    return product


def _written(attribute: Attribute, part: Axes) -> NDArray[np.int64]:
    """For each code, the number that its digits write."""
    codes = np.arange(attribute.size, dtype=np.int64)
    return codes ^ (codes >> 1) if part[0].gray else codes


def _spelled(attribute: Attribute, part: Axes, weights: Floats) -> Factor:
    """Weights of an attribute's codes as a log table over its variables."""
    if part[0].bit < 0:
        return Factor(part, _logarithm(weights))
    table = np.zeros(1 << len(part))
    table[_written(attribute, part)] = weights
    return Factor(part, _logarithm(table.reshape([2] * len(part))))


def _logarithm(table: Floats) -> Floats:
    return np.log(table, out=np.full(table.shape, -np.inf), where=table > 0)
