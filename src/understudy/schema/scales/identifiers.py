"""Kinds id and drop: columns that are never read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.schema.domain import Kind
from understudy.schema.patterns import ALPHABETS, Pattern
from understudy.schema.scales.lists import NeverRead
from understudy.schema.scales.scale import Scale


@dataclass(frozen=True)
class Identifier(NeverRead):
    """An id: never read; fresh numbers on output, or fresh texts in the format of a pattern."""

    pattern: Pattern | None = None
    kind: ClassVar[Kind] = "id"

    @property
    def characters(self) -> str:  # type: ignore[override]
        if self.pattern is None:
            return ALPHABETS["digits"]
        return self.pattern.alphabets[0] + self.pattern.literals + "".join(ALPHABETS.values())

    def as_dict(self) -> dict[str, Any]:
        return {} if self.pattern is None else {"pattern": self.pattern.text}


@dataclass(frozen=True)
class Dropped(NeverRead):
    """A column that is left out altogether."""

    kind: ClassVar[Kind] = "drop"


class Id(Scale):
    """The codec of ids."""

    kind = "id"
    keys = ("pattern",)
    words = ("id", "identifier", "key")
    ddl_types = "serial bigserial uuid uniqueidentifier"
    modelled = False

    def read(self, body: Mapping[str, Any]) -> Identifier:
        return Identifier(Pattern.of(body["pattern"]) if "pattern" in body else None)


class Drop(Scale):
    """The codec of columns that are left out."""

    kind = "drop"
    words = ("drop", "ignore", "skip", "free text")
    modelled = False

    def read(self, body: Mapping[str, Any]) -> Dropped:
        return Dropped()
