"""What noisy histograms say about a column that nobody declared: its kind and format, and its range.

Post-processing: everything here is a function of noisy counts and public facts. A cell is *seen* if its noisy count is
one that noise alone reaches in about one histogram of forty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Noise
from understudy.privacy.questions.value_lists import ValueList
from understudy.schema.attribute import MISSING
from understudy.schema.domain import Kind
from understudy.schema.octaves import FEW
from understudy.schema.scales import OrderedScale, ordered_scale
from understudy.schema.scales.reals import LOWEST_OCTAVE
from understudy.schema.text_classes import FLAGS, MISSING_WORDS, NO_NUMBER, WORDS, TextClasses
from understudy.schema.tree_grid import MIN_VALUES

MISTAKES = 0.05  # histograms in which noise alone is taken for something, on either side
FAR_MISTAKES = 0.0005  # the same for a cell of a range that lies away from all others: it would make the range absurd
REACH = 3  # cells that may be empty between two that belong together
UNREAD = 0.1  # of the cells with a value that may be none of the kind
UNREAD_WHOLE = 0.03  # the same among whole numbers: "<5" and "10+" are values there
OTHER = "other"
REST_SEEN = 2.5  # standard deviations that the texts outside a list must have to get a label of their own
NOTHING_BUT_ZERO = 8  # the end of a range in which nothing but 0 was seen
FEW_VALUES = 16  # of a found range, up to which each value has a cell of its own
_NEAR_ZERO = 2.0 ** (LOWEST_OCTAVE + 2)
_NO_NUMBERS = [(word,) for word in NO_NUMBER]
WORDLIKE = 0.4  # of the cells with a value that may be words, such as "N" or "unknown", in a column of numbers
ZERO_SEEN = 2.0  # standard deviations that the cell around 0 must have to belong to the range
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

    Dates come before whole numbers (20240131), whole numbers before others. Digits after a zero are codes. Words among
    numbers are taken for names of "no value", up to a share; a text such as "<5" among whole numbers is a value.
    """
    counts = histogram.values
    seen = np.flatnonzero(counts >= visible(histogram.noise, len(counts))).tolist()
    words_for_none = [MISSING_WORDS[i] for i in _commonest(seen, counts) if i < len(MISSING_WORDS)]
    filled = {i: float(counts[i]) for i in seen if i >= len(MISSING_WORDS)}
    if not filled:
        return FoundKind(None)
    reads = {i: domain.classes[i].reads if i < len(domain.classes) else ("text",) for i in filled}
    support: dict[str, float] = {}
    for i, formats in reads.items():
        for format in formats:
            support[format] = support.get(format, 0.0) + filled[i]
    whole, texts = sum(filled.values()), support.get("text", 0.0)
    named = {i: domain.classes[i] for i in filled if i < len(domain.classes)}
    words = sum(filled[i] for i, found in named.items() if found.name == WORDS or found.texts[:1] in _NO_NUMBERS)
    places = [found.decimals for found in named.values()]
    shared = {"missing": words_for_none} if words_for_none else {}
    unread = UNREAD if any(places) or support.get("integer", 0.0) < whole / 2 else UNREAD_WHOLE
    if words > WORDLIKE * whole or texts - words > unread * whole:
        return FoundKind({"kind": "category", **shared})
    no_number = [i for i, found in named.items() if found.texts[:1] in _NO_NUMBERS]
    words_for_none += [named[i].texts[0] for i in _commonest(no_number, counts)]
    ordered = {"missing": words_for_none, "other": MISSING} if words_for_none else {"other": MISSING}
    fitting = [f for f, rows in support.items() if rows >= (1 - unread) * whole - words]
    moments = [f for f in fitting if f.startswith("date")]
    if moments:
        best = max(moments, key=lambda f: support[f])  # the first of equals: the day first
        twins = [f for f in moments if support[f] == support[best]]
        note = "day and month cannot be told apart: the day is taken to come first"
        return FoundKind(_moment(best) | ordered, (note,) if len(twins) > 1 else ())
    if "boolean" in fitting:
        return FoundKind(
            {"kind": "boolean", **_flags([named[i].texts for i in _commonest([*named], counts)]), **ordered}
        )
    if "integer" in fitting and not any(places):
        return FoundKind({"kind": "integer", **ordered})
    if "number" in fitting:
        return FoundKind({"kind": "number", "decimals": max(places), **ordered})
    return FoundKind({"kind": "category", **shared})


def _commonest(cells: Sequence[int], counts: Any) -> list[int]:
    """Return these cells by falling counts: the first word for "no value" is the one that is written."""
    return sorted(cells, key=lambda i: -float(counts[i]))


def _flags(texts: Sequence[tuple[str, ...]]) -> dict[str, list[str]]:
    """Return the texts for true and false with the commonest first, which is written; nothing where that is usual."""
    seen = next(pair for pair in texts if pair in FLAGS)
    if seen == FLAGS[0]:
        return {}
    both = dict.fromkeys((seen, *FLAGS, ("1", "0")))
    return {"true": [true for true, _ in both], "false": [false for _, false in both]}


