"""The rounds of one run of AIM: each chooses the table that the model gets most wrong, measures it and fits again.

A choice is by score D, the L1 distance between the real table and the model's, less a public penalty for the noise that
measuring the table would put on it. A round that saw little but noise makes the next rounds cost twice as much: what is
left to learn is small and needs a closer look. Both read released tables only (PROOF.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from understudy.methods.aim.costs import CostSplit
from understudy.methods.aim.model_size import part_by
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.methods.toolkit.chance import chance_deviation
from understudy.methods.toolkit.distance_rounds import distance_round
from understudy.privacy.budget import exact

FIRST_ROUNDS = 4  # of pairs: if none of them sees more than noise and chance, columns have nothing in common
NOTHING = 1.5  # a table no further from the model than so many times what noise and chance make of it
CLEAR = 3.0  # over the root of its cells, how much further a table is that shows something: large ones vary less


class FirstAnswer(NamedTuple):
    """What one of the first rounds has seen, in rows."""

    news: float  # the distance from the model, over that expected from noise and chance
    noise: float
    chance: float
    cells: int

    @property
    def is_nothing(self) -> bool:
        """Return whether noise and chance explain it."""
        return self.news < min(NOTHING, 1 + CLEAR / math.sqrt(self.cells))


@dataclass
class AimRounds:
    """What is left to choose from in one run, and how rounds choose."""

    rounds: AdaptiveRounds
    split: CostSplit
    kappa: float  # how much of the expected noise of a table counts against it
    each: Fraction  # what the next round costs
    first: list[FirstAnswer] = field(default_factory=list)  # of the first rounds of pairs

    @property
    def unlinked(self) -> bool:
        """Return whether the first rounds saw nothing but noise and chance, and more noise than chance. What is left is
        then for the one-way tables, if they lose nothing by being measured twice."""
        wishes, gaussian = self.split.wishes, self.split.accounting.power > 1
        if wishes.sure or wishes.prior or not gaussian or len(self.first) < FIRST_ROUNDS:
            return False
        noise, chance = sum(a.noise for a in self.first), sum(a.chance for a in self.first)
        return noise >= chance and all(a.is_nothing for a in self.first)

    def play(self, candidates: CandidatePairs, whole: Fraction) -> Fraction:
        """Choose among the candidates until `whole` is spent; return what is left if none can be offered."""
        left = whole
        while left and not self.unlinked and (options := candidates(part_by(float(1 - left / whole)))):
            self.rounds.private.progress("tables", int(100 * (1 - left / whole)), 100)
            price = left if left < self.each * 3 / 2 else self.each
            left -= price
            choosing = price * exact(self.split.wishes.select)
            if not distance_round(self.rounds, options, choosing, price - choosing, self.kappa):
                self.each *= 2
            self._chosen(candidates)
            if candidates is self.rounds.candidates and len(self.first) < FIRST_ROUNDS:
                self._look(self.split.noise(price - choosing))
        return left

    def _look(self, noise: float) -> None:
        """Note what one of the first rounds has seen."""
        seen, by_model = self.rounds.newest
        chance = chance_deviation(by_model)
        if self.rounds.chosen.count(self.rounds.chosen[-1]) > 1:  # the model has the noise of the time before
            noise *= math.sqrt(2)
        news = np.abs(seen - by_model).sum() / np.hypot(noise, chance).sum()
        self.first.append(FirstAnswer(float(news), noise * by_model.size, float(chance.sum()), by_model.size))

    def _chosen(self, candidates: CandidatePairs) -> None:
        if candidates is not self.rounds.candidates:
            candidates.add(self.rounds.chosen[-1])
