"""The schema keys of intervals, read and checked: `range`, `bins`, `edges`, `points`, `format`, `step`, `decimals`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.domain import MAX_CODES
from understudy.schema.intervals import Intervals
from understudy.schema.scales import OrderedScale
from understudy.schema.steps import checked_decimals, checked_step, equal_edges, steps_of


def read_intervals(scale: OrderedScale, body: Mapping[str, Any]) -> Intervals:
    """Return the domain that an attribute of an ordered kind declares."""
    format, points, (step, places) = read_format(body), read_points(scale, body), read_steps(body)
    edges: Sequence[float] = [scale.from_file(e, format) for e in _list(body.get("edges", []), "edges")]
    if edges:
        if "bins" in body or "range" in body:
            raise SchemaError("`edges` stands alone: leave `range` and `bins` out")
        return Intervals(scale.kind, tuple(edges), points, format, step, places)
    low, high = read_range(scale, body)
    bins = None if body.get("bins") in ("auto", "each") else body.get("bins")
    steps = steps_of(scale, step, places, max(abs(low), abs(high)))
    stepped = steps if step is not None and bins is None else None
    edges = equal_edges(scale, low, high, bins) if stepped is None else stepped.between(low, high, MAX_CODES)
    return Intervals(scale.kind, tuple(edges), points, format, step, places)


def read_steps(body: Mapping[str, Any]) -> tuple[float | None, int | None]:
    """Return how values are written: in which steps, or with how many decimals."""
    return checked_step(body.get("step")), checked_decimals(body.get("decimals"))


def read_format(body: Mapping[str, Any]) -> str | None:
    format = body.get("format")
    if format is not None and (not isinstance(format, str) or not format):
        raise SchemaError('`format` is a text such as "%d.%m.%Y"')
    return format


def read_points(scale: OrderedScale, body: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(scale.from_file(p, read_format(body)) for p in _list(body.get("points", []), "points"))


def read_range(scale: OrderedScale, body: Mapping[str, Any]) -> tuple[float, float]:
    span = [scale.from_file(e, read_format(body)) for e in _list(body.get("range", []), "range")]
    if len(span) != 2 or span[1] <= span[0]:
        raise SchemaError("needs `range = [low, high]` with low < high, or `edges`")
    return span[0], span[1]


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise SchemaError(f"`{key}` must be a list")
    return value
