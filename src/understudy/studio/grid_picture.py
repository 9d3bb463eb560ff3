"""The picture of a column's public grid: where its bins lie, before a row is read."""

from __future__ import annotations

from itertools import pairwise

from understudy.report.bars import drawing
from understudy.report.markup import shape
from understudy.schema import Attribute, Schema

_WIDTH, _HEIGHT = 400.0, 26.0
MAX_BINS = 200


def grid_picture(schema: Schema, attribute: Attribute) -> str:
    """Return a drawing of the bins of an ordered column, as wide as they are; "" for other columns.

    Where bins are to be found with the release, those of equal prior mass are drawn: they are public.
    """
    shown = attribute.with_own_bins() if attribute.grid is not None else attribute
    if shown.intervals is None or not shown.modelled:
        return ""
    edges = [float(edge) for edge in shown.intervals.edges]
    low, wide = edges[0], edges[-1] - edges[0]
    if wide <= 0 or len(edges) > MAX_BINS:
        return ""
    parts = [
        shape(
            "rect", class_=f"bin{i % 2}", x=_WIDTH * (a - low) / wide, width=max(0.5, _WIDTH * (b - a) / wide),
            height=_HEIGHT,
        )
        for i, (a, b) in enumerate(pairwise(edges))
    ]  # fmt: skip
    return str(drawing(_WIDTH, _HEIGHT, *parts, class_="grid", stretched=True))
