"""Inside bins: how far a bin's mean may be from its middle, and the part of a bin on one side of a cut from its length.

A release knows how many rows a bin has, not where in it they are. Where neighbouring bins are about as dense, rows lie
about evenly; where density falls steeply from bin to bin, it mostly does so inside the bin too, and an amount that is
mostly zero may have all its rows at one end. So both errors grow with the steepness of the published density.
"""

from __future__ import annotations

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
MIN_SHARE = 1e-4  # of the densest bin, below which densities are taken as alike


def steepness(domain: Intervals, masses: Floats) -> Floats:
    """Return how steeply the density falls or rises at each bin: half the change of its logarithm over both sides.

    >>> import numpy as np
    >>> from understudy.schema import Intervals
    >>> domain = Intervals("number", (0.0, 1.0, 2.0, 3.0))
    >>> steepness(domain, np.asarray([0.5, 0.5, 0.5])).round(2).tolist()
    [0.0, 0.0, 0.0]
    """
    density = np.asarray(masses)[domain.bin_codes] / np.diff(np.asarray(domain.edges, dtype=np.float64))
    logs = np.log(np.maximum(density, MIN_SHARE * max(float(density.max(initial=0.0)), 1e-300)))
    if len(logs) < 2:
        return np.zeros(len(logs))
    change = np.diff(logs)
    before, after = np.concatenate([change[:1], change]), np.concatenate([change, change[-1:]])
    return np.asarray(np.abs(before + after) / 2)


def mean_deviation(attribute: Attribute, selection: SelectedCells, masses: Floats) -> Floats:
    """Return the standard deviation of the mean inside each code, in units of the attribute; 0 where it is a value."""
    domain = attribute.domain
    assert isinstance(domain, Intervals)
    found = np.zeros(attribute.size)
    part = np.minimum(MAX_MEAN, EVEN_MEAN + STEEP_MEAN * steepness(domain, masses))
    found[domain.bin_codes] = part * np.diff(np.asarray(domain.edges, dtype=np.float64))
    return found * _known(selection)


def share_deviation(attribute: Attribute, selection: SelectedCells, masses: Floats) -> Floats:
    """Return the standard deviation of the part of each code that a range lets through."""
    domain, w = attribute.domain, selection.weights
    concentration = np.full(attribute.size, CONCENTRATION)
    if isinstance(domain, Intervals):
        concentration[domain.bin_codes] = CONCENTRATION / (1 + steepness(domain, masses))
    return np.asarray(_known(selection) * np.sqrt(np.clip(w * (1 - w), 0.0, None) / (concentration + 1)))


def _known(selection: SelectedCells) -> float:
    return SHAPED if selection.inside is not None else 1.0
