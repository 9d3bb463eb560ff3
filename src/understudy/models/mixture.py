"""A mixture: several models of the same attributes, each of a part of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import UsageError
from understudy.models.factor import Factor
from understudy.models.model import Evidence, Model, Rows
from understudy.schema import Floats, Schema


@dataclass(frozen=True, eq=False)
class Mixture:
    """`weights` are the parts' shares of the rows; they add up to one."""

    schema: Schema
    parts: tuple[Model, ...]
    weights: Floats

    @staticmethod
    def of(schema: Schema, parts: Sequence[Model], rows: Sequence[float]) -> Mixture:
        weights = np.asarray(rows, dtype=np.float64)
        if len(parts) != len(weights) or not len(parts) or (weights < 0).any() or not 0 < weights.sum() < np.inf:
            raise ValueError("every part needs a number of rows, and some rows there must be")
        return Mixture(schema, tuple(parts), weights / weights.sum())

    def project(self, names: Sequence[str]) -> Factor:
        tables = [part.project(names) for part in self.parts]
        return Factor(tables[0].axes, sum((w * t.table for w, t in zip(self.weights, tables)), np.zeros(())))

    def condition(self, evidence: Evidence) -> Mixture:
        """Condition each part and weigh it by its probability of the evidence; leave out a part that excludes it."""
        parts, weights = [], []
        for part, weight in zip(self.parts, self.weights):
            for name, codes in evidence.items():
                likely = float(part.project([name]).table[list(codes)].sum())
                weight *= likely
                if likely <= 0:
                    break
                part = part.condition({name: codes})
            else:
                parts.append(part)
                weights.append(float(weight))
        if not parts:
            raise UsageError("no combination of values is left: the conditions exclude each other under this model")
        return Mixture.of(self.schema, parts, weights)

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        """Draw so many rows of each part, rounded at random to a whole number, in random order."""
        ends = np.floor(np.cumsum(self.weights) * rows + generator.random()).astype(np.int64)
        ends[-1] = rows
        counts = np.diff(np.minimum(ends, rows), prepend=0)
        drawn = [part.sample(int(count), generator) for part, count in zip(self.parts, counts)]
        order = generator.permutation(rows)
        return {name: np.concatenate([part[name] for part in drawn])[order] for name in drawn[0]}
