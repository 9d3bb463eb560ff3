"""Decimals: the shape inside bins drawn towards numbers with as many decimals as the table's own have.

The noisy counts of decimal classes say how many rows need no decimal, one, two and so on. Each unit of the tree is cut
into its values of each class, and of all shapes with the bins' own totals and these class totals the nearest to the
tree's is taken, as for heaps (`heaping`). It is post-processing of noisy measurements.
"""

from __future__ import annotations

import math

import numpy as np

from understudy.models.heaping import fitted
from understudy.privacy.measurement import Measurement
from understudy.schema import Floats, Integers, Mask

FEW_DIGITS = 3  # digits of a range's length that its values are written with where decimals were not measured
SEEN = 2.0  # standard deviations that a class must have: others are taken for noise


def class_shares(
    shares: Floats, bins: Floats, home: Integers, alone: Mask, sizes: Floats, measured: Measurement
) -> Floats:
    """Return each unit's share of its bin, class by class: a row for each unit, a column for each class.

    Parameters
    ----------
    shares, home
        Of each unit: its share of its bin before, and the bin.
    bins
        Rows of each bin.
    alone
        Which units are single values that the tree counted by themselves: their shares are known and stay.
    sizes
        How many values of each class each unit holds.
    measured
        Noisy rows of each class; "missing", where it is counted, comes last and is not looked at.
    """
    noisy = measured.values[: sizes.shape[1]].astype(np.float64)
    target = np.where(noisy >= SEEN * measured.variance**0.5, noisy, 0.0)
    if not target.any() or not bins.sum():
        return _by_class(shares, sizes)
    shares, sizes = _rounded(shares, home, sizes, target > 0)
    flat = _by_class(shares, sizes)
    target = target * (bins.sum() / target.sum()) - (flat * bins[home][:, None])[alone].sum(axis=0)
    known = np.bincount(home[alone], shares[alone], len(bins))
    left = np.clip(1.0 - known, 0.0, 1.0)  # of each bin
    unit, kind = np.nonzero((sizes > 0) & ~alone[:, None])
    part = flat[unit, kind] / np.maximum(left[home[unit]], 1e-12)
    wanted = np.maximum(target, 0.0)
    wanted = wanted * ((bins * left).sum() / max(float(wanted.sum()), 1e-300))
    found: Floats = flat.copy()
    found[unit, kind] = fitted(part, bins * left, home[unit], kind, wanted) * left[home[unit]]
    return found


def few_decimals(shares: Floats, home: Integers, sizes: Floats, length: float) -> Floats:
    """Return each unit's share of its bin, class by class, where nothing is known of decimals: no value has more than
    show three digits of the range's length, or than one."""
    most = max(1, FEW_DIGITS - 1 - math.floor(math.log10(length)))
    return _by_class(*_rounded(shares, home, sizes, np.arange(sizes.shape[1]) <= most))


def _by_class(shares: Floats, sizes: Floats) -> Floats:
    """Return the shares of units as if each of a unit's values had the same."""
    return np.asarray(shares[:, None] * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1.0))


def _rounded(shares: Floats, home: Integers, sizes: Floats, seen: Mask) -> tuple[Floats, Floats]:
    """Return the shares and sizes without values of classes that have no rows, as far as a bin has other values.

    Such a value was counted by the tree, but only its noise can be there: it goes to the nearest unit of its bin that
    holds a value of another class.
    """
    kept = sizes * seen
    units = np.flatnonzero(kept.any(axis=1))
    if not len(units):
        return shares, sizes
    index = np.arange(len(shares))
    after = np.searchsorted(units, index)
    right, left = units[np.minimum(after, len(units) - 1)], units[np.maximum(after - 1, 0)]
    off_right, off_left = (np.where(home[to] == home, np.abs(to - index), len(shares)) for to in (right, left))
    nearest = np.where(off_right <= off_left, right, left)
    stays = np.minimum(off_right, off_left) == len(shares)  # nothing else is in the bin
    moved = np.bincount(np.where(stays, index, nearest), shares, len(shares)).astype(np.float64)
    return moved, np.where(stays[:, None], sizes, kept)
