"""Scales: one codec for each kind of column. A new kind is a file in this folder and a word in this table."""

from __future__ import annotations

from understudy.schema.scales.booleans import Boolean
from understudy.schema.scales.categories import Category
from understudy.schema.scales.dates import Date
from understudy.schema.scales.datetimes import DateTime
from understudy.schema.scales.identifiers import Drop, Id
from understudy.schema.scales.integers import Integer
from understudy.schema.scales.moments import Moment
from understudy.schema.scales.reals import Number
from understudy.schema.scales.scale import OrderedScale, Scale
from understudy.schema.scales.times import TimeOfDay

__all__ = ["MOMENT_KINDS", "MOMENT_SCALES", "ORDERED_KINDS", "SCALES", "OrderedScale", "Scale", "ordered_scale"]

SCALES: dict[str, Scale] = {
    scale.kind: scale
    for scale in (Integer(), Number(), Date(), DateTime(), TimeOfDay(), Category(), Boolean(), Id(), Drop())
}  # fmt: skip
ORDERED_KINDS = tuple(kind for kind, scale in SCALES.items() if isinstance(scale, OrderedScale))  # those with a range
MOMENT_SCALES = tuple(scale for scale in SCALES.values() if isinstance(scale, Moment))  # those with a format
MOMENT_KINDS = tuple(scale.kind for scale in MOMENT_SCALES)


def ordered_scale(kind: str) -> OrderedScale:
    """Return the scale of an ordered kind.

    >>> ordered_scale("date").show(19_723)
    '2024-01-01'
    """
    scale = SCALES[kind]
    assert isinstance(scale, OrderedScale)
    return scale
