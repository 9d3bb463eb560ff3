"""The rounds of one run of AIM: each chooses the table that the model gets most wrong, measures it and fits again.

A choice is by score D, the L1 distance between the real table and the model's, less a public penalty for the noise that
measuring the table would put on it. A round that saw little but noise makes the next rounds cost twice as much: what is
left to learn is small and needs a closer look. Both read released tables only (PROOF.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy.methods.aim.costs import CostSplit
from understudy.methods.aim.wider_tables import CHOICE
from understudy.methods.aim.worth import chance_deviation
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.privacy.budget import exact
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.schema import Axes, Floats


@dataclass
class AimRounds:
    """What is left to choose from in one run, and how rounds choose."""

    rounds: AdaptiveRounds
    split: CostSplit
    kappa: float  # how much of the expected noise of a table counts against it
    each: Fraction  # what the next round costs

    def play(self, candidates: CandidatePairs, whole: Fraction) -> Fraction:
        """Choose among the candidates until `whole` is spent; return what is left if none can be offered."""
        left = whole
        while left and (options := candidates()):
            self.rounds.private.progress("tables", int(100 * (1 - left / whole)), 100)
            price = left if left < self.each * 3 / 2 else self.each
            left -= price
            choosing = price * exact(self.split.wishes.select)
            if not self._round(options, choosing, price - choosing, np.zeros_like):
                self.each *= 2
            self._chosen(candidates)
        return left

    def play_wider(self, tables: Sequence[Axes], whole: Fraction, max_cells: int) -> Fraction:
        """Choose among tables of several attributes until one shows nothing but noise and chance; return what is left.

        Every table is off by chance, so what chance makes of it is neither a reason to choose it nor news.
        """
        schema, left, price = self.rounds.private.schema, whole, self.split.wider_price
        candidates = CandidatePairs(schema, self.split.variables, max_cells, tables, self.rounds.joined, len(tables))
        while left and (options := self._outside(candidates())):
            each = left if left < price * 3 / 2 else price
            left -= each
            if not self._round(options, each * CHOICE, each * (1 - CHOICE), chance_deviation):
                break
            self._chosen(candidates)
        return left

    def _outside(self, options: list[Axes]) -> list[Axes]:
        """Return the options that are inside no table that was chosen already."""
        chosen = [set(axes) for axes in self.rounds.chosen]
        return [axes for axes in options if not any(own.issuperset(axes) for own in chosen)]

    def _chosen(self, candidates: CandidatePairs) -> None:
        if candidates is not self.rounds.candidates:
            candidates.add(self.rounds.chosen[-1])

    def _round(
        self, options: list[Axes], choosing: Fraction, measuring: Fraction, chance: Callable[[Floats], Floats]
    ) -> bool:
        """Choose and measure one table; return whether it says more than its noise, and chance, would."""
        table, noise = self.rounds.private, self.split.noise(measuring)

        def choose(pairs: Sequence[Pair], expected: Sequence[Floats]) -> Pair:
            whole = [np.rint(counts).astype(np.int64) for counts in expected]
            rows = [self.kappa * noise * counts.size + chance(counts).sum() for counts in expected]
            # a row in the wrong cell is 2 of an L1 distance
            penalties = [REFERENCE_DISTANCE.penalty(float(r) / 2, table.schema) for r in rows]
            return table.choose(pairs, REFERENCE_DISTANCE, choosing, "structure", penalties, whole)

        return self.rounds.round(options, choose, measuring, lambda expected: np.hypot(noise, chance(expected)))
