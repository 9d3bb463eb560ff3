"""A Bayesian network: attribute–parent pairs in order, each with its conditional distribution.

A variable is an axis: an attribute, or one bit of its code. Parents may be generalised to a taxonomy level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.models.elimination import eliminate
from understudy.models.factor import MAX_CELLS, Factor, check_cells
from understudy.models.model import Evidence, Model, Rows
from understudy.models.structural_zeros import over_codes, spelling
from understudy.schema import Axes, Axis, Floats, Schema


@dataclass(frozen=True, eq=False)
class Conditional:
    """Pr[X | Π]: one dimension for each parent, the child's last; every slice along it sums to one."""

    child: Axis
    parents: Axes
    table: Floats


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """Conditionals in an order in which every parent comes before its children."""

    schema: Schema
    conditionals: tuple[Conditional, ...]

    @cached_property
    def _at(self) -> dict[Axis, int]:
        return {c.child: i for i, c in enumerate(self.conditionals)}

    @property
    def variables(self) -> Axes:
        return tuple(c.child for c in self.conditionals)

    @property
    def degree(self) -> int:
        return max(len(c.parents) for c in self.conditionals)

    def project(self, names: Sequence[str], limit: int = MAX_CELLS) -> Factor:
        """Return the exact probability table over these attributes; only their ancestors take part."""
        axes = tuple(Axis(name) for name in names)
        check_cells(self.schema.cells(axes), axes, limit)
        wanted = [spelling(name, self._at) for name in names]
        needed = self._ancestors([v for group in wanted for v in group])
        factors = [self._base_factor(self.conditionals[i]) for i in sorted(needed)]
        number = {v: i for i, v in enumerate(self.variables)}
        parts = [(tuple(number[v] for v in f.axes), f.table) for f in factors] or [((), np.ones(()))]
        joint = eliminate(
            parts,
            tuple(number[v] for group in wanted for v in group),
            lambda cells, scope: check_cells(cells, [self.variables[i] for i in scope], limit),
        )
        for i, (name, part) in enumerate(zip(names, wanted)):
            if part[0].bit >= 0:
                joint = over_codes(joint, i, self.schema[name], part)
        return Factor(axes, joint)

    def condition(self, evidence: Evidence) -> Model:
        """Return the exact posterior, as a junction tree over the same variables."""
        from understudy.models.junction_tree import JunctionTree

        with np.errstate(divide="ignore"):
            logs = [Factor(f.axes, np.log(f.table)) for f in map(self._base_factor, self.conditionals)]
        return JunctionTree.of(self.schema, logs).condition(evidence)

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        from understudy.models.sampling import sample_network

        return sample_network(self, rows, generator)

    def _ancestors(self, variables: Sequence[Axis]) -> set[int]:
        needed: set[int] = set()
        todo = [self._at[v] for v in variables]
        while todo:
            i = todo.pop()
            if i not in needed:
                needed.add(i)
                todo += [self._at[base_of(p)] for p in self.conditionals[i].parents]
        return needed

    def _base_factor(self, conditional: Conditional) -> Factor:
        """Return the conditional over ungeneralised parents: equal along values that share a group."""
        table = conditional.table
        for i, parent in enumerate(conditional.parents):
            if parent.level:
                table = np.take(table, self.schema.view_map(parent), axis=i)
        return Factor((*(base_of(p) for p in conditional.parents), conditional.child), table)


def base_of(axis: Axis) -> Axis:
    """Return the variable behind a view: the attribute of a taxonomy level or of merged groups, else itself."""
    return Axis(axis.attribute) if axis.level else axis


def without_unused_codes(network: BayesianNetwork) -> BayesianNetwork:
    """Give codes beyond an attribute's domain probability zero, where it is modelled as bits.

    Each bit also looks at the earlier bits of its own attribute; a value after which no code of the domain is possible
    is ruled out and the other one takes its place.
    """
    seen: dict[str, list[Axis]] = {}
    conditionals = []
    for c in network.conditionals:
        earlier = seen.setdefault(c.child.attribute, [])
        attribute = network.schema[c.child.attribute]
        if c.child.bit >= 0 and attribute.size < 2**attribute.bits:
            c = _ruled(c, tuple(earlier), network.schema)
        conditionals.append(c)
        earlier.append(c.child)
    return BayesianNetwork(network.schema, tuple(conditionals))


def _ruled(conditional: Conditional, earlier: Axes, schema: Schema) -> Conditional:
    possible = np.zeros((2,) * (len(earlier) + 1), dtype=bool)
    possible[tuple(schema.view_map(axis) for axis in (*earlier, conditional.child))] = True
    extra = tuple(axis for axis in earlier if axis not in conditional.parents)
    parents = conditional.parents + extra
    axes = (*parents, conditional.child)
    rule = Factor((*earlier, conditional.child), possible.astype(np.float64))
    table = Factor((*conditional.parents, conditional.child), conditional.table).expand(axes) * rule.expand(axes)
    total = table.sum(axis=-1, keepdims=True)
    fallback = np.broadcast_to(rule.expand(axes), table.shape)
    fallback = fallback / np.maximum(fallback.sum(axis=-1, keepdims=True), 1)
    uniform = np.where(fallback.sum(axis=-1, keepdims=True) > 0, fallback, 0.5)
    return Conditional(conditional.child, parents, np.where(total > 0, table / np.where(total > 0, total, 1), uniform))
