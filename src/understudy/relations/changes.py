"""Changes: a value of a person's row, coded by how it differs from the same person's row before.

A code of a change is a public function of two codes. Most values persist, so a change has few frequent codes where the
pair of values has many rare ones; the value is drawn again from the change and the value before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Attribute
from understudy.schema.scales.sql_syntax import Syntax

Codes = NDArray[Any]
RETURN_PARTS = 8  # parts of an ordered domain that tell where a value lies when the one before was missing


class Change(Protocol):
    """A code for each pair of codes (before, now)."""

    @property
    def size(self) -> int:
        """Return how many codes of changes there are."""
        ...

    def code(self, before: Codes, now: Codes) -> Codes:
        """Return the change from each code to the next."""
        ...

    def possible(self, before: Codes) -> NDArray[np.bool_]:
        """Return which changes can follow each code: a row for each, a column for each change."""
        ...

    def apply(self, before: Codes, change: Codes, generator: np.random.Generator) -> Codes:
        """Draw a code that the change leads to; each that it can lead to is as likely."""
        ...

    def sql(self, before: str, now: str) -> str:
        """Return `code` as SQL over two columns of codes."""
        ...


def change_of(attribute: Attribute, rising: bool = False) -> Change:
    """Return how changes of this attribute are coded; one that is `rising` has no steps down."""
    if rising:
        return StepChanges(attribute.domain.size, missing=attribute.has_missing, upward=True)
    if attribute.intervals is not None and attribute.domain.size > 2:
        return StepChanges(attribute.domain.size, missing=attribute.has_missing)
    return Flip() if attribute.size == 2 else Moves(attribute.size)


@dataclass(frozen=True)
class Flip:
    """Of two values: 0 the same, 1 the other."""

    size: int = 2

    def code(self, before: Codes, now: Codes) -> Codes:
        return np.asarray(before != now, dtype=np.uint8)

    def possible(self, before: Codes) -> NDArray[np.bool_]:
        return np.ones((len(before), 2), dtype=bool)

    def apply(self, before: Codes, change: Codes, generator: np.random.Generator) -> Codes:
        return np.asarray(np.bitwise_xor(before, change))

    def sql(self, before: str, now: str) -> str:
        return f"CASE WHEN {before} = {now} THEN 0 ELSE 1 END"


@dataclass(frozen=True)
class Moves:
    """Of a list: 0 the same, 1 + v a move to value v."""

    values: int

    @property
    def size(self) -> int:
        return self.values + 1

    def code(self, before: Codes, now: Codes) -> Codes:
        return np.where(before == now, 0, now.astype(np.int64) + 1)

    def possible(self, before: Codes) -> NDArray[np.bool_]:
        return np.not_equal(np.arange(self.size)[None, :], before[:, None].astype(np.int64) + 1)

    def apply(self, before: Codes, change: Codes, generator: np.random.Generator) -> Codes:
        return np.where(change == 0, before, change.astype(np.int64) - 1)

    def sql(self, before: str, now: str) -> str:
        return f"CASE WHEN {before} = {now} THEN 0 ELSE {now} + 1 END"


@dataclass(frozen=True)
class StepChanges:
    """Of ordered values: how many values down or up, in groups that double; where there is a missing value (coded
    last), going missing and, by parts of the domain, coming back. `upward` leaves steps down out: of a time."""

    values: int
    missing: bool = False
    upward: bool = False
    strict: bool = False  # nor is it the same: of a time at which nobody has two rows

    @cached_property
    def _low(self) -> NDArray[np.int64]:
        """Return the least difference of each code of a step, ascending."""
        up = _doubling(self.values - 1) if not self.upward else _growing(self.values - 1)
        ends = np.append(up[1:], self.values)
        down = np.zeros(0, dtype=np.int64) if self.upward else -(ends[::-1] - 1)
        return up if self.strict else np.concatenate([down, [0], up])

    @cached_property
    def _high(self) -> NDArray[np.int64]:
        return np.append(self._low[1:] - 1, self.values - 1)

    @property
    def _parts(self) -> int:
        return min(RETURN_PARTS, self.values) if self.missing else 0

    @property
    def size(self) -> int:
        return len(self._low) + (1 + self._parts if self.missing else 0)

    def code(self, before: Codes, now: Codes) -> Codes:
        before, now = before.astype(np.int64), now.astype(np.int64)
        found = np.searchsorted(self._low, now - before, side="right") - 1
        if self.missing:
            steps, gone, back = len(self._low), now == self.values, before == self.values
            found = np.where(gone & ~back, steps, found)
            part = np.minimum(now, self.values - 1) * self._parts // self.values
            found = np.where(back, np.where(gone, int(np.searchsorted(self._low, 0)), steps + 1 + part), found)
        return found

    def possible(self, before: Codes) -> NDArray[np.bool_]:
        own = before.astype(np.int64)[:, None]
        can = (own + self._high[None, :] >= 0) & (own + self._low[None, :] <= self.values - 1)
        if not self.missing:
            return can
        back = own == self.values
        can = np.where(back, self._low[None, :] == 0, can)
        return np.hstack([can, ~back, np.broadcast_to(back, (len(own), self._parts))])

    def room(self, before: Codes, most: Codes) -> NDArray[np.bool_]:
        """Return which changes can lead to values up to `most` of each row."""
        return np.asarray(before.astype(np.int64)[:, None] + self._low[None, :] <= most[:, None])

    def no_less(self, before: Codes, least: Codes) -> NDArray[np.bool_]:
        """Return which changes can lead to values from `least` of each row on: of those that come back, some cannot."""
        ends = -(-np.arange(1, self._parts + 1) * self.values // max(self._parts, 1)) - 1
        back = (before == self.values)[:, None] & (ends[None, :] < least[:, None])
        return ~np.hstack([np.zeros((len(before), self.size - self._parts), dtype=bool), back])

    def apply(self, before: Codes, change: Codes, generator: np.random.Generator, most: Codes | None = None) -> Codes:
        before, change = before.astype(np.int64), change.astype(np.int64)
        step = np.minimum(change, len(self._low) - 1)
        low, high = before + self._low[step], before + self._high[step]
        if self.missing:
            part = np.maximum(change - len(self._low) - 1, 0)
            back = change > len(self._low)
            low = np.where(back, -(-part * self.values // self._parts), low)
            high = np.where(back, -(-(part + 1) * self.values // self._parts) - 1, high)
        high = high if most is None else np.minimum(high, most)
        drawn = _between(np.clip(low, 0, self.values - 1), np.clip(high, 0, self.values - 1), generator)
        if self.missing:
            stays = (before == self.values) & (change < len(self._low))
            drawn = np.where((change == len(self._low)) | stays, self.values, drawn)
        return drawn

    def reached(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the values that each change leads to begin and end, without those beyond the domain: a row for
        each value before, a column for each step up or down."""
        own = np.arange(self.values)[:, None]
        low, end = own + self._low[None, :], own + self._high[None, :] + 1
        return np.clip(low, 0, self.values), np.clip(end, 0, self.values)

    def sql(self, before: str, now: str) -> str:
        steps, cases = len(self._low), []
        if self.missing:
            same = int(np.searchsorted(self._low, 0))
            cases.append(f"WHEN {before} = {self.values} AND {now} = {self.values} THEN {same}")
            cases.append(f"WHEN {now} = {self.values} THEN {steps}")
            starts = [-(-part * self.values // self._parts) for part in range(1, self._parts)]
            for part, start in zip(range(self._parts - 1, 0, -1), reversed(starts)):
                cases.append(f"WHEN {before} = {self.values} AND {now} >= {start} THEN {steps + 1 + part}")
            cases.append(f"WHEN {before} = {self.values} THEN {steps + 1}")
        cases += [f"WHEN {now} - {before} >= {self._low[at]} THEN {at}" for at in range(steps - 1, 0, -1)]
        return f"CASE {' '.join(cases)} ELSE 0 END" if cases else "0"


def _doubling(most: int) -> NDArray[np.int64]:
    """Return 1, 2, 3, 5, 9, …: where groups of steps begin, each twice as wide as the one before."""
    found = [1]
    while (step := 2 * found[-1] - (len(found) > 1)) <= most:
        found.append(step)
    return np.asarray(found if most >= 1 else [], dtype=np.int64)


def _growing(most: int) -> NDArray[np.int64]:
    """Return 1 to 8, then groups a quarter wider each: of gaps, which are seldom near zero."""
    found = list(range(1, min(most, 8) + 1))
    while found and (step := max(found[-1] + 1, found[-1] * 5 // 4)) <= most:
        found.append(step)
    return np.asarray(found, dtype=np.int64)


def _between(low: Codes, high: Codes, generator: np.random.Generator) -> Codes:
    return np.asarray(low + np.floor(generator.random(len(low)) * (high - low + 1)).astype(np.int64))


@dataclass(frozen=True)
class Coarse:
    """Units of a long order seen coarsely: the first alone, the others in parts of equal width."""

    units: int
    parts: int = 20

    @property
    def _plain(self) -> bool:
        return self.units <= self.parts + 12

    @property
    def size(self) -> int:
        return self.units if self._plain else self.parts + 1

    def code(self, unit: Codes) -> Codes:
        unit = unit.astype(np.int64)
        if self._plain:
            return unit
        return np.where(unit == 0, 0, 1 + (unit - 1) * self.parts // (self.units - 1))

    def sql(self, unit: str, syntax: Syntax) -> str:
        """Return `code` as SQL over a column of units."""
        if self._plain:
            return unit
        later = syntax.divide(f"({unit} - 1) * {self.parts}", self.units - 1)
        return f"CASE WHEN {unit} = 0 THEN 0 ELSE 1 + {later} END"

    def draw(self, code: Codes, generator: np.random.Generator) -> Codes:
        """Draw a unit of each part."""
        code = code.astype(np.int64)
        if self._plain:
            return code
        part, width = np.maximum(code - 1, 0), self.units - 1
        low, high = 1 + -(-part * width // self.parts), -(-(part + 1) * width // self.parts)
        return np.where(code == 0, 0, _between(low, high, generator))


def smallest(codes: Sequence[int] | Codes, size: int) -> Codes:
    """Return codes in one or two bytes each, as engines count them."""
    return np.asarray(codes).astype(np.uint8 if size <= 256 else np.uint16)
