"""Tilts: weights of values that make changes lead where the rows are.

Changes are measured with noise, and noise adds up over a history. How often each value comes after a step is measured
too; a weight for each value makes whole histories agree with that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.relations.changes import Change, Codes, StepChanges
from understudy.relations.drawing import even_draw

Floats = NDArray[np.float64]
MAX_VALUES = 64  # of an attribute with weights: every pair of its values is laid out
ROUNDS = 100
MAX_TILT = 20.0  # the largest weight; a value that no change leads to cannot be weighed in
MAX_TIE = 100.0  # the same of two values
FLOOR = 1e-6  # the share of a value that is lost in the noise


@dataclass(frozen=True, eq=False)
class Move:
    """A change of an attribute with weights for its values; without weights every value of a change is as likely."""

    change: Change
    values: int
    weights: Floats | None = None

    @property
    def tilted(self) -> bool:
        """Return whether its pairs of values are laid out."""
        return self.values <= MAX_VALUES

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Return the change from each value to each: a row for each value before."""
        before, now = np.divmod(np.arange(self.values**2), self.values)
        return np.asarray(self.change.code(before, now), dtype=np.int64).reshape(self.values, self.values)

    @cached_property
    def _can(self) -> NDArray[np.bool_]:
        """Whether some change leads from each value to each."""
        return self.classes >= 0

    @cached_property
    def _own(self) -> Floats:
        return np.ones(self.values) if self.weights is None else self.weights

    @cached_property
    def _spread(self) -> Floats:
        """Return how likely each value is among those that the same change leads to, without weights."""
        size = self.change.size
        many = np.zeros((self.values, size))
        np.add.at(many, (np.arange(self.values)[:, None], self.classes), np.where(self._can, 1.0, 0.0))
        return np.where(self._can, 1 / np.maximum(np.take_along_axis(many, self.classes, axis=1), 1.0), 0.0)

    @cached_property
    def _reach(self) -> Floats:
        """Return the weight of each change from each value: the mean of the weights of the values it leads to."""
        found = np.zeros((self.values, self.change.size))
        np.add.at(found, (np.arange(self.values)[:, None], self.classes), self._spread * self._own)
        return found

    def reach(self, before: Codes, weights: Floats | None = None) -> NDArray[np.float64] | NDArray[np.bool_]:
        """Return a weight for each change from each of these values, 0 where it cannot be; `weights` has one more for
        each value in each row."""
        if weights is None or not self.tilted:
            return self._reach[before] if self.tilted else self.change.possible(before)
        rows, size = len(before), self.change.size
        at = self.classes[before] + size * np.arange(rows)[:, None]
        each = self._spread[before] * self._own * weights
        can = self._can[before]
        return np.bincount(at[can], each[can], rows * size).astype(np.float64).reshape(rows, size)

    def apply(
        self,
        before: Codes,
        change: Codes,
        generator: np.random.Generator,
        weights: Floats | None = None,
        most: Codes | None = None,
        beside: Sequence[Codes] = (),
    ) -> Codes:
        """Draw the value that each change leads to; `weights` has one more for each value in each row, and no value is
        above `most` of its row. Evenly by the columns `beside` too."""
        if not self.tilted:
            if most is not None and isinstance(self.change, StepChanges):
                return self.change.apply(before, change, generator, most)
            return self.change.apply(before, change, generator)
        fits = self.classes[before] == change[:, None]
        if most is not None:
            fits = fits & (np.arange(self.values)[None, :] <= most[:, None])
        own = self._own[None, :] if weights is None else self._own[None, :] * weights
        like = before.astype(np.int64) * self.change.size + change
        return even_draw(np.where(fits, own, 0.0), fits, like, generator, beside)

    def kernel(self, shares: Floats) -> Floats:
        """Return the chance of each value after each, without weights, from that of each change after each value."""
        return np.asarray(np.take_along_axis(shares, self.classes, axis=1) * self._spread)

    def tilted_changes(self, shares: Floats) -> Floats:
        """Return the chance of each change (a column) after each value (a row) with the weights, from that without."""
        each = shares * self._reach
        return np.asarray(each / np.maximum(each.sum(axis=1, keepdims=True), 1e-300))

    def led(self, counts: Floats) -> Floats | None:
        """Return how often each value comes after a step, from how often each change (a column) comes after each value
        (a row); None where a change may lead to several values, so that the counts do not tell."""
        if ((self._spread > 0) & (self._spread < 1)).any():
            return None
        return np.asarray((np.take_along_axis(counts, self.classes, axis=1) * self._spread).sum(axis=0))

    def chained(self, shares: Floats, first: Floats) -> Floats:
        """Return the distribution of the values after a step, without weights; arguments as of `fitted`."""
        return _reached(self.kernel(shares), first)

    def fitted(self, shares: Floats, first: Floats, after: Floats) -> Move:
        """Return the move with weights under which histories have the values `after` a step.

        Args:
            shares: the chance of each change (a column) after each value (a row).
            first: the joint distribution of how many rows follow the first (a row) and the first value (a column).
            after: the distribution of all values but the first of a history.
        """
        kernel, weights = self.kernel(shares), np.ones(self.values)
        wanted = np.maximum(after, FLOOR) / np.maximum(after, FLOOR).sum()
        for _ in range(ROUNDS):
            tilted = kernel * weights
            tilted /= np.maximum(tilted.sum(axis=1, keepdims=True), 1e-300)
            weights = _nearer(weights, wanted, _reached(tilted, first))
        return Move(self.change, self.values, weights)

    def nearer(self, wanted: Floats, reached: Floats, gain: float = 1.0) -> Move:
        """Return the move with weights that lead more to the values that are wanted than to those reached."""
        wanted = np.maximum(wanted, FLOOR) / np.maximum(wanted, FLOOR).sum()
        return Move(self.change, self.values, _nearer(self._own, wanted, np.maximum(reached, FLOOR), gain))


@dataclass(frozen=True, eq=False)
class Tie:
    """Weights of an attribute's values (columns) by the value of another one in the same row (rows)."""

    attribute: str
    to: str
    weights: Floats

    def nearer(self, wanted: Floats, reached: Floats, gain: float, least: float, share: float) -> Tie:
        """Return the tie with weights that lead more to the pairs that are wanted than to those reached.

        Args:
            wanted: how often each pair should come, and likewise `reached`.
            gain: the part of the way, in logarithms.
            least: what is added to both, so that few rows say little.
            share: the part of what the column of the attribute is off by that this tie makes up for.
        """
        step = (wanted + least) / (reached + least)
        column = (wanted.sum(axis=0) + least) / (reached.sum(axis=0) + least)
        step = np.clip(step * column ** (share - 1), 0.5, 2.0) ** gain
        return Tie(self.attribute, self.to, np.clip(self.weights * step, 1 / MAX_TIE, MAX_TIE))


def _nearer(weights: Floats, wanted: Floats, reached: Floats, gain: float = 1.0) -> Floats:
    found = weights * np.clip(wanted / np.maximum(reached, 1e-12), 0.5, 2.0) ** gain
    return np.clip(found / np.median(found), 1 / MAX_TILT, MAX_TILT)


def _reached(kernel: Floats, first: Floats) -> Floats:
    """Return the distribution of the values after the first, of chains that take as many steps as their row says."""
    state, total = np.asarray(first, dtype=np.float64), np.zeros(first.shape[1])
    for _ in range(1, len(first)):
        state = state[1:] @ kernel  # those that end here are left behind
        total += state.sum(axis=0)
    return np.asarray(total / max(total.sum(), 1e-300))
