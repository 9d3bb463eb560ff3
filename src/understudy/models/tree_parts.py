"""Noisy trees as plain parts of a release, and back, with everything checked against the schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from understudy.errors import ReleaseError, SchemaError, UsageError
from understudy.models.noisy_tree import NoisyTree, grid_of
from understudy.models.serialization import Arrays, ArraySource, checked_noise, noise_json, require
from understudy.models.spikes import Look, cells_of, units_of
from understudy.privacy.measurement import Measurement
from understudy.schema import Attribute, Axis, Integers, Schema
from understudy.schema.endings import Endings
from understudy.schema.files import attribute_from_dict
from understudy.schema.tree_grid import MAX_UNITS
from understudy.schema.writing import attribute_as_dict

POOLED = "pooled"  # how far tails were found to be empty (`models.tails`); earlier files do not say it
CLASSES = {"heaps", "decimals", "rounding", "look"}  # that are counted beside the levels
MAX_CODES = 2**22  # units that all trees of a file may have


def trees_parts(trees: Sequence[NoisyTree]) -> tuple[list[dict[str, Any]], Arrays]:
    """Return the trees as a document and arrays."""
    listed, arrays = [], Arrays({})
    for i, tree in enumerate(trees):
        levels = []
        for j, m in enumerate(tree.levels):
            arrays[f"tree-{i}-{j}"] = m.values
            levels.append({"level": m.axes[0].level} | noise_json(m.noise))
        listed.append({
            "attribute": tree.attribute.name, "declared": attribute_as_dict(tree.attribute), "levels": levels,
            "first": tree.first.tolist(), "total": tree.total,
        })  # fmt: skip
        if tree.smooth:
            listed[-1]["smooth"] = True
        if tree.pooled:
            listed[-1]["tails"] = POOLED
        if not tree.levels:
            listed[-1]["curve"] = True
        for name, classes in (("heaps", tree.heaps), ("decimals", tree.decimals), ("rounding", tree.rounding)):
            if classes is not None:
                listed[-1][name] = noise_json(classes.noise)
                arrays[f"tree-{i}-{name}"] = classes.values
        if tree.look is not None:
            listed[-1]["look"] = _look_part(tree.look, f"tree-{i}", arrays)
    return listed, arrays


def trees_from_parts(
    listed: Any, arrays: ArraySource, schema: Schema, max_codes: int = MAX_CODES
) -> tuple[NoisyTree, ...]:
    """Return the trees of a release, or refuse it; a tree is laid out only where all of them have so many units."""
    try:
        require(len(listed) * MAX_UNITS <= max_codes)
        found = tuple(_tree(item, i, arrays, schema) for i, item in enumerate(listed))
    except (LookupError, TypeError, ValueError, ArithmeticError, AssertionError, SchemaError, UsageError):
        raise ReleaseError("the trees in the release are damaged") from None
    if len({tree.attribute.name for tree in found}) < len(found):
        raise ReleaseError("the trees in the release are damaged")
    return found


def _tree(item: Mapping[str, Any], i: int, arrays: ArraySource, schema: Schema) -> NoisyTree:
    attribute = attribute_from_dict(item["attribute"], item["declared"])
    require(attribute.grid is not None)
    grid, total = grid_of(attribute), item["total"]
    require(type(total) in (int, float) and 0 <= total < math.inf)
    first = _first_units(item["first"], len(grid.prior))
    require(schema[attribute.name] in (attribute.binned(first), _padded(attribute, first)))
    levels = [_level(part, attribute, f"tree-{i}-{j}", arrays) for j, part in enumerate(item["levels"])]
    numbers = [m.axes[0].level for m in levels]
    require(max(numbers, default=0) <= len(grid.sizes) and all(b < a for a, b in pairwise(numbers)))
    require(bool(numbers) != (item.get("curve") is True) and (bool(numbers) or not item.keys() & CLASSES))
    heaps = None
    if "heaps" in item:
        part = {**item["heaps"], "level": grid.heap_level}
        heaps = _level(part, attribute, f"tree-{i}-heaps", arrays)
    decimals = _seen("decimals", attribute.decimals_seen, item, i, arrays)
    rounding = _seen("rounding", attribute.rounding_seen, item, i, arrays)
    smooth, pooled = item.get("smooth") is True, item.get("tails") == POOLED
    tree = NoisyTree(attribute, tuple(levels), first, float(total), heaps, decimals, rounding, smooth, pooled)
    return replace(tree, look=_look(item["look"], tree, f"tree-{i}", arrays)) if "look" in item else tree


def _look_part(look: Look, name: str, arrays: Arrays) -> dict[str, Any]:
    arrays[f"{name}-inside"] = look.inside.values
    part = {"leaves": look.leaves.tolist()} | noise_json(look.inside.noise)
    if look.endings is not None:
        arrays[f"{name}-endings"] = look.endings.values
        part["endings"] = {"units": look.units.tolist()} | noise_json(look.endings.noise)
    return part


def _look(part: Mapping[str, Any], tree: NoisyTree, name: str, arrays: ArraySource) -> Look:
    """Return what was bought to find the spikes of a tree's column."""
    attribute, grid = tree.attribute, grid_of(tree.attribute)
    leaves = _some(part["leaves"], len(grid.first_units(tree.last)))
    cells = len(cells_of(grid, units_of(grid, tree.last, leaves))) + attribute.has_missing
    noise = checked_noise(dict(part))
    require(noise.scale != 0)
    own = Axis(attribute.name)
    look = Look(leaves, Measurement((own,), arrays.take(f"{name}-inside", (cells,), np.int64), noise))
    if "endings" not in part:
        return look
    seen, told = attribute.endings_seen, part["endings"]
    assert seen is not None and isinstance(seen.domain, Endings)
    units, noise = _some(told["units"], len(grid.prior)), checked_noise(told)
    require(noise.scale != 0 and all(seen.domain.count(unit, grid.domain) for unit in units.tolist()))
    shape = (len(cells_of(grid, units)) + attribute.has_missing, seen.size)
    values = arrays.take(f"{name}-endings", shape, np.int64)
    return replace(look, units=units, endings=Measurement((own, Axis(seen.name)), values, noise))


