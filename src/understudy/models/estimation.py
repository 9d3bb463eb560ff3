"""Estimation: the graphical model of least weighted squares, given noisy tables that do not quite agree.

Among all distributions p of total n we want the smallest sum over the measured tables of (n·Ap − y)² / 2σ², and of the
many that reach it the one of largest entropy: with a weight of T nats on the entropy, far below the noise,

    minimise  Σ (n·Ap − y)² / 2σ²  +  T · KL(p ‖ uniform).

The solution is p ∝ exp(Σ θ) with one number θ for each measured cell, which is why the junction tree holds it. In θ the
problem is smooth, convex and without constraints, minimise  log Z(θ) − θ·y/n + T/2 Σ (σ/n)² θ², and L-BFGS solves it.
Two things make it fast:

- Tables that share attributes share parameters: some θ move no probability, and only the last term sees them. Their
  best value has a closed form (`consistency`): y and (σ/n)² θ are replaced by their nearest agreeing tables.
- The duality gap is exactly ½ Σ (n/σ)² g² for the gradient g (Fenchel's inequality for squares), in nats. So we know
  how far the optimum is, and stop on that.

McKenna, Sheldon, Miklau 2019 solve the problem with T = 0 by entropic mirror descent, which takes many more steps.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from understudy.compiled import compiled, compiled_with
from understudy.models.calibration import Layout, Projections, lay_out
from understudy.models.consistency import Agreement
from understudy.models.junction_tree import JunctionTree, variables
from understudy.models.structural_zeros import structural_zeros
from understudy.models.tails import empty_tails
from understudy.privacy.measurement import Measurement
from understudy.schema import Axes, Axis, Floats, Integers, Schema
from understudy.schema.row_major import coarse_index

Progress = Callable[[float, int], None]
Memory = deque[tuple[Floats, Floats, float]]  # step, change of gradient, their product

MODEL_CELLS = 2_000_000  # a larger model would take minutes
ENTROPY = 0.01  # T·σ/n: a cell e^10 times less likely than its like is moved by a tenth of its noise
TOLERANCE = 1e-3  # the duality gap at which we stop, as a share of the objective
MIN_GAP = 1e-2  # and in nats, for tables without noise
MAX_STEPS = 2_000
MEMORY = 12  # steps that L-BFGS remembers
ROUNDING = 1 / 12  # the variance of a rounded count: no table is known better than this


@dataclass(frozen=True, eq=False)
class Fitted:
    """The best model, and its parameters: where the next fit can start when more tables come."""

    tree: JunctionTree
    theta: Floats


def fitted(
    measurements: Sequence[Measurement],
    schema: Schema,
    total: float,
    *,
    limit: int = MODEL_CELLS,
    progress: Progress | None = None,
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
    pooled_tails: bool = True,
) -> Fitted:
    """Return the junction tree that fits all measurements best, of so many rows in all.

    Refused before any allocation if the triangulated model has more than `limit` cells. `start` has the parameters of
    an earlier fit to the first of these measurements, `tolerance` is the duality gap at which it stops, as a share of
    the objective, and `progress` hears the objective and the step. `pooled_tails` is false for releases of earlier
    versions (`tails`).
    """
    sizes = variables(schema, (axis for m in measurements for axis in m.axes))
    empty = [zero for zero in empty_tails(measurements, schema, total, pooled_tails) if zero.axes[0] in sizes]
    zeros = structural_zeros(schema, sizes)
    scopes = [_scope(m.axes, sizes) for m in measurements]
    layout = lay_out([*scopes, *(zero.axes for zero in zeros)], sizes, limit)
    base = layout.summed([*zeros, *empty])
    if empty and schema.constraints and layout.calibrate(base.copy()) == -np.inf:  # rules go before empty tails
        base = layout.summed(zeros)
    problem = _problem(measurements, scopes, schema, sizes, layout, base, max(1.0, float(total)))
    theta = _closed_form(measurements, schema)
    if start is not None:
        theta = np.concatenate([start, np.zeros(len(theta) - len(start))])
    best = _solve(problem, theta, tolerance, progress)
    return Fitted(JunctionTree(schema, layout, best.beliefs), best.theta)


def _scope(axes: Axes, sizes: dict[Axis, int]) -> Axes:
    """Return the variables that decide the cell of a measured table."""
    return tuple(dict.fromkeys(axis if axis in sizes else Axis(axis.attribute) for axis in axes))


@dataclass(frozen=True, eq=False)
class _Problem:
    """The measured cells of all tables in one vector; each table again as a projection of a clique."""

    layout: Layout
    base: Floats  # structural zeros
    target: Floats  # y / n, made to agree
    variance: Floats  # (σ / n)²
    entropy: float  # T
    room: float  # the logarithm of the number of possible rows
    agreement: Agreement
    tables: Projections
    place: Integers  # for each cell of the projections in turn, the measured cell on which it falls

    @cached_property
    def softness(self) -> Floats:
        """Return the curvature of the last term."""
        return self.entropy * self.variance

    def evaluate(self, theta: Floats) -> _Point:
        beliefs = self.base.copy()
        self.tables.spread(theta[self.place], beliefs)
        value = self.layout.calibrate(beliefs)
        projected = np.zeros(len(self.place))
        self.tables.gather(beliefs, projected)
        shares = np.bincount(self.place, projected, len(theta)).astype(np.float64, copy=False)
        slack = self.agreement.project(self.softness * theta)
        value += _dot(theta, 0.5 * slack - self.target)
        return _Point(theta, value, shares, shares - self.target + slack, beliefs)

    def bound(self, point: _Point) -> float:
        """Return what no distribution's objective is below, in nats: the dual function."""
        return self.entropy * (self.room - point.value)

    def gap(self, point: _Point) -> float:
        """Return how far above that bound the objective of this distribution is."""
        return float(0.5 * (point.gradient**2 / self.variance).sum())


