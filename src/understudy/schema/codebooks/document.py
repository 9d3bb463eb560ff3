"""A document that describes a table, and the interface of what reads one: recognise, read, say how far it is trusted.

Statistics inside metadata (observed minima, maxima, means, frequencies) are never read, whatever the format. What a
tool usually infers from rows, or what sits inside a data file, is asked about: was it written before these rows, or
from them?
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError, import_extra
from understudy.schema.codebook import read_text
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import FLAG_KINDS, MOMENT_KINDS, ORDERED_KINDS, takes

MAX_TEXT = 1 << 26  # characters of a document


class TrustClass(Enum):
    """How a format comes to say what it says, and so what a person is asked about it."""

    STATED = "codebook"
    INFERRED = "codebook (usually inferred)"
    INSIDE = "inside the file"

    def marked(self, source: Source, reader: str) -> Source:
        """Return the source with its name on every attribute, and the question of its origin where that is open."""
        where = "inside the file" if self is TrustClass.INSIDE else "codebook"
        named = {name: _named(facts, f"{where}: {reader}") for name, facts in source.attributes.items()}
        points = source.points if self is TrustClass.STATED else (*source.points, "origin")
        return replace(source, attributes=named, points=points)


def _named(facts: Facts, source: str) -> Facts:
    """Return the facts with this source, unless they name one themselves; "" is a declaration in our own words."""
    if facts.source == "":
        return replace(facts, source=None)
    return facts if facts.source is not None else replace(facts, source=source)


@dataclass(frozen=True)
class Document:
    """A file, read as text, JSON or YAML when somebody asks; `parsed` is what Python code handed over instead."""

    path: Path
    parsed: Any = None

    @property
    def suffix(self) -> str:
        return self.path.suffix.casefold()

    @cached_property
    def text(self) -> str:
        return read_text(self.path)[:MAX_TEXT]

    @cached_property
    def tree(self) -> Mapping[str, Any]:
        """Return the document as nested tables; empty where it is neither JSON nor YAML, or no table."""
        found = self.parsed
        if found is None and self.suffix in (".json", ".jsonld"):
            found = self._json()
        if found is None and self.suffix in (".yml", ".yaml"):
            found = self._yaml()
        return found if isinstance(found, Mapping) else {}

    def _json(self) -> Any:
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            raise SchemaError(f"{self.path.name!r} is not valid JSON") from None

    def _yaml(self) -> Any:
        yaml = import_extra("yaml", "codebooks", "a YAML codebook needs one more package")
        try:
            return yaml.safe_load(self.text)
        except (yaml.YAMLError, RecursionError):
            raise SchemaError(f"{self.path.name!r} is not valid YAML") from None


@dataclass(frozen=True)
class Reader:
    """One format: its name, how far it is trusted, how it is recognised, and what it says."""

    name: str
    trust: TrustClass
    recognises: Callable[[Document], bool]
    read: Callable[[Document], Source]


# -- what formats share --------------------------------------------------------------------------------------


def scalar_text(value: Any) -> str:
    """Return the text that a cell would hold: whole numbers without a point, booleans as true and false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def texts(values: Any) -> tuple[str, ...] | None:
    """Return the distinct texts of a list of plain values; None where there is none."""
    if not isinstance(values, list | tuple) or not values:
        return None
    plain = [scalar_text(value) for value in values if value is not None and not isinstance(value, list | dict)]
    return tuple(dict.fromkeys(plain)) or None


def described(
    kind: Kind | None,
    values: tuple[str, ...] | None = None,
    low: Any = None,
    high: Any = None,
    *,
    missing: tuple[str, ...] | None = None,
    label: Any = None,
    format: str | None = None,
    declared_type: str | None = None,
    decimals: int | None = None,
    step: Any = None,
) -> Facts:
    """Return the facts of one attribute: listed values make a category of any kind but a boolean."""
    if values is not None and missing:
        values = tuple(value for value in values if value not in missing) or None
    if values is not None and kind not in FLAG_KINDS:
        kind = "category"
    ends = kind in ORDERED_KINDS
    return Facts(
        kind=kind,
        values=values,
        low=scalar_text(low) if low is not None and ends else None,
        high=scalar_text(high) if high is not None and ends else None,
        missing=missing or None,
        label=" ".join(str(label).split()) if label else None,
        format=format if kind in MOMENT_KINDS else None,
        declared_type=declared_type,
        decimals=decimals if takes(kind, "decimals") else None,
        step=None if step is None else scalar_text(step),
    )
