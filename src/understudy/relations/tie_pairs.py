"""Pairs of values in one row of a person, by public facts: which may be tied, and how many rounds they are worth."""

from __future__ import annotations

import statistics
from fractions import Fraction

from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import exact
from understudy.privacy.measurement import table_noise
from understudy.relations.panel import GAP, Panel, now
from understudy.schema import Axes, Axis

THETA = 6.0  # rows in a cell of the middle pair over the noise in it: as many rounds as keep this
MOST = 2  # rounds for each attribute that varies
CELLS = 1600  # of a pair
SELECT = 0.15  # of a round, for its choice

TieKey = tuple[str, str]  # an attribute and what it is tied to


def pair_axes(panel: Panel, key: TieKey) -> Axes:
    """Return the axes of STEPS that a pair of values after a step is measured by."""
    attribute, to = key
    return Axis(to if to in panel.constants else now(to)), Axis(now(attribute))


def tie_pairs(panel: Panel) -> list[TieKey]:
    """Return the pairs that may be tied: an attribute with what is constant or drawn before it in the same row."""
    placed, found = list(panel.constants), []
    for target, move in panel.moves().items():
        name = panel.about(target)
        if target != GAP and move.tilted:
            found += [(name, other) for other in placed]
        placed.append(name)
    return [key for key in found if panel.steps.cells(pair_axes(panel, key)) <= CELLS]


def affordable_ties(panel: Panel, rows: int, accounting: Accounting, cost: Fraction) -> int:
    """Return as many rounds as leave the middle pair useful."""
    if not (sizes := [panel.steps.cells(pair_axes(panel, key)) for key in tie_pairs(panel)]):
        return 0
    noise = table_noise(panel.steps, accounting, cost * (1 - exact(SELECT))).mean_abs
    useful = int((rows / (statistics.median_low(sizes) * noise * THETA)) ** accounting.power)
    return min(MOST * len(panel.varying), useful)
