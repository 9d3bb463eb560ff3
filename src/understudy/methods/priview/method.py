"""PriView as a method: noisy tables over a fixed covering design, and the model of maximum likelihood over all of them.

Nothing is chosen by the rows, so the whole budget goes to the tables. The views overlap in every way, so the model is
the full joint table: the method is for binary tables whose joint domain is small. There it is hard to beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from understudy.errors import TooLarge, UsageError
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.priview.covering import covering_design
from understudy.methods.toolkit.estimator import MaximumLikelihood, estimated
from understudy.methods.toolkit.row_count import count_cost, row_count
from understudy.methods.toolkit.terms import Terms
from understudy.methods.toolkit.usefulness import cell_noise, useful_cells
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

MODEL_CELLS = 150_000  # the full joint table
BLOCKS = (6, 4)  # attributes in a view: the larger where it is useful (docs/decisions/0007-views.md)
THETA = 20.0
COVERED = {2: "pair", 3: "triple"}


def covers(schema: Schema) -> bool:
    """Return whether this method takes the table: binary, at least three attributes, a small joint domain."""
    return schema.binary and len(schema.modelled) >= 3 and schema.cells(schema.names) <= MODEL_CELLS


@dataclass(frozen=True)
class PriView:
    """The options of PriView: how many attributes a view has, and how many of them are covered together."""

    name: ClassVar[str] = "priview"

    block: int | None = option(None, whole=True, low=2, high=12)
    strength: int | None = option(None, whole=True, low=2, high=3)
    cells: int = option(MODEL_CELLS, whole=True, low=4, high=10**7)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        terms = Terms.of(schema, budget, rows)
        self._check(schema)
        count = count_cost(schema, terms.total_cost)
        tables = terms.total_cost - count
        strength, views = self._views(schema, terms.accounting, tables, terms.rows)
        cells, joint = max(schema.cells(view) for view in views), schema.cells(schema.names)
        phases = [
            *terms.row_count(count),
            *terms.tables("tables", tables, len(views), cells, f"fixed views that cover every {COVERED[strength]}"),
        ]
        seconds = joint * 2e-5 + cells * len(views) * 1.2e-5
        return terms.plan(self.name, self._settled(views, strength), phases, seconds, joint * 400 / 1e6)

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        self._check(schema)
        rows, bought = row_count(table)
        cost = table.total_cost - count_cost(schema, table.total_cost)
        strength, views = self._views(schema, table.accounting, cost, rows)
        table.progress("tables", 0, 1)
        measured = table.measure(views, cost, "tables")
        found = estimated(table, MaximumLikelihood(self.cells), [*bought, *measured])
        facts = {"options": self._settled(views, strength), "views": [[str(axis) for axis in view] for view in views]}
        return Fit(found.model, (*bought, *measured), found.rows, facts)

    def _check(self, schema: Schema) -> None:
        if not schema.binary:
            wide = next(a for a in schema.modelled if a.size > 2)
            raise UsageError(
                f"PriView is for binary tables and {wide.name} has {wide.size:,} values: use --method privbayes",
                attribute=wide.name,
            )
        if (joint := schema.cells(schema.names)) > self.cells:
            raise TooLarge(
                f"PriView would estimate one table of {joint:,} cells, the limit is {self.cells:,}: use "
                "--method privbayes, publish fewer attributes, or raise the limit with --set cells=N"
            )

    def _views(self, schema: Schema, accounting: Accounting, cost: Fraction, rows: int) -> tuple[int, list[Axes]]:
        """Return the first design whose views are useful, or the last one, and how many attributes it covers together;
        from public facts alone."""
        d = len(schema.modelled)
        for block, strength in self._designs(accounting):
            design = covering_design(d, min(block, d), min(strength, d))
            noise = cell_noise(schema, accounting, cost, len(design))
            if 2**block <= useful_cells(rows, noise, THETA):
                break
        return strength, [tuple(Axis(schema.names[i]) for i in members) for members in design]

    def _designs(self, accounting: Accounting) -> list[tuple[int, int]]:
        """Return the designs to try, attributes in a view and together: views that cover all triples first, unless
        epsilons add up over so many, then fewer that cover all pairs."""
        if self.block is not None:
            return [(self.block, self.strength or 2)]
        if self.strength is not None:
            return [(block, self.strength) for block in BLOCKS]
        pairs = [(block, 2) for block in BLOCKS]
        return [(BLOCKS[0], 3), *pairs] if accounting.power > 1 else pairs

    def _settled(self, views: list[Axes], strength: int) -> dict[str, Any]:
        return {"block": max(map(len, views)), "strength": strength, "views": len(views), "estimate": "ml"}
