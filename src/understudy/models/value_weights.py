"""Weights of values by how round they are: where a tree knows no more, a round number holds more rows than others.

The noisy counts of rounding classes say how many rows are multiples of 1,000, of 500, of 100 and so on, over the whole
column. A value of a class weighs what the class holds, over how many values the range has of it. The tree then splits a
node by weight where it split by width (`tree_counts`), so it is drawn towards heaped numbers where the noise leaves it
in doubt, and inside a leaf. It is post-processing of noisy measurements.
"""

from __future__ import annotations

import numpy as np

from understudy.privacy.measurement import Measurement
from understudy.schema import Floats, Integers, Mask

SEEN = 3.0  # standard deviations that a class must have to hold more rows than less round values give it
GARROTE = 4.0  # variances that it must be from that, to be believed at all
SPIKE = 3.0  # standard deviations that a unit must hold more than those beside it, to be a spike at its first value


def value_weights(sizes: Floats, finest: float, measured: Measurement) -> Floats:
    """Return the weight of each unit, class by class: a row for each unit, a column for each class.

    Parameters
    ----------
    sizes
        How many values of each class each unit holds; the first class is of values apart.
    finest
        How many of these values one step holds.
    measured
        Noisy rows of each class; "missing", where it is counted, comes last and is not looked at.
    """
    held = sizes[:, 1:].sum(axis=0)
    each = _each(held, measured.values[1 : sizes.shape[1]].astype(np.float64), measured.variance)
    even = float(each @ held) / max(float(held.sum()), 1.0)
    if even <= 0:
        each, even = np.ones_like(each), 1.0
    return np.asarray(sizes * np.concatenate([[even * finest], each]))


def _each(held: Floats, noisy: Floats, variance: float) -> Floats:
    """Return the rows of one value of each class, from the least round class on.

    A class is drawn towards what it would hold if its values were like those of the class before, as far as noise alone
    explains the difference (Breiman's garrote). Below `SEEN` it holds no more than that, and nothing where it would be
    seen.
    """
    before, seen, found = max(float(noisy.sum()), 0.0) / max(float(held.sum()), 1.0), SEEN * variance**0.5, []
    for values, rows in zip(held[::-1].tolist(), noisy[::-1].tolist()):
        flat = before * values
        kept = max(0.0, 1.0 - GARROTE * variance / max((rows - flat) ** 2, 1e-300))
        wanted = max(0.0, flat + kept * (rows - flat))
        if rows < seen:
            wanted = 0.0 if flat >= seen else min(wanted, flat)
        before = wanted / values if values else before
        found.append(before)
    return np.asarray(found[::-1])


def shares_of(weights: Floats, sizes: Floats) -> Floats:
    """Return each unit's share of each class: by weight, and by how many values there are where none has any."""
    whole = weights.sum(axis=1, keepdims=True)
    even = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1.0)
    return np.where(whole > 0, weights / np.where(whole > 0, whole, 1.0), even)


def with_spikes(shares: Floats, mass: Floats, single: Mask, classes: Integers, deviation: float) -> Floats:
    """Return the shares of classes in which units of one step that hold far more rows than those beside them have these
    at their first value: 0.8 and not 0.80004.

    Parameters
    ----------
    mass, single, classes
        Of each unit: its rows, whether it is one step, and the class of its first value.
    deviation
        The standard deviation of a count of a leaf.
    """
    padded = np.concatenate([mass[1:2], mass, mass[-2:-1]])
    excess = mass - np.maximum(padded[:-2], padded[2:])
    found = np.flatnonzero(single & (excess > SPIKE * deviation) & (shares[:, 0] == 0))
    part = excess[found] / mass[found]
    shares = shares.copy()
    shares[found] *= (1 - part)[:, None]
    shares[found, classes[found]] += part
    return shares
