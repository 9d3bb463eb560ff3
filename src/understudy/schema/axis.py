"""An axis: one attribute as a method looks at it — as it is, at a taxonomy level, or as one bit of its code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Axis:
    """`Axis("age")` is the attribute itself; `level` generalises it; `bit` is one binary digit of its code.

    Bits count from the most significant, as in the paper's figures; `gray` says which code they belong to.
    """

    attribute: str
    level: int = 0
    bit: int = -1
    gray: bool = False

    def __hash__(self) -> int:
        """Kept once computed: structure search looks axes up millions of times."""
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = hash((self.attribute, self.level, self.bit, self.gray))
            object.__setattr__(self, "_hash", known)
        return known

    @property
    def base(self) -> bool:
        return self.level == 0 and self.bit < 0

    def __str__(self) -> str:
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