def _moment(format: str) -> dict[str, Any]:
    kind, _, written = format.partition(":")
    body: dict[str, Any] = {"kind": kind} | ({"format": written} if written else {})
    return body | ({"step": 60} if written.endswith("%H:%M") else {})


def found_cells(counts: Sequence[int], noise: Noise, zero: int | None = None) -> tuple[int, int] | None:
    """Return the first and the last cell in which something is seen; None if nothing is.

    A cell far from the largest has to stand out more: one that noise alone has filled would make the range absurd. What
    is next to a seen cell counts with less, since a range that is short clamps; and so does the cell around 0, of which
    everybody knows beforehand that amounts may be 0.
    """
    values = np.asarray(counts, dtype=np.float64)
    seen = np.flatnonzero(values >= visible(noise, len(values)))
    if not len(seen):
        return None
    sure = np.flatnonzero(values >= noise.margin(1 - FAR_MISTAKES / len(values)))
    if zero is not None and values[zero] >= ZERO_SEEN * noise.variance**0.5:
        sure = np.append(sure, zero)
    low = high = int(values.argmax())
    for cell in seen[seen > high].tolist():
        high = cell if cell - high <= REACH + 1 else high
    for cell in seen[seen < low].tolist()[::-1]:
        low = cell if low - cell <= REACH + 1 else low
    low, high = min([low, *sure.tolist()]), max([high, *sure.tolist()])
    least = NEXT * noise.variance**0.5
    while low > 0 and values[low - 1] > least:
        low -= 1
    while high < len(values) - 1 and values[high + 1] > least:
        high += 1
    return low, high


def range_body(body: Mapping[str, Any], edges: Sequence[float], first: int, last: int) -> dict[str, Any]:
    """Return the range from the first of these seen cells to the last, and a little more, as a schema file has it."""
    only_zero = edges[first] > -1 and edges[last + 1] <= 1
    scale = ordered_scale(body["kind"])
    first, last = _widened(scale, edges, first, last)
    low, high = edges[first], edges[last + 1]
    if not scale.arithmetic:
        step = body.get("step", 1) if "step" in scale.keys else 1
        return {"range": [scale.show(low), scale.show(high - step)]}
    if 0 < low <= 1 or -_NEAR_ZERO <= low < 0 or (scale.whole_numbers and low == -1):  # no more than the cell around 0
        low = 0.0
    if -1 <= high < 0 or 0 < high <= _NEAR_ZERO:
        high = 0.0
    if scale.whole_numbers:
        low, high = math.floor(low), math.ceil(high)
        high -= high - low <= FEW_VALUES  # a cell ends before its edge
        high = NOTHING_BUT_ZERO if only_zero else high
        if FEW_VALUES < high - low < MIN_VALUES:  # long enough that a tree finds its bins
            high = low + MIN_VALUES
    span = [int(end) if end == math.floor(end) else end for end in (low, high)]
    places = body.get("decimals")
    digits = places is not None and max(abs(low), abs(high)) * 10**places >= 2**53
    return {"range": span} | ({"decimals": None} if digits else {})


def _widened(scale: OrderedScale, edges: Sequence[float], first: int, last: int) -> tuple[int, int]:
    """Return the range with a cell more on either side: one that is too long costs little.

    Whole numbers that end below 16 have a cell for each value, and there it would cost: no cell more above.
    """
    few = scale.whole_numbers and edges[first] >= -1 and edges[last + 1] <= FEW_VALUES
    return (max(0, first - 1), last if few else min(len(edges) - 2, last + 1))


def few_values(kind: Kind, edges: Sequence[float], first: int, last: int) -> bool:
    """Return whether the seen cells of a range are those of a few whole numbers from 0 on."""
    return ordered_scale(kind).whole_numbers and edges[first] >= -1 and edges[last + 1] <= FEW


def few_body(counts: Sequence[int], noise: Noise) -> dict[str, Any] | None:
    """Return the range of the whole numbers 0, 1, … that are seen, by the noisy count of each; None if none is."""
    found = found_cells(counts, noise, 0)
    if found is None:
        return None
    first, last = found
    return {"range": [first, last] if last > first else [first, last + 1] if last < FEW - 1 else [first - 1, last]}


def without_codes(span: Sequence[float], codes: Sequence[float], unit: float, middle: float) -> tuple[float, float]:
    """Return the part of a range that holds none of these missing codes: of the two beside a code, that of `middle`."""
    low, high = span
    for code in codes:
        if low <= code <= high:
            low, high = (low, code - unit) if middle <= code else (code + unit, high)
    return low, high


def listed_body(body: Mapping[str, Any], found: ValueList, kindless: bool) -> dict[str, Any]:
    """Return the values of a list, and where other texts go: to a label, or to missing if no such text was seen.

    A column that somebody declared has its label in any case: the label was promised.
    """
    label = body.get("other", OTHER)
    rest = float(found.counts[len(found.values)])
    if kindless and rest < REST_SEEN * found.noise.variance**0.5:
        label = MISSING
    return {"values": [*found.values, *([] if label == MISSING else [label])], "other": label}
