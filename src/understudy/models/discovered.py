"""What noisy histograms say about a column that nobody declared: its kind and format, and its range.

Post-processing: everything here is a function of noisy counts and public facts. A cell is *seen* if its noisy count is
one that noise alone reaches in about one histogram of forty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Noise
from understudy.schema.attribute import MISSING
from understudy.schema.text_classes import MISSING_WORDS, TextClasses

MISTAKES = 0.05  # histograms in which noise alone is taken for something, on either side
UNREAD = 0.1  # of the cells with a value that may be none of the kind
NEXT = 1.5  # standard deviations that a cell beside seen ones must have to be one of them


def visible(noise: Noise, cells: int) -> int:
    """Return the noisy count from which a cell of a histogram is seen: about the smallest group that is found."""
    return noise.margin(1 - MISTAKES / cells)


@dataclass(frozen=True)
class FoundKind:
    """The keys of an attribute's body that follow from its formats; no body if nothing was seen."""

    body: dict[str, Any] | None
    notes: tuple[str, ...] = field(default=())


def found_kind(histogram: Measurement, domain: TextClasses) -> FoundKind:
    """Return the kind and format that nearly all cells with a value can be read in; a category where there is none.

    Dates come before whole numbers (20240131), whole numbers before others. Digits after a zero are codes.
    """
    counts = histogram.values
    seen = np.flatnonzero(counts >= visible(histogram.noise, len(counts))).tolist()
    words = [MISSING_WORDS[i] for i in seen if i < len(MISSING_WORDS)]
    filled = {i: float(counts[i]) for i in seen if i >= len(MISSING_WORDS)}
    if not filled:
        return FoundKind(None)
    reads = {i: domain.classes[i].reads if i < len(domain.classes) else ("text",) for i in filled}
    support: dict[str, float] = {}
    for i, formats in reads.items():
        for format in formats:
            support[format] = support.get(format, 0.0) + filled[i]
    enough = (1 - UNREAD) * sum(filled.values())
    fitting = [f for f, rows in support.items() if rows >= enough]
    shared = {"missing": words} if words else {}
    if support.get("text", 0.0) > sum(filled.values()) - enough:
        return FoundKind({"kind": "category", **shared})
    moments = [f for f in fitting if f.startswith("date")]
    if moments:
        best = max(moments, key=lambda f: support[f])  # the first of equals: the day first
        twins = [f for f in moments if support[f] == support[best]]
        note = "day and month cannot be told apart: the day is taken to come first"
        return FoundKind(_moment(best) | shared | {"other": MISSING}, (note,) if len(twins) > 1 else ())
    places = [domain.classes[i].decimals for i in filled if i < len(domain.classes)]
    if "boolean" in fitting:
        return FoundKind({"kind": "boolean", **shared, "other": MISSING})
    if "integer" in fitting and not any(places):
        return FoundKind({"kind": "integer", **shared, "other": MISSING})
    if "number" in fitting:
        return FoundKind({"kind": "number", "decimals": max(places), **shared, "other": MISSING})
    return FoundKind({"kind": "category", **shared})


def _moment(format: str) -> dict[str, Any]:
    kind, _, written = format.partition(":")
    body: dict[str, Any] = {"kind": kind} | ({"format": written} if written else {})
    return body | ({"step": 60} if written.endswith("%H:%M") else {})


def found_cells(counts: Sequence[int], noise: Noise) -> tuple[int, int] | None:
    """Return the first and the last cell of a range, one cell wider on either side than what is seen; None for none.

    What is next to a seen cell counts with less: a range that is a cell too long costs little, and a short one clamps.
    """
    values = np.asarray(counts, dtype=np.float64)
    seen = np.flatnonzero(values >= visible(noise, len(values)))
    if not len(seen):
        return None
    low, high, least = int(seen[0]), int(seen[-1]), NEXT * noise.variance**0.5
    while low > 0 and values[low - 1] > least:
        low -= 1
    while high < len(values) - 1 and values[high + 1] > least:
        high += 1
    return max(0, low - 1), min(len(values) - 1, high + 1)
