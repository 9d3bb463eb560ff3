"""What each part of a run of AIM costs: a budget split by public facts, noisy counts, and what was bought first.

There are as many rounds as leave the middle pair useful; one-way tables get what makes the sum of all errors least.
Where pairs would not be worth their noise there are none (`worth`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from understudy.methods.aim.model_size import NARROW
from understudy.methods.aim.named_tables import (
    ALONE_SHARE,
    NAMED_PRICE,
    NAMED_SHARE,
    OFFERED_SHARE,
    NamedTables,
    named_tables,
)
from understudy.methods.aim.prior_use import PRIOR_SHARE
from understudy.methods.aim.worth import (
    NEVER,
    SURELY,
    WORTH_SHARE,
    asked_axes,
    chance_dependence,
    column_error,
    even_shares,
    learnable,
    needed_dependence,
)
from understudy.methods.toolkit.budget_split import middle_pair, shares_by_size, weight
from understudy.methods.toolkit.merged_groups import MIN_VALUES, ROWS_OVER_NOISE, cells_left
from understudy.methods.toolkit.row_count import count_cost
from understudy.methods.toolkit.wider_tables import WIDER_ROUNDS, WIDER_SHARE, wider_tables
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import exact
from understudy.privacy.measurement import table_noise
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.schema import Axes, Axis, Floats, Schema

ROUNDS: dict[type[Noise], tuple[int, int]] = {
    Laplace: (1, 2),
    Gaussian: (2, 4),
}  # for each attribute: at least and at most
THETA = 6.0  # rows in a cell of the middle pair over the noise in it: as many rounds as keep this
FURTHER = 48.0  # the same, for up to `FURTHER_ROUNDS` times the most rounds: then few tables are drowned, many missing
FURTHER_ROUNDS = 2
LOST = 2.0  # where epsilons add up: fewer rounds than the least, if this would not be kept
MERGED_CELLS = 36  # of a pair by merged groups: the same, where that is how it is measured
SINGLE = 0.2  # of the budget, for one-way tables; more where there are few rounds
MOST_SINGLE = 0.35  # of the budget, for them at most, by the floor
HIDDEN = 0.25  # power of the part of a pair's cells that merging leaves: so much of the dependence is still seen


@dataclass(frozen=True)
class Costs:
    """How the budget is split before a row is read."""

    count: Fraction
    single: Fraction
    rounds: Fraction  # all of them together
    each: Fraction  # the first ones
    worth: Fraction = Fraction(0)  # for the mean dependence of pairs, which decides whether there are rounds
    prior: Fraction = Fraction(0)  # for the distance from the prior, which decides whether it is used
    surely: bool = False  # there are rounds, whatever is bought
    named: Fraction = Fraction(0)  # for tables that uses name
    offered: Fraction = Fraction(0)  # for rounds that choose among tables that uses speak of
    wider: Fraction = Fraction(0)  # for rounds that choose among tables of three and four attributes, at most

    def without_rounds(self) -> Costs:
        """Return the same with all that rounds would cost for the one-way tables, or a part of it for tables that uses
        speak of."""
        most = (self.offered + self.rounds) * ALONE_SHARE
        more = max(Fraction(0), most - self.offered) if self.offered else Fraction(0)
        single, offered = self.single + self.rounds - more, self.offered + more
        return replace(self, single=single, offered=offered, rounds=Fraction(0), each=Fraction(0))


@dataclass(frozen=True)
class AimWishes:
    """What was asked for: the options that decide how a budget is split."""

    rounds: int | None
    single: float | None
    select: float  # of a round, for its choice
    merge: bool
    wider: bool
    cells: int  # of the model, at most
    prior: bool

    @property
    def sure(self) -> bool:
        """Return whether somebody asked for rounds."""
        return self.rounds is not None or self.single is not None


@dataclass(frozen=True)
class CostSplit:
    """How a run splits its budget, by what was asked for, the schema, the accounting and the (noisy) number of rows."""

    wishes: AimWishes
    schema: Schema
    accounting: Accounting
    whole: Fraction
    rows: int

    @cached_property
    def costs(self) -> Costs:
        """Return what each part costs before anything but the row count is bought."""
        count = count_cost(self.schema, self.whole)
        rest = self.whole - count
        if len(self.schema.modelled) == 1:
            return Costs(count, rest, Fraction(0), Fraction(0))
        costs = self._with_wider(self._decided(count, rest, self.wishes.rounds or self._affordable(rest)))
        return self._with_uses(costs) if self.schema.uses else costs

    @property
    def max_cells(self) -> int:
        """Return how many cells the model may have."""
        return self.wishes.cells

    @property
    def merges(self) -> bool:
        """Return whether values of large attributes are merged for pairs."""
        return self.wishes.merge and not self.wishes.prior

    @property
    def needed(self) -> float | None:
        """Return the mean dependence of pairs from which on there are rounds, by public facts; None if in any case."""
        if self.costs.surely or not self.costs.each:
            return None
        return self._needed(self.costs, self.rows, even_shares(self.schema))

    @cached_property
    def variables(self) -> Axes:
        """Return the attributes that are modelled."""
        return tuple(Axis(a.name) for a in self.schema.modelled)

    @cached_property
    def one_way(self) -> list[Axes]:
        """Return a table for each attribute alone."""
        return [(axis,) for axis in self.variables]

    @property
    def wider_price(self) -> Fraction:
        """Return what a round costs that chooses among wider tables."""
        rounds = (self.whole - count_cost(self.schema, self.whole)) * (1 - exact(MOST_SINGLE))  # at least
        return rounds * WIDER_SHARE / WIDER_ROUNDS

    @cached_property
    def wider(self) -> tuple[Axes, ...]:
        """Return the tables of three and four attributes that may be chosen."""
        if not self.wishes.wider:
            return ()
        return wider_tables(self.schema, self.accounting, self.wider_price, self.rows)

    def shares(self, tables: Sequence[Axes]) -> list[Fraction]:
        """Return each table's part of what they cost together."""
        return shares_by_size(self.schema, tables, self.accounting)

    def round_noise(self, price: Fraction) -> float:
        """Return the mean absolute noise in a cell of the table that a round at this price measures."""
        return self.noise(price * (1 - exact(self.wishes.select)))

    def noise(self, cost: Fraction) -> float:
        """Return the mean absolute noise in a cell of a table at this cost."""
        return table_noise(self.schema, self.accounting, cost).mean_abs

    def named(self, costs: Costs) -> NamedTables:
        """Return what uses ask for, as far as tables at the price of a round are not drowned in noise."""
        if not self.schema.uses:
            return NamedTables()
        each = costs.each or (costs.single + costs.named + costs.offered) / (2 * len(self.variables))
        noise = self.noise(each)
        power = self.accounting.power  # three times the price is a third of the noise, or the root of that
        return named_tables(
            self.schema,
            self.max_cells,
            lambda cells, price: cells * noise / (2 * self.rows * price ** (1 / power)),
        )

    def worthwhile(self, costs: Costs, seen_rows: float, rows: int, shares: Sequence[Floats] | None = None) -> Costs:
        """Return the costs as they are, or without rounds where what was bought says that they are not worth it.

        Args:
            costs: so far.
            seen_rows: the bought mean distance of pairs from independence, in rows.
            rows: the number of rows by all that was measured.
            shares: of each attribute's values, by its noisy table; even where there is none yet.
        """
        if not costs.worth or not costs.each or costs.surely:
            return costs
        known = even_shares(self.schema) if shares is None else shares
        found = learnable(seen_rows / rows, chance_dependence(known, rows))
        return costs if found >= self._needed(costs, rows, known) else self._without_rounds(costs)

    def _without_rounds(self, costs: Costs) -> Costs:
        """Return the costs without rounds of pairs. Where epsilons add up, one look at wider tables is all: what it
        left would buy columns a second time, which is worse than once."""
        alone = costs.without_rounds()
        if self.accounting.power > 1 or not costs.wider:
            return alone
        return replace(alone, single=alone.single + costs.wider - self.wider_price, wider=self.wider_price)

    def _decided(self, count: Fraction, rest: Fraction, rounds: int) -> Costs:
        """Return how all but the row count is split: without rounds where public facts speak against them."""
        costs, wishes = self._split(count, rest, rounds), self.wishes
        if len(asked_axes(self.schema)) < 2 or (wishes.sure and not wishes.prior):
            return costs
        needed = self._needed(costs, self.rows, even_shares(self.schema))
        never = needed > NEVER and not wishes.sure
        prior = rest * exact(PRIOR_SHARE) if wishes.prior else Fraction(0)
        worth = rest * exact(WORTH_SHARE) if prior or SURELY < needed <= NEVER else Fraction(0)
        split = self._split(count, rest - worth - prior, rounds)
        split = replace(split, worth=worth, prior=prior, surely=wishes.sure or needed <= SURELY)
        return split.without_rounds() if never else split

    def _with_wider(self, costs: Costs) -> Costs:
        """Return the costs with a part of what rounds, or one-way tables, cost for tables of several attributes."""
        if not self.wider:
            return costs
        if costs.rounds:
            part = costs.rounds * WIDER_SHARE
            return replace(costs, rounds=costs.rounds - part, wider=part)
        part = self.wider_price * (1 if self.accounting.power == 1 else WIDER_ROUNDS)
        return replace(costs, single=costs.single - part, wider=part)

    def _with_uses(self, costs: Costs) -> Costs:
        """Return the costs with a part of what rounds cost, or else of what one-way tables cost, for the uses."""
        whole = costs.rounds or costs.single
        each = costs.each or whole / (2 * len(self.variables))
        named = self.named(costs)
        direct = min(whole * NAMED_SHARE, NAMED_PRICE * each * len(named.measured))
        share = OFFERED_SHARE if costs.rounds else ALONE_SHARE
        offered = min((whole - direct) * share, each * named.rounds)
        left = replace(costs, named=direct, offered=offered)
        if costs.rounds:
            return replace(left, rounds=costs.rounds - direct - offered)
        return replace(left, single=costs.single - direct - offered)

    def _split(self, count: Fraction, rest: Fraction, rounds: int) -> Costs:
        single = rest * self._single(rounds)
        return Costs(count, single, rest - single, (rest - single) / rounds)

    def _needed(self, costs: Costs, rows: int, shares: Sequence[Floats]) -> float:
        """Return how dependent pairs must be on average for rounds to be worth their price."""
        by_size = self.shares(self.one_way)
        with_rounds, alone = (
            column_error(shares, rows, [self.noise(cost * own) for own in by_size])
            for cost in (costs.single, costs.single + costs.rounds)
        )
        pair_noise, kept = self._pair_noise(costs.each, rows)
        pair_error = pair_noise / (2 * rows)
        rounds, d = float(costs.rounds / costs.each), len(self.variables)
        needed = needed_dependence(with_rounds - alone, pair_error, rounds, d, self.accounting.noise)
        return needed / math.pow(kept, HIDDEN)

    def _pair_noise(self, price: Fraction, rows: int | None = None) -> tuple[float, float]:
        """Return the noise in all cells of the middle pair in a round at this price, and the part of them that merging
        leaves."""
        noise, cells = self.round_noise(price), middle_pair(self.schema)
        kept = cells_left(cells, self.rows if rows is None else rows, noise) if self.merges else 1.0
        return kept * cells * noise, kept

    def _affordable(self, cost: Fraction) -> int:
        """Return as many rounds as leave the middle pair useful, within bounds for each attribute.

        The noise of one of k tables grows with k under pure epsilon, and only with its root under zCDP.
        """
        least, most = self._bounds
        noise = self.round_noise(cost * (1 - exact(SINGLE)))
        alone = self.rows / (middle_pair(self.schema) * noise)  # rows over noise in a cell, if one pair had it all
        power = self.accounting.power
        further = min(FURTHER_ROUNDS * most, int((alone / FURTHER) ** power)) if len(self.variables) <= NARROW else 0
        if power > 1:
            return max(least, min(most, int((alone / THETA) ** power)), further)
        borne = max(alone / LOST, self._borne_merged(noise))
        return max(1, min(int(borne), max(least, min(most, int(alone / THETA)))), further)

    def _borne_merged(self, noise: float) -> float:
        """Return how many rounds leave a pair a table of merged groups that is worth having, where `noise` is that of
        one round alone."""
        merges = self.merges and middle_pair(self.schema) >= MIN_VALUES**2
        return self.rows / (ROWS_OVER_NOISE * noise * MERGED_CELLS) if merges else 0.0

    def _single(self, rounds: int) -> Fraction:
        """Return the part for one-way tables: what makes the sum of all tables' errors least, but not too little."""
        if self.wishes.single is not None:
            return exact(self.wishes.single)
        ones = sum(weight(a.size, self.accounting) for a in self.schema.modelled)
        pairs = rounds * weight(middle_pair(self.schema), self.accounting)
        return max(self._least_single(rounds), Fraction(ones, ones + pairs))

    def _least_single(self, rounds: int) -> Fraction:
        """Return a fifth, or up to `MOST_SINGLE` where Gaussian noise leaves room for no more than the least rounds:
        there the noise of columns is most of every pair's error."""
        if self.accounting.power == 1:
            return exact(SINGLE)
        least, most = self._bounds
        short = min(Fraction(1), max(Fraction(0), Fraction(most - rounds, most - least)))
        return exact(SINGLE) + (exact(MOST_SINGLE) - exact(SINGLE)) * short

    @property
    def _bounds(self) -> tuple[int, int]:
        """Return the least and the most rounds of this table."""
        least, most = ROUNDS[self.accounting.noise]
        return least * len(self.variables), most * len(self.variables)
