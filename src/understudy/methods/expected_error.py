"""Expected errors: how far one-, two- and three-way tables and a share of a group will be off, from public facts alone.

Noise alone says too much (estimation takes most of it away) and too little (what is not measured is off too). So the
distance of an average table is taken as a power law of three public numbers: x, the expected error of an average
column; y, the noise of an average pair if it were measured at the price of the plan's tables; z, the chance of whole
rows in an average table. The exponents were fitted to runs on two tables and checked on two others
(docs/decisions/0026-error-bars.md); of all 55 cells, fitted ones included, 9 of 10 were within a factor of 2. Where a
plan's tables can hold every pair of columns nothing is left out, and the distance is at most that of their noise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from understudy.errors import UsageError, did_you_mean
from understudy.methods.column_errors import Outcome, column_error, column_outcomes
from understudy.methods.plan import Phase, Plan
from understudy.schema import Schema

# log of the distance: constant, and exponents of x, y and z
_LAWS = {2: (-0.903, 0.284, 0.345, 0.059), 3: (-0.531, 0.214, 0.353, 0.081)}
RANGE = 2.0  # times less or more, 9 times in 10
CHANCE = 0.4  # of a whole row against its expectation: half of E|N(0, 1)|
TWICE = 2.45  # half the width of the middle 95 %, over the mean absolute error
SHARES = (0.65, 0.3, 0.6)  # a factor, by how much small cells are off more, and a power of the distance
LINKS = 0.1  # mean distance of a pair from independence, as tables usually have it: what columns alone leave out
ESTIMATED = 0.75  # of the noise of pairs that are all measured, by estimation
MAX_TRIPLES = 2000
GOOD, FAIR = 0.03, 0.1
MIN_EPSILON, MAX_EPSILON = 1e-3, 10.0
_ACCURACY = re.compile(
    r"\s*share\s+by\s+(?P<names>.+?)\s*(?:±|\+-|\+/-)\s*(?P<points>\d+(?:\.\d+)?)\s*points?\s*", re.I
)


@dataclass(frozen=True)
class ExpectedError:
    """Expected total variation distances, from 0 to 1; None where there are no such tables."""

    one_way: float
    two_way: float | None
    three_way: float | None
    rows: int

    def share(self, group: int, share: float) -> float:
        """Return half the width of the middle 95 % of the error of a share of a group of so many rows."""
        distance = self.one_way if self.two_way is None else self.two_way
        factor, small, power = SHARES
        part = max(1.0, share * group) / max(self.rows, group)
        return min(1.0, float(factor * share * part**-small * distance**power))

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
    """Return what to expect of a plan; ranges whose bins are to be found are taken with public ones.

    Where a plan may come to tables or to columns alone, it is the geometric mean of both by their chances.
    """
    schema = schema.with_public_bins()
    sizes = np.asarray([a.size for a in schema.modelled], dtype=np.float64)
    one = min(1.0, max(column_error(schema, plan), 1e-6))
    pairs = np.asarray([a * b for a, b in combinations(sizes, 2)]) if len(sizes) > 1 else np.asarray([sizes[0]])
    if len(sizes) < 2 or not any(p.scale for p in plan.phases if p.name in ("one-way", "tables")):
        return ExpectedError(one, None, None, plan.rows)
    found = [
        (o.chance, _with_tables(plan, o, sizes, pairs) if o.tables else _columns_alone(o.error))
        for o in column_outcomes(schema, plan)
    ]
    two, three = (math.exp(sum(chance * math.log(both[i]) for chance, both in found)) for i in (0, 1))
    return ExpectedError(one, min(1.0, two), min(1.0, three) if len(sizes) > 2 else None, plan.rows)


def _with_tables(plan: Plan, outcome: Outcome, sizes: Any, pairs: Any) -> tuple[float, float]:
    """Return the distances of an average pair and triple where tables of several columns are measured."""
    tables = next(p for p in plan.phases if p.name == "tables" and p.scale)
    noise, one = plan.accounting.noise(tables.scale).mean_abs, max(outcome.error, 1e-6)
    pair = max(float(np.minimum(1.0, pairs * noise / (2 * plan.rows)).mean()), 1e-6)
    cells = (np.exp(np.log(found).mean()) for found in (pairs, _triples(sizes)))
    two, three = (
        max(one, _law(ways, one, pair, CHANCE * math.sqrt(own / plan.rows))) for ways, own in zip((2, 3), cells)
    )
    left = min(1.0, _noise_alone(plan, tables, sizes, pairs) / two)
    return max(one, two * left), max(one, three * math.sqrt(left))


def _noise_alone(plan: Plan, tables: Phase, sizes: Any, pairs: Any) -> float:
    """Return the distance of an average pair where the tables of a plan can hold every pair, infinite where not."""
    typical = max(2.0, float(np.exp(np.log(sizes).mean())))
    ways = min(len(sizes), max(2.0, math.log(max(tables.cells, 2)) / math.log(typical)))
    times = tables.tables * ways * (ways - 1) / (len(sizes) * (len(sizes) - 1))  # that an average pair is held
    if times < 1:
        return math.inf
    noise = 0.8 * math.sqrt(plan.accounting.noise(tables.scale).variance * typical ** (ways - 2) / times)
    return max(ESTIMATED * float(np.minimum(1.0, pairs * noise / (2 * plan.rows)).mean()), 1e-6)


def _columns_alone(one: float) -> tuple[float, float]:
    """Return the same where no table of several columns is measured: the columns' noise, and all links left out."""
    return math.hypot(2 * one, LINKS), math.hypot(3 * one, 2 * LINKS)


