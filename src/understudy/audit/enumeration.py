"""Enumeration: the exact loss of every question, over all neighbours of all small tables.

Each table is put behind the real `LocalPrivateTable`, which is asked the question; what it hands to the sampler, exact
integers and a scale, is recorded instead of drawn. From these the loss follows without any sampling (`losses`).
That the samplers have these laws is the matter of `sampler_laws`. A scale that differs between two tables is a leak by
itself, and is found as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.audit.findings import Finding
from understudy.audit.losses import losses
from understudy.audit.mechanisms import MECHANISMS, Mechanism, not_audited
from understudy.audit.observation import Draw, NoDraw, NoLedger, Observer
from understudy.audit.scales import scales_once
from understudy.audit.small_tables import SmallTables
from understudy.audit.value_list_laws import value_list_finding
from understudy.privacy.accounting import GDP, PURE, ZCDP, Accounting
from understudy.privacy.custodian import ExactTable
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import ValueLists

COSTS: dict[str, Fraction] = {PURE.name: Fraction(1), ZCDP.name: Fraction(1, 2), GDP.name: Fraction(1)}
QUICK = (("replace-one", 1, PURE), ("replace-one", 1, GDP), ("add-remove", 2, PURE))
ROUNDING = 1e-9  # of our own arithmetic, relative


@dataclass(frozen=True)
class World:
    """A mechanism under one neighbour definition, one unit of privacy and one accounting."""

    mechanism: Mechanism
    neighbours: str
    rows_per_person: int
    accounting: Accounting

    @property
    def what(self) -> str:
        person = "" if self.rows_per_person == 1 else f", {self.rows_per_person} rows a person"
        return f"{self.mechanism.what} ({self.neighbours}, {self.accounting.name}{person})"

    def finding(self) -> Finding:
        """Return the largest loss over all neighbours, against the cost that was paid."""
        schema = self.mechanism.schema(self.neighbours, self.rows_per_person)
        cost, question = COSTS[self.accounting.name], self.mechanism.ask(schema)
        if isinstance(question, ValueLists):
            return value_list_finding(self.what, question, schema, self.accounting, cost)
        tables = self.mechanism.tables(schema)
        with scales_once():
            asked = [_handed(self, tables, number, cost) for number in range(len(tables))]
        claim, unit = float(cost), self.accounting.unit
        if any(_shape(draws) != _shape(asked[0]) for draws in asked):
            return Finding("enumeration", self.what, False, "what is drawn depends on the rows", claim, None, unit)
        first, second = tables.neighbours()
        bound = largest_loss(asked, first, second, self.accounting)
        says = f"{bound:.4f} of {claim:g} {unit}, {len(first):,} pairs of neighbours"
        return Finding("enumeration", self.what, bound <= claim * (1 + ROUNDING), says, claim, bound, unit)


def worlds(long: bool) -> Iterator[World]:
    """Yield every mechanism in every world; the quick audit leaves out some."""
    for mechanism in MECHANISMS:
        for neighbours in mechanism.neighbours:
            for person in (1, 2):
                for accounting in (PURE, GDP, ZCDP):
                    if long or (neighbours, person, accounting) in QUICK:
                        yield World(mechanism, neighbours, person, accounting)


def enumerate_laws(long: bool = False) -> list[Finding]:
    """Return a finding for each mechanism in each world, and one for each question that nobody audits."""
    missing = [
        Finding("enumeration", name, False, "this question has no line in understudy.audit.mechanisms")
        for name in not_audited()
    ]
    return missing + [world.finding() for world in worlds(long)]


def _handed(world: World, tables: SmallTables, number: int, cost: Fraction) -> list[Draw]:
    """Return what the kernel hands to its samplers when one table is asked."""
    observer = Observer(NoDraw())
    columns, schema = tables.columns(number), tables.schema
    engine = ExactTable(columns, int(tables.counts[number].sum()), schema.counted)
    reservation = NoLedger(world.accounting, cost)
    private = LocalPrivateTable(schema, engine, reservation, observer)  # type: ignore[arg-type]
    private.ask(world.mechanism.ask(schema), cost, "audit")
    return observer.draws


def _shape(draws: Sequence[Draw]) -> list[tuple[str, float, int]]:
    return [(draw.sampler, draw.scale, len(draw.values)) for draw in draws]


def largest_loss(
    asked: Sequence[Sequence[Draw]], first: NDArray[np.intp], second: NDArray[np.intp], accounting: Accounting
) -> float:
    """Return the most that any output says about which table of a pair it came from, in the unit of the cost."""
    total = np.zeros(len(first))
    for calls in zip(*asked, strict=True):
        values = np.stack([draw.values for draw in calls])
        total += losses(calls[0].sampler, values, calls[0].scale, first, second, accounting)
    return float(total.max())
