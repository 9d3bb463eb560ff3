"""Quantiles of a numeric attribute from the masses of its cells: values are spread inside a cell as rows are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.query.pieces import Floats
from understudy.schema import Attribute

if TYPE_CHECKING:
    from understudy.query.queries import Query
    from understudy.query.selection import SelectedCells


@dataclass(frozen=True, eq=False)
class Places:
    """The cells of an attribute in their order on the line: its fine grid where its shape is known.

    `low` and `high` are the first and last value of a cell, `held` how many values it has (0: all numbers between).
    """

    code: NDArray[np.int64]  # the coarse code that each cell lies in
    part: Floats  # its part of the rows of that code that are let through
    low: Floats
    high: Floats
    held: Floats

    @staticmethod
    def of(selection: SelectedCells) -> Places:
        """Lay out what a selection lets through; a missing value has no place."""
        inside = selection.inside
        if inside is None:
            attribute, part, home = selection.attribute, selection.present, np.arange(selection.attribute.size)
        else:
            attribute, home = inside.shape.fine, inside.shape.home
            part = inside.present * inside.shape.shares
        low, high, held = extents(attribute)
        kept = np.flatnonzero(np.isfinite(low))
        order = kept[np.lexsort((high[kept], low[kept]))]
        return Places(home[order], part[order], low[order], high[order], held[order])

    def masses(self, codes: Floats) -> Floats:
        """Return the mass of each cell from the masses of the coarse codes."""
        return np.asarray(codes[self.code] * self.part)

    def quantile(self, codes: Floats, at: float) -> float:
        """Return the value below which this share of the rows lies; NaN where there are none."""
        masses = self.masses(codes)
        if not masses.sum() > 0:
            return float("nan")
        i, inside = self._cell(masses, min(max(at, 0.0), 1.0))
        if self.held[i] == 0:
            return float(self.low[i] + inside * (self.high[i] - self.low[i]))
        step = min(np.floor(inside * self.held[i]), self.held[i] - 1)
        return float(self.low[i] + (self.high[i] - self.low[i]) * step / max(1.0, self.held[i] - 1))

    def below(self, codes: Floats, at: float) -> tuple[Floats, int]:
        """Return, for each cell, the part of it below that quantile, and the cell in which the quantile lies."""
        masses = self.masses(codes)
        i, inside = self._cell(masses, at) if masses.sum() > 0 else (0, 0.0)
        parts = np.zeros(len(masses))
        parts[:i], parts[i] = 1.0, inside
        return parts, i

    def gathered(self, parts: Floats, size: int) -> Floats:
        """Return weights of cells as weights of coarse codes."""
        out = np.zeros(size)
        np.add.at(out, self.code, parts * self.part)
        return out

    def _cell(self, masses: Floats, at: float) -> tuple[int, float]:
        sums = np.cumsum(masses)
        wanted = at * sums[-1]
        i = min(int(np.searchsorted(sums, wanted, side="left")), len(sums) - 1)
        while masses[i] <= 0 and i < len(sums) - 1:
            i += 1
        return i, float(np.clip((wanted - (sums[i] - masses[i])) / max(masses[i], 1e-300), 0, 1))


def quantiles(query: Query, table: Floats, names: Sequence[str]) -> Floats:
    """Return the quantile of `of` for each code of `by`."""
    masses = of_masses(query, table, names)
    places = Places.of(query.selections[query.of or ""])
    flat = [places.quantile(codes, query.at) for codes in masses.reshape(-1, masses.shape[-1])]
    return np.asarray(flat).reshape(masses.shape[:-1])


def of_masses(query: Query, table: Floats, names: Sequence[str]) -> Floats:
    """Return the mass of each code of `of`, last, for each code of `by`: other conditions are summed out."""
    from understudy.query.evaluation import weigh

    assert query.of is not None
    weights = {n: np.ones(query.schema[n].size) if n == query.of else query.selections[n].weights for n in names}
    return weigh(table, names, weights, [*query.by, query.of])


def extents(attribute: Attribute) -> tuple[Floats, Floats, Floats]:
    """Return the first and last value of each code and how many it has, 0 for all numbers between; NaN if missing."""
    domain = attribute.ordered
    low, high, held = np.full((3, attribute.size), np.nan)
    low[domain.point_codes] = high[domain.point_codes] = domain.points
    held[domain.point_codes] = 1
    if domain.steps is None:
        low[domain.bin_codes], high[domain.bin_codes] = domain.edges[:-1], domain.edges[1:]
        held[domain.bin_codes] = 0
    else:
        first, last = domain.step_range
        low[domain.bin_codes], high[domain.bin_codes] = domain.steps.value(first), domain.steps.value(last)
        held[domain.bin_codes] = np.maximum(1, last - first + 1)
    return low, high, held
