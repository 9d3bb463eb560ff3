"""Pair marginals: the tables of very many pairs of variables of one junction tree, in a single pass from its ends up.

A clique hears of the variables below it as tables given a separator, P(u | s); those with the same separator are one
matrix. Two variables that first meet in a clique have P(u, v) = Σ P(u | s) P(s, t) P(v | t), so all pairs of two
branches are one matrix product. What a clique passes up is P(u | s) for its own separator. A view of a variable, such
as merged groups that are no variable, has P(view | u) in place of the identity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from understudy.models.factor import Factor
from understudy.schema import Axes, Axis, Floats

if TYPE_CHECKING:
    from understudy.models.junction_tree import JunctionTree

Tables = dict[Axes, Floats]
LEAST = float(np.finfo(np.float64).tiny)  # smaller weights have no finite inverse


@dataclass(frozen=True, eq=False)
class _Branch:
    """Views of variables below a clique, and their distributions given a separator: a line for each value of each."""

    separator: Axes
    names: Axes
    given: Floats

    def part(self, names: Sequence[Axis], sizes: Mapping[Axis, int]) -> _Branch:
        """Return the branch with these of its views, in its order."""
        if len(names) == len(self.names):
            return self
        starts = dict(zip(self.names, _starts(self.names, sizes)))
        lines = [np.arange(starts[name], starts[name] + sizes[name]) for name in names]
        return _Branch(self.separator, tuple(names), self.given[np.concatenate([np.empty(0, np.int64), *lines])])


def pair_marginals(tree: JunctionTree, tables: Iterable[Axes]) -> Tables:
    """Return the probability table of each of `tables`, as `tree.project` would: fast for pairs of attributes or of
    their merged groups."""
    wanted = dict.fromkeys(tables)
    pairs: set[Axes] = {axes for axes in wanted if len(axes) == 2 and all(_source(axis, tree) for axis in axes)}
    found = _met(tree, pairs)
    return {axes: found[axes] if axes in found else tree.project(axes).table for axes in wanted}


def _source(axis: Axis, tree: JunctionTree) -> Axis | None:
    """Return the variable of the tree that decides an axis: itself, or the attribute of merged groups."""
    if axis in tree.variables:
        return axis
    return Axis(axis.attribute) if axis.merged and Axis(axis.attribute) in tree.variables else None


def _met(tree: JunctionTree, wanted: set[Axes]) -> Tables:
    """Return the tables of the wanted pairs, each from the first clique in which its variables meet."""
    layout, views = tree.layout, _wanted_views(tree, wanted)
    sizes = {view: tree.schema.size(view) for own in views.values() for view in own}
    partners = _partners(wanted)
    found: Tables = {}
    below: list[list[_Branch]] = [[] for _ in layout.axes]
    for i in range(len(layout.axes) - 1, -1, -1):  # children come after their parents
        clique, separator = tree.belief(i), layout.separators[i]
        own = [_introduced(tree, axis, views[axis]) for axis in clique.axes if axis not in separator and axis in views]
        branches = [*_merged(below[i]), *own]
        below[i] = []
        # each branch meets every other, and itself where it was merged of several
        alike = [(branch, branch) for branch in branches if len(branch.names) > 1]
        for one, other in chain(combinations(branches, 2), alike):
            left = one.part([u for u in one.names if not partners[u].isdisjoint(other.names)], sizes)
            right = other.part([v for v in other.names if not partners[v].isdisjoint(left.names)], sizes)
            if left.names:
                joint = _met_with(left, clique, right.separator) @ right.given.T
                _keep(joint, left.names, right.names, sizes, wanted, partners, found)
        branches = [branch.part([u for u in branch.names if partners[u]], sizes) for branch in branches]
        branches = [branch for branch in branches if branch.names]
        if branches and (parent := int(layout.parent[i])) >= 0:  # the separator's own variables meet all others there
            below[parent].append(_passed_up(clique, separator, branches))
    return found


def _partners(wanted: Iterable[Axes]) -> dict[Axis, set[Axis]]:
    """Return the views that each view is wanted with: those it has not met yet."""
    found: dict[Axis, set[Axis]] = {}
    for u, v in wanted:
        found.setdefault(u, set()).add(v)
        found.setdefault(v, set()).add(u)
    return found


def _wanted_views(tree: JunctionTree, wanted: Iterable[Axes]) -> dict[Axis, list[Axis]]:
    """Return the views of each variable that wanted pairs have, the variable itself among them where they have it."""
    found: dict[Axis, list[Axis]] = {}
    for view in sorted({axis for axes in wanted for axis in axes}):
        source = _source(view, tree)
        assert source is not None
        found.setdefault(source, []).append(view)
    return found


def _introduced(tree: JunctionTree, variable: Axis, views: list[Axis]) -> _Branch:
    """Return the branch of one variable: P(view | variable) of each of its views."""
    same = np.eye(tree.variables[variable])
    lines = [
        same if v == variable else np.equal.outer(np.arange(tree.schema.size(v)), tree.schema.view_map(v)).astype(float)
        for v in views
    ]
    return _Branch((variable,), tuple(views), np.concatenate(lines))


def _merged(branches: Iterable[_Branch]) -> list[_Branch]:
    """Return the branches with the same separator as one."""
    groups: dict[Axes, list[_Branch]] = {}
    for branch in branches:
        groups.setdefault(branch.separator, []).append(branch)
    return [
        _Branch(separator, sum((b.names for b in group), ()), np.concatenate([b.given for b in group]))
        for separator, group in groups.items()
    ]


def _keep(
    joint: Floats,
    left: Axes,
    right: Axes,
    sizes: Mapping[Axis, int],
    wanted: set[Axes],
    partners: Mapping[Axis, set[Axis]],
    found: Tables,
) -> None:
    """Cut a matrix into the tables of pairs that have not met before. One that was found further down is right; here it
    would be taken as if independent given the separator."""
    columns = list(zip(right, _starts(right, sizes)))
    for u, row in zip(left, _starts(left, sizes)):
        line = joint[row : row + sizes[u]]
        for v, column in columns:
            if v in partners[u]:
                block = line[:, column : column + sizes[v]]
                pair = (u, v) if (u, v) in wanted else (v, u)
                found[pair] = block if pair[0] == u else block.T
                partners[u].discard(v)
                partners[v].discard(u)


def _starts(names: Axes, sizes: Mapping[Axis, int]) -> list[int]:
    return list(accumulate((sizes[name] for name in names[:-1]), initial=0))


def _passed_up(clique: Factor, separator: Axes, branches: list[_Branch]) -> _Branch:
    """Return all that is below a clique's separator, given it; a configuration without weight gives nothing, as does
    one whose weight is so near zero that its inverse is infinite."""
    shares = clique.project(separator).table.reshape(-1)
    weight = np.divide(1.0, shares, out=np.zeros_like(shares), where=shares >= LEAST)
    given = [_met_with(branch, clique, separator) * weight for branch in branches]
    return _Branch(separator, sum((branch.names for branch in branches), ()), np.concatenate(given))


def _met_with(branch: _Branch, clique: Factor, other: Axes) -> Floats:
    """Return P(view, other), a line for each value of each view: Σ P(view | separator) P(separator, other), one product
    of matrices for each configuration of what the separator and the other axes have in common."""
    both = tuple(axis for axis in branch.separator if axis in other)
    summed = tuple(axis for axis in branch.separator if axis not in both)
    fresh = tuple(axis for axis in other if axis not in both)
    table = clique.project((*both, *summed, *fresh)).table
    sizes = dict(zip((*both, *summed, *fresh), table.shape))
    alike, inner, outer = (math.prod(sizes[axis] for axis in axes) for axes in (both, summed, fresh))
    lines = len(branch.given)
    given = branch.given.reshape(lines, *(sizes[axis] for axis in branch.separator))
    place = {axis: i for i, axis in enumerate(branch.separator, 1)}
    given = given.transpose(*(place[axis] for axis in both), 0, *(place[axis] for axis in summed))
    joint = given.reshape(alike, lines, inner) @ table.reshape(alike, inner, outer)
    joint = joint.reshape(*(sizes[axis] for axis in both), lines, *(sizes[axis] for axis in fresh))
    place = {axis: i + (i >= len(both)) for i, axis in enumerate((*both, *fresh))}
    return joint.transpose(len(both), *(place[axis] for axis in other)).reshape(lines, -1)