def _law(ways: int, one: float, pair: float, chance: float) -> float:
    constant, a, b, c = _LAWS[ways]
    return float(math.exp(constant) * one**a * pair**b * chance**c)


def _triples(sizes: Any) -> Any:
    if len(sizes) < 3:
        return np.asarray([float(np.prod(sizes))])
    if math.comb(len(sizes), 3) <= MAX_TRIPLES:
        return np.asarray([a * b * c for a, b, c in combinations(sizes, 3)])
    generator = np.random.default_rng(0)
    return np.asarray([np.prod(generator.choice(sizes, 3, replace=False)) for _ in range(MAX_TRIPLES)])


# -- the least epsilon -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Accuracy:
    """What is wanted: a distance of two-way tables, or shares of a table within so many points, 19 times in 20."""

    words: str
    error: Callable[[ExpectedError], float]
    wanted: float

    @staticmethod
    def of_distance(wanted: float) -> Accuracy:
        """Ask for an average two-way table to be off by at most this total variation distance."""
        if not 0 < wanted < 1:
            raise UsageError("a total variation distance is between 0 and 1, 0.03 for example")
        return Accuracy(
            f"two-way tables off by {wanted:g}", lambda e: e.one_way if e.two_way is None else e.two_way, wanted
        )

    @staticmethod
    def of_text(text: str, schema: Schema) -> Accuracy:
        """Read `share by sex and region ± 2 points`: each cell of that table, as a share of all rows."""
        match = _ACCURACY.fullmatch(text)
        if match is None:
            raise UsageError(f"write an accuracy as 'share by sex and region ± 2 points'; this is {text!r:.60}")
        names = re.split(r"\s*,\s*|\s+and\s+", match["names"])
        for name in names:
            if name not in schema.names:
                raise UsageError(f"there is no attribute {name!r}. {did_you_mean(name, list(schema.names))}")
        if not 1 <= len(names) <= 3:
            raise UsageError("an accuracy speaks of one to three attributes")
        public = schema.with_public_bins()
        cells = math.prod(public[name].size for name in names)

        def error(e: ExpectedError) -> float:
            distance = {1: e.one_way, 2: e.two_way, 3: e.three_way}[len(names)] or e.one_way
            return TWICE * 2 * distance / cells

        points = float(match["points"])
        return Accuracy(f"shares by {' and '.join(names)} within {points:g} points", error, points / 100)

    def least_epsilon(self, planned: Callable[[float], ExpectedError]) -> float | None:
        """Return the least epsilon, to two digits, that is expected to get there; None where 10 does not."""
        if self.error(planned(MAX_EPSILON)) > self.wanted:
            return None
        low, high = math.log(MIN_EPSILON), math.log(MAX_EPSILON)
        for _ in range(9):
            middle = (low + high) / 2
            low, high = (low, middle) if self.error(planned(math.exp(middle))) <= self.wanted else (middle, high)
        return float(f"{math.exp(high):.2g}")


def phase_error(phase: Phase, expected: ExpectedError) -> float | None:
    """Return what a phase's tables are expected to be off by once all of them are fitted together."""
    if phase.error is None:
        return None
    return {"one-way": expected.one_way, "tables": expected.two_way}.get(phase.name, phase.error)
