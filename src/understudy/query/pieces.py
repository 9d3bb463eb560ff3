"""Where the values of an attribute's cells lie on the line: what part of each cell falls between given cuts.

A bin's values are uniform, as the decoder draws them: whole numbers or steps of the bin that are no declared point, or
any number of the bin. A point is itself. A missing value is nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TooLarge
from understudy.schema import Attribute, Intervals

Floats = NDArray[np.float64]
MAX_PIECES = 5_000_000  # cells × segments of one attribute


@dataclass(frozen=True, eq=False)
class Pieces:
    """K cuts make 2K + 1 segments: below the first, the first itself, between it and the second, … above the last.

    `mass[code, segment]` is the part of the cell in the segment (a row sums to one), `moment` the part's values added
    up. What has no place on the line, a missing value or a category, is all in segment 0 with moment 0.
    """

    cuts: tuple[float, ...]
    mass: Floats
    moment: Floats
    values: Floats  # how many values a cell holds; infinite for a bin of real numbers

    def at(self, cut: float) -> int:
        """Return the segment that is the cut itself."""
        return 2 * self.cuts.index(cut) + 1


def pieces_of(attribute: Attribute, cuts: Sequence[float]) -> Pieces:
    """Return every cell of the attribute, cut at these values."""
    places = tuple(sorted(set(cuts)))
    segments = 2 * len(places) + 1
    if attribute.size * segments > MAX_PIECES:
        raise TooLarge(f"{attribute.name} has {attribute.size:,} cells, too many to cut at {len(places):,} values")
    mass, moment = np.zeros((2, attribute.size, segments))
    mass[:, 0] = 1
    values = np.ones(attribute.size)
    if attribute.intervals is not None:
        _lay_out(attribute.intervals, np.asarray(places, dtype=np.float64), mass, moment, values)
    return Pieces(places, mass, moment, values)


def _lay_out(domain: Intervals, cuts: Floats, mass: Floats, moment: Floats, values: Floats) -> None:
    """Fill in bins and points; the row of "missing" stays as it is."""
    points, alone = np.asarray(domain.points, dtype=np.float64), domain.point_codes
    mass[alone], moment[alone] = _segments(*_points_below(points, cuts))
    stepped = domain.steps is not None
    count, total = _steps_below(domain, cuts) if stepped else _numbers_below(domain, cuts)
    own = count[:, -1]
    mass[domain.bin_codes], moment[domain.bin_codes] = _segments(count / own[:, None], total / own[:, None])
    values[domain.bin_codes] = own if stepped else np.inf


def _segments(mass_below: Floats, moment_below: Floats) -> tuple[Floats, Floats]:
    return np.diff(mass_below, axis=1, prepend=0), np.diff(moment_below, axis=1, prepend=0)


def _points_below(points: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    below = np.stack([points[:, None] < cuts, points[:, None] <= cuts], axis=2).reshape(len(points), 2 * len(cuts))
    mass = np.concatenate([below, np.ones((len(points), 1))], axis=1)
    return mass, mass * points[:, None]


def _steps_below(domain: Intervals, cuts: Floats) -> tuple[Floats, Floats]:
    """Return for each bin and limit (each cut as "below it" and "up to it", and the end) how many values that are no
    point lie up to it, and their sum."""
    steps, (first, last) = domain.steps, domain.step_range
    assert steps is not None
    both = np.stack([steps.at_least(cuts) - 1, steps.at_most(cuts)], axis=1).ravel()
    limits = np.append(both, np.inf)
    upto = np.clip(limits, first[:, None] - 1, last[:, None])
    count = upto - first[:, None] + 1
    total = count * steps.value((first[:, None] + upto) / 2)
    for point in steps.indices(domain.points):
        home = int(np.searchsorted(last, point))
        count[home] -= point <= limits
        total[home] -= steps.value(point) * (point <= limits)
    return count, total


def _numbers_below(domain: Intervals, cuts: Floats) -> tuple[Floats, Floats]:
    """Return for each bin and limit the length of the bin up to it, and the integral of the values there."""
    edges = np.asarray(domain.edges)
    low, high = edges[:-1, None], edges[1:, None]
    upto = np.clip(np.append(np.repeat(cuts, 2), np.inf), low, high)
    return upto - low, (upto - low) * (upto + low) / 2
