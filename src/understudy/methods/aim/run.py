"""One run of AIM: what is bought in turn, and the model of all of it.

Row count, what pairs are worth, each attribute alone, then rounds of choosing the table that the model gets most wrong,
measuring it and estimating again; what is left buys each attribute once more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from understudy.methods.aim.phases import ALONE, UNLINKED, USES
from understudy.methods.aim.prior_use import prior_facts, prior_notes, used_prior
from understudy.methods.aim.rounds import AimRounds
from understudy.methods.aim.worth import DEPENDENCE, asked_axes
from understudy.methods.method import Fit
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.methods.toolkit.distance_rounds import play_wider
from understudy.methods.toolkit.merged_groups import merged_notes
from understudy.methods.toolkit.row_count import row_count
from understudy.models.row_total import pooled_rows
from understudy.privacy.measurement import Measurement
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis

if TYPE_CHECKING:
    from understudy.methods.aim.method import Aim

ROUGHLY = 1e-2  # how well a model fits its tables while more are to come
PER_FIT = 65  # attributes for each further round by the same model
WIDE, PER_WIDE_FIT = 100, 15  # the same above so many attributes


class AimRun:
    """The state of one run: the tables bought so far, and what the rest of the budget is for."""

    def __init__(self, method: Aim, table: PrivateTable) -> None:
        schema = table.schema
        pairs = combinations((a.name for a in schema.modelled), 2)
        table.foresee([tuple(map(Axis, pair)) for pair in pairs if schema.cells(pair) <= method.max_cells(schema)])
        self.method, self.table, self.prior = method, table, method.prior
        self.rows, self.row_counts = row_count(table)
        self.split = method.split(schema, table.accounting, table.total_cost, self.rows)
        self.costs, self.room = self.split.costs, self.split.max_cells
        self.measured: list[Measurement] = []
        table.foresee(self.split.wider)

    def fit(self) -> Fit:
        """Spend the whole budget; return the model of all that was bought."""
        dependence = self._dependence()
        adds_up = self.table.accounting.power == 1  # then a table measured twice is worse than one at twice the price
        if adds_up:
            self.costs = self.split.worthwhile(self.costs, dependence, self.rows)
        self._measure_columns()
        rounds = self._rounds()
        if not adds_up:
            self._decide_by_columns(rounds, dependence)
        self._measure_uses(rounds)
        aim = AimRounds(rounds, self.split, self.method.kappa, self.costs.each)
        if left := self._play(rounds, aim):  # nothing is left to offer
            self._measure_again(left)
        return self._fitted(rounds, bool(left) and aim.unlinked)

    def _dependence(self) -> float:
        """Buy how far pairs are from independence, or from the prior where there is one, in rows."""
        costs, schema = self.costs, self.table.schema
        found = self.table.measure_dependence(asked_axes(schema), costs.worth, DEPENDENCE) if costs.worth else 0.0
        if self.prior is None:
            return found
        self.prior = used_prior(self.table, self.prior, costs.prior, self.rows, found, self.room)
        self.room = self.room * 3 // 2
        return found if self.prior.distance is None else self.prior.distance * self.rows

    def _measure_columns(self) -> None:
        """Measure each attribute alone, but for those that are known already: what they would cost is for rounds."""
        split, costs = self.split, self.costs
        several = len(split.variables) > 1
        known = [m for m in self.table.known if m.axes[0] in split.variables] if several else []
        asked = [ask for ask in split.one_way if ask[0] not in {m.axes[0] for m in known}]
        fresh = costs.single * len(asked) / len(split.variables)
        if known:
            self.costs = replace(costs, rounds=costs.rounds + costs.single - fresh)
        self.measured += known
        if asked:
            self.measured += self.table.measure(asked, fresh, "one-way", split.shares(asked))

    def _measure_again(self, cost: Fraction) -> None:
        """Measure each attribute alone once more."""
        one_way = self.split.one_way
        self.measured += self.table.measure(one_way, cost, "one-way", self.split.shares(one_way))

    def _rounds(self) -> AdaptiveRounds:
        schema, variables = self.table.schema, self.split.variables
        return AdaptiveRounds(
            self.table, variables, self.measured, self.room,
            lambda seen: pooled_rows(schema, [*self.row_counts, *seen]),
            ROUGHLY, _rounds_a_fit(len(variables)), self.prior,
        )  # fmt: skip

    def _decide_by_columns(self, rounds: AdaptiveRounds, dependence: float) -> None:
        """Decide for rounds or against them, now that the columns are known."""
        shares = [rounds.best.tree.project([axis]).table for axis in self.split.variables]
        decided = self.split.worthwhile(self.costs, dependence, rounds.rows, shares)
        if decided is not self.costs:
            self._measure_again(decided.single - self.costs.single)
            self.costs = decided

    def _measure_uses(self, rounds: AdaptiveRounds) -> None:
        """Measure the tables that uses name, and offer pairs by merged groups."""
        named, costs = self.split.named(self.split.costs), self.costs
        if costs.named:
            rounds.measure(named.measured, costs.named, USES, self.split.shares(named.measured))
        if costs.each and self.method.merge and self.prior is None:
            rounds.merge(self.split.round_noise(costs.each))

    def _play(self, rounds: AdaptiveRounds, aim: AimRounds) -> Fraction:
        """Play all rounds: among tables that uses speak of, pairs, and wider tables; return what is left."""
        costs, split, left = self.costs, self.split, self.costs.rounds
        if costs.offered:
            named = split.named(split.costs)
            spoken_of = CandidatePairs(self.table.schema, split.variables, self.room, named.offered, rounds.joined)
            left += replace(aim, each=costs.each or costs.offered / named.rounds).play(spoken_of, costs.offered)
        if costs.each:
            left = aim.play(rounds.candidates, left)
        if costs.wider:
            left += play_wider(rounds, split.wider, costs.wider, split.wider_price, self.method.kappa)
        if costs.each and left:
            left = aim.play(rounds.candidates, left)
        return left

    def _fitted(self, rounds: AdaptiveRounds, unlinked: bool) -> Fit:
        from understudy.models.refit import Design, refit

        bought = [*self.row_counts, *self.measured]
        refitted = refit(bought, Design(rounds.schema, 2 * self.room, self.prior))
        options = self.method.settled(self.split, self.costs)
        facts: dict[str, Any] = {"options": options, "tables": rounds.tables, **prior_facts(self.prior)}
        alone = not (rounds.joined or self.costs.rounds or len(self.split.variables) == 1)
        notes = (
            *([ALONE] if alone else []), *([UNLINKED] if unlinked else []),
            *merged_notes(rounds.schema, self.measured), *prior_notes(self.prior),
        )  # fmt: skip
        return Fit(refitted.model, tuple(bought), refitted.rows, facts, notes, prior=self.prior)


def _rounds_a_fit(attributes: int) -> int:
    """Return how many rounds choose by the same model: one where there are few attributes."""
    return 1 + attributes // (PER_FIT if attributes <= WIDE else PER_WIDE_FIT)
