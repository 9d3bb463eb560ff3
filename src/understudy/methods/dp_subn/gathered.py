"""Noisy tables gathered over several releases, and the best guess of any table inside them. Public, all of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.models.factor import Factor
from understudy.privacy.measurement import Measurement
from understudy.schema import Axes, Axis, Floats, Integers


@dataclass
class Gathered:
    """What was measured so far."""

    _held: list[Measurement] = field(default_factory=list)
    _with: dict[Axis, set[int]] = field(default_factory=dict)  # the numbers of the tables that hold an axis

    def add(self, measurements: Iterable[Measurement]) -> None:
        for measurement in measurements:
            for axis in measurement.axes:
                self._with.setdefault(axis, set()).add(len(self._held))
            self._held.append(measurement)

    def about(self, axes: Axes) -> Measurement | None:
        """Return the average of all that the tables say, each weighed by its noise.

        None where no table holds these axes.
        """
        holding = set.intersection(*(self._with.get(axis, set()) for axis in axes))
        if not holding:
            return None
        found = [_project(self._held[i], axes) for i in sorted(holding)]
        precision = sum(1 / variance for _, variance in found)
        mean = sum((values / variance for values, variance in found), np.zeros(())) / precision
        noise = self._held[0].noise.of_variance(1 / precision)
        return Measurement(axes, np.rint(mean).astype(np.int64), noise)

    def inside(self, workload: Sequence[Axes]) -> list[Measurement]:
        """Return what is known about these tables, of those that anything is known about."""
        return [found for axes in workload if (found := self.about(axes)) is not None]


def _project(measurement: Measurement, axes: Axes) -> tuple[Floats, float]:
    """Return the noisy table over some of its axes, and the variance of a cell, which sums several."""
    table = Factor(measurement.axes, measurement.values.astype(np.float64)).project(axes).table
    return table, measurement.variance * (measurement.values.size / table.size)


def pair_correlations(gathered: Gathered, variables: Axes, rows: int) -> Floats:
    """Return the mutual information of every pair of binary variables, in nats, as far as the tables show it.

    Noise alone looks like dependence. A 2×2 table with its margins has one number more, δ = p11 − p1·p·1, whose noise
    has a known variance: that is taken off δ² first.
    """
    found = np.zeros((len(variables), len(variables)))
    for i, x in enumerate(variables):
        for j, y in enumerate(variables[:i]):
            about = gathered.about((x, y))
            if about is not None and about.values.shape == (2, 2):
                found[i, j] = found[j, i] = _information(about, rows)
    return found


def _information(about: Measurement, rows: int) -> float:
    table = about.values / max(1.0, float(rows))
    gap = table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]
    noise = about.variance / max(1, rows) ** 2 * float((table**2).sum())
    gap = math.copysign(math.sqrt(max(0.0, gap**2 - noise)), gap)
    x, y = (np.clip(table.sum(axis=axis), 1e-6, None) for axis in (1, 0))
    apart = np.outer(x / x.sum(), y / y.sum())
    joint = np.clip(apart + gap * np.array([[1, -1], [-1, 1]]), 0, None)
    return max(0.0, shared_information(joint))


def shared_information(table: Floats) -> float:
    """Return the mutual information of the lines and the columns of a table of weights, in nats."""
    joint = table / table.sum()
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    share = joint > 0
    return float((joint[share] * np.log(joint[share] / apart[share])).sum())


def dependence(values: Integers) -> float:
    """Score R of a noisy table of counts, the child last: how far it is from independence, in counts."""
    total = values.sum()
    if total <= 0:
        return 0.0
    parents, child = values.sum(axis=-1, keepdims=True), values.reshape(-1, values.shape[-1]).sum(axis=0)
    return 0.5 * float(np.abs(values - parents * (child / total)).sum())
