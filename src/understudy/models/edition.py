"""Editions of the estimate: a release is refitted by the rules that it was made by, whatever rules came later."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Edition(IntEnum):
    """The rules by which noisy tables became a model."""

    FIRST = 1
    POOLED_TAILS = 2  # how far tails are empty is decided by all cells together (`tails`)
    SHRUNK = 3  # tables are drawn towards the product of their columns (`shrinkage`)
    DRAWN_TO_PAIRS = 4  # those of three and more attributes are first drawn towards their pairs (`interactions`)
    SPARSE = 5  # which columns are drawn towards smooth shapes goes by rows that have a value (`smooth_columns`)

    NEWEST = SPARSE

    def as_json(self) -> dict[str, Any]:
        """Return what a release file says of it."""
        return {key: value for edition, (key, value) in _WRITTEN.items() if edition <= self}

    @staticmethod
    def of(body: Mapping[str, Any]) -> Edition:
        """Return the edition of a release file: the first where it says nothing."""
        return max(
            (edition for edition, (key, value) in _WRITTEN.items() if body.get(key) == value), default=Edition(1)
        )


_WRITTEN = {
    Edition.POOLED_TAILS: ("tails", "pooled"),
    Edition.SHRUNK: ("entropy", "shrunk"),
    Edition.DRAWN_TO_PAIRS: ("interactions", "drawn"),
    Edition.SPARSE: ("smooth", "sparse"),
}
