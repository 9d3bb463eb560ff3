"""The fit of cells: how many of an attribute's cells are missing, clamped to its range, or covered by no rule.

The counts are exact, and the cells themselves may be kept: what this file returns is for the custodian's eyes alone.
The cells are coded by the same coders as for `publish`, on a coarser domain: below the range, inside it, above it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.engines.arrow_parsing import as_texts
from understudy.engines.coding import coder_of, pieces_of, type_misfits
from understudy.engines.remedies import remedies
from understudy.engines.sources import RowSource
from understudy.engines.sql_coding import UNREADABLE
from understudy.schema import Attribute, Intervals, Schema, Taxonomy
from understudy.schema.domain import UNFIT

if TYPE_CHECKING:
    from understudy.engines.sql import Warehouse

MAX_KEPT = 50_000  # distinct cells of one attribute that are looked at for remedies
_BELOW, _ABOVE = 0, 2  # codes of a `_Span`; 1 is inside
_FAR = 1e308  # what lies farther out is clamped to it


@dataclass(frozen=True)
class CellFit:
    """How the cells of one attribute are read. Exact: for the custodian alone.

    `undeclared` cells are covered by no rule of the schema; the attribute's `other` takes them where it has one.
    `cells` holds the distinct offending cells with their numbers, most frequent first, by what is wrong with them.
    """

    attribute: str
    rows: int
    missing: int = 0
    below: int = 0
    above: int = 0
    undeclared: int = 0
    has_other: bool = False
    remedies: tuple[str, ...] = ()
    cells: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)

    @property
    def offends(self) -> bool:
        """Return whether a cell is clamped or covered by no rule."""
        return bool(self.below or self.above or self.undeclared)

    def as_json(self) -> dict[str, Any]:
        """Return the plain form, without the cells where none are kept."""
        numbers = {key: getattr(self, key) for key in ("rows", "missing", "below", "above", "undeclared")}
        body = numbers | {"remedies": list(self.remedies)}
        shown = {what: [list(cell) for cell in found] for what, found in self.cells.items()}
        return body | ({"cells": shown} if shown else {})


def source_fit(source: RowSource, schema: Schema, show: int = 0) -> list[CellFit]:
    """Count the cells of a file or a frame in one pass; keep up to `show` distinct offending cells of each sort."""
    wrong = {misfit.attribute for misfit in type_misfits(source, schema)}
    present = [a for a in schema.modelled if a.column in source.columns and a.name not in wrong]
    coders = {a.name: coder_of(spanned(a), schema.csv.decimal, source.trust) for a in present}
    tallies = {a.name: _Tally(a) for a in present}
    for name, piece in pieces_of(source, present):
        tallies[name].add(piece, coders[name].code(piece))
    return [tally.fit(schema.csv.decimal, show) for tally in tallies.values()]


def warehouse_fit(warehouse: Warehouse, schema: Schema) -> list[CellFit]:
    """Count the cells of a table in a database, in one statement; the cells themselves stay there."""
    from understudy.engines.sql import coded_rows, readable

    part, _ = readable(warehouse, schema)
    if part is None:
        return []
    audited = replace(part, attributes=tuple(spanned(a) for a in part.modelled), text=None)
    flags = [sql for at, a in enumerate(audited.modelled) for sql in _flags(a, f"q{at}")]
    rows, *found = warehouse.row(f"SELECT count(*), {', '.join(flags)} FROM {coded_rows(warehouse, audited)}")
    counts = iter(int(count or 0) for count in found)
    return [_counted(a, int(rows or 0), counts) for a in part.modelled]


def _flags(attribute: Attribute, code: str) -> list[str]:
    """Return four counts (missing, below, above, undeclared) in SQL that every dialect has."""
    ordered = attribute.intervals is not None
    missing = f"{code} = {attribute.missing_code}" if attribute.has_missing else "1 = 0"
    below, above = (f"{code} = {at}" if ordered else "1 = 0" for at in (_BELOW, _ABOVE))
    conditions = (missing, below, above, f"{code} IN ({UNFIT}, {UNREADABLE})")
    return [f"count(CASE WHEN {condition} THEN 1 END)" for condition in conditions]


def _counted(attribute: Attribute, rows: int, counts: Iterator[int]) -> CellFit:
    missing, below, above, undeclared = (next(counts) for _ in range(4))
    return CellFit(attribute.name, rows, missing, below, above, undeclared, attribute.other is not None)


# -- three cells: below, inside, above -----------------------------------------------------------------------


class _Span(Intervals):
    """All that can be parsed, cut at the two ends of a range; nothing is decoded from it, so nothing is checked."""

    def __post_init__(self) -> None:
        pass


class _Spanned(Attribute):
    """An attribute on a `_Span`: a missing code may lie in the part outside the range."""

    def _check_missing(self) -> None:
        pass


def spanned(attribute: Attribute) -> Attribute:
    """Return the attribute without `other`, and with three cells in place of a range and its bins."""
    domain, intervals = attribute.domain, attribute.intervals
    if intervals is not None:
        domain = _Span(intervals.kind, _cuts(attribute), (), intervals.format)
    name, column = attribute.name, attribute.column
    return _Spanned(name, domain, Taxonomy(()), missing=attribute.missing, read_from=column)


def _cuts(attribute: Attribute) -> tuple[float, ...]:
    """Return the first value of each of the three cells, and the last of all."""
    domain = attribute.ordered
    low, high = domain.edges[0], domain.edges[-1]
    if attribute.grid is not None:
        low, high = attribute.grid.low, attribute.grid.high
    if not domain.scale.integral:
        return (-_FAR, low, math.nextafter(high, math.inf), _FAR)
    first, last = domain.scale.reach
    return (float(first - 1), float(math.ceil(low)), float(math.floor(high) + 1), float(last + 2))


# -- counting ------------------------------------------------------------------------------------------------


@dataclass
class _Tally:
    """The counts of one attribute so far, and its offending cells."""

    attribute: Attribute
    rows: int = 0
    missing: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    cells: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, piece: Any, codes: Any) -> None:
        self.rows += len(codes)
        found = spanned(self.attribute)
        if found.has_missing:
            self.missing += int((codes == found.missing_code).sum())
        marks = {"undeclared": UNFIT}
        if found.intervals is not None:
            marks |= {"below": _BELOW, "above": _ABOVE}
        for what, code in marks.items():
            mask = codes == code
            if mask.any():
                self._keep(what, piece, mask)

    def _keep(self, what: str, piece: Any, mask: Any) -> None:
        import pyarrow as pa

        self.counts[what] += int(mask.sum())
        kept = self.cells.setdefault(what, Counter())
        texts, indices = as_texts(piece, self.attribute.name)  # before the mask: not every type of text can be filtered
        masked = indices.filter(pa.array(mask)).fill_null(-1)
        places, numbers = np.unique(masked.to_numpy(zero_copy_only=False), return_counts=True)
        for place, number in zip(places.tolist(), numbers.tolist()):
            text = "" if place < 0 else texts[place].as_py() or ""
            if text in kept or len(kept) < MAX_KEPT:
                kept[text] += number

    def fit(self, decimal: str, show: int) -> CellFit:
        counts, undeclared = self.counts, self.cells.get("undeclared", Counter())
        shown = {what: tuple(kept.most_common(show)) for what, kept in self.cells.items()} if show else {}
        return CellFit(
            self.attribute.name, self.rows, self.missing, counts["below"], counts["above"], counts["undeclared"],
            self.attribute.other is not None, remedies(self.attribute, undeclared, decimal), shown,
        )  # fmt: skip
