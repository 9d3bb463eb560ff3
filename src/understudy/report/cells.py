"""Cells: the lines of a one-way table on the page. A large domain is shown coarser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.schema import Attribute, Intervals

MAX_LINES = 20  # of one attribute
FEWEST_LINES = 6
ALL_LINES = 2_000  # of the page
MAX_ATTRIBUTES = 150


@dataclass(frozen=True)
class Line:
    """Codes that share a line."""

    label: str
    codes: tuple[int, ...]


def lines_for(attributes: int) -> int:
    """Return how many lines each attribute may have, so that the page stays small."""
    return min(MAX_LINES, max(FEWEST_LINES, ALL_LINES // max(1, attributes)))


def lines_of(attribute: Attribute, weights: Sequence[float], most: int = MAX_LINES) -> list[Line]:
    """Return one line a code where they fit; `weights` decides which values of a long list are shown."""
    if attribute.size <= most:
        return [Line(label, (code,)) for code, label in enumerate(attribute.labels)]
    if attribute.intervals is not None:
        return _neighbours(attribute, attribute.intervals, most)
    return _largest(attribute, weights, most)


def _neighbours(attribute: Attribute, domain: Intervals, most: int) -> list[Line]:
    """Return ordered cells in runs of about equal number; "missing" stays alone."""
    runs = np.array_split(np.arange(domain.size), most - attribute.has_missing)
    lines = [Line(_span(domain, int(run[0]), int(run[-1])), tuple(run.tolist())) for run in runs if len(run)]
    if attribute.has_missing:
        lines.append(Line(attribute.labels[-1], (attribute.missing_code,)))
    return lines


def _span(domain: Intervals, first: int, last: int) -> str:
    if first == last:
        return domain.labels[first]
    return f"{domain.show(domain.bounds(first)[0])} – {domain.show(domain.bounds(last)[1])}"


def _largest(attribute: Attribute, weights: Sequence[float], most: int) -> list[Line]:
    order = np.argsort(-np.asarray(weights, dtype=np.float64), kind="stable")
    shown, rest = order[: most - 1].tolist(), sorted(order[most - 1 :].tolist())
    lines = [Line(attribute.labels[code], (code,)) for code in shown]
    return [*lines, Line(f"{len(rest):,} other values", tuple(rest))]
