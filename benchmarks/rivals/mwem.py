"""MWEM (Hardt, Ligett, McSherry 2012): multiplicative weights on the whole domain, taught one bad table at a time.

A round finds an α-way table on which the current distribution is far off (exponential mechanism, or permute-and-flip:
score D against the distribution's own counts), measures it, and moves weight by e^((measured − own)/2n) in its cells.
All tables measured so far are replayed in every round, which the authors advise and which costs nothing. The budget of
a round is the PrivBayes paper's 0.05, half to choose and half to measure, with at least one round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rivals.contingency import CELLS, whole_domain
from rivals.rival import bought_rows, rival_budget, rival_plan, tables_of
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan
from understudy.methods.toolkit.row_count import planned_rows
from understudy.models.factor import Factor
from understudy.models.junction_tree import JunctionTree
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema

Joint = NDArray[np.float64]


@dataclass(frozen=True)
class MWEM:
    """`alpha`-way tables are the queries; `share` is a round's epsilon, `rounds` (if not 0) their number instead."""

    name: ClassVar[str] = "mwem"

    alpha: int = option(3, whole=True, low=1, high=8)
    share: float = option(0.05, low=0.0001, high=100.0)
    rounds: int = option(0, whole=True, low=0, high=10_000)
    passes: int = option(10, whole=True, low=1, high=1_000)
    cells: int = option(CELLS, whole=True, low=1, high=20_000_000)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n, own = planned_rows(schema, rows), rival_budget(schema, budget)
        whole_domain(schema, self.cells, self.name)
        workload, rounds = tables_of(schema, self.alpha), self.rounds_for(own.accounting, own.rest)
        half = own.rest / (2 * rounds)
        noise, cells = table_noise(schema, own.accounting, half), max(map(schema.cells, workload))
        error = min(1.0, cells * noise.mean_abs / (2 * n))
        phases = [
            Phase("structure", half * rounds, rounds, detail=f"the worst of {len(workload)} tables, {rounds} times"),
            Phase("tables", half * rounds, rounds, cells, noise.scale, error, "noisy counts"),
        ]
        return rival_plan(self.name, schema, budget, n, self._options(rounds), phases)

    def rounds_for(self, accounting: Accounting, cost: Fraction) -> int:
        """As many rounds as there are shares. Under zCDP a share is what its two halves of pure epsilon come to in rho:
        ε²/8 for the choice and ε²/2 for the table."""
        if self.rounds:
            return self.rounds
        share = exact(self.share)
        if accounting.power > 1:
            share = (share / 2) ** 2 * (Fraction(1, 8) + Fraction(1, 2))
        return max(1, int(cost / share))

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        domain = whole_domain(schema, self.cells, self.name)
        workload = tables_of(schema, self.alpha)
        rows, count, rest = bought_rows(table)
        rounds = self.rounds_for(table.accounting, rest)
        half = rest / (2 * rounds)
        joint = np.full(schema.sizes(domain), 1 / schema.cells(domain))
        taught: list[Measurement] = []
        for i in range(rounds):
            table.progress("structure", i, rounds)
            worst = self._worst(table, workload, joint, rows, half)
            taught += table.measure([worst], half, "tables")
            joint = replayed(joint, domain, taught, rows, self.passes)
        model = JunctionTree.of_beliefs(schema, [Factor(domain, joint)])
        facts = {"options": self._options(rounds), "chosen": [[str(a) for a in m.axes] for m in taught]}
        return Fit(model, (*count, *taught), rows, facts)

    def _worst(self, table: PrivateTable, workload: Sequence[Axes], joint: Joint, rows: int, cost: Fraction) -> Axes:
        """A table far from the distribution's own; its expected noise, which is public, counts against it."""
        own = [np.rint(rows * values).astype(np.int64) for values in all_tables(joint, len(workload[0]))]
        noise = table_noise(table.schema, table.accounting, cost).mean_abs
        whole = [round(noise * table.schema.cells(axes)) for axes in workload]
        penalty = [REFERENCE_DISTANCE.penalty(count / 2, table.schema) for count in whole]  # half of an L1 distance
        options = [Pair(axes[-1], axes[:-1]) for axes in workload]
        return table.choose(options, REFERENCE_DISTANCE, cost, "structure", penalty, references=own).axes

    def _options(self, rounds: int) -> dict[str, int]:
        return {"alpha": self.alpha, "rounds": rounds, "passes": self.passes}


# -- the distribution --------------------------------------------------------------------------------------------


def replayed(joint: Joint, domain: Axes, taught: Sequence[Measurement], rows: int, passes: int) -> Joint:
    """The update rule, over all that was measured, so many times, the latest first."""
    joint = joint.copy()
    for _ in range(passes):
        for measured in reversed(taught):
            places = tuple(domain.index(axis) for axis in measured.axes)
            update(joint, places, measured.values / rows)
    return joint


def update(joint: Joint, places: tuple[int, ...], measured: Joint) -> None:
    """p(x) ∝ p(x)·e^((measured − own)/2) along the cells of a table over these increasing places, in frequencies."""
    view, gone = _spread(joint, places)
    own = view
    for axis in sorted(gone, key=lambda i: -view.shape[i]):  # one at a time, the longest first: a sum over all is slow
        own = own.sum(axis=axis, keepdims=True)
    # A frequency is between 0 and 1 whatever the noise says; without this one wild cell would swallow all weight.
    step = np.exp((np.expand_dims(np.clip(measured, 0, 1), gone) - own) / 2)
    view *= step / (own * step).sum()


def _spread(joint: Joint, places: tuple[int, ...]) -> tuple[Joint, tuple[int, ...]]:
    """The joint table with the dimensions between the places run together (a view), and which dimensions those are."""
    shape, last = [], 0
    for place in places:
        shape += [math.prod(joint.shape[last:place]), joint.shape[place]]
        last = place + 1
    shape.append(math.prod(joint.shape[last:]))
    return joint.reshape(shape), tuple(range(0, len(shape), 2))


def all_tables(joint: Joint, alpha: int) -> Iterator[Joint]:
    """Every α-way table in the order of itertools.combinations; each attribute is kept or summed out in turn, so the
    work is a few passes over the joint table and not one for each of the tables."""
    yield from _kept(joint, 0, alpha)


def _kept(table: Joint, at: int, left: int) -> Iterator[Joint]:
    if left == 0:
        yield table.sum(axis=tuple(range(at, table.ndim)))
        return
    if table.ndim - at > left:
        yield from _kept(table, at + 1, left - 1)
        yield from _kept(table.sum(axis=at), at, left)
        return
    yield table
