"""An axis: one attribute as a method looks at it — as it is, at a taxonomy level, in merged groups, or as one bit."""

from __future__ import annotations

from typing import NamedTuple

MERGED = -1  # the level of an attribute's merged groups, which were found after its one-way table was bought


class Axis(NamedTuple):
    """One attribute as one axis of a marginal.

    `Axis("age")` is the attribute itself. `level` generalises it to a level of its taxonomy, `MERGED` to its merged
    groups; `bit` is one binary digit of its code, counted from the most significant, and `gray` says whether that is
    the Gray code. A tuple, because structure search hashes and compares axes millions of times.
    """

    attribute: str
    level: int = 0
    bit: int = -1
    gray: bool = False

    @property
    def base(self) -> bool:
        return self.level == 0 and self.bit < 0

    @property
    def merged(self) -> bool:
        """Return whether this is the attribute in its merged groups."""
        return self.level == MERGED

    def __str__(self) -> str:
        if self.merged:
            return f"{self.attribute} in groups"
        if self.level:
            return f"{self.attribute}@{self.level}"
        if self.bit >= 0:
            return f"{self.attribute}#{'gray' if self.gray else 'bit'}{self.bit}"
        return self.attribute

    def as_json(self) -> list[str | int]:
        return [self.attribute, self.level, self.bit, int(self.gray)]

    @staticmethod
    def from_json(item: list[str | int]) -> Axis:
        name, level, bit, gray = item
        return Axis(str(name), int(level), int(bit), bool(gray))


Axes = tuple[Axis, ...]
