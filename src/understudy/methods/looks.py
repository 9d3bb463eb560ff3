"""Looks at what stands out in noisy trees: values that many rows share, though they are not round (`models/spikes.py`).

One histogram of the units of leaves that stand out, for each column that has any; then, for those whose units hold
several values, a table of last digits. Both are tables of counts like any other, on codes that follow from what was
bought before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from understudy.methods.plan import short_list
from understudy.models.noisy_tree import NoisyTree, grid_of
from understudy.models.spikes import Look, cells_of, standing_out, units_of
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.table import PrivateTable
from understudy.schema import Attribute, Axes, Axis, Integers, Schema
from understudy.schema.endings import Endings

SPIKES = "spikes"
SHARE = Fraction(1, 100)  # of the budget, for a look at one column
MAX_SHARE = Fraction(1, 20)  # for all looks that there can be
MAX_CELLS = 200_000  # of a table of endings


def look_price(attributes: Iterable[Attribute], whole: Fraction) -> Fraction:
    """Return what a look costs: each of these columns may need one, and one more at the endings of its numbers."""
    most = sum(1 + (a.endings_seen is not None) for a in attributes)
    return whole * min(SHARE, MAX_SHARE / max(1, most))


def looked_cost(trees: Iterable[NoisyTree], price: Fraction) -> Fraction:
    """Return what the looks into these trees cost together."""
    looks = [tree.look for tree in trees if tree.look is not None]
    return price * sum(1 + (look.endings is not None) for look in looks)


def with_looks(table: PrivateTable, trees: Mapping[str, NoisyTree], price: Fraction) -> Mapping[str, NoisyTree]:
    """Return the trees with looks at what stands out in them; nothing is bought where nothing does."""
    deviation = math.sqrt(table_noise(table.schema, table.accounting, price).variance)
    leaves = {name: standing_out(tree.counts, tree.total, deviation) for name, tree in trees.items()}
    leaves = {name: found for name, found in leaves.items() if len(found)}
    units = {name: units_of(grid_of(trees[name].attribute), trees[name].last, found) for name, found in leaves.items()}
    inside = _bought(table, units, {name: (Axis(name),) for name in units}, price)
    looked = {name: replace(trees[name], look=Look(leaves[name], inside[name])) for name in leaves}
    unsure = {name: found for name, tree in looked.items() if len(found := unsure_units(tree, table.schema))}
    workload = {name: (Axis(name), Axis(_endings(looked[name]).name)) for name in unsure}
    for name, endings in _bought(table, unsure, workload, price).items():
        look = looked[name].look
        assert look is not None
        looked[name] = replace(looked[name], look=replace(look, units=unsure[name], endings=endings))
    return {**trees, **looked}


def spike_notes(trees: Iterable[NoisyTree]) -> tuple[str, ...]:
    """Return what a card says of the values that were found: each as a cell of its column has it."""
    found = {
        tree.attribute.name: [
            tree.attribute.ordered.show(spike.value) for spike in sorted(tree.spikes, key=lambda spike: -spike.rows)
        ]
        for tree in trees
    }
    return tuple(
        f"many rows share one value of {name}: {short_list(values)}" for name, values in found.items() if values
    )


def unsure_units(tree: NoisyTree, schema: Schema) -> Integers:
    """Return the units with spikes whose values their endings tell apart; those with most rows, if there are many."""
    seen, grid = tree.attribute.endings_seen, grid_of(tree.attribute)
    if seen is None or seen.name in schema.names:
        return np.zeros(0, dtype=np.int64)
    assert isinstance(seen.domain, Endings)
    found = [unit for unit in np.flatnonzero(tree.spiked).tolist() if seen.domain.count(unit, grid.domain) > 1]
    most = (MAX_CELLS // seen.size - 1) // 2
    return np.asarray(sorted(sorted(found, key=lambda unit: -tree.masses[unit])[:most]), dtype=np.int64)


def _endings(tree: NoisyTree) -> Attribute:
    assert tree.attribute.endings_seen is not None
    return tree.attribute.endings_seen


def _bought(
    table: PrivateTable, units: Mapping[str, Integers], workload: Mapping[str, Axes], price: Fraction
) -> dict[str, Measurement]:
    """Return a table for each column, all in one question, in which each of these units has a cell of its own."""
    if not workload:
        return {}
    first = {name: cells_of(grid_of(table.schema[name]), found) for name, found in units.items()}
    homes = {name: table.schema[name].homes(cells) for name, cells in first.items()}
    grouped = table.regrouped(table.schema.binned(first), homes)
    return dict(zip(workload, grouped.measure(list(workload.values()), price * len(workload), SPIKES)))
