"""Rounds that choose a pair of attributes by the model so far, measure its table, and fit the model again (AIM)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.methods.toolkit.merged_groups import merged_groups
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.schema import Axes, Axis, Floats, Integers, Schema

if TYPE_CHECKING:
    from fractions import Fraction

    from understudy.models.estimation import Fitted
    from understudy.models.junction_tree import JunctionTree
    from understudy.models.prior import Prior
    from understudy.privacy.table import PrivateTable

Chooser = Callable[[Sequence[Pair], Sequence[Floats]], Pair]  # by the model's own table of each pair, in rows

MOSTLY_NOISE = 1.25  # a table no further from the model than so many times the noise expected on it


class AdaptiveRounds:
    """What was measured so far, the model that fits it best, and the pairs that may still be chosen.

    Args:
        table: the private table, which is asked for one table a round.
        variables: the attributes that pairs are made of.
        measured: what was measured before the first round.
        cells: the limit of the triangulated model.
        rows: the row count by what was measured so far.
        tolerance: how well the model fits between rounds; None for as well as at the end.
        per_fit: how many rounds choose by the same model, no two of them a table of the same attribute.
        prior: tables that are known before; those over several attributes are in the model from the beginning.
    """

    def __init__(
        self,
        table: PrivateTable,
        variables: Sequence[Axis],
        measured: list[Measurement],
        cells: int,
        rows: Callable[[Sequence[Measurement]], int],
        tolerance: float | None = None,
        per_fit: int = 1,
        prior: Prior | None = None,
    ) -> None:
        self.measured = measured
        self.chosen: list[Axes] = []
        self._variables = variables
        self._cells = cells
        self._prior = prior
        self._offer(table)
        self._limit = 2 * cells
        self._rows = rows
        self._tolerance = tolerance
        self._per_fit = per_fit
        self._since_fit: list[Axes] = []
        self._best: Fitted | None = None
        self._fitted_to = 0
        self.newest: tuple[Integers, Floats]  # what the last round measured, and what the model made of it

    def _offer(self, table: PrivateTable) -> None:
        """Offer the pairs of this table."""
        self.private = table
        self.candidates = CandidatePairs(table.schema, self._variables, self._cells, chosen=self.joined)

    def among(self, tables: Sequence[Axes]) -> CandidatePairs:
        """Return these tables as candidates, all of them in each round, beside what the model has already."""
        schema = self.private.schema
        return CandidatePairs(schema, self._variables, self._cells, tables, self.joined, len(tables))

    def merge(self, noise: float) -> None:
        """Offer pairs by merged groups of values too, where a table of pairs with this mean absolute noise in a cell
        has too few rows for all values (`merged_groups`)."""
        one_way = {m.axes[0]: m for m in reversed(self.measured) if len(m.axes) == 1 and m.axes[0].base}
        if groups := merged_groups(self.private.schema, one_way.values(), self.rows, noise):
            self._offer(self.private.viewed(groups))
            self._best = None  # it knows of no groups

    @property
    def rows(self) -> int:
        """Return the row count by all that was measured."""
        return self._rows(self.measured)

    @property
    def best(self) -> Fitted:
        """Return the model that fits all that was measured, started from the one before."""
        from understudy.models.estimation import TOLERANCE, fitted
        from understudy.models.refit import Design

        if self._best is None or self._fitted_to < len(self.measured):
            schema, rows = self.private.schema, self.rows
            tables = Design(schema, prior=self._prior).tables(self.measured, rows)
            start, tolerance = None, TOLERANCE
            if self._best is not None:
                start, tolerance = self._best.theta, TOLERANCE if self._tolerance is None else self._tolerance
            self._best = fitted(tables, schema, rows, limit=self._limit, start=start, tolerance=tolerance)
        self._fitted_to = len(self.measured)
        self._since_fit = []
        return self._best

    def _by_one_model(self, options: Sequence[Axes]) -> tuple[Sequence[Axes], JunctionTree]:
        """Return the model that this round chooses by and the options that it is not out of date for."""
        if self._best is not None and 0 < len(self._since_fit) < self._per_fit:
            touched = {axis.attribute for axes in self._since_fit for axis in axes}
            if fresh := [axes for axes in options if touched.isdisjoint(axis.attribute for axis in axes)]:
                return fresh, self._best.tree
        return options, self.best.tree

    def round(
        self, options: Sequence[Axes], choose: Chooser, cost: Fraction, deviation: Callable[[Floats], Floats]
    ) -> bool:
        """Measure the table that `choose` picks; return whether it says more than its noise would.

        `deviation` is how far each cell is expected to be off, by what the model makes of the table.
        """
        from understudy.models.pair_marginals import pair_marginals

        options, tree = self._by_one_model(options)
        tables, rows = pair_marginals(tree, options), self.rows
        expected = [tables[axes] * rows for axes in options]
        pair = choose([Pair(axes[-1], axes[:-1]) for axes in options], expected)
        seen = self.private.measure([pair.axes], cost, "tables")
        self.measured += seen
        self.chosen.append(pair.axes)
        self._since_fit.append(pair.axes)
        self.candidates.add(pair.axes)
        # not from a rounded table: where rounding flips, on another machine, the cost of a round would too
        by_model = expected[list(options).index(pair.axes)]
        self.newest = (seen[0].values, by_model)
        return bool(np.abs(seen[0].values - by_model).sum() >= MOSTLY_NOISE * deviation(by_model).sum())

    def measure(
        self, tables: Sequence[Axes], cost: Fraction, purpose: str, shares: Sequence[Fraction] | None = None
    ) -> None:
        """Measure these tables without a choice, each for its share of the cost; evenly where none are given."""
        self.measured += self.private.measure(tables, cost, purpose, shares)
        self._since_fit = []
        self.chosen += tables
        for axes in tables:
            self.candidates.add(axes)

    @property
    def joined(self) -> list[Axes]:
        """Return the tables of several attributes that the model has."""
        before = () if self._prior is None else self._prior.cliques
        return [*(axes for axes in before if len(axes) > 1), *self.chosen]

    @property
    def schema(self) -> Schema:
        """Return the schema of what was measured: with merged groups, where there are any."""
        return self.private.schema

    @property
    def tables(self) -> list[list[str]]:
        """Return the names of the attributes of what was chosen, for a release's facts."""
        return [[axis.attribute for axis in axes] for axes in self.chosen]
