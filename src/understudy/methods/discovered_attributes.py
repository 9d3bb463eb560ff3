"""Completed attributes: what was bought, filled into the body of an attribute that was left open.

A body is public by then, and the ordinary reader of schemas reads it: here, and at every owner that is told of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import SchemaError
from understudy.models.discovered import without_codes
from understudy.privacy.measurement import Measurement
from understudy.privacy.questions.value_lists import ValueList
from understudy.schema import Attribute, Axis, Schema
from understudy.schema.attribute import MISSING
from understudy.schema.files import attribute_from_dict
from understudy.schema.scales import DISCOVERABLE_KINDS, ordered_scale
from understudy.schema.undiscovered import PAID

ROOM = "a missing code lies in what was found: the range ends before it, and what is beyond counts as that end"
MIDDLE = "middle"  # of a body while it is made: where most rows were seen


def completed_body(name: str, body: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the body with what was bought; that of a dropped column if no schema can have it (public by now)."""
    full = {key: value for key, value in body.items() if value is not None} | {"provenance": PAID}
    if full["kind"] in DISCOVERABLE_KINDS:
        full.setdefault("other", MISSING)
        notes += _make_room(name, full, full.pop(MIDDLE))
    try:
        attribute_from_dict(name, full, in_file=True)
    except SchemaError as error:
        notes.append(f"{name}: what was found makes no attribute ({error.message}), so the column is left out")
        return {"kind": "drop", "provenance": PAID}
    return full


def completed_schema(declared: Schema, bodies: Mapping[str, Mapping[str, Any]]) -> Schema:
    """Return the schema in which these attributes have what was bought."""
    found = {name: attribute_from_dict(name, body, in_file=True) for name, body in bodies.items()}
    return replace(declared, attributes=tuple(found.get(a.name, a) for a in declared.attributes), text=None)


def _make_room(name: str, body: dict[str, Any], middle: float) -> list[str]:
    """Cut a found range where a missing code lies in it, and say so: no text can be a value and missing too.

    `middle` is where most rows were seen: that side of a code is kept.
    """
    scale, missing = ordered_scale(body["kind"]), body.get("missing")
    found = [scale.parse(text, body.get("format")) for text in missing] if isinstance(missing, list) else []
    span = [scale.parse(str(end)) for end in body["range"]]
    unit = 10.0 ** -body.get("decimals", 0) if "decimals" in scale.keys else 1.0
    codes = sorted(code for code in found if span[0] <= code <= span[1])  # NaN is in no range
    if codes:
        ends = [scale.show(end) for end in without_codes(span, codes, unit, middle)]
        body["range"] = [float(end) for end in ends] if scale.arithmetic else ends
    return [f"{name}: {ROOM}"] if codes else []


def one_way(attribute: Attribute, found: ValueList) -> Measurement | None:
    """Return the one-way table that came with a list: its codes are the values, `other`, then missing.

    Where the other texts are missing by now, both noisy counts are that cell's. Lists of several owners that differ are
    no table: what one of them lists is part of another's rest.
    """
    if not found.is_table:
        return None
    counts = found.counts
    if len(found.values) + 2 == len(counts) == attribute.size + 1:
        counts = np.append(counts[:-2], counts[-2:].sum())
    return Measurement((Axis(attribute.name),), counts, found.noise) if attribute.size == len(counts) else None
