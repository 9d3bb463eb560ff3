"""The horizon: how likely the rows that a person has still to come fit into what is left of the order.

How many rows a person has is drawn first. Gaps that are drawn without it run into the end of the order, and the rows
that are left pile up there. So a gap is weighed by the chance that the rest of the history fits behind it, under the
measured gaps. It is post-processing of noisy tables: it reads no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.relations.changes import Codes, StepChanges

Floats = NDArray[np.float64]
MAX_ENTRIES = 1 << 23  # of the table of weights: a longer order, or more rows of a person, is drawn without
FLOOR = 1e-9  # the weight of a gap behind which the rest does not fit


@dataclass(frozen=True, eq=False)
class Horizon:
    """`fits[r, u]` is the chance that r further rows fit behind unit u; `reach[r, u, c]` its mean where gap c leads."""

    fits: Floats
    reach: Floats

    @staticmethod
    def of(gap: StepChanges, shares: Floats, rows: int) -> Horizon | None:
        """Return the horizon of people with up to so many rows; None where its table would be too large.

        Args:
            gap: how gaps are coded; one code for each unit of the order.
            shares: the chance of each gap (a column) after each unit (a row), be it beyond the end.
            rows: the most rows of a person.
        """
        units = gap.values
        if rows * units * gap.size > MAX_ENTRIES:
            return None
        fits, reach = np.ones((rows, units)), np.zeros((rows, units, gap.size))
        low, end = gap.reached()
        for left in range(rows):
            if left:
                fits[left] = (shares * reach[left - 1]).sum(axis=1)
            sums = np.concatenate([[0.0], np.cumsum(fits[left])])
            reach[left] = (sums[end] - sums[low]) / np.maximum(end - low, 1)
        return Horizon(fits, reach)

    def gaps(self, before: Codes, left: Codes) -> Floats:
        """Return a weight for each gap from each unit, where so many rows come after the next one."""
        return np.asarray(self.reach[left, before] + FLOOR)

    def units(self, left: Codes) -> Any:
        """Return a weight for each unit of the next row."""
        return self.fits[left] + FLOOR
