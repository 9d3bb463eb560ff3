"""The names of an attribute's values: which codes, or which place on the line, a word of a condition means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.attribute import MISSING, Attribute
from understudy.schema.axis import Axis


def place_of(attribute: Attribute, text: str) -> float | None:
    """Return the place of a number, date or time on the attribute's scale; None if the text is none.

    ISO 8601 is always read, and the schema's own format too.
    """
    if (domain := attribute.intervals) is None:
        return None
    place = domain.scale.position(text, domain.format)
    return float(place) if math.isfinite(place) else None


def means_missing(attribute: Attribute, text: str) -> bool:
    """Return whether the text stands for "no value" of this attribute."""
    return attribute.has_missing and text in (*attribute.missing, MISSING)


def codes_named(attribute: Attribute, name: str) -> NDArray[np.bool_] | None:
    """Return the codes that go by this name: a value's label, else the finest taxonomy group that is called so."""
    for level in range(attribute.levels):
        axis = Axis(attribute.name, level)
        named = np.asarray([label == name for label in attribute.view_labels(axis)])
        if named.any():
            return np.asarray(named[attribute.view_map(axis)])
    tree = attribute.taxonomy.tree if attribute.taxonomy else None
    for group, members in _groups(tree if isinstance(tree, Mapping) else {}):  # even one that makes no level of its own
        if group == name:
            return np.asarray([label in members for label in attribute.labels])
    return None


def codes_meant(attribute: Attribute, text: str) -> NDArray[np.bool_] | None:
    """Return the codes that a text means by name; a boolean also by the schema's other texts, and as true and false."""
    named = codes_named(attribute, text)
    if named is None and attribute.domain.flags:
        code = int(attribute.domain.encode([text])[0])
        code = {"false": 0, "true": 1}.get(text.casefold(), code) if code < 0 else code
        named = np.equal(np.arange(attribute.size), code) if code >= 0 else None
    return named


def names_of(attribute: Attribute) -> list[str]:
    """Return every name of a value or group, for a hint."""
    levels = [attribute.view_labels(Axis(attribute.name, level)) for level in range(attribute.levels)]
    return list(dict.fromkeys(label for labels in levels for label in labels))


def _groups(tree: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for name, below in tree.items():
        yield str(name), _leaves(below)
        if isinstance(below, Mapping):
            yield from _groups(below)


def _leaves(tree: Any) -> list[str]:
    if isinstance(tree, Mapping):
        return [leaf for below in tree.values() for leaf in _leaves(below)]
    return [tree] if isinstance(tree, str) else list(tree)
