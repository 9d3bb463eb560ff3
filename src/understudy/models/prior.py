"""A prior: tables that are known before anything is bought, of an earlier release or of a public table.

They enter the estimate beside the measured tables, scaled to the new number of rows, with a noise of their own: that of
the earlier release, and what the world has changed since. How much that is, is seen in released figures alone: one-way
tables that were measured again, pairs that were measured again, and the bought mean distance between the rows and the
earlier model (docs/decisions/0037-priors.md). So a table that no longer holds has hardly any weight, and one that still
does is worth as much as if it had been paid for again. Post-processing, deterministic: a part of `refit`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from understudy.models.graph import Graph
from understudy.models.noisy_tree import NoisyTree
from understudy.models.structural_zeros import rule_cliques
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.schema import Axes, Axis, Floats, Schema

Kind = Literal["release", "public"]

SIGNIFICANT = 2.0  # standard errors by which a table must have changed for its own change to count
RELATIVE = math.sqrt(math.pi / 2)  # the deviation of a normal variable over its mean absolute value


@dataclass(frozen=True, eq=False)
class Prior:
    """Tables known before, of so many rows; `hash` is that of the release, or of the public file.

    `distance` is bought: the mean total variation distance between pairs of the rows and of the earlier model. Without
    it, only one-way tables are used.
    """

    kind: Kind
    hash: str
    rows: int
    tables: tuple[Measurement, ...]
    distance: float | None = None
    promise: str = ""  # of the earlier release, in words
    trees: tuple[NoisyTree, ...] = ()  # that its bins were made of

    @property
    def words(self) -> str:
        """Return which prior this is, and what it rests on."""
        if self.kind == "public":
            return (
                f"the table {self.hash[:16]}…, said to be public by the custodian; that was not and cannot be checked, "
                "and the release has exact tables of it"
            )
        return f"the release {self.hash[:16]}…, made under {self.promise}, which was spent separately"

    @property
    def use(self) -> str:
        """Return what is used of it."""
        if self.distance is None:
            return "its one-way tables"
        pairs = sum(len(m.axes) > 1 for m in self.tables)
        return f"its one-way tables and {pairs} tables of attributes together"

    def fitting(self, schema: Schema, limit: int) -> Prior:
        """Return the prior with the first of its tables that a model of at most `limit` cells has room for."""
        variables = [Axis(a.name) for a in schema.modelled]
        graph = Graph.of(rule_cliques(schema, variables), {axis: schema.size(axis) for axis in variables})
        kept = []
        for m in self.tables:
            scope = tuple(dict.fromkeys(Axis(axis.attribute) for axis in m.axes))
            larger = graph.add(scope)
            if len(scope) == 1 or larger.triangulated_cells(limit) <= limit:
                graph = larger
                kept.append(m)
        return replace(self, tables=tuple(kept))

    def columns_alone(self) -> Prior:
        """Return the prior without what it says about attributes together."""
        return replace(self, tables=tuple(m for m in self.tables if len(m.axes) == 1), distance=None)

    @property
    def cliques(self) -> tuple[Axes, ...]:
        """Return the sets of attributes that it says something about."""
        return tuple(tuple(Axis(axis.attribute) for axis in m.axes) for m in self.tables)

    def weighed(self, measured: Sequence[Measurement], rows: float) -> list[Measurement]:
        """Return its tables scaled to so many rows; to the noise of each is added how far it may have changed since."""
        seen = _pooled(measured)
        changes = {m.axes: _Change.of(m, seen, rows, rows / self.rows) for m in self.tables}
        columns = _of_columns(changes)
        return [self._weighed(m, changes[m.axes], columns, rows) for m in self.tables]

    def _weighed(self, m: Measurement, change: _Change, columns: dict[str, float], rows: float) -> Measurement:
        scale = rows / self.rows
        relative = [change.relative, *(columns.get(axis.attribute, 0.0) for axis in m.axes)]
        if len(m.axes) > 1:
            assert self.distance is not None
            relative.append((2 * RELATIVE * self.distance) ** 2)
        drift = max(max(relative) * change.size, rows * (1 + scale)) / m.values.size  # no less than chance
        values = np.rint(scale * m.values).astype(np.int64)
        return Measurement(m.axes, values, Gaussian(math.sqrt(scale**2 * m.variance + drift)))


@dataclass(frozen=True)
class _Change:
    """How far a table moved beyond its noise, as a sum of squares; `size` is that sum if every cell had doubled."""

    size: float  # n² Σ p²
    excess: float | None = None  # Σ (y − s·y₀)² less what noise explains; None where it was not measured again
    error: float = 0.0  # its standard error

    @staticmethod
    def of(m: Measurement, seen: dict[Axes, tuple[Floats, float]], rows: float, scale: float) -> _Change:
        shares = np.maximum(m.values, 0).astype(np.float64)
        size = rows**2 * float((shares**2).sum() / max(1.0, shares.sum()) ** 2)
        if (key := _key(m.axes)) not in seen:
            return _Change(size)
        values, variance = seen[key]
        noise = variance + scale**2 * m.variance
        moved = float(((values - scale * _ordered(m)) ** 2).sum())
        return _Change(size, moved - noise * values.size, noise * math.sqrt(2 * values.size))

    @property
    def relative(self) -> float:
        """Return the squared relative change of the cells; 0 where it does not stand out from the noise."""
        stands_out = self.excess is not None and self.excess > SIGNIFICANT * self.error
        return self.excess / self.size if stands_out and self.excess is not None and self.size else 0.0


def _of_columns(changes: dict[Axes, _Change]) -> dict[str, float]:
    """Return the squared relative change of each attribute: that of its one-way table where it stands out from noise,
    else the one that all others have in common, plus a standard error."""
    single = {axes[0].attribute: c for axes, c in changes.items() if len(axes) == 1 and c.excess is not None}
    quiet = [c for c in single.values() if not c.relative]
    excess = sum(c.excess or 0.0 for c in quiet) + math.hypot(*(c.error for c in quiet))
    common = excess / max(1e-300, sum(c.size for c in quiet))
    return {name: c.relative or max(0.0, common) for name, c in single.items()}


def _key(axes: Axes) -> Axes:
    return tuple(sorted(axes))


def _ordered(m: Measurement) -> Floats:
    """Return the table with its axes in the order of `_key`."""
    order = sorted(range(len(m.axes)), key=lambda i: m.axes[i])
    return np.transpose(m.values, order).astype(np.float64)


def _pooled(measured: Iterable[Measurement]) -> dict[Axes, tuple[Floats, float]]:
    """Return the measured tables by their axes, several averaged by their variances, and the variance left."""
    found: dict[Axes, tuple[Floats, float]] = {}
    for m in measured:
        values, variance = _ordered(m), max(m.variance, 1e-9)
        if (key := _key(m.axes)) in found:
            other, before = found[key]
            weight = before / (before + variance)
            values, variance = weight * values + (1 - weight) * other, before * variance / (before + variance)
        found[key] = values, variance
    return found
