"""Decimal classes: how many decimals a number is written with at the least, as the codes of one more domain.

A number has one class, so a histogram of classes is a table of counts like any other. The class is a function of the
number and not of its text: 45, 45.0 and a cell of floats that holds 45 are one class in every source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.schema.domain import UNFIT, Codes, Floats
from understudy.schema.intervals import Intervals


@dataclass(frozen=True)
class DecimalClasses(Intervals):
    """A domain whose code is the number of decimals that a number needs; the last code is for `most` decimals or more.

    A number outside the range is clamped to its nearer end first.
    """

    most: int = 1

    def __post_init__(self) -> None:
        assert len(self.edges) == 2 and self.most >= 1

    @property
    def size(self) -> int:
        return self.most + 1

    @property
    def labels(self) -> tuple[str, ...]:
        return (*(f"{places} decimals" for places in range(self.most)), f"{self.most} decimals or more")

    def encode_numbers(self, values: Floats) -> Codes:
        fit = np.isfinite(values)
        inside = np.clip(np.where(fit, values, 0.0), self.edges[0], self.edges[1])
        codes = np.full(len(values), self.most, dtype=np.int32)
        for places in reversed(range(self.most)):
            power = 10.0**places
            codes[np.floor(inside * power + 0.5) / power == inside] = places
        codes[~fit] = UNFIT
        return codes
