"""The rounds of DP-SUBN's adaptive variant, in each of which an owner in turn chooses a pair on its own rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.privacy.measurement import table_noise
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Floats

KAPPA = 0.5  # of the L1 noise expected on a table: the penalty of its score


class Turns:
    """The rounds of one run, in each of which an owner in turn chooses."""

    def __init__(self, table: PrivateTable, rounds: AdaptiveRounds, noisier: float) -> None:
        self._table = table
        self._rounds = rounds
        self._noisier = noisier
        self._owners = len(table.owners())

    def run(self, number: int, structure: Fraction, tables: Fraction) -> Fraction:
        """Run so many rounds, whose choices and tables cost this in all; return what is left where nothing can be
        offered any more.

        A round's choice is one of `number` of the same cost. Where rounds end early, choices that were not made
        are worth nothing to several owners: some have paid for all of theirs. A single owner gets a better last table.
        """
        each, turn = tables / number, structure / number
        left = tables
        for made in range(number):
            unmade = turn * (number - made) if self._owners == 1 else Fraction(0)
            if not (options := self._rounds.candidates()):
                return left + unmade
            self._table.progress("tables", made, number)
            if made == number - 1 or left < each * 3 / 2:
                self._round(options, turn, left + max(unmade - turn, Fraction(0)), number)
                break
            surprised = self._round(options, turn, each, number)
            left -= each
            each = each if surprised else 2 * each
        return Fraction(0)

    def _round(self, options: list[Axes], turn: Fraction, cost: Fraction, of: int) -> bool:
        """Make one choice and measure one table; return whether the table says more than its noise would."""
        schema = self._table.schema
        noise = table_noise(schema, self._table.accounting, cost).mean_abs * self._noisier

        def choose(pairs: Sequence[Pair], expected: Sequence[Floats]) -> Pair:
            rows = [_dependence(t) + KAPPA / 2 * noise * t.size + self._by_chance(t) for t in expected]
            penalties = [INDEPENDENCE.penalty(each, schema) for each in rows]
            return self._table.choose(pairs, INDEPENDENCE, turn, "structure", penalties, of=of)

        return self._rounds.round(options, choose, cost, lambda expected: np.full_like(expected, noise))

    def _by_chance(self, table: Floats) -> float:
        """Return how dependent the pair would look among a K-th of the rows, by chance alone."""
        return 0.5 * float(np.sqrt(table * (2 / math.pi * (self._owners - 1))).sum())


def _dependence(table: Floats) -> float:
    """Score R of the model's own table of a pair: half of its L1 distance from independence, in rows."""
    return 0.5 * float(np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()).sum())
