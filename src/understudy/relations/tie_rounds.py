"""Rounds of ties: the pairs of values in a row that simulated histories get most wrong are measured, and tied.

A row's values are drawn one after the other, each from its own value before. What they have to do with each other in
the same row is lost where no conditional tells of it. A round looks at simulated histories, pays for the choice of the
pair whose table is furthest from theirs and for that table, and gives the later of both values weights by the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from understudy.models.bayesian_network import Conditional
from understudy.models.model import Rows
from understudy.privacy.budget import exact
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.random_source import seeded_generator
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.relations.fitting import Floats, StepsPlan, on_simplex
from understudy.relations.history_model import HistoryModel
from understudy.relations.panel import changed
from understudy.relations.tie_pairs import SELECT, TieKey, pair_axes, tie_pairs
from understudy.relations.tilts import Tie

PEOPLE = 5000  # in each simulation
TIES = 2  # of an attribute to others
KAPPA = 1.0  # of the noise of a table, what choosing it must earn
MOSTLY_NOISE = 1.25  # a table no further from simulated rows than so many times the noise expected on it
BEFORE, AFTER = 4, 24  # simulations before the first round, and after the last
FULL = 14  # of those after the last, at full step; then less and less, so that errors of simulation average out
DAMPED = 0.7  # the part that weights move between rounds, in logarithms
FEW = 5.0  # simulated rows, added to what is compared: fewer say little
FITS = 10  # times that a table is scaled to its columns


@dataclass
class Calibration:
    """What histories should have, and the simulations that bring the model there."""

    model: HistoryModel
    alone: Mapping[str, Floats]  # of a target, how often each value comes after a step
    pairs: dict[TieKey, Floats] = field(default_factory=dict)
    generator: np.random.Generator = field(default_factory=lambda: seeded_generator(1))
    rows: Rows = field(default_factory=dict)
    before: Rows = field(default_factory=dict)  # the row before each of these
    untied: dict[str, Floats] = field(default_factory=dict)  # of a tied change, its chances as they were measured

    def simulate(self) -> bool:
        """Draw histories and keep the rows after a step; return whether there are any."""
        rows, id = self.model.histories(PEOPLE, self.generator), self.model.panel.person.id
        later = np.flatnonzero(np.append(False, rows[id][1:] == rows[id][:-1]))
        self.rows = {name: codes[later] for name, codes in rows.items()}
        self.before = {name: codes[later - 1] for name, codes in rows.items()}
        return bool(len(later))

    def reached(self, *names: str) -> Floats:
        """Return the table of these attributes in the rows after a step."""
        panel = self.model.panel
        at, shape = np.zeros(len(self.rows[names[0]]), dtype=np.int64), list[int]()
        for name in names:
            codes, size = self.rows[name].astype(np.int64), panel.schema[name].size
            if name == panel.person.order:
                codes, size = panel.coarse.code(codes), panel.coarse.size
            at, shape = at * size + codes, [*shape, size]
        return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape) / max(1, len(at))

    def adjust(self, gain: float) -> None:
        """Move the weights toward what is wanted."""
        panel, moves, steps = self.model.panel, dict(self.model.moves), self._undisturbed(gain)
        many, least = Counter(tie.attribute for tie in self.model.ties), FEW / len(self.rows[panel.person.order])
        for target, wanted in self.alone.items():
            if many[panel.about(target)]:  # its ties make up for its column
                continue
            size = moves[target].values
            found = np.bincount(self.rows[panel.about(target)], minlength=size) / len(self.rows[panel.about(target)])
            moves[target] = moves[target].nearer(wanted, found, gain)
        ties = [
            tie.nearer(
                self.pairs[tie.attribute, tie.to], self.reached(tie.to, tie.attribute), gain, least,
                1 / many[tie.attribute],
            )
            for tie in self.model.ties
        ]  # fmt: skip
        self.model = replace(self.model, moves=moves, ties=tuple(ties), steps=steps)

    def _undisturbed(self, gain: float) -> ConditionalNetwork:
        """Return the conditionals moved toward those under which ties leave each change as likely after each value as
        it is without them."""
        tied, steps = {changed(tie.attribute) for tie in self.model.ties}, self.model.steps
        found = [self._offset(c, gain) if c.child.attribute in tied else c for c in steps.conditionals]
        return replace(steps, conditionals=tuple(found))

    def _offset(self, own: Conditional, gain: float) -> Conditional:
        """Return one conditional, moved so: by what simulated rows have and what they would have without ties."""
        panel, target = self.model.panel, own.child.attribute
        name, move = panel.about(target), self.model.moves[target]
        view = panel.steps.view_map(own.parents[0]) if own.parents else np.zeros(move.values, dtype=np.int64)
        measured = self.untied.setdefault(target, own.table).reshape(-1, move.change.size)
        before, now = self.before[name], self.rows[name]
        seen, due = np.zeros(measured.shape), np.zeros(measured.shape)
        np.add.at(seen, (view[before], move.classes[before, now]), 1)
        each = np.bincount(before, minlength=move.values)[:, None] * move.tilted_changes(measured[view])
        np.add.at(due, view, each)
        step = np.clip((due + FEW) / (seen + FEW), 0.5, 2.0) ** gain
        table = own.table.reshape(measured.shape) * step
        return replace(own, table=(table / table.sum(axis=1, keepdims=True)).reshape(own.table.shape))

    def wanted(self, name: str) -> Floats:
        """Return what the values of an attribute should be after a step: measured, or as they are."""
        target = changed(name)
        return self.alone[target] if target in self.alone else self.reached(name)

    def tie(self, key: TieKey, seen: Measurement) -> None:
        """Tie two attributes by a measured table, drawn to what they have already and to their columns."""
        attribute, to = key
        before = self.pairs.get(key, self.reached(to, attribute))
        counts = seen.values.astype(np.float64)
        total = counts.sum()
        away = counts - total * before
        kept = max(0.0, 1 - (counts.size - 1) * seen.variance / max(float((away * away).sum()), 1e-300))
        table = on_simplex((before + kept * away / max(total, 1.0)).ravel()).reshape(counts.shape)
        for _ in range(FITS):
            table = table * _ratio(self.wanted(to), table.sum(axis=1))[:, None]
            table = table * _ratio(self.wanted(attribute), table.sum(axis=0))[None, :]
        self.pairs[key] = table
        if all((t.attribute, t.to) != key for t in self.model.ties):
            self.model = replace(self.model, ties=(*self.model.ties, Tie(attribute, to, np.ones(counts.shape))))


def _ratio(wanted: Floats, found: Floats) -> Floats:
    return np.where(found > 0, wanted / np.maximum(found, 1e-300), 0.0)


def tied(
    table: PrivateTable, model: HistoryModel, alone: Mapping[str, Floats], plan: StepsPlan
) -> tuple[HistoryModel, tuple[Measurement, ...]]:
    """Spend the cost of ties; return the model whose simulated histories have the values and the pairs that were
    measured, and those tables."""
    found, measured, left = Calibration(model, alone), list[Measurement](), plan.tie_cost
    for _ in range(BEFORE):
        if found.simulate():
            found.adjust(1.0)
    each = left / plan.rounds if plan.rounds else left
    while left:
        table.progress("steps: ties", int(100 * (1 - left / plan.tie_cost)), 100)
        each = left if left < each * 3 / 2 else each
        left -= each
        told, seen = _round(table, found, plan.rows, each)
        measured.append(seen)
        each = each if told else 2 * each
        if found.simulate():
            found.adjust(DAMPED)
    for at in range(AFTER):
        if found.simulate():
            found.adjust(1 / (1 + max(0, at - FULL) / 2))
    return found.model, tuple(measured)


def _options(model: HistoryModel) -> list[TieKey]:
    """Return the pairs that a round may choose: an attribute is tied to a few others at most."""
    ties = [(tie.attribute, tie.to) for tie in model.ties]
    full = {name for name in model.panel.varying if sum(name == attribute for attribute, _ in ties) >= TIES}
    return [key for key in tie_pairs(model.panel) if key in ties or key[0] not in full]


def _round(table: PrivateTable, found: Calibration, rows: int, price: Fraction) -> tuple[bool, Measurement]:
    """Choose and measure one pair and tie it; return whether it says more than its noise would, and its table."""
    panel, options, cost = found.model.panel, _options(found.model), price * (1 - exact(SELECT))
    noise = table_noise(panel.steps, table.accounting, cost).mean_abs
    asked = [pair_axes(panel, key) for key in options]
    expected = [found.reached(to, attribute) * rows for attribute, to in options]
    pair = table.choose(
        [Pair(axes[-1], axes[:-1]) for axes in asked], REFERENCE_DISTANCE, price - cost, "steps: structure",
        [REFERENCE_DISTANCE.penalty(KAPPA / 2 * noise, panel.steps, counts.size) for counts in expected],
        [np.rint(counts).astype(np.int64) for counts in expected],
    )  # fmt: skip
    (seen,) = table.measure([pair.axes], cost, "steps: ties")
    at = asked.index(pair.axes)
    found.tie(options[at], seen)
    surprise = np.abs(seen.values - expected[at]).sum()
    return bool(surprise >= MOSTLY_NOISE * noise * seen.values.size), seen
