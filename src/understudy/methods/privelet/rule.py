"""The public rule between Haar, nominal and plain for each attribute: the least noise in an average range count.

It looks at the schema and the kind of accounting alone. An average range is one between two evenly spread cuts of an
ordered attribute, or a value or group of a taxonomy; for several attributes, one of each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import UsageError
from understudy.models.wavelet_trees import adjoint, whole
from understudy.privacy.accounting import Accounting
from understudy.privacy.questions.wavelets import Dimension, Form, Kind, dimension, wavelet_sensitivity
from understudy.schema import Attribute, Axes, Axis, Floats, Schema

LONGEST_LIST = 256  # values of an unordered attribute without a taxonomy: more have no ranges, only cells lost in noise
TIE = 1e-9  # of the noise: a difference so small is rounding, and then the first combination stays
_CUTS, _GROUPS = 33, 64


@dataclass(frozen=True)
class Typical:
    """Of a typical range's adjoint u in one dimension: mean ‖u‖², mean ⟨u, v⟩², and ‖v‖², where v is the total's."""

    square: float
    along: float
    total: float


@dataclass(frozen=True)
class TransformChoice:
    """A kind for each axis, and the variance of a typical range for noise of variance 1 in each coefficient."""

    kinds: tuple[Kind, ...]
    dimensions: tuple[Dimension, ...]
    spread: float


def decide(schema: Schema, axes: Axes, accounting: Accounting, form: Form, transform: str) -> TransformChoice:
    """Return the best of all combinations; `transform` may ask for wavelets wherever there is one, or for none."""
    offered = [
        [dimension(schema, axis, kind) for kind in kinds_for(schema[axis.attribute], transform)] for axis in axes
    ]
    known = [{d.kind: typical(schema, axis, d) for d in own} for axis, own in zip(axes, offered)]
    best: tuple[float, TransformChoice] | None = None
    for dimensions in itertools.product(*offered):
        seen = [known[i][d.kind] for i, d in enumerate(dimensions)]
        spread = _spread(seen, total_known(schema, form))
        noise = spread * accounting.noise.squared_norm(wavelet_sensitivity(dimensions, schema, form))
        if best is None or noise < best[0] * (1 - TIE):
            best = noise, TransformChoice(tuple(d.kind for d in dimensions), dimensions, spread)
    assert best is not None
    return best[1]


def total_known(schema: Schema, form: Form) -> bool:
    """Return whether the public row count takes the place of the noisy total."""
    return form == "tight" and schema.rows is not None


def kinds_for(attribute: Attribute, transform: str) -> tuple[Kind, ...]:
    own: Kind | None = None
    if attribute.intervals is not None:
        own = "haar"
    elif attribute.levels > 1:
        own = "nominal"
    elif attribute.size > LONGEST_LIST:
        raise UsageError(
            f"{attribute.name} has {attribute.size:,} values in no order and no taxonomy: privelet takes a list of up "
            f"to {LONGEST_LIST} values. Declare a taxonomy, or leave it out of `attributes`",
            attribute=attribute.name,
        )
    if own is None or transform == "plain" or attribute.size < 2:
        return ("plain",)
    return (own,) if transform == "wavelet" else ("plain", own)


def typical(schema: Schema, axis: Axis, dimension: Dimension) -> Typical:
    ordered = schema[axis.attribute].intervals is not None
    taken = adjoint(_prefixes(dimension.size) if ordered else _groups(schema, axis), dimension)
    total = whole(dimension)
    along = total @ taken
    if not ordered:
        return Typical(float((taken**2).sum(axis=0).mean()), float((along**2).mean()), float(total @ total))
    gram = taken.T @ taken
    low, high = np.triu_indices(len(gram), 1)
    square = gram[low, low] + gram[high, high] - 2 * gram[low, high]
    return Typical(float(square.mean()), float(((along[high] - along[low]) ** 2).mean()), float(total @ total))


def _spread(seen: Sequence[Typical], known: bool) -> float:
    square = math.prod(one.square for one in seen)
    return square - known * math.prod(one.along / one.total for one in seen)


def _prefixes(size: int) -> Floats:
    """Return the sums of all cells below a few evenly spread cuts: a range is the difference of two."""
    cuts = np.unique(np.rint(np.linspace(0, size, min(size + 1, _CUTS))).astype(np.intp))
    return (np.arange(size)[:, None] < cuts).astype(np.float64)


def _groups(schema: Schema, axis: Axis) -> Floats:
    """Return values and groups, evenly spread over all of them."""
    views = [schema.view_map(Axis(axis.attribute, level)) for level in range(schema[axis.attribute].levels)]
    named = [(view, group) for view in views for group in range(int(view.max()) + 1)]
    picked = np.unique(np.rint(np.linspace(0, len(named) - 1, min(len(named), _GROUPS))).astype(np.intp))
    return np.stack([(named[i][0] == named[i][1]).astype(np.float64) for i in picked], axis=1)
