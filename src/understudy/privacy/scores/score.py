"""What a score is: an integer function of one attribute–parent pair's exact counts, with a proved sensitivity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

from understudy.engines.engine import CountingEngine
from understudy.schema import Axes, Axis, Integers, Schema

Table = Integers  # rows: parent configurations; columns: values of the child


@dataclass(frozen=True)
class Pair:
    """An attribute–parent pair (X, Π); parents may be generalised."""

    child: Axis
    parents: Axes = ()

    @property
    def axes(self) -> Axes:
        return (*self.parents, self.child)

    def __str__(self) -> str:
        return f"{self.child} | {', '.join(map(str, self.parents)) or '∅'}"


class Penalty(int):
    """A public penalty on the scale of one score. Made from rows by `Score.penalty` alone, so its unit is right.

    `PrivateTable.choose` takes no other number, by type, and refuses one that was made for another score.
    """

    score: Score

    def __new__(cls, value: int, score: Score) -> Self:
        made = super().__new__(cls, value)
        made.score = score
        return made

    def for_cells(self, cells: int) -> Penalty:
        """Return this penalty for each of so many cells."""
        return Penalty(int(self) * cells, self.score)


@dataclass(frozen=True)
class Score(ABC):
    """A score of an attribute with its parents: an integer from exact counts, by which `choose` makes private choices.

    `sensitivity` is how far one person can move it, `unit` how much of it one row is worth; both are integers on the
    scale of `value`, so that a penalty cannot be in another unit.

    >>> from understudy.privacy.scores import INDEPENDENCE, Pair
    >>> from understudy.schema import Axis
    >>> INDEPENDENCE.sensitivity(Pair(Axis("smoker"), (Axis("sex"),)), schema) > 0
    True
    """

    name: ClassVar[str]  # in options, in files and on the wire
    has_references: ClassVar[bool] = False  # whether each option is compared with a public table of its own

    @abstractmethod
    def value(self, table: Table, rows: int, schema: Schema) -> int:
        """Return the score of a `table` of exact counts of so many `rows` by the `schema`. For the kernel alone."""

    @abstractmethod
    def sensitivity(self, pair: Pair, schema: Schema) -> int:
        """Return how far one row can move the score of this `pair` of attributes of the `schema`."""

    @abstractmethod
    def unit(self, schema: Schema) -> int:
        """Return how much of the score one row is worth under the `schema`'s neighbours."""

    def refusal(self, pair: Pair, schema: Schema) -> str | None:
        """Return why this pair cannot be scored, or None."""
        return None

    def penalty(self, rows: float, schema: Schema, cells: int = 1) -> Penalty:
        """Return a penalty worth so many rows for each of so many cells, on the scale of this score.

        >>> from understudy.privacy.scores import REFERENCE_DISTANCE
        >>> REFERENCE_DISTANCE.penalty(2.5, schema, cells=10)
        50
        """
        return Penalty(int(rows * self.unit(schema) * cells), self)


class PairwiseScore(Score):
    """A score that can be counted for all pairs of attributes at once."""

    without_parent: ClassVar[int | None] = None  # the score of no parent, where it is the same for all attributes

    @abstractmethod
    def all_pairs(self, engine: CountingEngine, axes: Axes, schema: Schema) -> Integers:
        """Return the score of every axis (row) with every other as its parent (column)."""

    def all_pairs_refusal(self, schema: Schema) -> str | None:
        """Return why not all pairs of the model's attributes can be scored, or None."""
        return None


def binary_side(pair: Pair, schema: Schema) -> bool:
    """Return whether the child, or all parents together, have at most two values."""
    return schema.size(pair.child) <= 2 or schema.cells(pair.parents) <= 2
