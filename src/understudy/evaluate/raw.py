"""What a user sees first: numeric columns at raw resolution, and how many synthetic rows are copies of real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.tables import SEED
from understudy.privacy.custodian import CustodianFigures, ExactTable
from understudy.privacy.random_source import seeded_generator
from understudy.schema import Attribute, Schema

Floats = NDArray[np.float64]
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class ColumnDescription(CustodianFigures):
    """What `describe()` would show of one column."""

    missing: float  # share of the rows
    mean: float | None
    sd: float | None
    quantiles: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        quantiles = {f"{q:g}": value for q, value in zip(QUANTILES, self.quantiles)}
        return {"missing": self.missing, "mean": self.mean, "sd": self.sd, "quantiles": quantiles}


@dataclass(frozen=True)
class NumericColumn(CustodianFigures):
    """One column in both tables, and the Wasserstein-1 distance: how far values must move, on average."""

    original: ColumnDescription
    synthetic: ColumnDescription
    wasserstein: float | None
    unit: str | None

    def as_json(self) -> dict[str, Any]:
        both = {"original": self.original.as_json(), "synthetic": self.synthetic.as_json()}
        return {**both, "wasserstein": self.wasserstein, "unit": self.unit}


def numeric_names(schema: Schema) -> list[str]:
    return [a.name for a in schema.modelled if a.intervals is not None]


def numeric_column(original: Floats, synthetic: Floats, unit: str | None) -> NumericColumn:
    distance = wasserstein(original[np.isfinite(original)], synthetic[np.isfinite(synthetic)])
    return NumericColumn(spread(original), spread(synthetic), distance, unit)


def moment(attribute: Attribute, value: float) -> str | None:
    """Return the text of a date or time, a mean rounded to one; None for plain numbers."""
    domain = attribute.ordered
    return None if domain.scale.arithmetic else domain.show(round(value))


def spread(values: Floats) -> ColumnDescription:
    present = values[np.isfinite(values)]
    missing = 1 - len(present) / len(values)
    if not len(present):
        return ColumnDescription(missing, None, None, ())
    sd = float(present.std(ddof=1)) if len(present) > 1 else 0.0
    return ColumnDescription(missing, float(present.mean()), sd, tuple(np.quantile(present, QUANTILES).tolist()))


def wasserstein(x: Floats, y: Floats) -> float | None:
    """Return ∫|F − G|, exactly; None where a column holds no number at all."""
    if not len(x) or not len(y):
        return None
    x, y = np.sort(x), np.sort(y)
    every = np.sort(np.concatenate([x, y]))
    below_x = np.searchsorted(x, every[:-1], side="right") / len(x)
    below_y = np.searchsorted(y, every[:-1], side="right") / len(y)
    return float((np.abs(below_x - below_y) * np.diff(every)).sum())


# -- copies ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matches(CustodianFigures):
    """How often a row has an exact twin among real rows.

    `rate` is of synthetic rows among all real rows. A fresh sample matches too: `expected` is how often one half of
    the real rows has a twin in the other half, and `rate_in_half` is of synthetic rows in that same half.
    """

    rate: float
    rate_in_half: float
    expected: float

    def as_json(self) -> dict[str, Any]:
        return {"rate": self.rate, "rate_in_half": self.rate_in_half, "expected": self.expected}


def matches(columns: Sequence[tuple[NDArray[Any], NDArray[Any]]], seed: int = SEED) -> Matches:
    """Return the shares of rows that match. `columns` holds each column twice, real and synthetic."""
    real, synthetic = _row_keys(columns)
    order = seeded_generator(seed).permutation(len(real))
    half, rest = real[order[: len(real) // 2]], real[order[len(real) // 2 :]]
    return Matches(_share(synthetic, real), _share(synthetic, half), _share(rest, half))


def paired_columns(
    original: ExactTable, synthetic: ExactTable, numbers: Mapping[str, tuple[Floats, Floats]]
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return each column of both tables: these numbers as they were written, codes for the rest."""
    names = original.schema.names
    return [numbers[n] if n in numbers else (original.codes(n), synthetic.codes(n)) for n in names]


def _row_keys(columns: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each row, the same for equal rows of either table."""
    split = len(columns[0][0])
    keys = np.zeros(split + len(columns[0][1]), dtype=np.int64)
    for real, synthetic in columns:
        both = np.concatenate([real, synthetic]).astype(np.float64)
        values, place = np.unique(np.where(np.isnan(both), np.inf, both), return_inverse=True)
        _, keys = np.unique(keys * len(values) + place, return_inverse=True)
    return keys[:split], keys[split:]


def _share(rows: NDArray[np.int64], among: NDArray[np.int64]) -> float:
    return float(np.isin(rows, among).mean()) if len(rows) else 0.0
