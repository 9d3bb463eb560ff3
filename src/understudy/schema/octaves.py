"""Probes of ranges: attributes on public cells, in which a range is looked for where nobody declared one.

A scale says where its cells begin: octaves of numbers, decades of dates and datetimes.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.schema.attribute import MISSING, Attribute
from understudy.schema.domain import Kind
from understudy.schema.intervals import Intervals
from understudy.schema.scales import ordered_scale
from understudy.schema.scales.reals import HIGHEST_OCTAVE

FEW = 32  # whole numbers 0, 1, … that are counted one by one where octaves saw no other


@dataclass(frozen=True)
class Probe(Intervals):
    """A domain of cells that are counted and never written.

    A missing code may lie in one of the cells: it is read as missing first.
    """

    def holds(self, text: str) -> bool:
        return False


def range_probe(
    name: str, kind: Kind, format: str | None, missing: tuple[str, ...] = (), read_from: str | None = None
) -> Attribute:
    """Return the attribute on which a range is looked for; cells that are no such number or date are missing."""
    edges = ordered_scale(kind).search_edges()
    return Attribute(name, Probe(kind, edges, (), format), missing=missing, other=MISSING, read_from=read_from)


def few_probe(name: str, missing: tuple[str, ...], read_from: str) -> Attribute:
    """Return the attribute on which the whole numbers 0 to `FEW` − 1 are counted, between two cells for all others."""
    end = 2.0**HIGHEST_OCTAVE
    edges = (-end, *(value - 0.5 for value in range(FEW + 1)), end)
    return Attribute(name, Probe("number", edges), missing=missing, other=MISSING, read_from=read_from)
