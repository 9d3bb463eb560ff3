"""Candidates: the tables that may be measured, and how much each counts. From the schema alone, its uses among it."""

from __future__ import annotations

from itertools import combinations

from understudy.methods.toolkit.uses import check_uses
from understudy.schema import Axes, Axis, Schema
from understudy.schema.axis import MERGED

NAMED_WEIGHT = 3  # of a table that an analysis names


def candidates(schema: Schema, limit: int) -> dict[Axes, int]:
    """Return all pairs, by merged groups where an attribute has them, and the wider tables of the uses, each with its
    weight; none of more than `limit` cells."""
    check_uses(schema)
    variables = [seen_axis(schema, a.name) for a in schema.modelled]
    pairs = {frozenset(axis.attribute for axis in pair): pair for pair in combinations(variables, 2)}
    weights: dict[Axes, int] = dict.fromkeys(pairs.values(), 1)
    names = {a.name for a in schema.modelled}
    for use in schema.uses:
        if use.target in names:
            others = (set(use.names) or names) & names - {use.target}
            weights |= {pairs[frozenset((use.target, other))]: NAMED_WEIGHT for other in others}
        elif not use.target:
            named = tuple(axis for axis in variables if axis.attribute in use.names)
            weights |= dict.fromkeys(combinations(named, 2), NAMED_WEIGHT)
            weights |= {named: NAMED_WEIGHT} if len(named) > 2 else {}
    return {axes: weight for axes, weight in weights.items() if schema.cells(axes) <= limit}


def seen_axis(schema: Schema, name: str) -> Axis:
    """Return the view by which an attribute is measured with others: its merged groups, if it has any."""
    return Axis(name, MERGED) if schema[name].groups else Axis(name)
