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
from understudy.privacy.random_source import seeded_generator
from understudy.privacy.scores import Pair
from understudy.relations.fitting import Floats, conditional, given_first, on_simplex
from understudy.relations.history_model import HistoryModel
from understudy.relations.horizon import Horizon
from understudy.relations.panel import GAP, ROWS, Panel, now
from understudy.relations.tilts import Move

ROUNDS = 12  # of simulated histories
WHOLE_ROUNDS = 4  # that move weights all the way; later ones by less and less, so that their errors average out
PEOPLE = 5000  # in each


def calibrated(model: HistoryModel) -> HistoryModel:
    """Return the model with weights under which simulated histories have the values that were measured after a step.

    `fitted_moves` takes each attribute by itself; what other parents add is made up for here.
    """
    panel, wanted = model.panel, _after(model.panel, model.measured[1])
    generator = seeded_generator(1)
    for at in range(ROUNDS):
        rows = model.histories(PEOPLE, generator)
        id = rows[panel.person.id]
        later = np.flatnonzero(np.append(False, id[1:] == id[:-1]))
        if not len(later):
            return model
        moves = dict(model.moves)
        for target, move in moves.items():
            if target in wanted:
                reached = np.bincount(rows[panel.about(target)][later], minlength=move.values) / len(later)
                moves[target] = move.nearer(wanted[target], reached, 1 / max(1, at - WHOLE_ROUNDS + 2))
        model = replace(model, moves=moves)
    return model


def _after(panel: Panel, measured: Sequence[Measurement]) -> dict[str, Floats]:
    """Return the distribution of each attribute after a step, by its target, where its values can have weights."""
    alone = {m.axes[0].attribute: m.values for m in measured if len(m.axes) == 1}
    found = {}
    for target, move in panel.moves().items():
        counts = alone[now(panel.about(target))]
        if move.tilted and len(counts) == move.values:
            found[target] = on_simplex(counts / max(counts.sum(), 1))
    return found


def fitted_moves(panel: Panel, people: Model, measured: Sequence[Measurement]) -> dict[str, Move]:
    """Return the moves with weights under which histories that begin as PEOPLE do have the values that were measured
    after a step."""
    tables = {m.axes[-1].attribute: m for m in measured if m.axes[-1].attribute in panel.changes}
    found = panel.moves()
    for target, wanted in _after(panel, measured).items():
        if target == GAP:  # chains that take no account of the rows to come say nothing of it
            continue
        first = people.project([ROWS, panel.about(target)]).table
        found[target] = found[target].fitted(_given_before(panel, tables[target], found[target]), first, wanted)
    return found


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
