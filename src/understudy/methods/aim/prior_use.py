"""What a prior is worth: how far the rows are from it is bought, beside how far they are from independent columns, and
the nearer of the two is what rounds start from.

Both figures come before the one-way tables, so that what is left is spent knowing them. One-way tables of a prior need
no such purchase: the table's own, which are measured anyway, show how much they changed (`models/prior.py`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from understudy.methods.aim.worth import asked_axes
from understudy.methods.plan import Phase
from understudy.models.prior import Prior
from understudy.privacy.accounting import Accounting
from understudy.privacy.questions.statistics import ReferenceTables, SumOfDistances, row_distance
from understudy.privacy.sensitivity import Sensitivity
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema

PRIOR_SHARE = 0.03  # of the budget, for the mean distance of pairs from the prior's
MAX_PAIRS = 300  # that are compared; of more, a fixed sample
PURPOSE = "prior"
_SEED = 2037  # of that sample: public, and the same for everyone


def compared_pairs(schema: Schema) -> list[Axes]:
    """Return the pairs that are compared with the prior's: the same attributes as those of the mean dependence."""
    pairs: list[Axes] = list(combinations(asked_axes(schema), 2))
    if len(pairs) <= MAX_PAIRS:
        return pairs
    kept = np.random.default_rng(_SEED).permutation(len(pairs))[:MAX_PAIRS]
    return [pairs[i] for i in sorted(kept.tolist())]


def prior_phase(schema: Schema, accounting: Accounting, cost: Fraction) -> Phase:
    """Return the phase of a plan that buys the distance from the prior."""
    moved = row_distance(schema) * schema.rows_per_person
    noise = accounting.noise_for(Sensitivity(moved, moved**2), cost)
    return Phase(PURPOSE, cost, 1, 1, noise.scale, detail="how far pairs are from the prior, on average")


def used_prior(table: PrivateTable, prior: Prior, cost: Fraction, rows: int, dependence: float, limit: int) -> Prior:
    """Return what is used of the prior: all that a model of `limit` cells has room for, with the bought distance.

    Its one-way tables alone, where the rows are no nearer to it than to independence (`dependence`, in rows).
    """
    if not cost:
        return prior.columns_alone()
    fits = prior.fitting(table.schema, limit)
    bought = table.measure_statistic(SumOfDistances(_references(fits, table.schema, rows, limit)), cost, PURPOSE)
    pairs = 2 * rows * len(compared_pairs(table.schema))
    distance = bought.value / pairs
    if distance >= dependence / rows:
        return prior.columns_alone()
    return replace(fits, distance=math.hypot(max(0.0, distance), math.sqrt(bought.noise.variance) / pairs))


def _references(prior: Prior, schema: Schema, rows: int, limit: int) -> ReferenceTables:
    """Return the prior's own model of the compared pairs, in whole rows."""
    from understudy.models.estimation import fitted
    from understudy.models.pair_marginals import pair_marginals

    pairs = compared_pairs(schema)
    tables = pair_marginals(fitted(prior.tables, schema, prior.rows, limit=2 * limit).tree, pairs)
    return ReferenceTables(tuple(pairs), tuple(np.rint(rows * tables[axes]).astype(np.int64) for axes in pairs))


def planned_note(prior: Prior) -> str:
    """Return what a plan says of the prior."""
    return (
        f"prior: {prior.words}. How far the rows are from it is bought; what it says of attributes together is used if "
        "that is less than their distance from independence"
    )


def prior_notes(prior: Prior | None) -> tuple[str, ...]:
    """Return what a card says of the prior that was used."""
    if prior is None:
        return ()
    far = "" if prior.distance is not None else "; the rows are no nearer to its pairs than to independent columns"
    return (f"prior: {prior.words}; used: {prior.use}{far}",)


def prior_facts(prior: Prior | None) -> dict[str, Any]:
    """Return what a release's facts say of the prior that was used."""
    if prior is None:
        return {}
    known = {"kind": prior.kind, "hash": prior.hash, "promise": prior.promise, "distance": prior.distance}
    return {"prior": known | {"tables": len(prior.tables)}}
