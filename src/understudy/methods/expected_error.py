"""Expected errors: how far one-, two- and three-way tables and a share of a group will be off, from public facts alone.

The distance of an average table of two or three columns has three parts, which add up as squares: the errors of its
columns; the noise in the middle pair at the price of the plan's tables, large attributes in their merged groups; and
what is not measured, which is at least the chance of whole rows (rows of independent columns are never quite
independent). Of columns that no table joins, all links are left out. A share of a group is off by a power of the
distance of pairs. The constants were fitted to generated tables and checked on others and on shared ones, which took no
part (docs/decisions/0026-error-bars.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from understudy.methods.column_errors import Outcome, column_error, column_outcomes, table_ways
from understudy.methods.plan import Phase, Plan
from understudy.methods.toolkit.merged_groups import merged_size
from understudy.schema import Floats, Schema

RANGE = 2.0  # times less or more, 9 times in 10
CHANCE = 0.4  # of a whole row against its expectation: half of E|N(0, 1)|
RANKS = 1.25  # the rows of a value fall with so much of a power of its rank, where several columns meet
# errors of a share: a factor, and powers of the share, of the group's part of the rows, of the distance of pairs
TYPICAL = (0.9, 1.25, -0.13, 0.9)  # the median
WIDE = (1.3, 1.0, -0.3, 0.7)  # half the width of the middle 95 %
MAX_TABLES = 2000  # of which cells are worked out
MAX_TABLE_CELLS = 200_000  # of a table that anyone would look at
GOOD, FAIR = 0.03, 0.1


@dataclass(frozen=True)
class Law:
    """How the parts of a distance are weighed: of columns, of noise in measured pairs, of chance, and all links."""

    columns: float  # times the error of a column
    noise: tuple[float, float]  # a factor and a power of the noise of an average pair
    chance: float  # times the chance of whole rows, where a table is not measured
    alone: float  # columns that are all off at once, where they are published alone
    links: float  # distance of a table from independence, as most have at least: what columns alone leave out


LAWS = {2: Law(1.32, (0.28, 0.82), 1.12, 1.85, 0.085), 3: Law(2.07, (0.24, 0.77), 0.98, 2.1, 0.18)}


@dataclass(frozen=True)
class ExpectedError:
    """Expected total variation distances, from 0 to 1; None where there are no such tables."""

    one_way: float
    two_way: float | None
    three_way: float | None
    rows: int

    def typical_share_error(self, group: int, share: float) -> float:
        """Return the median absolute error of a share of a group of so many rows."""
        return self._share_error(TYPICAL, group, share)

    def share(self, group: int, share: float) -> float:
        """Return half the width of the middle 95 % of the error of a share of a group of so many rows."""
        return self._share_error(WIDE, group, share)

    def _share_error(self, law: tuple[float, float, float, float], group: int, share: float) -> float:
        distance = self.one_way if self.two_way is None else self.two_way
        factor, of_share, of_group, power = law
        part = max(1, group) / max(self.rows, group, 1)
        return min(1.0, float(factor * share**of_share * part**of_group * distance**power))

    @property
    def verdict(self) -> str:
        distance = self.one_way if self.two_way is None else self.two_way
        if distance <= GOOD:
            return "good: tables of two columns come out close"
        return (
            "fair: large groups come out well, small cells do not" if distance <= FAIR else "rough: large groups only"
        )

    def as_json(self) -> dict[str, Any]:
        ranged = {
            name: None if value is None else {"tvd": value, "low": value / RANGE, "high": min(1.0, value * RANGE)}
            for name, value in (("one_way", self.one_way), ("two_way", self.two_way), ("three_way", self.three_way))
        }
        return ranged | {"verdict": self.verdict}

    def text(self) -> str:
        known = ((1, self.one_way), (2, self.two_way), (3, self.three_way))
        shown = ", ".join(f"{ways}-way {value:.3f}" for ways, value in known if value is not None)
        return f"expected total variation distance, within a factor of {RANGE:g}: {shown} ({self.verdict})"


def expected_error(schema: Schema, plan: Plan) -> ExpectedError:
    """Return what to expect of a plan; ranges whose bins are to be found are taken with as many public ones.

    Where a plan may come to tables or to columns alone, it is the geometric mean of both by their chances.
    """
    schema = schema.with_public_bins(plan.bins)
    sizes = np.asarray([a.size for a in schema.modelled], dtype=np.float64)
    one = min(1.0, max(column_error(schema, plan), 1e-6))
    if len(sizes) < 2 or not any(p.scale for p in plan.phases if p.name in ("one-way", "tables")):
        return ExpectedError(one, None, None, plan.rows)
    outcomes = column_outcomes(schema, plan)
    two, three = (
        math.exp(sum(o.chance * math.log(_distance(plan, o, sizes, ways)) for o in outcomes))
        for ways in (2, min(3, len(sizes)))
    )
    return ExpectedError(one, two, three if len(sizes) > 2 else None, plan.rows)


def named_error(schema: Schema, plan: Plan, names: Sequence[str]) -> float:
    """Return the expected total variation distance of the table of one to three named columns."""
    schema = schema.with_public_bins(plan.bins)
    known = [a.name for a in schema.modelled]
    own, sizes = [known.index(name) for name in names], np.asarray([a.size for a in schema.modelled], dtype=np.float64)
    return math.exp(
        sum(o.chance * math.log(_distance(plan, o, sizes, len(own), own)) for o in column_outcomes(schema, plan))
    )


def _distance(plan: Plan, outcome: Outcome, sizes: Floats, ways: int, own: Sequence[int] | None = None) -> float:
    """Return the expected distance of an average table of so many columns, or that of its `own` columns, if a plan has
    this outcome."""
    errors, seen = (outcome.errors, sizes) if own is None else (outcome.errors[list(own)], sizes[list(own)])
    one = min(1.0, max(float(errors.mean()), 1e-6))
    if ways == 1:
        return one
    law = LAWS[ways]
    chance = law.chance * _chance(seen, plan.rows, ways)
    if not outcome.tables:
        return max(one, min(1.0, math.hypot(1 - (1 - one) ** law.alone, law.links, chance)))
    tables = next(p for p in plan.phases if p.name == "tables" and p.scale)
    factor, power = law.noise
    noise = factor * _pair_noise(plan, tables, seen) ** power
    joined = min(1.0, tables.tables * (table_ways(tables, sizes) - 1) / (len(sizes) - 1))
    left_out = chance * math.sqrt(1 - _measured(tables, sizes, ways)), law.links * math.sqrt(1 - joined)
    return max(one, min(1.0, math.hypot(law.columns * one, noise, *left_out)))


def _pair_noise(plan: Plan, tables: Phase, sizes: Floats) -> float:
    """Return the distance by noise alone of the middle pair if it is measured, large attributes in merged groups."""
    noise = plan.accounting.noise(tables.scale).mean_abs
    seen = [merged_size(int(size), tables.groups) for size in sizes]
    cells = np.asarray([a * b for a, b in combinations(seen, 2)], dtype=np.float64)
    return max(1e-6, math.exp(float(np.log(np.minimum(1.0, cells * noise / (2 * plan.rows))).mean())))


def _measured(tables: Phase, sizes: Floats, ways: int) -> float:
    """Return the share of all tables of so many columns that a plan's tables can hold."""
    held = math.comb(table_ways(tables, sizes), ways)
    return min(1.0, tables.tables * held / math.comb(len(sizes), ways))


