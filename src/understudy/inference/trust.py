"""What holds: for every pair of columns, whether it was measured, follows from others, or is assumed independent.

The expected error is a total variation distance: what noise, the chance of whole rows, and for unmeasured pairs the
bought model error make of it together. A figure about such pairs, not about one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from understudy.errors import TooLarge, UsageError, did_you_mean
from understudy.inference.least_squares import measured_together
from understudy.inference.refits import Released
from understudy.inference.size_law import DiscrepancyLaw, known_distance
from understudy.privacy.measurement import Measurement
from understudy.schema import Axis

Status = Literal["measured", "inferred", "assumed independent"]
Link = Literal["within a person's first row", "from a row to the next"]
FIRST_ROW: Link = "within a person's first row"
NEXT_ROW: Link = "from a row to the next"
NO_LINK = 1e-6  # total variation distance from independence below which the model has no link
MAX_COLUMNS = 64  # of a sheet
GOOD, FAIR = 0.05, 0.12  # expected errors up to which a pair is well or roughly kept


@dataclass(frozen=True)
class Trust:
    """One pair of columns: where its joint table comes from, and how far off it is expected to be."""

    one: str
    other: str
    status: Status
    error: float | None  # expected total variation distance; None where it is not known
    links: tuple[Link, ...] | None = None  # of people with many rows: which were measured; None for other tables

    def __str__(self) -> str:
        if self.links is not None:
            where = " and ".join(self.links) or f"neither {FIRST_ROW} nor {NEXT_ROW}"
            return f"{self.one} × {self.other} was measured {where}; the error of the table of all rows is not known"
        error = "error not known" if self.error is None else f"expected error {self.error:.3f} (total variation)"
        said = {
            "measured": "was measured",
            "inferred": "was not measured: it follows from tables that were",
            "assumed independent": "was not measured, and the model has no link between them",
        }[self.status]
        return f"{self.one} × {self.other} {said}; {error}"


def trust(release: Released, one: str, other: str) -> Trust:
    """Return what is known about one pair.

    Examples
    --------
    `release.trust("age", "sex").status` is "measured", "inferred" or "assumed independent".
    """
    names = release.schema.names
    for name in (one, other):
        if name not in names:
            told = did_you_mean(name, list(names))
            raise UsageError(f"{name!r} is no modelled column of this release. {told}".rstrip(), attribute=name)
    if one == other:
        raise UsageError("a pair needs two different columns")
    return _trust(release, DiscrepancyLaw.of(release, None), one, other)


def sheet(release: Released, limit: int | None = None) -> tuple[Trust, ...]:
    """Return every pair of modelled columns, or the first `limit` columns' pairs."""
    law = DiscrepancyLaw.of(release, None)
    return tuple(_trust(release, law, a, b) for a, b in combinations(release.schema.names[:limit], 2))


def _trust(release: Released, law: DiscrepancyLaw | None, one: str, other: str) -> Trust:
    try:
        table = release.model.project((one, other)).table
    except TooLarge:
        return Trust(one, other, "inferred", None)
    if measured_together(release.measurements, (one, other)):
        holding = [m for m in release.measurements if {Axis(one), Axis(other)} <= set(m.axes)]  # groups hide values
        return Trust(one, other, "measured", _noise_error(holding, release.rows, table.size))
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    linked = 0.5 * np.abs(table - product).sum() > NO_LINK
    error = None
    if law is not None:
        known = known_distance(release, None, (one, other)) / release.rows
        error = min(1.0, 0.5 * math.hypot(law.pairs.mean, known))
    return Trust(one, other, "inferred" if linked else "assumed independent", error)


def _noise_error(holding: list[Measurement], rows: int, cells: int) -> float:
    """Return the expected distance of the pooled noisy table, about half of which estimation takes away."""
    precision = sum(cells / (max(m.variance, 1e-9) * m.values.size) for m in holding)
    return min(1.0, 0.5 * 0.5 * cells * math.sqrt(2 / math.pi / precision) / rows)


def verdict(pairs: tuple[Trust, ...]) -> str:
    """Return one line on all pairs together."""
    if not pairs:
        return "one column: there is no pair to speak of"
    if any(p.links is not None for p in pairs):
        return _history_verdict(pairs)
    count = {s: sum(p.status == s for p in pairs) for s in ("measured", "inferred", "assumed independent")}
    known = [p.error for p in pairs if p.error is not None]
    words = f"of {_pairs(pairs)} {count['measured']:,} were measured"
    words += (
        f", {count['inferred']:,} follow from other tables, {count['assumed independent']:,} are assumed independent"
    )
    if len(known) < len(pairs):
        return words + "; how far the unmeasured ones are off was not bought"
    typical = float(np.median(known))
    how = "well kept" if typical <= GOOD else "kept roughly" if typical <= FAIR else "mostly noise: do not rely on them"
    return f"{words}; a typical pair is off by {typical:.3f} (total variation distance): {how}"


def _history_verdict(pairs: tuple[Trust, ...]) -> str:
    """Return one line on all pairs of people with many rows, where only links were measured."""
    first, then = (sum(link in (p.links or ()) for p in pairs) for link in (FIRST_ROW, NEXT_ROW))
    neither = sum(not p.links for p in pairs)
    return (
        f"of {_pairs(pairs)} {first:,} were measured {FIRST_ROW}, {then:,} {NEXT_ROW}, {neither:,} in neither; "
        "how far off the tables of all rows are is not known"
    )


def _pairs(pairs: tuple[Trust, ...]) -> str:
    return "1 pair" if len(pairs) == 1 else f"{len(pairs):,} pairs"
