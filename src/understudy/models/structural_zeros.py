"""Structural zeros: what cannot be, by public knowledge, as log tables that a model multiplies in.

Digits write codes that no value has, a value is in one of its attribute's merged groups, and the rules of a schema
strike out cells (`schema.rule_blocks`). All stay zero through estimation, conditioning and sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.models.factor import Factor
from understudy.schema import Attribute, Axes, Axis, Floats, Integers, Schema


def structural_zeros(schema: Schema, sizes: Mapping[Axis, int]) -> list[Factor]:
    """Return a log table, minus infinity where nothing can be, for each fact about the variables of a model."""
    return valid_codes(schema, sizes) + group_zeros(schema, sizes) + rule_zeros(schema, sizes)


def valid_codes(schema: Schema, sizes: Mapping[Axis, int]) -> list[Factor]:
    """Return the structural zeros of digits: log tables of attributes with fewer values than digits could write."""
    parts: dict[str, list[Axis]] = {}
    for axis in sizes:
        if axis.bit >= 0:
            parts.setdefault(axis.attribute, []).append(axis)
    return [
        spelled(schema, [tuple(part)], np.ones(schema[name].size))
        for name, part in parts.items()
        if schema[name].size < 1 << len(part)
    ]


def group_zeros(schema: Schema, sizes: Mapping[Axis, int]) -> list[Factor]:
    """Return the structural zeros of merged groups that are variables of their own: a value is in its group only."""
    found = []
    for axis in sizes:
        if axis.merged:
            in_group = schema.view_map(axis)[:, None] == np.arange(sizes[axis])
            found.append(Factor((Axis(axis.attribute), axis), logarithm(in_group.astype(np.float64))))
    return found


def rule_zeros(schema: Schema, sizes: Mapping[Axis, int]) -> list[Factor]:
    """Return the structural zeros of rules; cells that only the values can decide are not struck out."""
    return [
        spelled(schema, [spelling(name, sizes) for name in block.names], block.possible.astype(np.float64))
        for block in schema.blocks
        if not block.possible.all()
    ]


def rule_cliques(schema: Schema, variables: Sequence[Axis]) -> list[Axes]:
    """Return the variables that rules join, whatever is measured: cliques of every model of this schema."""
    found = [[spelling(name, variables) for name in b.names] for b in schema.blocks if not b.possible.all()]
    return [tuple(chain.from_iterable(parts)) for parts in found]


def spelling(name: str, variables: Mapping[Axis, int] | Sequence[Axis]) -> Axes:
    """Return the variables that decide an attribute: itself, or its digits."""
    whole = Axis(name)
    return (whole,) if whole in variables else tuple(sorted(v for v in variables if v.attribute == name))


def spelled(schema: Schema, parts: Sequence[Axes], weights: Floats) -> Factor:
    """Return weights over the codes of attributes, a dimension each, as a log table over their variables."""
    table = weights
    for dimension, part in enumerate(parts):
        if part[0].bit >= 0:
            written = written_codes(schema[part[0].attribute], part)
            moved = np.moveaxis(table, dimension, 0)
            wider = np.zeros((1 << len(part), *moved.shape[1:]))
            wider[written] = moved
            table = np.moveaxis(wider, 0, dimension)
    axes = tuple(chain.from_iterable(parts))
    return Factor(axes, logarithm(table.reshape(schema.sizes(axes))))


def written_codes(attribute: Attribute, part: Axes) -> Integers:
    """Return, for each code, the number that its digits write."""
    codes = np.arange(attribute.size, dtype=np.int64)
    return codes ^ (codes >> 1) if part[0].gray else codes


def written_code(attribute: Attribute, part: Axes, digits: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the codes that columns of digits write, a column for each variable of `part`."""
    written = np.zeros(len(digits[0]), dtype=np.int64)
    for digit in digits:
        written = written * 2 + digit
    code = np.zeros(1 << len(part), dtype=np.uint8 if attribute.size <= 256 else np.uint16)
    code[written_codes(attribute, part)] = np.arange(attribute.size)
    return code[written]


def over_codes(table: Floats, dimension: int, attribute: Attribute, part: Axes) -> Floats:
    """Return a table with the dimensions of an attribute's digits, the first of which this is, put together as one of
    its codes."""
    shape = (*table.shape[:dimension], 1 << len(part), *table.shape[dimension + len(part) :])
    return np.take(table.reshape(shape), written_codes(attribute, part), axis=dimension)


def logarithm(table: Floats) -> Floats:
    """Return the logarithm, minus infinity of zero."""
    return np.log(table, out=np.full(table.shape, -np.inf), where=table > 0)
