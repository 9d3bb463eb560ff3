"""Merged groups: rare values of large attributes put together, so that tables of pairs stand out from their noise.

Which values are rare is read off noisy one-way tables, so groups are public. An ordered attribute has groups of
neighbours, any other one of values about equally rare. Inside a group the one-way table says how its rows are spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from understudy.methods.plan import short_list
from understudy.models.nearest_counts import nearest_counts
from understudy.privacy.measurement import Measurement
from understudy.schema import Attribute, Axis, Schema
from understudy.schema.axis import MERGED

Floats = NDArray[np.float64]

ROWS_OVER_NOISE = 2.5  # rows in an average cell of a pair over its mean absolute noise: as many groups as leave that
MIN_VALUES = 32  # of an attribute that is merged: pairs of smaller ones tell of their columns too
MIN_FOUND_BINS = 18  # the same where bins were found by a run: its tree tells of the column already
LARGER = 1.5  # times more values than groups, or merging is not worth what it hides
MAX_GROUPS = 64  # of an attribute: finer pairs would leave a model no room for cycles
MIN_GROUPS = 4  # of an attribute; where a pair bears fewer, noise drowns merged tables too


def merged_groups(
    schema: Schema, one_way: Iterable[Measurement], rows: float, noise: float
) -> dict[str, tuple[int, ...]]:
    """Return the group of each code of every attribute that has many more values than a pair's noise bears.

    Args:
        schema: of the table.
        one_way: the noisy table of each attribute.
        rows: the noisy row count.
        noise: the mean absolute noise in a cell of a pair's table, in rows.
    """
    wanted, found = groups_borne(rows, noise), {}
    for table in one_way:
        attribute = schema[table.axes[0].attribute]
        least = MIN_FOUND_BINS if attribute.found else MIN_VALUES
        if merged_size(attribute.size, wanted, least) < attribute.size:
            groups = groups_of(attribute, nearest_counts(table.values, rows), wanted)
            if 3 <= max(groups) + 1 <= attribute.size / LARGER:
                found[attribute.name] = groups
    return found


def groups_borne(rows: float, noise: float) -> int:
    """Return how many groups an attribute of a pair bears at this mean absolute noise in a cell, 0 if too few."""
    wanted = min(MAX_GROUPS, math.isqrt(max(0, int(rows / (ROWS_OVER_NOISE * noise)))))
    return wanted if wanted >= MIN_GROUPS else 0


def merged_size(size: int, groups: int, least: int = MIN_VALUES) -> int:
    """Return in how many cells an attribute of this size is measured with others where so many groups are borne;
    one of fewer than `least` values is left whole."""
    return groups if groups and size >= max(least, LARGER * groups) else size


def cells_left(cells: int, rows: float, noise: float) -> float:
    """Return the part of a pair's cells that merging leaves: all of them where its attributes are small, or so few
    groups would not help."""
    bearable = min(MAX_GROUPS**2, rows / (ROWS_OVER_NOISE * noise))
    return min(1.0, bearable / cells) if bearable >= MIN_GROUPS**2 and cells >= MIN_VALUES**2 else 1.0


def groups_of(attribute: Attribute, counts: Floats, wanted: int) -> tuple[int, ...]:
    """Return the group of each code: about `wanted` groups of equal count, a frequent value and "missing" alone."""
    values = attribute.size - attribute.has_missing
    own = counts[:values]
    full = own.sum() / wanted
    order = np.arange(values) if attribute.intervals is not None else np.argsort(-own, kind="stable")
    group = np.empty(values, dtype=np.int64)
    last, held = -1, 0.0  # the group that is being filled, and its rows
    for code in order:
        alone = own[code] >= full
        if alone or last < 0 or held + own[code] / 2 > full:
            last += 1
            held = 0.0
        group[code] = last
        held = math.inf if alone else held + own[code]
    return (*group.tolist(), *[last + 1] * attribute.has_missing)


def merged_notes(schema: Schema, tables: Iterable[Measurement]) -> tuple[str, ...]:
    """Say which attributes the measured tables have in groups."""
    names = sorted({axis.attribute for table in tables for axis in table.axes if axis.merged})
    if not names:
        return ()
    shown = short_list(
        [f"{name} ({schema.size(Axis(name, MERGED))} groups of {schema[name].size} values)" for name in names]
    )
    return (f"links of {shown} are by groups of values: inside a group its own table says how rows are spread",)