def _some(listed: Any, most: int) -> Integers:
    """Return some of the first `most` numbers, in order."""
    require(isinstance(listed, list) and bool(listed) and all(type(number) is int for number in listed))
    require(listed[0] >= 0 and listed[-1] < most and all(b > a for a, b in pairwise(listed)))
    return np.asarray(listed, dtype=np.int64)


def _padded(attribute: Attribute, first: Any) -> Attribute:
    """Return the attribute with bins as releases of earlier versions have it: guessed decimals were declared ones."""
    found, grid = attribute.binned(first), grid_of(attribute)
    if not grid.guesses_decimals:
        return found
    return replace(found, domain=replace(found.ordered, step=None, places=grid.steps.digits), taxonomy=None)


def _seen(
    name: str, seen: Attribute | None, item: Mapping[str, Any], i: int, arrays: ArraySource
) -> Measurement | None:
    """Return noisy counts of classes of a column, where the tree has them."""
    if name not in item:
        return None
    noise = checked_noise(item[name])
    if seen is None or noise.scale == 0:
        raise ValueError
    return Measurement((Axis(seen.name),), arrays.take(f"tree-{i}-{name}", (seen.size,), np.int64), noise)


def _first_units(listed: Any, units: int) -> Any:
    require(listed[0] == 0)
    return _some(listed, units)


def _level(part: dict[str, Any], attribute: Attribute, name: str, arrays: ArraySource) -> Measurement:
    level, noise = part["level"], checked_noise(part)
    require(type(level) is int and 1 <= level < attribute.levels and noise.scale != 0)
    axis = Axis(attribute.name, level)
    return Measurement((axis,), arrays.take(name, (attribute.view_size(axis),), np.int64), noise)
