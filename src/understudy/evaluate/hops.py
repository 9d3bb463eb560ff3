"""Hops: how well tables with foreign keys go together, in queries over two tables that are joined. Exact figures.

A 1-hop query counts the rows of a child by a value of its own and a value of its parent. A 2-hop query counts by values
of two tables with one table between them: a row and the row that its parent belongs to, or two rows of the same parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.planning import as_schema
from understudy.privacy.custodian import STAMP, CustodianFigures
from understudy.relations.hop_counts import HopCounts, hop_counts
from understudy.relations.table_tree import TableTree
from understudy.schema import Schema
from understudy.showing import html_of

LARGE = 0.01  # of the joined rows: queries with fewer are not looked at


@dataclass(frozen=True)
class Hop(CustodianFigures):
    """The queries over two tables: how many are large, their median relative error, and the mean distance of tables."""

    tables: tuple[str, str]
    hops: int
    queries: int
    median: float
    tvd: float

    def as_json(self) -> dict[str, Any]:
        """Return the figures with the custodian's stamp."""
        numbers = {"queries": int(self.queries), "median_relative_error": float(self.median), "tvd": float(self.tvd)}
        return super().as_json() | {"tables": list(self.tables), "hops": int(self.hops)} | numbers


@dataclass(frozen=True, repr=False)
class HopFigures(CustodianFigures):
    """A synthetic set of tables against the real one.

    Args:
        rows: of each table, real and synthetic.
        fan_out: of each child, the distance of the number of rows that belong to one row of the parent.
        hops: by the two tables.
        median: the median relative error of all large queries, by the number of hops.
    """

    name: str
    rows: dict[str, tuple[int, int]]
    fan_out: dict[str, float]
    hops: tuple[Hop, ...]
    median: dict[int, float]

    def as_json(self) -> dict[str, Any]:
        """Return the figures with the custodian's stamp."""
        rows = {name: {"real": int(real), "synthetic": int(other)} for name, (real, other) in self.rows.items()}
        fan_out = {name: float(distance) for name, distance in self.fan_out.items()}
        median = {str(hops): float(error) for hops, error in self.median.items()}
        found = {"rows": rows, "fan_out": fan_out, "median_relative_error": median}
        return super().as_json() | found | {"hops": [hop.as_json() for hop in self.hops]}

    def text(self) -> str:
        """Return the figures as a page for a terminal."""
        lines = [STAMP, f"{self.name}: synthetic tables against real ones. Every key of theirs fits", ""]
        lines += ["Table                 real rows   synthetic   fan-out TVD"]
        for name, (real, other) in self.rows.items():
            distance = f"{self.fan_out[name]:13.4f}" if name in self.fan_out else ""
            lines.append(f"  {name:<18} {real:>10,} {other:>11,} {distance}".rstrip())
        lines += ["", f"Counts by a value of each, of at least {LARGE:.0%} of the joined rows"]
        lines += ["  hops   tables                      queries   median relative error   mean TVD"]
        for hop in self.hops:
            both = " and ".join(hop.tables)
            lines.append(f"  {hop.hops:>4}   {both:<26} {hop.queries:>8,}   {hop.median:>21.3f}   {hop.tvd:>8.4f}")
        lines += [f"  {hops:>4}   {'all':<26} {'':>8}   {error:>21.3f}" for hops, error in self.median.items()]
        return "\n".join([*lines, "", STAMP])

    def __repr__(self) -> str:
        worst = ", ".join(f"{hops}-hop {error:.3f}" for hops, error in self.median.items())
        return f"<HopFigures of {self.name!r}: median relative error {worst or 'not known'}; print it; {STAMP}>"

    def __str__(self) -> str:
        """Return the page: whoever prints it sees the stamp."""
        return self.text()

    _repr_html_ = html_of


def compare_tables(original: Any, synthetic: Any, schema: Schema | str | Path, types: str | None = None) -> HopFigures:
    """Compare tables with foreign keys. The figures are exact: for the custodian only, not for release.

    Args:
        original: the private tables: a folder, a mapping of frames by the tables' names, or the address of a DuckDB or
            PostgreSQL database, in which they stay: rows are joined there and only counts are read.
        synthetic: their stand-ins, in any of these forms.
        schema: a `Schema` with [tables.NAME], or the path of one, that both fit.
        types: "declared" or "inferred", said of the original's columns, as for `publish`.

    >>> compare_tables(frame, frame, schema)
    Traceback (most recent call last):
    understudy.errors.UsageError: this schema has one table: understudy.evaluate compares those
    """
    declared = as_schema(schema)
    if not declared.tables:
        raise UsageError("this schema has one table: understudy.evaluate compares those")
    tree = TableTree.of(declared)
    theirs = None if isinstance(synthetic, str) else types
    with hop_counts(original, tree, types) as real, hop_counts(synthetic, tree, theirs) as other:
        return compare_counts(tree, real, other)


def compare_counts(tree: TableTree, real: HopCounts, other: HopCounts) -> HopFigures:
    """Compare tables that are counted, wherever they are."""
    found, errors = [], dict[int, list[NDArray[np.float64]]]()
    for hops, one, two in _joins(tree):
        relative, distances = [np.zeros(0)], []
        for counts, theirs in zip(real.tables(one, two), other.tables(one, two)):
            large = counts >= max(1.0, LARGE * counts.sum())
            relative.append(np.abs(theirs[large] - counts[large]) / counts[large])
            distances.append(np.abs(counts / max(1, counts.sum()) - theirs / max(1, theirs.sum())).sum() / 2)
        each = np.concatenate(relative)
        errors.setdefault(hops, []).append(each)
        middle = float(np.median(each)) if len(each) else 0.0
        found.append(Hop((one, two), hops, len(each), middle, float(np.mean(distances)) if distances else 0.0))
    median = {hops: float(np.median(np.concatenate(each))) for hops, each in errors.items() if sum(map(len, each))}
    rows = {name: (real.rows[name], other.rows[name]) for name in tree.branches}
    fan_out = {child.name: _fan_out(real, other, child.name) for child in tree.schema.tables}
    return HopFigures(tree.schema.name, rows, fan_out, tuple(found), median)


def _joins(tree: TableTree) -> Iterator[tuple[int, str, str]]:
    """Yield the tables that are one or two hops apart."""
    for child in tree.schema.tables:
        for hops, above in enumerate(tree.ancestors(child.name)[:2], 1):
            yield hops, above, child.name
    for name in tree.branches:
        for one, two in combinations(tree.children(name), 2):
            yield 2, one.name, two.name


def _fan_out(real: HopCounts, other: HopCounts, name: str) -> float:
    """Return the total variation distance of the number of rows that belong to one row of the parent."""
    shares = [counts / max(1, counts.sum()) for counts in (real.fan_out(name), other.fan_out(name))]
    longest = max(map(len, shares))
    one, two = (np.pad(share, (0, longest - len(share))) for share in shares)
    return float(np.abs(one - two).sum() / 2)


def refuse_other_measures(**asked: Any) -> None:
    """Refuse options that are of one table."""
    for option, given in asked.items():
        if given:
            raise UsageError(f"--{option} is for one table: tables with foreign keys are compared by hops and fan-out")
