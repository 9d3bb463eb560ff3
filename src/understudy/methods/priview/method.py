"""PriView as a method: noisy tables over a fixed covering design, and the model of maximum likelihood over all of them.

The views overlap in every way, so the model is the full joint table: the method is for binary tables whose joint domain
is small. There it is hard to beat. Views are not chosen by the rows. What no view shows, a value that is the sum of
three others, say, is looked for in a few rounds among tables of three and four attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from understudy.errors import TooLarge, UsageError
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan
from understudy.methods.priview.covering import covering_design
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.distance_rounds import play_wider
from understudy.methods.toolkit.estimator import MaximumLikelihood, estimated
from understudy.methods.toolkit.row_count import count_cost, row_count
from understudy.methods.toolkit.terms import Terms
from understudy.methods.toolkit.usefulness import cell_noise, useful_cells
from understudy.methods.toolkit.wider_tables import CHOICE, WIDER_ROUNDS, WIDER_SHARE, wider_tables
from understudy.models.row_total import pooled_rows
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

MODEL_CELLS = 150_000  # the full joint table
BLOCKS = (6, 4)  # attributes in a view: the larger where it is useful (docs/decisions/0007-views.md)
THETA = 20.0
ROUGHLY = 1e-2  # how well the model fits its tables between rounds
COVERED = {2: "pair", 3: "triple"}


def covers(schema: Schema) -> bool:
    """Return whether this method takes the table: binary, at least three attributes, a small joint domain."""
    return schema.binary and len(schema.modelled) >= 3 and schema.cells(schema.names) <= MODEL_CELLS


@dataclass(frozen=True)
class CoveringViews:
    """What is measured, by public facts: the views, and the tables that rounds choose from.

    Args:
        strength: how many attributes are together in some view, whichever they are.
        views: the attributes of each view.
        wider: the tables of three and four attributes that are in no view and may be chosen; none without rounds.
        looks: what all rounds among them may cost.
        price: of one of them.
    """

    strength: int
    views: list[Axes]
    wider: tuple[Axes, ...]
    looks: Fraction
    price: Fraction


@dataclass(frozen=True)
class PriView:
    """The options of PriView: how many attributes a view has, how many of them are covered together, and whether other
    tables are looked at."""

    name: ClassVar[str] = "priview"

    block: int | None = option(None, whole=True, low=2, high=12)
    strength: int | None = option(None, whole=True, low=2, high=3)
    cells: int = option(MODEL_CELLS, whole=True, low=4, high=10**7)
    wider: int = option(1, whole=True, low=0, high=1)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        terms = Terms.of(schema, budget, rows)
        self._check(schema)
        count = count_cost(schema, terms.total_cost)
        design = self._design(schema, terms.accounting, terms.total_cost - count, terms.rows)
        cells, joint = max(map(schema.cells, design.views)), schema.cells(schema.names)
        phases = [*terms.row_count(count), *_phases(terms, terms.total_cost - count, cells, design)]
        seconds = joint * 2e-5 + cells * len(design.views) * 1.2e-5 + joint * len(design.wider) * 2e-8
        several = f"{len(design.wider):,} small tables of three and four attributes"
        notes = [f"{several} are offered too, for what no view shows (option wider)"] if design.wider else []
        return terms.plan(self.name, self._settled(design), phases, seconds, joint * 400 / 1e6, notes=notes)

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        self._check(schema)
        rows, bought = row_count(table)
        cost = table.total_cost - count_cost(schema, table.total_cost)
        design = self._design(schema, table.accounting, cost, rows)
        table.foresee([*design.views, *design.wider])
        table.progress("tables", 0, 1)
        rounds = AdaptiveRounds(
            table, [Axis(name) for name in schema.names], [], self.cells,
            lambda seen: pooled_rows(schema, [*bought, *seen]), ROUGHLY,
        )  # fmt: skip
        rounds.measure(design.views, cost - design.looks, "tables")
        if left := play_wider(rounds, design.wider, design.looks, design.price):
            rounds.measure(design.views, left, "tables")
        found = estimated(table, MaximumLikelihood(self.cells), [*bought, *rounds.measured])
        names = [[str(axis) for axis in view] for view in design.views]
        chosen = [axes for axes in rounds.chosen if axes not in design.views]
        facts = {"options": self._settled(design), "views": names, "tables": [list(map(str, axes)) for axes in chosen]}
        return Fit(found.model, (*bought, *rounds.measured), found.rows, facts)

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

    def _design(self, schema: Schema, accounting: Accounting, cost: Fraction, rows: int) -> CoveringViews:
        """Return what is measured at this cost, from public facts alone."""
        strength, views = self._views(schema, accounting, cost, rows)
        price = cost * WIDER_SHARE / WIDER_ROUNDS
        wider = wider_tables(schema, accounting, price, rows, views) if self.wider else ()
        # where epsilons add up, views that are measured twice are worse than once: one look is all
        looks = price * (1 if accounting.power == 1 else WIDER_ROUNDS)
        return CoveringViews(strength, views, wider, looks if wider else Fraction(0), price)

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

    def _settled(self, design: CoveringViews) -> dict[str, Any]:
        block, views = max(map(len, design.views)), len(design.views)
        return {"block": block, "strength": design.strength, "views": views, "estimate": "ml"}


def _phases(terms: Terms, cost: Fraction, cells: int, design: CoveringViews) -> Iterator[Phase]:
    """Yield what is bought after the row count: the views, of so many cells each, and the rounds."""
    detail = f"fixed views that cover every {COVERED[design.strength]}"
    views = terms.tables("tables", cost - design.looks, len(design.views), cells, detail)
    if not design.wider:
        yield from views
        return
    detail += "; then three or four attributes together, round by round, at most"
    yield from (replace(phase, cost=cost - design.looks * CHOICE, detail=detail) for phase in views)
    yield from terms.choices(design.looks * CHOICE, int(design.looks / design.price), "choices by score D, at most")