@dataclass(frozen=True, eq=False)
class _Point:
    """Parameters, the function there, the shares that the model gives to the measured cells, and the gradient."""

    theta: Floats
    value: float
    shares: Floats
    gradient: Floats
    beliefs: Floats


def _problem(
    measurements: Sequence[Measurement], scopes: Sequence[Axes], schema: Schema, sizes: dict[Axis, int], layout: Layout,
    base: Floats, total: float,
) -> _Problem:  # fmt: skip
    tables, places, targets, variances = [], [np.empty(0, np.int64)], [], []
    cells = own = 0
    for m, scope in zip(measurements, scopes):
        home = layout.holding(scope)
        assert home is not None
        kept = tuple(axis for axis in layout.axes[home] if axis in scope)
        places.append(cells + coarse_cell_index(m.axes, kept, schema))
        tables.append((int(layout.start[home]), layout.axes[home], own, kept))
        own += len(places[-1])
        values = m.values.ravel().astype(np.float64)
        # Every distribution has total n, so the surplus of a noisy table says nothing about its cells.
        targets.append((values + (total - values.sum()) / len(values)) / total)
        variances.append(max(m.variance, ROUNDING) / total**2)
        cells += len(values)
    agreement = Agreement.of([m.axes for m in measurements], variances, schema)
    variance = np.repeat(np.array(variances), [len(t) for t in targets])
    # The middle of the tables' noise, in shares; one that is noisier than the whole says nothing and must not decide.
    entropy = ENTROPY / math.exp(0.5 * float(np.mean(np.log(np.minimum(variances, 1.0))))) if variances else 1.0
    return _Problem(
        layout, base, agreement.nearest(_join(targets)), variance, entropy, layout.calibrate(base.copy()), agreement,
        Projections.of(tables, sizes), np.concatenate(places),
    )  # fmt: skip


def _join(parts: list[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


def coarse_cell_index(axes: Axes, variables: Axes, schema: Schema) -> Integers:
    """Return, for each cell of a table over `variables`, the flat index of its cell in a measured table over `axes`."""
    follows = [variables.index(axis if axis in variables else Axis(axis.attribute)) for axis in axes]
    codes = [np.arange(schema.size(axis)) if axis in variables else schema.view_map(axis) for axis in axes]
    return coarse_index(schema.sizes(variables), follows, codes, schema.sizes(axes))


def _closed_form(measurements: Sequence[Measurement], schema: Schema) -> Floats:
    """Return where to start: each table as it is, cut off at zero, given the attributes that earlier tables have."""
    known: set[str] = set()
    parts = []
    for m in measurements:
        shape = schema.sizes(m.axes)
        floor = max(m.noise.scale, 1.0) / 4
        values = np.maximum(m.values.reshape(shape).astype(np.float64), floor)
        new = tuple(i for i, axis in enumerate(m.axes) if axis.attribute not in known)
        logs = np.log(values) - np.log(values.sum(axis=new, keepdims=True)) if new else np.zeros(shape)
        parts.append(logs.ravel())
        known.update(axis.attribute for axis in m.axes)
    return _join(parts)


# -- L-BFGS --------------------------------------------------------------------------------------------------


def _solve(problem: _Problem, theta: Floats, tolerance: float, progress: Progress | None) -> _Point:
    """Return the point of the least objective."""
    point, best = problem.evaluate(theta), np.inf
    memory: Memory = deque(maxlen=MEMORY)
    for step in range(MAX_STEPS):
        gap = problem.gap(point)
        best = min(best, problem.bound(point) + gap)
        if progress is not None:
            progress(best, step)
        if gap <= max(tolerance * best, MIN_GAP):
            break
        # The curvature of a cell is its share (Poisson), or that of the squares where there is almost nothing.
        curvature = np.maximum(point.shares, problem.target) + problem.softness
        moved = _search(problem, point, -_newton(point.gradient, memory, curvature))
        if moved is None:  # the last digits of the function: nothing left to gain
            break
        change, path = moved.gradient - point.gradient, moved.theta - point.theta
        memory.append((path, change, _dot(change, path)))
        point = moved
    return point


def _search(problem: _Problem, point: _Point, direction: Floats) -> _Point | None:
    """Return the full step, or a shorter one, whichever first lowers the function by enough."""
    slope = _dot(point.gradient, direction)
    length = 1.0
    while length > 1e-10:
        moved = problem.evaluate(point.theta + length * direction)
        rise = moved.value - point.value
        if rise <= 1e-4 * length * slope and _dot(moved.gradient - point.gradient, direction) > 0:
            return moved
        # To the minimum of the parabola through what we know, but not to less than a tenth.
        length *= min(0.5, max(0.1, -0.5 * slope * length / (rise - slope * length)))
    return None


def _newton(gradient: Floats, memory: Memory, curvature: Floats) -> Floats:
    """Return the direction of the two-loop recursion, with a diagonal of our own in the middle."""
    direction = gradient.copy()
    weights = []
    for path, change, product in reversed(memory):
        weight = _dot(path, direction) / product
        _add(direction, change, -weight)
        weights.append(weight)
    direction /= curvature
    if memory:
        _, change, product = memory[-1]
        direction *= product / _dot(change, change / curvature)
    for (path, change, product), weight in zip(memory, reversed(weights)):
        _add(direction, path, weight - _dot(change, direction) / product)
    return direction


@compiled_with(fastmath=True)
def _dot(a: Any, b: Any) -> Any:
    """Return the inner product; numpy's own wakes a pool of threads for each short vector, and waits for them."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _add(a: Any, b: Any, weight: float) -> None:
    for i in range(len(a)):
        a[i] += weight * b[i]
