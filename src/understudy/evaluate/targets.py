"""A target: what a classifier predicts — an attribute, or a public question about it: `education=Masters|Doctorate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError, did_you_mean
from understudy.schema import Attribute, Axis, Schema

MAX_CLASSES = 20


@dataclass(frozen=True)
class Target:
    """`values` names the positive values (or bins, or taxonomy groups); without them every value is a class."""

    attribute: str
    values: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()  # attributes that give the answer away and are no features

    @staticmethod
    def parse(text: str, schema: Schema, ignore: Sequence[str] = ()) -> Target:
        """Parse `attribute` or `attribute=value|value`, checked against the schema."""
        name, asked, values = _parted(text, [a.name for a in schema.modelled])
        attribute = schema[name.strip()]  # raises with "did you mean"
        if asked and not values.strip() and values not in attribute.labels:
            raise UsageError(
                f'the target {text!r} names no value: "{attribute.name}={attribute.labels[0]}" asks for one, '
                f'"{attribute.name}" for them all',
                attribute=attribute.name,
            )
        positive = (values,) if values in attribute.labels else tuple(v.strip() for v in values.split("|"))
        target = Target(attribute.name, positive if asked else (), tuple(ignore))
        target.label(schema)
        return target

    def __str__(self) -> str:
        return f"{self.attribute}={'|'.join(self.values)}" if self.values else self.attribute

    def label(self, schema: Schema) -> NDArray[np.int64]:
        """Return the class of each code of the attribute: 0 and 1, or one class a value."""
        attribute = schema[self.attribute]
        if not attribute.modelled:
            raise UsageError(f"{attribute.name} is no target: it is of kind {attribute.kind}", attribute=attribute.name)
        if self.values:
            label = np.zeros(attribute.size, dtype=np.int64)
            label[[code for value in self.values for code in _codes(attribute, value)]] = 1
            if label.all():
                raise UsageError(f"the target {self} holds for every value of {attribute.name}: nothing to predict")
            return label
        if attribute.size > MAX_CLASSES:
            raise UsageError(
                f"{attribute.name} has {attribute.size} values, more than {MAX_CLASSES} classes: say which values "
                f'are the ones to predict, as "{attribute.name}={attribute.labels[0]}|…"',
                attribute=attribute.name,
            )
        return np.arange(attribute.size, dtype=np.int64)

    def features(self, schema: Schema) -> list[str]:
        for name in self.ignore:
            schema[name]  # raises with "did you mean"
        return [n for n in schema.names if n != self.attribute and n not in self.ignore]


def _parted(text: str, known: Sequence[str]) -> tuple[str, str, str]:
    """Name, "=" and values; a name may hold an "=" itself."""
    if text in known:
        return text, "", ""
    longest = max((name for name in known if text.startswith(f"{name}=")), key=len, default=None)
    return text.partition("=") if longest is None else (longest, "=", text[len(longest) + 1 :])


def _codes(attribute: Attribute, text: str) -> list[int]:
    """Return the codes of a value, of a bin's label, or of a group at any level of the taxonomy."""
    for level in range(attribute.levels):
        axis = Axis(attribute.name, level)
        labels = attribute.view_labels(axis)
        if text in labels:
            return [int(code) for code in np.flatnonzero(attribute.view_map(axis) == labels.index(text))]
    near = did_you_mean(text, list(attribute.labels))
    raise UsageError(f"{attribute.name} has no value or group {text!r}. {near}", attribute=attribute.name)
