"""Evaluation of a query on a probability table: what each measure is, once the table over its attributes is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import TooLarge
from understudy.models.factor import Factor
from understudy.models.model import Model
from understudy.query.pieces import Floats
from understudy.query.quantiles import quantiles
from understudy.schema import Axis

if TYPE_CHECKING:
    from understudy.query.queries import Query


STACK = ""  # the name of the axis that several tables are stacked along


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The table over a query's attributes, their order, and a factor for what was conditioned on."""

    table: Floats
    names: tuple[str, ...]
    scale: float = 1.0


def evaluate(model: Model, query: Query) -> Evaluated:
    """Return the probability table over all attributes of the query; TooLarge where it cannot be held."""
    if not query.names:
        return Evaluated(np.ones(()), ())
    return Evaluated(model.project(query.names).table, query.names)


def evaluate_somehow(model: Model, query: Query) -> Evaluated:
    """Evaluate the query; where its table is too large, given the conditions that are evidence."""
    try:
        return evaluate(model, query)
    except TooLarge as refusal:
        if query.measure == "rate":
            raise
        try:
            return _given_evidence(model, query)
        except TooLarge:
            raise refusal from None


def _given_evidence(model: Model, query: Query) -> Evaluated:
    """Evaluate given the conditions on whole cells: Pr[by, evidence] = Pr[by | evidence] · Pr[evidence]."""
    fixed = {*query.by, query.of, *(axis.attribute for factor in query.joint for axis in factor.axes)}
    free = {n: s for n, s in query.selections.items() if s.whole and n not in fixed}
    kept = tuple(name for name in query.names if name not in free)
    chance = 1.0
    for name, selection in free.items():
        chance *= float(model.project([name]).table @ selection.weights)
        if chance <= 0:
            break
        model = model.condition({name: np.flatnonzero(selection.weights).tolist()})
    return Evaluated(model.project(kept).table, kept, chance)


def values(query: Query, found: Evaluated, rows: float) -> tuple[Floats, Floats]:
    """Return the answer for each code of `by`, and the number of rows behind it."""
    return _measured(query, found, rows, {})


def stacked_values(query: Query, names: Sequence[str], tables: Floats, rows: Floats) -> Floats:
    """Return the answers on several tables at once, stacked along their first axis; not of quantiles."""
    found, many = Evaluated(tables, tuple(names)), rows.reshape(-1, *[1] * len(query.by))
    return _measured(query, found, many, {STACK: np.ones(len(tables))})[0]


def _measured(
    query: Query, found: Evaluated, rows: Floats | float, stack: Mapping[str, Floats]
) -> tuple[Floats, Floats]:
    """Return answers and numbers of rows; `stack` has the weights of an axis of tables that comes before all others."""
    names, by = (*stack, *found.names), (*stack, *query.by)
    table = joined(found.table, found.names, query.joint)
    weights = {**stack, **{name: query.selections[name].weights for name in found.names}}
    if query.of is None:
        shares = found.scale * weigh(table, names, weights, by)
        if query.measure == "rate":
            whole = weigh(found.table, names, {**stack, **group_weights(query, found.names)}, by)
            return _ratio(shares, whole), whole * rows
        return (shares if query.measure == "share" else shares * rows), shares * rows
    selection = query.selections[query.of]
    mass = weigh(table, names, weights | {query.of: selection.present}, by)
    if query.measure in ("median", "quantile"):
        return quantiles(query, table, names), found.scale * mass * rows
    total = weigh(table, names, weights | {query.of: selection.moments}, by)
    if query.measure == "sum":
        return found.scale * total * rows, found.scale * mass * rows
    return np.where(found.scale * mass > 0, _ratio(total, mass), np.nan), found.scale * mass * rows


def joined(table: Floats, names: Sequence[str], joint: Sequence[Factor]) -> Floats:
    """Return the table with what joint conditions let through of each cell; further axes may come before."""
    axes = tuple(Axis(name) for name in names)
    for factor in joint:
        table = table * factor.expand(axes)
    return table


def group_weights(query: Query, names: Sequence[str]) -> dict[str, Floats]:
    """Return the weights of the whole groups of a rate: conditions on the groups themselves, and no other."""
    return {n: query.selections[n].weights if n in query.by else np.ones(query.schema[n].size) for n in names}


def _ratio(one: Floats, other: Floats) -> Floats:
    return np.asarray(np.divide(one, other, out=np.full_like(one, np.nan), where=other > 0))


def weigh(table: Floats, names: Sequence[str], weights: Mapping[str, Floats], by: Sequence[str]) -> Floats:
    """Sum out all but `by` with these weights; what is left has the order of `by`."""
    left = list(names)
    for name in [n for n in names if n not in by]:
        table = np.tensordot(table, weights[name], axes=(left.index(name), 0))
        left.remove(name)
    table = np.transpose(table, [left.index(name) for name in by])
    for i, name in enumerate(by):
        table = table * weights[name].reshape([-1 if j == i else 1 for j in range(len(by))])
    return np.asarray(table, dtype=np.float64)
