"""Value lists: the texts of columns that many rows share, with noisy counts. Nobody declared them.

A value is shown if its noisy count reaches a threshold that a value of one person alone reaches with probability at
most delta. What is shown is a one-way table: the listed values, then every other cell (`rest`), then missing ones. All
of it, `rest` included, has the same Gaussian noise. Proof: methods/PROOF.md, "Value lists".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.engines.engine import Grouping as Grouping
from understudy.engines.engine import GroupingEngine, Groups
from understudy.engines.engine import listable as listable
from understudy.errors import UsageError
from understudy.privacy.accounting import Accounting
from understudy.privacy.noise import Gaussian, as_integers
from understudy.privacy.questions.question import Question
from understudy.privacy.random_source import RandomSource
from understudy.privacy.sensitivity import Sensitivity
from understudy.privacy.thresholds import uncounted, value_threshold
from understudy.schema import Integers, Schema

MAX_LISTED = 500  # values of one column: the largest noisy counts; the others are part of `rest`


@dataclass(frozen=True, eq=False)
class ValueList:
    """The values of one column in the order of their bytes, and noisy counts: theirs, of the rest, of missing cells."""

    column: str
    values: tuple[str, ...]
    counts: Integers  # len(values) + 1, and one more where missing cells are counted
    noise: Gaussian
    is_table: bool = True  # whether every row is in one of the counts that it should be in


@dataclass(frozen=True)
class ValueLists(Question[list[ValueList]]):
    """The value lists of some columns, each at the same share of the cost and of the delta."""

    kind: ClassVar[str] = "value lists"

    groupings: tuple[Grouping, ...]
    delta: Fraction

    def check(self, schema: Schema) -> None:
        if not self.groupings or len({g.column for g in self.groupings}) != len(self.groupings):
            raise UsageError("value lists are asked for columns that differ, at least one")

    def as_json(self) -> list[Any]:
        return [self.kind, [g.as_json() for g in self.groupings], str(self.delta)]

    def sensitivity(self, schema: Schema) -> Sensitivity:
        """Return how far one person moves the counts of one column's texts and, once the list is fixed, its rest.

        Of k rows that come or go, all may be of one text that is not listed: k² and k². Of k rows that change, all may
        leave a listed text for one that is not: k², k² and k².
        """
        moved = 3 if schema.neighbours == "replace-one" else 2
        return Sensitivity(moved, moved).times(schema.rows_per_person)

    def noise(self, schema: Schema, accounting: Accounting, cost: Fraction) -> Gaussian:
        """Return the noise on every count of a column, its rest included."""
        if accounting.noise is not Gaussian:
            raise UsageError(NO_DELTA)
        return Gaussian(accounting.noise_for(self.sensitivity(schema), cost / len(self.groupings)).scale)

    def threshold(self, schema: Schema, noise: Gaussian) -> int:
        """Return the noisy count from which a value is listed: also, about, the smallest group that is seen."""
        return value_threshold(noise.scale, schema.rows_per_person, self.delta / len(self.groupings))

    def exact(self, engine: GroupingEngine, noise: Gaussian) -> list[Groups]:
        """Return the texts that more than a few rows share, with their counts. Only a private table calls this."""
        return list(engine.groups(self.groupings, uncounted(noise.scale)))

    def draw(self, found: Sequence[Groups], noise: Gaussian, threshold: int, source: RandomSource) -> bytes:
        """Return the lists with noise, as they are journalled: nothing below the threshold is in them."""
        return json.dumps([_drawn(groups, noise, threshold, source) for groups in found]).encode()

    def result(self, outcome: bytes, noise: Gaussian) -> list[ValueList]:
        """Return the lists as they were journalled."""
        return [
            ValueList(grouping.column, tuple(values), np.asarray(counts, dtype=np.int64), noise)
            for grouping, (values, counts) in zip(self.groupings, json.loads(outcome))
        ]


NO_DELTA = (
    "a list of values that nobody declared cannot be bought under pure epsilon: a value that one person alone has "
    "would have to be shown now and then. Three ways out: allow a failure with --delta (1e-9, say); declare `values` "
    'from a codebook or a form; or leave the column out with kind = "drop"'
)


def _drawn(groups: Groups, noise: Gaussian, threshold: int, source: RandomSource) -> tuple[list[str], list[int]]:
    """Return the values that pass, by their bytes, and their noisy counts, then those of the rest and of missing."""
    order = sorted(range(len(groups.texts)), key=lambda i: groups.texts[i].encode())
    texts, exact = [groups.texts[i] for i in order], as_integers(groups.counts)[order]
    noisy = noise.draw(exact, source)
    passed = np.flatnonzero(noisy >= threshold)
    listed = np.sort(passed[np.argsort(-noisy[passed], kind="stable")][:MAX_LISTED])
    rest = groups.rows - int(exact[listed].sum()) - groups.missing
    others = [rest, groups.missing] if groups.counts_missing else [rest]
    last = noise.draw(np.asarray(others, dtype=np.int64), source)
    return [texts[i] for i in listed], [*noisy[listed].tolist(), *last.tolist()]
