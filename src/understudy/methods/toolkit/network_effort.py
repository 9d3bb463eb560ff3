"""How long the search for a network takes and how much memory, roughly, from public sizes: what `plan` says."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from understudy.methods.toolkit.network_decision import Decision
from understudy.methods.toolkit.parent_candidates import view_sizes
from understudy.privacy.scores import SMALL_DOMAIN
from understudy.schema import Schema

OFFER = 6e-5  # seconds for a candidate of a general table in one round: its limit, its penalty and most of its counting
LISTED = 3.5e-5  # of a binary one
LINK = 5e-6  # of one that is not listed


def effort(schema: Schema, decision: Decision, rows: int, largest: int) -> tuple[float, float]:
    """Return seconds and megabytes for scoring candidates, noise, and estimation of tables of `largest` cells."""
    d = len(decision.variables)
    memory = 0.0
    if decision.independent:
        scoring = d * LISTED
    elif decision.links:
        columns = sum(min(a.size, SMALL_DOMAIN) - 1 for a in schema.modelled)
        scoring = columns**2 * rows * 1e-11 + decision.options * LINK + d * 0.015
        memory = (columns**2 + d**2) * 20 / 1e6
    elif decision.rule == "fixed degree":
        assert decision.degree is not None
        tables = math.comb(d, decision.degree + 1)
        scoring = tables * rows * 8e-10 * (decision.degree + 1) + decision.options * LISTED
        memory = min(tables * largest * 8 / 1e6, 256)
    else:
        found = offers(schema, decision)
        scoring = found * OFFER
        memory = min(found * 1e-3, 1000)
    estimation = decision.tables * min(largest, 10**7) * 1.2e-5
    return scoring + estimation, memory


def offers(schema: Schema, decision: Decision) -> float:
    """Return how many candidates all rounds have together where tables are limited by their cells.

    Attributes are placed in any order, so a set of k parents is offered in (d + 1)/((k + 1)(k + 2)) rounds on average.
    A generalised set counts as maximal if it fills more than half of its limit.
    """
    plain = [[schema.size(axis)] for axis in decision.variables]
    if decision.rule == "fined sets":
        total = _offers(plain, decision, decision.cells, 0)
        if decision.encoding != "hierarchical":
            return total
        return total + _offers(view_sizes(schema, decision.variables), decision, decision.cells // 4, 0.5)
    views = view_sizes(schema, decision.variables) if decision.encoding == "hierarchical" else plain
    return _offers(views, decision, decision.cells, 0.5)


def _offers(views: Sequence[Sequence[int]], decision: Decision, cells: int, above: float) -> float:
    d = len(views)
    most = d - 1 if decision.degree is None else decision.degree
    limit = cells // max(1, min(sizes[0] for sizes in views))
    sets: dict[tuple[int, int], int] = {(1, 0): 1}  # how many sets have so many cells and members
    for sizes in views:
        wider = defaultdict(int, sets)
        for (own, members), ways in sets.items():
            for size in sizes if members < most else ():
                if own * size <= limit:
                    wider[own * size, members + 1] += ways
        sets = dict(wider)
    total = 0.0
    for sizes in views:
        for (own, members), ways in sets.items():
            if above * cells < own * sizes[0] <= cells:
                total += ways * (d - members) / d * (d + 1) / ((members + 1) * (members + 2))
    return total
