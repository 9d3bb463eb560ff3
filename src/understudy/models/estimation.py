"""Estimation: the graphical model of least weighted squares, given noisy tables that do not quite agree.

Among all distributions p of total n we want the smallest sum over the measured tables of (n·Ap − y)² / 2σ², drawn
towards the product q of the columns by a weight of T nats on the relative entropy, one for each table,

    minimise  Σ (n·Ap − y)² / 2Tσ²  +  KL(p ‖ q).

T is found from the table itself (`shrinkage`); tables that stand out from their noise have one far below it. The
solution is p ∝ q · exp(Σ θ) with one number θ for each measured cell, which is why the junction tree holds it. In θ the
problem is smooth, convex and without constraints, minimise  log Z(θ) − θ·y/n + ½ Σ T (σ/n)² θ², and L-BFGS solves it.
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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from understudy.compiled import compiled, compiled_with
from understudy.models.calibration import Layout, Projections, lay_out
from understudy.models.consistency import Agreement
from understudy.models.edition import Edition
from understudy.models.factor import Factor
from understudy.models.interactions import drawn_to_pairs
from understudy.models.junction_tree import JunctionTree, variables
from understudy.models.shrinkage import column_shares, entropy_weight, shares_of, variance_of
from understudy.models.structural_zeros import structural_zeros
from understudy.models.tails import empty_tails
from understudy.privacy.measurement import Measurement
from understudy.schema import Axes, Axis, Floats, Integers, Schema
from understudy.schema.row_major import coarse_index

Progress = Callable[[float, int], None]
Memory = deque[tuple[Floats, Floats, float]]  # step, change of gradient, their product

MODEL_CELLS = 2_000_000  # a larger model would take minutes
ENTROPY = 0.03  # T·σ/n, at least: a cell e^10 times less likely than its like is moved by a third of its noise
EARLIER_ENTROPY = 0.01  # the same for every table, in editions that did not shrink
TOLERANCE = 1e-3  # the duality gap at which we stop, as a share of the objective
MIN_GAP = 1e-2  # and in nats, for tables without noise
MAX_STEPS = 2_000
MEMORY = 12  # steps that L-BFGS remembers


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
    edition: Edition = Edition.NEWEST,
    shrink: bool = True,
    pairs: JunctionTree | None = None,
) -> Fitted:
    """Return the junction tree that fits all measurements best, of so many rows in all.

    Refused before any allocation if the triangulated model has more than `limit` cells. `start` has the parameters of
    an earlier fit to the first of these measurements, `tolerance` is the duality gap at which it stops, as a share of
    the objective, and `progress` hears the objective and the step. `edition` is that of the release whose tables these
    are. Without `shrink` every table has the least weight of the entropy term. Tables of three and more attributes are
    drawn towards `pairs`, the model of all pairs, where there is one.
    """
    sizes = variables(schema, (axis for m in measurements for axis in m.axes))
    tails = empty_tails(measurements, schema, total, edition >= Edition.POOLED_TAILS)
    empty = [zero for zero in tails if zero.axes[0] in sizes]
    zeros = structural_zeros(schema, sizes)
    scopes = [_scope(m.axes, sizes) for m in measurements]
    layout = lay_out([*scopes, *(zero.axes for zero in zeros)], sizes, limit)
    if empty and schema.constraints and layout.calibrate(layout.summed([*zeros, *empty])) == -np.inf:
        empty = []  # rules go before empty tails
    shrunk = edition >= Edition.SHRUNK
    columns = column_shares(measurements, schema, total) if shrunk else {}
    known = [Factor((axis,), np.log(shares)) for axis, shares in columns.items() if axis in sizes]
    base = layout.summed([*zeros, *empty, *known])
    cells = _measured_cells(measurements, scopes, schema, layout, sizes, max(1.0, float(total)))
    problem = _problem(cells, [m.axes for m in measurements], schema, layout, base, edition, shrink)
    if pairs is not None:
        problem = _drawn(problem, [m.axes for m in measurements], pairs)
    theta = np.zeros(len(problem.target))
    if start is not None:
        theta[: len(start)] = start
    best = _solve(problem, theta, tolerance, progress)
    return Fitted(JunctionTree(schema, layout, best.beliefs), best.theta)


def _scope(axes: Axes, sizes: dict[Axis, int]) -> Axes:
    """Return the variables that decide the cell of a measured table."""
    return tuple(dict.fromkeys(axis if axis in sizes else Axis(axis.attribute) for axis in axes))


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is minimised, over one number for each measured cell; each table is weighed as the entropy term asks."""

    layout: Layout
    base: Floats  # structural zeros, and the product of the columns
    target: Floats  # y / n, made to agree
    variance: Floats  # (σ / n)², times the table's own T over the middle T
    entropy: float  # the middle T
    room: float  # the logarithm of the base's normalising constant
    agreement: Agreement
    cells: _MeasuredCells

    @cached_property
    def softness(self) -> Floats:
        """Return the curvature of the last term."""
        return self.entropy * self.variance

    def evaluate(self, theta: Floats) -> _Point:
        beliefs = self.base.copy()
        self.cells.tables.spread(theta[self.cells.place], beliefs)
        value = self.layout.calibrate(beliefs)
        shares = self.cells.projected(beliefs)
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