def _chance(sizes: Floats, rows: int, ways: int) -> float:
    """Return the expected distance between independent columns and rows drawn from them, of an average table."""
    seen = [i for i in _some_sets(len(sizes), ways) if sizes[i].prod() <= MAX_TABLE_CELLS]
    counts = [np.arange(1.0, size + 1) ** -RANKS for size in sizes]
    roots = np.asarray([np.sqrt(own).sum() / math.sqrt(own.sum()) for own in counts])  # sums of roots of shares
    deviations = [CHANCE * roots[i].prod() / math.sqrt(rows) for i in seen]
    return float(np.minimum(1.0, deviations).mean()) if seen else 1.0


def _some_sets(columns: int, ways: int) -> list[Any]:
    """Return all sets of so many columns, or a sample of them."""
    if math.comb(columns, ways) <= MAX_TABLES:
        return [list(found) for found in combinations(range(columns), ways)]
    generator = np.random.default_rng(0)
    return [generator.choice(columns, ways, replace=False) for _ in range(MAX_TABLES)]


def phase_error(phase: Phase, expected: ExpectedError) -> float | None:
    """Return what a phase's tables are expected to be off by once all of them are fitted together."""
    if phase.error is None:
        return None
    return {"one-way": expected.one_way, "tables": expected.two_way}.get(phase.name, phase.error)
