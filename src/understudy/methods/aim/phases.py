"""The plan of a run of AIM in phases: what is bought in turn, and what a reader should know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from understudy.methods.aim.costs import Costs, CostSplit
from understudy.methods.aim.named_tables import NamedTables, uses_note
from understudy.methods.aim.prior_use import planned_note, prior_phase
from understudy.methods.aim.worth import worth_phase
from understudy.methods.plan import Phase, tables_phase
from understudy.methods.toolkit.budget_split import sized_phase
from understudy.methods.toolkit.merged_groups import groups_borne
from understudy.methods.toolkit.wider_tables import CHOICE
from understudy.models.prior import Prior
from understudy.privacy.budget import exact

USES = "uses"
ALONE = "pairs of attributes are not worth their noise at this budget: columns are published independently"

UNLINKED = (
    "the first tables of pairs show no more than noise and chance: what was left for pairs was spent on the tables of "
    "single columns"
)


def phases(split: CostSplit, costs: Costs, named: NamedTables) -> Iterator[Phase]:
    """Yield what is bought, in the order in which it is."""
    schema, accounting, rows = split.schema, split.accounting, split.rows
    if costs.count:
        yield tables_phase("row count", schema, accounting, costs.count, 1, 1, rows, "how many rows there are")
    if costs.worth:
        yield worth_phase(schema, accounting, costs.worth, split.needed)
    if costs.prior:
        yield prior_phase(schema, accounting, costs.prior)
    detail = "each attribute alone, larger ones more closely"
    yield sized_phase("one-way", schema, accounting, costs.single, split.one_way, rows, detail)
    if costs.named:
        cells, detail = max(map(schema.cells, named.measured)), "the tables that uses name"
        yield tables_phase(USES, schema, accounting, costs.named, len(named.measured), cells, rows, detail)
    if in_rounds := costs.rounds + costs.offered + costs.wider:
        pairs = costs.rounds + costs.offered
        rounds = max(1, round(in_rounds / (costs.each or costs.offered or split.wider_price)))
        choosing = pairs * exact(split.wishes.select) + costs.wider * CHOICE
        yield Phase("structure", choosing, rounds, detail="choices by score D, at most")
        sizes = map(schema.cells, combinations(split.variables, 2))
        cells = max((size for size in sizes if size <= split.max_cells), default=1)
        which = "the pair that the model gets most wrong" if pairs else "three or four attributes together"
        detail = f"{which}, round by round, at most"
        tables = tables_phase("tables", schema, accounting, in_rounds - choosing, rounds, cells, rows, detail)
        noise = accounting.noise(tables.scale).mean_abs
        yield replace(tables, groups=groups_borne(rows, noise) if split.merges else 0)


def plan_notes(split: CostSplit, costs: Costs, named: NamedTables, prior: Prior | None) -> Iterator[str]:
    """Yield what a reader of the plan should know."""
    if costs.worth:
        yield "whether pairs are worth their noise is bought first; if not, columns are published alone"
    if prior is not None:
        yield planned_note(prior)
    if costs.wider:
        several = f"{len(split.wider):,} small tables of three and four attributes"
        yield f"{several} are offered too, for what no pair shows (option wider)"
    if split.schema.uses:
        yield uses_note(named)
    if len(split.variables) > 1:
        offered = costs.rounds or costs.offered or prior is not None
        limit = f"pairs that would bring the model over {split.max_cells:,} cells are not offered (option cells)"
        yield limit if offered else ALONE
