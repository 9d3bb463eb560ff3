"""Octaves and decades: the public cells in which a range is looked for where nobody declared one.

Of numbers the cells are [2^k, 2^(k+1)) on either side of 0, and one around 0; of dates and datetimes they are decades.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache

from understudy.schema.attribute import MISSING, Attribute
from understudy.schema.domain import Kind
from understudy.schema.intervals import Intervals
from understudy.schema.text_classes import FIRST_DECADE, LAST_DECADE

HIGHEST = 53  # 2^53 is the end of every range that is looked for
LOWEST = -20  # a number nearer to 0 than 2^-20 counts as 0
FEW = 32  # whole numbers 0, 1, … that are counted one by one where octaves saw no other
_DAY = 86_400


@dataclass(frozen=True)
class Probe(Intervals):
    """Cells that are counted and never written: a missing code may lie in them, and goes to missing before all else."""

    def holds(self, text: str) -> bool:
        return False


@cache
def octave_edges(kind: Kind) -> tuple[float, ...]:
    """Return where octaves begin, from −2^53 on, and the end of the last."""
    ends = [2.0**k for k in range(0 if kind == "integer" else LOWEST, HIGHEST + 1)]
    middle = [0.0] if kind == "integer" else []
    return (*(-end for end in reversed(ends)), *middle, *ends)


@cache
def decade_edges(kind: Kind) -> tuple[float, ...]:
    """Return where decades begin, from 1800 on, and the end of the last, in days or seconds since 1970."""
    days = [(date(10 * decade, 1, 1) - date(1970, 1, 1)).days for decade in range(FIRST_DECADE, LAST_DECADE + 2)]
    return tuple(float(day * (1 if kind == "date" else _DAY)) for day in days)


def range_probe(
    name: str, kind: Kind, format: str | None, missing: tuple[str, ...] = (), read_from: str | None = None
) -> Attribute:
    """Return the attribute on which a range is looked for; cells that are no such number or date are missing."""
    edges = octave_edges(kind) if kind in ("integer", "number") else decade_edges(kind)
    return Attribute(name, Probe(kind, edges, (), format), missing=missing, other=MISSING, read_from=read_from)


def few_probe(name: str, missing: tuple[str, ...], read_from: str) -> Attribute:
    """Return the attribute on which the whole numbers 0 to `FEW` − 1 are counted, between two cells for all others."""
    edges = (-(2.0**HIGHEST), *(value - 0.5 for value in range(FEW + 1)), 2.0**HIGHEST)
    return Attribute(name, Probe("number", edges), missing=missing, other=MISSING, read_from=read_from)
