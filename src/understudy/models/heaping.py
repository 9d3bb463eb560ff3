"""Heaping: the shape inside bins drawn towards round numbers, as far as the measured rounding classes say.

Of all shapes with the bins' own totals and these class totals, the nearest to the tree's in relative entropy multiplies
each value's share by one weight for its class and one for its bin; iterative proportional fitting finds it (Deming and
Stephan 1940). It is post-processing of two noisy measurements.
"""

from __future__ import annotations

import numpy as np

from understudy.privacy.measurement import Measurement
from understudy.schema import Floats, Integers

ROUNDS = 100
MAX_FACTOR = 1e3  # by which one round may raise or lower a class


def heaped(shares: Floats, bins: Floats, home: Integers, classes: Integers, measured: Measurement) -> Floats:
    """Return each unit's share of its bin, moved towards the measured rounding classes.

    Parameters
    ----------
    shares, home, classes
        Of each unit: its share of its bin before, the bin, and the rounding class.
    bins
        Rows of each bin.
    measured
        Noisy rows of each class; "missing", where it is counted, comes last and is not looked at.
    """
    size = int(classes.max()) + 1
    known = _sums(classes, shares * bins[home], size)
    target = _target(measured.values[:size].astype(np.float64), known, measured.variance)
    return fitted(shares, bins, home, classes, target)


def fitted(shares: Floats, bins: Floats, home: Integers, classes: Integers, target: Floats) -> Floats:
    """Return the shares of bins that come nearest to these totals of classes."""
    mass: Floats = shares * bins[home]
    for _ in range(ROUNDS):
        mass = mass * _factors(target, _sums(classes, mass, len(target)))[classes]
        mass = mass * _factors(bins, _sums(home, mass, len(bins)))[home]
    return np.where(bins[home] > 0, mass / np.maximum(bins[home], 1e-300), shares)


def _sums(index: Integers, weights: Floats, size: int) -> Floats:
    return np.bincount(index, weights, size).astype(np.float64)


def _target(noisy: Floats, known: Floats, variance: float) -> Floats:
    """Return the class totals to aim at: pulled towards what the tree says as far as noise alone explains the
    difference (James and Stein), not below zero, of the tree's own total."""
    noisy = noisy + (known.sum() - noisy.sum()) / len(noisy)
    away = noisy - known
    kept = max(0.0, 1 - max(len(noisy) - 2, 1) * variance / max(float(away @ away), 1e-300))
    aimed = np.maximum(known + kept * away, 0.0)
    return np.asarray(aimed * (known.sum() / max(float(aimed.sum()), 1e-300)))


def _factors(wanted: Floats, found: Floats) -> Floats:
    ratio = np.divide(wanted, found, out=np.ones_like(wanted), where=found > 0)
    return np.clip(ratio, 1 / MAX_FACTOR, MAX_FACTOR)
