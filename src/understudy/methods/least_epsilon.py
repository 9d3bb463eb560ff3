"""The least epsilon: what a wished accuracy would cost, from public facts alone.

A wish is a distance of average two-way tables, or a named table whose shares are to be within so many points. Errors of
a table's cells are not alike: where there are many, most are small and a few bear most of the distance. So 19 of 20
shares that are not far below the average one are taken as within 2·distance·cells^(CROWDED − 1), the distance that of
the table's own columns. Fitted to tables published from seeds, found bins and generated ones (decision 0026).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from understudy.errors import UsageError, did_you_mean
from understudy.methods.expected_error import expected_error, named_error
from understudy.methods.plan import Plan
from understudy.schema import Schema

MIN_EPSILON, MAX_EPSILON = 1e-3, 10.0
CROWDED = 0.36  # power of the number of cells by which the 19th of 20 is above the mean cell
OF_TRIPLES = 1.5  # more in tables of three columns
_STEPS = 9  # halvings of the logarithm of epsilon
_ACCURACY = re.compile(
    r"\s*shares?\s+by\s+(?P<names>.+?)\s*(?:±|\+-|\+/-|within)\s*(?P<points>\d+(?:\.\d+)?)\s*(?:points?|%)\s*", re.I
)

Planned = Callable[[float], tuple[Schema, Plan]]


@dataclass(frozen=True)
class Least:
    """A wish, the least epsilon that is expected to fulfil it, and the error expected there; both as the wish is."""

    wanted: str
    epsilon: float | None  # None where the largest that is tried does not
    expected: float  # there, or at the largest epsilon: a distance, or half the width of 19 in 20 shares
    points: bool  # whether the error is of shares

    @property
    def reached(self) -> str:
        """Return the expected error in the words of the wish."""
        return f"within {100 * self.expected:.2g} points" if self.points else f"off by {self.expected:.2g}"


@dataclass(frozen=True)
class Accuracy:
    """What is wanted: a distance of two-way tables, or shares of a table within so many points, 19 times in 20."""

    words: str
    wanted: float
    names: tuple[str, ...] = ()  # of the table; of none, average two-way tables are meant

    @staticmethod
    def of_distance(wanted: float) -> Accuracy:
        """Ask for an average two-way table to be off by at most this total variation distance."""
        if not 0 < wanted < 1:
            raise UsageError("a total variation distance is between 0 and 1, 0.03 for example")
        return Accuracy(f"two-way tables off by {wanted:g}", wanted)

    @staticmethod
    def of_text(text: str, schema: Schema) -> Accuracy:
        """Read `share by sex and region ± 2 points`: each cell of that table, as a share of all rows."""
        match = _ACCURACY.fullmatch(text)
        if match is None:
            raise UsageError(f"write an accuracy as 'share by sex and region ± 2 points'; this is {text!r:.60}")
        names = tuple(re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", match["names"]))
        known = [a.name for a in schema.modelled]
        for name in names:
            if name not in known:
                raise UsageError(f"there is no attribute {name!r}. {did_you_mean(name, known)}", attribute=name)
        if not 1 <= len(names) <= 3 or len(set(names)) < len(names):
            raise UsageError("an accuracy speaks of one to three different attributes")
        points = float(match["points"])
        if not 0 < points < 100:
            raise UsageError("shares are wanted within more than 0 and fewer than 100 points, 2 for example")
        unit = "point" if points == 1 else "points"
        return Accuracy(f"shares by {' and '.join(names)} within {points:g} {unit}, 19 in 20", points / 100, names)

    def error(self, schema: Schema, plan: Plan) -> float:
        """Return what is to be expected of a plan."""
        if not self.names:
            expected = expected_error(schema, plan)
            return expected.one_way if expected.two_way is None else expected.two_way
        public = schema.with_public_bins(plan.bins)
        cells = math.prod(public[name].size for name in self.names)
        more = OF_TRIPLES if len(self.names) == 3 else 1.0
        return min(1.0, more * 2 * named_error(schema, plan, self.names) * math.pow(cells, CROWDED - 1))

    def least_epsilon(self, planned: Planned) -> Least:
        """Return the least epsilon, to two digits, that is expected to get there, of plans for each epsilon."""
        most = self.error(*planned(MAX_EPSILON))
        if most > self.wanted:
            return Least(self.words, None, most, bool(self.names))
        low, high = math.log(MIN_EPSILON), math.log(MAX_EPSILON)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.error(*planned(math.exp(middle))) <= self.wanted else (middle, high)
        found = min(MAX_EPSILON, _rounded_up(math.exp(high)))
        return Least(self.words, found, self.error(*planned(found)), bool(self.names))


def _rounded_up(number: float) -> float:
    """Return a number with two digits that is no smaller."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.ceil(number / unit - 1e-9) * unit:.2g}")
