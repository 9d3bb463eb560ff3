"""Curves: how values lie inside bins that were counted, when nothing finer was.

The rows below each edge are known, so a smooth rising curve through them says where between two edges rows are: more of
them on the side of the fuller neighbour, and none left at the end of a tail. It is Fritsch and Carlson's monotone cubic
(Fritsch, Butland 1984 for the slopes). Post-processing of the model's own counts.
"""

from __future__ import annotations

import numpy as np

from understudy.schema import Floats, Mask


def curve_masses(edges: Floats, counts: Floats, alone: Mask, places: Floats) -> Floats:
    """Return the rows between neighbouring `places` by a smooth curve through the counts of bins.

    `alone` says which bins are single values: what they hold is no part of the curve, and they get nothing from it.
    """
    kept = np.append(~alone, True)
    rest = np.where(alone, 0.0, counts)
    known = np.concatenate([[0.0], np.cumsum(rest)])
    return np.maximum(np.diff(_monotone(edges[kept], known[kept], places)), 0.0)


def _monotone(at: Floats, value: Floats, places: Floats) -> Floats:
    """Return a monotone cubic through these points at other places; flat beyond them."""
    if len(at) < 3:
        return np.asarray(np.interp(places, at, value))
    slope = _slopes(at, value)
    i = np.clip(np.searchsorted(at, places, side="right") - 1, 0, len(at) - 2)
    width = at[i + 1] - at[i]
    t = np.clip((places - at[i]) / width, 0.0, 1.0)
    left, right = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
    bend = width * (t * (1 - t) ** 2 * slope[i] - t * t * (1 - t) * slope[i + 1])
    return np.asarray(left * value[i] + right * value[i + 1] + bend)


def _slopes(at: Floats, value: Floats) -> Floats:
    """Return the slope at each point: the harmonic mean of both sides, and a parabola's at the ends."""
    width = np.diff(at)
    rise = np.diff(value) / width
    before, after = width[1:] + 2 * width[:-1], 2 * width[1:] + width[:-1]
    both = (rise[:-1] > 0) & (rise[1:] > 0)
    low, high = np.where(both, rise[:-1], 1.0), np.where(both, rise[1:], 1.0)
    inner = np.where(both, (before + after) / (before / high + after / low), 0.0)
    first = _end_slope(width[0], width[1], rise[0], rise[1])
    last = _end_slope(width[-1], width[-2], rise[-1], rise[-2])
    return np.concatenate([[first], inner, [last]])


def _end_slope(own: float, next_one: float, rise: float, next_rise: float) -> float:
    slope = ((2 * own + next_one) * rise - own * next_rise) / (own + next_one)
    return float(np.clip(slope, 0.0, 3 * rise))
