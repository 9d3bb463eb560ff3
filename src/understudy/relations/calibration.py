"""Calibration: weights of values, so that the rows of whole histories are distributed as they were measured.

All of it is post-processing of noisy tables: it reads no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.models.model import Model
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.relations.fitting import Floats, conditional, drawn_to, given_first, on_simplex
from understudy.relations.horizon import Horizon
from understudy.relations.panel import GAP, ROWS, Panel, now
from understudy.relations.tilts import Move
from understudy.schema import Axis


def after(panel: Panel, measured: Sequence[Measurement]) -> dict[str, Measurement]:
    """Return the table of each attribute after a step, by its target, where its values can have weights."""
    alone = {m.axes[0].attribute: m for m in measured if len(m.axes) == 1}
    found = {target: alone[now(panel.about(target))] for target in panel.moves()}
    return {t: m for t, m in found.items() if panel.moves()[t].tilted and len(m.values) == panel.moves()[t].values}


def fitted_moves(
    panel: Panel, people: Model, measured: Sequence[Measurement]
) -> tuple[dict[str, Move], dict[str, Floats]]:
    """Return the moves with weights under which histories that begin as PEOPLE do have the values that were measured
    after a step, and how often each value should come there.

    A measured column is drawn to the first rows' or to that of chains without weights, whichever is nearer, as far as
    its noise asks.
    """
    tables = {m.axes[-1].attribute: m for m in measured if m.axes[-1].attribute in panel.changes}
    found, wanted = panel.moves(), {}
    for target, seen in after(panel, measured).items():
        counts = seen.values.astype(np.float64)
        if target == GAP:  # chains that take no account of the rows to come say nothing of it
            wanted[target] = on_simplex(counts / max(counts.sum(), 1))
            continue
        counts, variance = _with_changes(panel, seen, tables[target], found[target])
        first = people.project([ROWS, panel.about(target)]).table
        shares = _given_before(panel, tables[target], found[target])
        priors = [first.sum(axis=0), found[target].chained(shares, first)]
        prior = min(priors, key=lambda shares: float(((counts - counts.sum() * shares) ** 2).sum()))
        wanted[target] = drawn_to(counts[None, :], prior[None, :], np.full((1, 1), variance))[0]
        found[target] = found[target].fitted(shares, first, wanted[target])
    return found, wanted


def _with_changes(panel: Panel, seen: Measurement, joint: Measurement, move: Move) -> tuple[Floats, float]:
    """Return how often each value comes after a step, and the variance of its noise: the mean, by their precision, of
    the measured column and of what the table of changes leads to, where each change leads to one value."""
    counts, axes = seen.values.astype(np.float64), (Axis(panel.homes[joint.axes[-1].attribute]), joint.axes[-1])
    led = move.led(joint.values.astype(np.float64)) if joint.axes == axes else None
    if led is None:
        return counts, seen.variance
    other = move.values * joint.variance  # so many cells lead to each value
    total = seen.variance + other
    return (counts * other + led * seen.variance) / total, seen.variance * other / total


def horizon_of(panel: Panel, measured: Sequence[Measurement]) -> Horizon | None:
    """Return how likely the rows to come fit behind each unit of the order, under the gaps that were measured."""
    joint = next(m for m in measured if m.axes[-1].attribute == GAP)
    gap = panel.gap
    shares = _given_before(panel, joint, Move(gap, panel.coarse.size))
    return Horizon.of(gap, shares[panel.unit_map()], panel.person.at_most)


def _given_before(panel: Panel, joint: Measurement, move: Move) -> Any:
    """Return the chance of each change (a column) after each value (a row)."""
    pair = Pair(joint.axes[-1], joint.axes[:-1])
    if not pair.parents or pair.parents[0].attribute != panel.homes[pair.child.attribute]:
        own = conditional(Pair(pair.child), _summed_out(joint), panel.steps).table
        return np.broadcast_to(own, (move.values, len(own)))
    return given_first(pair, joint, panel.steps)[panel.steps.view_map(pair.parents[0])]


def _summed_out(joint: Measurement) -> Measurement:
    """Return the counts of a table's last axis alone; its noise is larger than said."""
    return replace(joint, axes=joint.axes[-1:], values=joint.values.reshape(-1, joint.values.shape[-1]).sum(axis=0))
