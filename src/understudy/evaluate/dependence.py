"""How much of the dependence between attributes survives: correlation matrices and the information of a network."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.evaluate.tables import BATCH_CELLS, counted, table_set
from understudy.privacy.custodian import CustodianFigures, ExactTable
from understudy.privacy.scores import Pair
from understudy.release.facts import ReleaseFacts
from understudy.schema import Axis, Schema

MAX_PAIRS = 20_000
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Dependence(CustodianFigures):
    """Absolute differences between two correlation matrices, over pairs of attributes."""

    pairs: int
    mean: float
    max: float
    worst: tuple[str, str] | None

    def as_json(self) -> dict[str, Any]:
        return {"pairs": self.pairs, "mean": self.mean, "max": self.max, "worst": self.worst and list(self.worst)}


def cramers_v(original: ExactTable, synthetic: ExactTable) -> Dependence | None:
    """Return Cramér's V of every pair of attributes (0: independent, 1: one decides the other), without huge tables."""
    if len(original.schema.names) < 2:
        return None
    schema = original.schema
    workload = [axes for axes in table_set(schema, 2, MAX_PAIRS).workload if schema.cells(axes) <= BATCH_CELLS]
    if not workload:
        return None
    pairs = zip(workload, counted(workload, original, synthetic))
    return _difference({(str(a), str(b)): _v(real) - _v(other) for (a, b), (real, other) in pairs})


def _v(counts: NDArray[np.int64]) -> float:
    """Return Cramér's V over the values that occur; an attribute with a single value depends on nothing."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    freedom = min(counts.shape) - 1
    if freedom < 1:
        return 0.0
    n = counts.sum()
    expected = counts.sum(axis=1, keepdims=True) * (counts.sum(axis=0, keepdims=True) / n)
    return math.sqrt(((counts - expected) ** 2 / expected).sum() / (n * freedom))


def pearson(original: dict[str, Matrix], synthetic: dict[str, Matrix]) -> Dependence | None:
    """Return Pearson's correlation of every pair of numeric columns at raw resolution; 0 where a column is constant."""
    pairs = list(itertools.combinations(original, 2))
    if not pairs:
        return None
    return _difference({p: _r(original[p[0]], original[p[1]]) - _r(synthetic[p[0]], synthetic[p[1]]) for p in pairs})


def _r(x: Matrix, y: Matrix) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def _difference(by_pair: dict[tuple[str, str], float]) -> Dependence:
    sizes = {pair: abs(difference) for pair, difference in by_pair.items()}
    worst = max(sizes, key=lambda pair: sizes[pair])
    return Dependence(len(sizes), float(np.mean(list(sizes.values()))), sizes[worst], worst)


# -- a network ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Information(CustodianFigures):
    """Σ I(X; Π) of a network in bits, in the original and in the stand-in (Zhang et al. 2017, Fig. 4)."""

    original: float
    synthetic: float

    def as_json(self) -> dict[str, Any]:
        return {"original": self.original, "synthetic": self.synthetic, "unit": "bits"}


def information(original: ExactTable, synthetic: ExactTable, network: Sequence[Pair]) -> Information:
    return Information(network_information(original, network), network_information(synthetic, network))


def network_information(table: ExactTable, network: Sequence[Pair]) -> float:
    """Return the sum over the network's pairs of the mutual information of an attribute and its parents."""
    pairs = [pair for pair in network if pair.parents]
    counts = counted([pair.axes for pair in pairs], table)
    return sum(mutual_information(c.reshape(-1, c.shape[-1])) for (c,) in counts)


def mutual_information(counts: NDArray[np.int64]) -> float:
    """Return the mutual information of the row and the column of a two-way table, in bits."""
    n = int(counts.sum())
    joint = counts[counts > 0] / n
    outside = (counts.sum(axis=1, keepdims=True) / n) * (counts.sum(axis=0, keepdims=True) / n)
    return max(0.0, float((joint * np.log2(joint / outside[counts > 0])).sum()))


def network_of(facts: ReleaseFacts | Mapping[str, Any], schema: Schema) -> tuple[Pair, ...]:
    """Return the network of a release's facts, or of `{"network": [{"attribute": …, "parents": […]}, …]}`."""
    told = facts if isinstance(facts, ReleaseFacts) else ReleaseFacts.of(facts)
    if not told.network:
        raise UsageError(
            "this release tells of no network, so there is no information of one to measure: its method models sets of "
            "attributes instead (privbayes and privabn make networks)"
        )
    return tuple(
        Pair(_axis(line.attribute, schema), tuple(_axis(p, schema) for p in line.parents)) for line in told.network
    )


def _axis(text: str, schema: Schema) -> Axis:
    """Read an axis back from `str(axis)`: age, age@1, age#bit0 or age#gray0."""
    for name in sorted((n for n in schema.names if text.startswith(n)), key=len, reverse=True):
        rest = text[len(name) :]
        for axis in _views(schema, name):
            if str(axis)[len(name) :] == rest:
                return axis
    raise UsageError(f"the network names {text!r}, which is no attribute of the schema")


def _views(schema: Schema, name: str) -> list[Axis]:
    bits = [Axis(name, 0, bit, gray) for gray in (False, True) for bit in range(schema[name].bits)]
    return [Axis(name, level) for level in range(schema[name].levels)] + bits