@dataclass(frozen=True, eq=False)
class _MeasuredCells:
    """The measured cells of all tables one after the other, and where a layout has them."""

    total: float
    shares: list[Floats]  # of each table
    variances: list[float]  # of a share of each
    tables: Projections
    place: Integers  # for each cell of the projections in turn, the measured cell on which it falls

    @cached_property
    def unit(self) -> float:
        """Return n/σ, σ the middle of the tables' noise: in it entropy weights are given.

        A table that is noisier than the whole says nothing and must not decide.
        """
        return math.exp(-0.5 * float(np.mean(np.log(np.minimum(self.variances, 1.0))))) if self.variances else 1.0

    def spread(self, values: Sequence[float]) -> Floats:
        """Return a number for each table as one for each of its cells."""
        return np.repeat(np.asarray(values, dtype=np.float64), [len(s) for s in self.shares])

    def projected(self, beliefs: Floats) -> Floats:
        """Return the shares that marginals of the layout's cliques give to the measured cells."""
        found = np.zeros(len(self.place))
        self.tables.gather(beliefs, found)
        return np.bincount(self.place, found, sum(map(len, self.shares))).astype(np.float64, copy=False)


def _measured_cells(
    measurements: Sequence[Measurement], scopes: Sequence[Axes], schema: Schema, layout: Layout, sizes: dict[Axis, int],
    total: float,
) -> _MeasuredCells:  # fmt: skip
    tables, places, shares, variances = [], [np.empty(0, np.int64)], [], []
    cells = own = 0
    for m, scope in zip(measurements, scopes):
        home = layout.holding(scope)
        assert home is not None
        kept = tuple(axis for axis in layout.axes[home] if axis in scope)
        places.append(cells + coarse_cell_index(m.axes, kept, schema))
        tables.append((int(layout.start[home]), layout.axes[home], own, kept))
        own += len(places[-1])
        shares.append(shares_of(m, total))
        variances.append(variance_of(m) / total**2)
        cells += m.values.size
    return _MeasuredCells(total, shares, variances, Projections.of(tables, sizes), np.concatenate(places))


def _problem(
    cells: _MeasuredCells, tables: Sequence[Axes], schema: Schema, layout: Layout, base: Floats, edition: Edition,
    shrink: bool,
) -> _Problem:  # fmt: skip
    beliefs = base.copy()
    room = layout.calibrate(beliefs)
    weights = [cells.unit * (ENTROPY if edition >= Edition.SHRUNK else EARLIER_ENTROPY)] * len(tables)
    if shrink and edition >= Edition.SHRUNK:
        weights = _entropy_weights(cells, tables, cells.projected(beliefs))
    entropy = math.exp(float(np.mean(np.log(weights)))) if weights else 1.0
    variances = [v * weight / entropy for v, weight in zip(cells.variances, weights)]
    agreed = Agreement.of(tables, cells.variances, schema).nearest(_join(cells.shares))
    slack = Agreement.of(tables, variances, schema)
    return _Problem(layout, base, agreed, cells.spread(variances), entropy, room, slack, cells)


def _drawn(problem: _Problem, tables: Sequence[Axes], pairs: JunctionTree) -> _Problem:
    """Return the problem with each table of three and more attributes drawn towards the model of pairs."""
    cells = problem.cells
    parts = np.split(problem.target, np.cumsum([len(own) for own in cells.shares])[:-1])
    drawn = [
        drawn_to_pairs(own, axes, pairs, variance, cells.total)
        for own, axes, variance in zip(parts, tables, cells.variances)
    ]
    agreement = Agreement.of(tables, cells.variances, pairs.schema)
    return replace(problem, target=agreement.nearest(_join(drawn)))


def _entropy_weights(cells: _MeasuredCells, tables: Sequence[Axes], expected: Floats) -> list[float]:
    """Return the weight of the entropy term for each table, by what the product of the columns makes of it."""
    least, first, found = cells.unit * ENTROPY, 0, []
    for axes, shares, variance in zip(tables, cells.shares, cells.variances):
        own = expected[first : first + len(shares)]
        weight = entropy_weight(shares, own, variance, cells.total) if len(axes) > 1 else least
        found.append(max(least, weight))
        first += len(shares)
    return found


def _join(parts: list[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


def coarse_cell_index(axes: Axes, variables: Axes, schema: Schema) -> Integers:
    """Return, for each cell of a table over `variables`, the flat index of its cell in a measured table over `axes`."""
    follows = [variables.index(axis if axis in variables else Axis(axis.attribute)) for axis in axes]
    codes = [np.arange(schema.size(axis)) if axis in variables else schema.view_map(axis) for axis in axes]
    return coarse_index(schema.sizes(variables), follows, codes, schema.sizes(axes))


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
