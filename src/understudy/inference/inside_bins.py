"""Inside bins: how far a bin's mean may be from its middle, and the part of a bin on one side of a cut from its length.

A release knows how many rows a bin has, not where in it they are. Where neighbouring bins are about as dense, rows lie
about evenly; where density falls steeply from bin to bin, it mostly does so inside the bin too, and an amount that is
mostly zero may have all its rows at one end. So both errors grow with the steepness of the published density.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.query.selection import SelectedCells
from understudy.schema import Attribute, Intervals

Floats = NDArray[np.float64]
EVEN_MEAN = 0.12  # standard deviation of a bin's mean about its middle, in widths, among neighbours as dense
STEEP_MEAN = 0.06  # more for each unit of steepness
MAX_MEAN = 0.3
CONCENTRATION = 3.0  # of the share of a cut bin on one side of the cut: a beta law of so many values, among such
SHAPED = 0.55  # of both errors, where the shape inside bins was measured
EMPTIED = 0.5  # of a bin's width: how far from its mean the rows are that one noisy number of a shape hides
FLAT = 1e-3  # change of a log density that counts as small
MIN_SHARE = 1e-4  # of the densest bin, below which densities are taken as alike


def steepness(domain: Intervals, masses: Floats) -> Floats:
    """Return how steeply the density falls or rises at each bin: half the change of its logarithm over both sides.

    >>> import numpy as np
    >>> from understudy.schema import Intervals
    >>> domain = Intervals("number", (0.0, 1.0, 2.0, 3.0))
    >>> steepness(domain, np.asarray([0.5, 0.5, 0.5])).round(2).tolist()
    [0.0, 0.0, 0.0]
    """
    return np.asarray(np.abs(_slope(domain, masses)))


def _slope(domain: Intervals, masses: Floats) -> Floats:
    density = np.asarray(masses)[domain.bin_codes] / np.diff(np.asarray(domain.edges, dtype=np.float64))
    logs = np.log(np.maximum(density, MIN_SHARE * max(float(density.max(initial=0.0)), 1e-300)))
    if len(logs) < 2:
        return np.zeros(len(logs))
    change = np.diff(logs)
    before, after = np.concatenate([change[:1], change]), np.concatenate([change, change[-1:]])
    return np.asarray((before + after) / 2)


def mean_deviation(attribute: Attribute, selection: SelectedCells, masses: Floats) -> Floats:
    """Return the standard deviation of the mean inside each code, in units of the attribute; 0 where it is a value.

    It is a part of the bin's width or, as far as a measured shape is to be believed, of the width in which values would
    be spread as far as they are by it. What such a shape empties may still hold as many rows as one noisy number of it.
    """
    domain = attribute.domain
    assert isinstance(domain, Intervals)
    found, codes = np.zeros(attribute.size), domain.bin_codes
    part = np.minimum(MAX_MEAN, EVEN_MEAN + STEEP_MEAN * steepness(domain, masses))
    widths = np.diff(np.asarray(domain.edges, dtype=np.float64))
    if (inside := selection.inside) is None:
        found[codes] = part * widths
        return found
    doubt = inside.shape.doubt[codes]
    own = np.minimum(math.sqrt(12) * inside.spreads[codes], widths)
    left = (SHAPED + (1 - SHAPED) * doubt) * part * ((1 - doubt) * own + doubt * widths)
    emptied = EMPTIED * doubt * (1 - doubt) * widths
    found[codes] = np.sqrt(left**2 + emptied**2 + _from_usual(domain, selection, masses) ** 2)
    return found


def share_deviation(attribute: Attribute, selection: SelectedCells, masses: Floats) -> Floats:
    """Return the standard deviation of the part of each code that a range lets through.

    By a measured shape a part may be empty, or all there is: it is as far off as one noisy number of that shape.
    """
    domain, w = attribute.domain, selection.weights
    concentration = np.full(attribute.size, CONCENTRATION)
    if isinstance(domain, Intervals):
        concentration[domain.bin_codes] = CONCENTRATION / (1 + steepness(domain, masses))
    found = _unknown(selection) * part_deviation(w, concentration)
    if selection.inside is None:
        return np.asarray(found)
    doubt = selection.inside.shape.doubt
    return np.hypot(found, np.where(selection.cut, doubt * (1 - doubt), 0.0))


def part_deviation(part: Floats, concentration: Floats | float = CONCENTRATION) -> Floats:
    """Return the standard deviation of the part of a cell's rows that this part of its values has."""
    return np.asarray(np.sqrt(np.clip(part * (1 - part), 0.0, None) / (concentration + 1)))


def _unknown(selection: SelectedCells) -> Floats | float:
    """Return what is left of both errors where the shape was measured, by code: the more, the more it is in doubt."""
    if selection.inside is None:
        return 1.0
    return np.asarray(SHAPED + (1 - SHAPED) * selection.inside.shape.doubt)


def _from_usual(domain: Intervals, selection: SelectedCells, masses: Floats) -> Floats:
    """Return how far the mean of each bin by its measured shape is from where the neighbours' densities would have it,
    as far as the shape is in doubt."""
    assert selection.inside is not None
    codes, edges = domain.bin_codes, np.asarray(domain.edges, dtype=np.float64)
    weights, widths = selection.weights[codes], np.diff(edges)
    usual = (edges[:-1] + edges[1:]) / 2 + widths * _shift(2 * _slope(domain, masses))
    mean = np.divide(selection.moments[codes], weights, out=usual.copy(), where=weights > 0)
    return np.asarray(np.minimum(np.abs(mean - usual), widths / 2) * selection.inside.shape.doubt[codes])


def _shift(change: Floats) -> Floats:
    """Return where the mean lies from the middle of a bin, in widths, if its log density changes so much across it."""
    steep = np.where(np.abs(change) < FLAT, FLAT, change)
    return np.where(np.abs(change) < FLAT, change / 12, 0.5 / np.tanh(steep / 2) - 1 / steep)
