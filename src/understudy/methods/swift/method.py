"""SWIFT as a method: the distances of all pairs from independence, bought at once, decide which tables are measured.

The published method grows one clique tree by those scores, measures its tables and fits once. Here the tables come in a
few batches, and a model is fitted after each: what it says of a pair that was not measured is taken off that pair's
score, so that later batches are for what is not explained yet. Nothing more is bought for that (PROOF.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from understudy.errors import TooLarge, UsageError
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.swift.split import SwiftSplit
from understudy.methods.toolkit.budget_split import pair_cells
from understudy.methods.toolkit.row_count import planned_rows
from understudy.methods.toolkit.wider_tables import WAYS
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

SINGLE = 0.3
SELECT = 0.1
KAPPA = 0.5
FITS = 6
MODEL_CELLS = 400_000
WIDEST = 256
WIDE = 100  # attributes from which on it is better than a network under pure epsilon, too
PAIR_CELLS = 100_000_000  # of all pairs together, which are held in memory while they are compared
BLIND_NOTE = "noise would hide which pairs depend on each other: columns are published independently"
SEVERAL_OWNERS = (
    "SWIFT asks how far all pairs are from independence, and distances of several owners do not add up: use --method "
    "dp-subn, or leave --method out"
)


def suits(schema: Schema, gaussian: bool) -> bool:
    """Return whether this is the method for a table that is binary, or too wide for rounds: of no more attributes and
    cells than it takes. Under pure epsilon a narrow binary one is for a network, whose tables are measured together."""
    sizes = [a.size for a in schema.modelled]
    fits = len(sizes) <= WIDEST and sum(sizes) <= MODEL_CELLS // 4 and pair_cells(sizes) <= PAIR_CELLS
    return fits and len(sizes) > 1 and (gaussian or not schema.binary or len(sizes) > WIDE)


@dataclass(frozen=True)
class Swift:
    """The options of SWIFT."""

    name: ClassVar[str] = "swift"

    single: float = option(SINGLE, low=0.01, high=0.9)
    select: float = option(SELECT, low=0.01, high=0.9)
    kappa: float = option(KAPPA, low=0.0, high=10.0)
    fits: int = option(FITS, whole=True, low=1, high=100)
    cells: int = option(MODEL_CELLS, whole=True, low=4, high=10**7)
    wider: int = option(1, whole=True, low=0, high=1)

    def split(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> SwiftSplit:
        """Return how this budget is split for so many rows."""
        select = min(self.select, (1 - self.single) / 2)
        return SwiftSplit(schema, accounting, whole, rows, self.single, select, self.cells, bool(self.wider))

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n, accounting = planned_rows(schema, rows), accounting_of(budget)
        self._check(schema)
        split = self.split(schema, accounting, total_cost(budget), n)
        notes = tuple(self._notes(split)) if len(split.variables) > 1 else ()
        return Plan(
            self.name, budget, accounting, n, self.settled(split), None, tuple(split.phases()), split.megabytes,
            split.seconds, notes, foreseen=True,
        )  # fmt: skip

    def _notes(self, split: SwiftSplit) -> Iterator[str]:
        if not split.sighted:
            yield BLIND_NOTE
            return
        yield f"tables that would bring the model over {self.cells:,} cells are not measured (option cells)"
        if split.wider:
            several = f"{len(split.wider):,} small tables of three and four attributes"
            yield f"{several} are offered too, for what no pair shows (option wider)"

    def _check(self, schema: Schema) -> None:
        d, sizes = len(schema.modelled), [a.size for a in schema.modelled]
        if d > WIDEST or pair_cells(sizes) > PAIR_CELLS:
            raise TooLarge(
                f"SWIFT compares every pair of attributes with independence: up to {WIDEST} attributes, and "
                f"{PAIR_CELLS:,} cells of all pairs; this table has {d:,} and {pair_cells(sizes):,}: use --method "
                "privabn, publish fewer attributes, or use fewer bins or values"
            )
        if (alone := sum(sizes)) > self.cells:
            largest = max(schema.modelled, key=lambda a: a.size)
            raise TooLarge(
                f"the one-way tables alone have {alone:,} cells, the limit is {self.cells:,}, and {largest.name} has "
                f"{largest.size:,} of them: use fewer bins or values, or raise the limit with --set cells=N",
                attribute=largest.name,
            )

    def settled(self, split: SwiftSplit) -> dict[str, Any]:
        """Return the options with every default replaced by what it came to."""
        return {
            "single": self.single if split.sighted else 1.0, "select": split.select if split.sighted else 0.0,
            "kappa": self.kappa, "fits": self.fits, "cells": self.cells, "estimate": "ml",
        }  # fmt: skip

    def widest_table(self, schema: Schema) -> float:
        """Return how many attributes a measured table has at most: two, unless uses or rounds may name wider ones."""
        return math.inf if schema.uses else max(2, WAYS[-1] * self.wider)

    def fit(self, table: PrivateTable) -> Fit:
        if len(table.owners()) > 1:
            raise UsageError(SEVERAL_OWNERS)
        from understudy.methods.swift.run import SwiftRun

        self._check(table.schema)
        return SwiftRun(self, table).fit()
