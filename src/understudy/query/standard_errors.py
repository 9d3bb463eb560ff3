"""The standard error of a query's answer, as far as the released measurements tell it.

Where one measured table holds every attribute of the query, at a level that the conditions do not cut, its noisy cells
could simply be added up, and the noise of that sum is known exactly. The model's own answer is another number: often
closer, for it weighs all tables together, but bent by clipping and by what no table shows. So this is the size of the
noise alone, and the answer says so; where no table shows the sum, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.measurement import Measurement
from understudy.query.pieces import Floats
from understudy.query.selection import SelectedCells, SelectedFineCells
from understudy.schema import Axes, Schema

if TYPE_CHECKING:
    from understudy.query.queries import Query

_TINY = 1e-12


def sum_noise(
    measurement: Measurement, schema: Schema, weights: Mapping[str, Floats], by: Sequence[str]
) -> Floats | None:
    """Return the variance of Σ weight × noisy cell for each group of `by`; None where this table lacks the sum.

    Weights multiply across attributes, so their squares' sum is a product of sums.
    """
    parts = _parts(measurement.axes)
    if not weights.keys() <= parts.keys():
        return None
    variance = np.full((), measurement.variance)
    for name in (name for name in parts if name not in weights):
        variance = variance * len(_first_codes(parts[name], schema)[0])
    for name in (name for name in weights if name not in by):
        seen = _at_level(parts[name], schema, weights[name])
        if seen is None:
            return None
        variance = variance * float((seen**2).sum())
    for name in by:
        if not _at_base(measurement.axes, schema, name):
            return None
        variance = np.multiply.outer(variance, weights[name] ** 2)
    return np.asarray(variance)


def quietest(measurements: Sequence[Measurement], query: Query) -> tuple[Measurement, Floats] | None:
    """Return the measured table whose plain sum has the least noise, and its variance for each group."""
    weights, by = {name: selection.weights for name, selection in query.selections.items()}, query.by
    more = np.zeros(())
    if (inside := alone(query.selections)) is not None:
        (name,) = query.names
        weights[name], squares = inside.shape.adjoint(inside.weights)
        more = inside.shape.variance * (squares if by else squares.sum())
    found = [(m, v + more) for m in measurements if (v := sum_noise(m, query.schema, weights, by)) is not None]
    return min(found, key=lambda pair: float(pair[1].sum())) if found else None


def alone(selections: Mapping[str, SelectedCells]) -> SelectedFineCells | None:
    """Return the only attribute of a query, on its fine grid.

    None with several, when details are no part of one sum.
    """
    (inside,) = [s.inside for s in selections.values()] if len(selections) == 1 else [None]
    return inside


def mean_noise(
    measurements: Sequence[Measurement], query: Query, means: Floats, counts: Floats
) -> tuple[Measurement, Floats] | None:
    """Return the quietest table and the variance of a mean, by the delta method: Σ (value − mean) × cell / count."""
    of, schema, selections = query.of, query.schema, query.selections
    if of is None or of in query.by:
        return None  # inside one cell a mean is an assumption, not a measurement
    inside = alone(selections)
    flat = {**selections, of: replace(selections[of], weights=np.ones(schema[of].size), inside=None)}
    based = [m for m in measurements if _at_base(m.axes, schema, of)]
    found = quietest(based, replace(query, selections=flat))
    if found is None:
        return None
    selection, (measurement, rest) = selections[of], found
    away, more = selection.moments - means[..., None] * selection.present, 0.0
    if inside is not None:
        away, squares = inside.shape.adjoint(inside.moments - means * inside.present)
        more = inside.shape.variance * squares.sum()
    enough = np.where(counts > 0, counts, np.nan)
    return measurement, (rest / schema[of].size * (away**2).sum(axis=-1) + more) / enough**2


def _parts(axes: Axes) -> dict[str, Axes]:
    """Return the table's axes by attribute: several where an attribute is split into bits."""
    parts: dict[str, Axes] = {}
    for axis in axes:
        parts[axis.attribute] = (*parts.get(axis.attribute, ()), axis)
    return parts


def _first_codes(axes: Axes, schema: Schema) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one code for each cell that the axes tell apart, and the cell of each code."""
    views = np.stack([schema.view_map(axis) for axis in axes])
    _, first, cell = np.unique(views, axis=1, return_index=True, return_inverse=True)
    return first, cell.ravel()


def _at_base(axes: Axes, schema: Schema, name: str) -> bool:
    own = _parts(axes).get(name)
    return own is not None and len(_first_codes(own, schema)[0]) == schema[name].size


def _at_level(axes: Axes, schema: Schema, weights: Floats) -> Floats | None:
    """Return the weights of the table's own cells, or None where a cell holds codes of different weight."""
    first, cell = _first_codes(axes, schema)
    seen: Floats = weights[first]
    return seen if np.abs(seen[cell] - weights).max(initial=0) < _TINY else None
