"""Rounds that choose by score D: the L1 distance between a real table and the model's, less what its noise is expected
to put on it. Rounds among wider tables end with the first that shows nothing but noise and chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.chance import chance_deviation
from understudy.methods.toolkit.wider_tables import CHOICE
from understudy.privacy.measurement import table_noise
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.schema import Axes, Floats

KAPPA = 0.5  # how much of the expected noise of a table counts against it


def distance_round(
    rounds: AdaptiveRounds,
    options: Sequence[Axes],
    choosing: Fraction,
    measuring: Fraction,
    kappa: float = KAPPA,
    chance: Callable[[Floats], Floats] = np.zeros_like,
) -> bool:
    """Choose and measure one table; return whether it says more than its noise, and chance, would.

    Args:
        rounds: what was measured so far.
        options: the tables to choose from.
        choosing: what the choice costs.
        measuring: what the table costs.
        kappa: how much of the expected noise of a table counts against it.
        chance: how far each cell of the model's table, in rows, is off because rows come whole.
    """
    table = rounds.private
    noise = table_noise(table.schema, table.accounting, measuring).mean_abs

    def choose(pairs: Sequence[Pair], expected: Sequence[Floats]) -> Pair:
        whole = [np.rint(counts).astype(np.int64) for counts in expected]
        rows = [kappa * noise * counts.size + chance(counts).sum() for counts in expected]
        # a row in the wrong cell is 2 of an L1 distance
        penalties = [REFERENCE_DISTANCE.penalty(float(r) / 2, table.schema) for r in rows]
        return table.choose(pairs, REFERENCE_DISTANCE, choosing, "structure", penalties, whole)

    return rounds.round(options, choose, measuring, lambda expected: np.hypot(noise, chance(expected)))


def play_wider(
    rounds: AdaptiveRounds, tables: Sequence[Axes], whole: Fraction, price: Fraction, kappa: float = KAPPA
) -> Fraction:
    """Choose among tables of several attributes until one shows nothing but noise and chance; return what is left.

    Every table is off by chance, so what chance makes of it is neither a reason to choose it nor news. Tables inside
    one that was measured are not offered.

    Args:
        rounds: what was measured so far.
        tables: those to choose from.
        whole: what all rounds may cost.
        price: of one round.
        kappa: how much of the expected noise of a table counts against it.
    """
    candidates, left = rounds.among(tables), whole
    while left and (options := _outside(candidates(), rounds.chosen)):
        each = left if left < price * 3 / 2 else price
        left -= each
        if not distance_round(rounds, options, each * CHOICE, each * (1 - CHOICE), kappa, chance_deviation):
            break
        candidates.add(rounds.chosen[-1])
    return left


def _outside(options: Sequence[Axes], chosen: Sequence[Axes]) -> list[Axes]:
    """Return the options that are inside no table that was chosen already."""
    sets = [set(axes) for axes in chosen]
    return [axes for axes in options if not any(own.issuperset(axes) for own in sets)]
