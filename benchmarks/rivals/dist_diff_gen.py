"""DistDiffGen (Alhadidi, Mohammed, Fung & Debbabi 2012), two owners' private release for one classification task.

A centralised simulation of its algorithm: all rows start in one group of the most general values; h times an attribute
value is specialised, chosen by the exponential mechanism with the score Max (the sum over children of the largest
class count, sensitivity 1); then noisy class counts of every group are published. Floating-point noise: the guarantee
is on paper only, and this cannot be imported from the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.classification import Examples
from understudy.evaluate.classification import fit as trained
from understudy.evaluate.targets import Target
from understudy.privacy.custodian import ExactTable
from understudy.schema import Axis, Schema

SPECIALISATIONS = 10  # h: ours. Su et al. 2016 do not say which h they ran DistDiffGen with, nor its other settings


@dataclass(frozen=True)
class Cut:
    """An attribute's values in groups: a group of codes for each current value."""

    groups: tuple[frozenset[int], ...]


def halves(schema: Schema, name: str, group: frozenset[int]) -> list[frozenset[int]]:
    """The children of a group: those of the taxonomy, or the two halves of an ordered or flat one."""
    attribute = schema[name]
    for level in range(attribute.levels - 1, -1, -1):
        view = schema.view_map(Axis(name, level))
        parts: dict[int, set[int]] = {}
        for code in group:
            parts.setdefault(int(view[code]), set()).add(code)
        if len(parts) > 1:
            return [frozenset(part) for part in parts.values()]
    ordered = sorted(group)
    middle = len(ordered) // 2
    return [frozenset(ordered[:middle]), frozenset(ordered[middle:])]


def generalise(
    table: ExactTable, target: Target, epsilon: float, generator: np.random.Generator
) -> tuple[dict[str, Cut], NDArray[Any]]:
    """The cuts of every predictor after h specialisations, at half of ε; and the class of each row."""
    schema = table.schema
    names = [n for n in schema.names if n != target.attribute and n not in target.ignore]
    label = target.label(schema)[table.codes(target.attribute)].astype(np.int64)
    cuts = {name: Cut((frozenset(range(schema[name].size)),)) for name in names}
    each = epsilon / 2 / SPECIALISATIONS
    for _ in range(SPECIALISATIONS):
        options = [(name, group) for name, cut in cuts.items() for group in cut.groups if len(group) > 1]
        if not options:
            break
        scores = np.array([_max_score(table, label, name, halves(schema, name, group)) for name, group in options])
        chosen = int(np.argmax(scores * each / 2 + generator.gumbel(size=len(scores))))
        name, group = options[chosen]
        others = tuple(g for g in cuts[name].groups if g != group)
        cuts[name] = Cut((*others, *halves(schema, name, group)))
    return cuts, label


def _max_score(table: ExactTable, label: NDArray[Any], name: str, children: list[frozenset[int]]) -> float:
    codes = table.codes(name)
    counts = np.bincount(codes.astype(np.int64) * 2 + label, minlength=2 * table.schema[name].size).reshape(-1, 2)
    return float(sum(counts[sorted(child)].sum(axis=0).max() for child in children))


def publish(table: ExactTable, target: Target, epsilon: float, seed: int) -> tuple[ExactTable, NDArray[Any]]:
    """Rows whose values are drawn evenly within their group, as many as the noisy counts say, and their classes."""
    generator = np.random.default_rng(seed)
    cuts, label = generalise(table, target, epsilon, generator)
    names, shape, place = list(cuts), [], np.zeros(table.rows(), dtype=np.int64)
    for name in names:
        groups = cuts[name].groups
        of = np.zeros(table.schema[name].size, dtype=np.int64)
        for i, group in enumerate(groups):
            of[sorted(group)] = i
        place = place * len(groups) + of[table.codes(name)]
        shape.append(len(groups))
    cells = int(np.prod(shape))
    counts = np.bincount(place * 2 + label, minlength=2 * cells) + generator.laplace(0, 4 / epsilon, 2 * cells)
    counts = np.maximum(0, np.rint(counts)).astype(np.int64)
    drawn = np.repeat(np.arange(2 * cells), counts)
    groups_of = np.unravel_index(drawn // 2, shape)
    columns = {}
    for name, which in zip(names, groups_of):
        column = np.zeros(len(drawn), dtype=np.uint16)
        for i, group in enumerate(cuts[name].groups):
            at = which == i
            column[at] = generator.choice(sorted(group), at.sum())
        columns[name] = column
    good = np.flatnonzero(target.label(table.schema) == 1)
    bad = np.flatnonzero(target.label(table.schema) == 0)
    columns[target.attribute] = np.where(drawn % 2 == 1, good[0], bad[0]).astype(np.uint16)
    for name in target.ignore:
        columns[name] = np.zeros(len(drawn), dtype=np.uint16)
    return ExactTable(columns, len(drawn), table.schema), drawn % 2


def svm_error(learn: ExactTable, check: ExactTable, target: Target, epsilon: float, seed: int) -> float:
    """Trained on the published rows, tested on real ones."""
    made, label = publish(learn, target, epsilon, seed)
    test = Examples.of(check, target)
    if len(set(label.tolist())) < 2:
        only = int(label[0]) if len(label) else 0
        return float((test.label != only).mean())
    if len(label) > 2 * learn.rows():
        keep = np.random.default_rng(seed).choice(len(label), 2 * learn.rows(), replace=False)
        made = ExactTable({n: made.codes(n)[keep] for n in made.schema.names}, len(keep), made.schema)
    return float((trained("svm", Examples.of(made, target)).predict(test.one_hot) != test.label).mean())
