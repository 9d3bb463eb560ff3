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

__all__ = [
    "DISCOVERABLE_KINDS", "FLAG_KINDS", "LISTED_KINDS", "MOMENT_KINDS", "MOMENT_SCALES", "NUMBER_KINDS",
    "ORDERED_KINDS", "SCALES", "UNREAD_KINDS", "WHOLE_KINDS", "OrderedScale", "Scale", "ordered_scale", "takes",
]  # fmt: skip

SCALES: dict[str, Scale] = {
    scale.kind: scale
    for scale in (Integer(), Number(), Date(), DateTime(), TimeOfDay(), Category(), Boolean(), Id(), Drop())
}  # fmt: skip
_ORDERED = tuple(scale for scale in SCALES.values() if isinstance(scale, OrderedScale))
ORDERED_KINDS = tuple(scale.kind for scale in _ORDERED)  # those with a range
NUMBER_KINDS = tuple(scale.kind for scale in _ORDERED if scale.arithmetic)
WHOLE_KINDS = tuple(scale.kind for scale in _ORDERED if scale.whole_numbers)
DISCOVERABLE_KINDS = tuple(scale.kind for scale in _ORDERED if scale.search_edges())  # whose range can be bought
MOMENT_SCALES = tuple(scale for scale in _ORDERED if isinstance(scale, Moment))  # those with a format
MOMENT_KINDS = tuple(scale.kind for scale in MOMENT_SCALES)
FLAG_KINDS = tuple(kind for kind, scale in SCALES.items() if scale.flags)
LISTED_KINDS = tuple(kind for kind, scale in SCALES.items() if "values" in scale.keys)
UNREAD_KINDS = tuple(kind for kind, scale in SCALES.items() if not scale.modelled)


def takes(kind: str | None, key: str) -> bool:
    """Return whether the schema file may have this key in an attribute of a kind; not so where there is none.

    >>> takes("number", "decimals"), takes("integer", "decimals")
    (True, False)
    """
    return kind in SCALES and key in SCALES[kind].keys


def ordered_scale(kind: str) -> OrderedScale:
    """Return the scale of an ordered kind.

    >>> ordered_scale("date").show(19_723)
    '2024-01-01'
    """
    scale = SCALES[kind]
    assert isinstance(scale, OrderedScale)
    return scale
