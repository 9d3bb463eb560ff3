"""What each part of a run of SWIFT costs, by public facts and the (noisy) number of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from understudy.methods.plan import Phase, tables_phase
from understudy.methods.swift.candidates import candidates
from understudy.methods.toolkit.budget_split import middle_pair, sized_phase, weight
from understudy.methods.toolkit.merged_groups import groups_borne
from understudy.methods.toolkit.row_count import count_cost
from understudy.methods.toolkit.wider_tables import CHOICE, WIDER_ROUNDS, WIDER_SHARE, wider_tables
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import exact
from understudy.privacy.measurement import table_noise
from understudy.privacy.noise import Noise
from understudy.privacy.questions.statistics import row_distance
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axes, Axis, Schema

USUAL_TABLES = 2  # for each attribute: as many are planned for before anything is known
COLUMN_WEIGHT = 10  # of a column beside tables of weight 1: its error is one of many tables
BLIND = 0.1  # noise of a score, as a total variation distance, from which on no structure is seen
PART = 4  # a table may have one in so many of the model's cells


@dataclass(frozen=True)
class SwiftSplit:
    """How a run splits its budget.

    Args:
        schema: of the table.
        accounting: pure epsilon, zCDP or Gaussian DP.
        whole: the total cost.
        rows: how many there are, declared or bought.
        single: the part for one-way tables before anything else.
        select: the part for scores.
        cells: of the triangulated model, at most.
        may_widen: whether tables of three and four attributes are looked at in the end.
    """

    schema: Schema
    accounting: Accounting
    whole: Fraction
    rows: int
    single: float
    select: float
    cells: int
    may_widen: bool

    @cached_property
    def variables(self) -> Axes:
        """Return the attributes that are modelled."""
        return tuple(Axis(a.name) for a in self.schema.modelled)

    @cached_property
    def candidates(self) -> Mapping[Axes, int]:
        """Return the tables that may be measured, before values are merged."""
        return candidates(self.schema, self.max_table)

    @property
    def max_table(self) -> int:
        """Return how many cells one table may have."""
        return max(4, self.cells // PART)

    @property
    def count(self) -> Fraction:
        """Return the cost of the row count."""
        return count_cost(self.schema, self.whole)

    @property
    def rest(self) -> Fraction:
        """Return what there is for all but the row count."""
        return self.whole - self.count

    @cached_property
    def sighted(self) -> bool:
        """Return whether scores are bought: there are pairs, and noise leaves something of their scores to see."""
        if not self.candidates:
            return False
        return self.score_noise(len(self.candidates)).mean_abs <= 2 * BLIND * self.rows

    @property
    def columns(self) -> Fraction:
        """Return the cost of the one-way tables: all there is, where no structure can be seen."""
        return self.rest * exact(self.single) if self.sighted else self.rest

    @property
    def scores(self) -> Fraction:
        """Return the cost of the scores."""
        return self.rest * exact(self.select) if self.sighted else Fraction(0)

    @property
    def tables(self) -> Fraction:
        """Return the cost of the tables that scores decide on."""
        return self._after_scores - self.looks

    @property
    def _after_scores(self) -> Fraction:
        return self.rest - self.columns - self.scores

    @property
    def wider_price(self) -> Fraction:
        """Return what a round among wider tables costs."""
        return self._after_scores * WIDER_SHARE / WIDER_ROUNDS

    @cached_property
    def wider(self) -> tuple[Axes, ...]:
        """Return the tables of three and four attributes that rounds choose from in the end, if any."""
        if not (self.sighted and self.may_widen):
            return ()
        return wider_tables(self.schema, self.accounting, self.wider_price, self.rows)

    @property
    def looks(self) -> Fraction:
        """Return the cost of rounds among wider tables: one where epsilons add up."""
        rounds = 1 if self.accounting.power == 1 else WIDER_ROUNDS
        return self.wider_price * rounds if self.wider else Fraction(0)

    def score_noise(self, tables: int) -> Noise:
        """Return the noise on the distances of so many tables."""
        moved = row_distance(self.schema)
        one_row = Sensitivity(tables * moved, tables * moved**2)
        return self.accounting.noise_for(one_row.times(self.schema.rows_per_person), self.rest * exact(self.select))

    def noise(self, cost: Fraction) -> float:
        """Return the mean absolute noise in a cell of a table at this cost."""
        return table_noise(self.schema, self.accounting, cost).mean_abs

    @property
    def pair_noise(self) -> float:
        """Return the noise in a cell of one of as many tables as are usual."""
        return self.noise(self.tables / self._usual)

    @property
    def _usual(self) -> int:
        return min(USUAL_TABLES * len(self.variables), len(self.candidates))

    def column_prices(self) -> int:
        """Return the price of all columns together, beside tables of weight 1."""
        return sum(weight(COLUMN_WEIGHT * a.size, self.accounting) for a in self.schema.modelled)

    def phases(self) -> Iterator[Phase]:
        """Yield what is bought, in the order in which it is."""
        schema, accounting, rows = self.schema, self.accounting, self.rows
        if self.count:
            yield tables_phase("row count", schema, accounting, self.count, 1, 1, rows, "how many rows there are")
        one_way = [(axis,) for axis in self.variables]
        detail = "each attribute alone, larger ones more closely"
        yield sized_phase("one-way", schema, accounting, self.columns, one_way, rows, detail)
        if not self.sighted:
            return
        largest = max(map(schema.cells, self.candidates))
        scale, detail = self.score_noise(len(self.candidates)).scale, "how far every pair is from independence, at once"
        detail += "; then choices of wider tables, at most" if self.wider else ""
        choices = self.looks * CHOICE
        yield Phase("structure", self.scores + choices, len(self.candidates), largest, scale, detail=detail)
        detail = "pairs that depend on each other, and each attribute once more: about so many"
        tables = tables_phase("tables", schema, accounting, self.tables, self._usual, self._middle, rows, detail)
        cost = self.tables + self.looks - choices
        yield replace(tables, cost=cost, cells=largest, groups=groups_borne(rows, self.pair_noise))

    @property
    def _middle(self) -> int:
        return min(middle_pair(self.schema), self.max_table)

    @property
    def seconds(self) -> float:
        """Return about how much processor time a run takes."""
        d = len(self.variables)
        counting = len(self.candidates) * (2e-4 + self.rows * 2e-9)
        return 1.0 + self.rows * d * 8e-8 + (counting + 6 * (10 * d * d * 3e-6 + self.cells * 4e-6) if d > 1 else 0.0)

    @property
    def megabytes(self) -> float:
        """Return about how much memory a run takes."""
        tables = sum(map(self.schema.cells, self.candidates)) * 8 / 1e6
        return 200 + self.rows * len(self.variables) * 30 / 1e6 + self.cells * 400 / 1e6 + min(tables, math.inf)
