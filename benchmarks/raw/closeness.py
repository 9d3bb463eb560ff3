"""What a reader of the synthetic file would notice: distances between two raw tables at the resolution of their cells.

Every figure is exact and of both whole tables: for public data sets in a benchmark only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from understudy.schema import Attribute, Intervals, Schema

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
DECILES = np.arange(1, 10) / 10
QUANTILES = np.asarray([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
ROUND = (1000, 500, 100, 50, 10, 5)  # classes of rounded values, in units of a column's last decimal
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"([+-]?)\d*(?:\.(\d*))?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Column:
    """One column of one table: its texts, and numbers where it is ordered (NaN where missing)."""

    attribute: Attribute
    texts: NDArray[np.object_]
    values: Floats | None

    @property
    def absent(self) -> NDArray[np.bool_]:
        if self.values is not None:
            return np.isnan(self.values)
        return np.isin(self.texts, list(self.attribute.missing))

    @property
    def present(self) -> Floats:
        assert self.values is not None
        return self.values[~np.isnan(self.values)]


@dataclass(frozen=True)
class Pair:
    """The same column in the real and in the synthetic table."""

    real: Column
    made: Column

    @property
    def name(self) -> str:
        return self.real.attribute.name

    @property
    def ordered(self) -> bool:
        return self.real.values is not None

    def codes(self) -> tuple[Codes, Codes, int]:
        """Return codes of both columns on the same cells: real deciles, or texts; missing is a cell of its own."""
        if self.ordered:
            edges = np.unique(np.quantile(self.real.present, DECILES)) if len(self.real.present) else np.empty(0)
            real, made = (_cut(column.values, edges) for column in (self.real, self.made))
            return real, made, len(edges) + 2
        texts = np.concatenate([_settled(self.real), _settled(self.made)])
        levels, codes = np.unique(texts, return_inverse=True)
        return codes[: len(self.real.texts)], codes[len(self.real.texts) :], len(levels)


def _cut(values: Floats | None, edges: Floats) -> Codes:
    assert values is not None
    codes = np.searchsorted(edges, values, side="left")
    return np.where(np.isnan(values), len(edges) + 1, codes)


def _settled(column: Column) -> NDArray[np.str_]:
    return np.where(column.absent, "\0", column.texts).astype(str)


def columns(frame: pd.DataFrame, schema: Schema) -> dict[str, Column]:
    """Return the modelled columns of a table that was read as text."""
    return {a.name: _column(frame[a.name].to_numpy(dtype=object), a) for a in schema.modelled}


def _column(texts: NDArray[np.object_], attribute: Attribute) -> Column:
    if not isinstance(attribute.domain, Intervals):
        return Column(attribute, texts, None)
    levels, place = np.unique(texts.astype(str), return_inverse=True)
    missing = set(attribute.missing)
    numbers = np.asarray([np.nan if t in missing else attribute.domain.parse(t) for t in levels.tolist()])
    return Column(attribute, texts, numbers[place])


def pairs_of(real: pd.DataFrame, made: pd.DataFrame, schema: Schema) -> list[Pair]:
    left, right = columns(real, schema), columns(made, schema)
    return [Pair(left[name], right[name]) for name in left]


def measures(real: pd.DataFrame, made: pd.DataFrame, schema: Schema) -> dict[str, float]:
    """Return all figures but those of classifiers."""
    both = pairs_of(real, made, schema)
    numbers = [pair for pair in both if pair.ordered and len(pair.real.present)]
    two_way, association = _joint(both)
    return {
        "w1": _mean(wasserstein(p.real.present, p.made.present) / _spread(p.real.present) for p in numbers),
        "ks": _mean(kolmogorov(p.real.present, p.made.present) for p in numbers),
        "quantiles": _mean(_quantile_error(p) for p in numbers),
        "sd": _mean(_log_spread(p) for p in numbers),
        "pairs": two_way,
        "association": association,
        "zeros": _mean(_zeros(p) for p in numbers if (p.real.present == 0).any()),
        "missing": _mean(abs(p.real.absent.mean() - p.made.absent.mean()) for p in both if p.real.attribute.missing),
        "missing_pairs": _missing_together(both),
        "rounding": _mean(_rounding(p) for p in numbers),
        "format": _mean(_format(p) for p in both),
    }


def _mean(values: Iterator[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else 0.0


def _spread(values: Floats) -> float:
    return float(values.std()) or 1.0


def wasserstein(x: Floats, y: Floats) -> float:
    """Return ∫|F − G|; where a column came back empty, the real one's mean distance from its median."""
    if not len(y):
        return float(np.abs(x - np.median(x)).mean())
    below_x, below_y, every = _distributions(x, y)
    return float((np.abs(below_x - below_y)[:-1] * np.diff(every)).sum())


def kolmogorov(x: Floats, y: Floats) -> float:
    """Return the largest |F − G|."""
    if not len(y):
        return 1.0
    below_x, below_y, _ = _distributions(x, y)
    return float(np.abs(below_x - below_y).max())


def _distributions(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    every = np.unique(np.concatenate([x, y]))
    below_x = np.searchsorted(np.sort(x), every, side="right") / len(x)
    below_y = np.searchsorted(np.sort(y), every, side="right") / len(y)
    return below_x, below_y, every


def _quantile_error(pair: Pair) -> float:
    if not len(pair.made.present):
        return 1.0
    apart = np.quantile(pair.real.present, QUANTILES) - np.quantile(pair.made.present, QUANTILES)
    return float(np.abs(apart).mean() / _spread(pair.real.present))


def _log_spread(pair: Pair) -> float:
    """Return how many times too large or too small the standard deviation is, as a logarithm."""
    if not len(pair.made.present) or not (made := pair.made.present.std()):
        return 1.0
    return float(abs(np.log(made / _spread(pair.real.present))))


def _zeros(pair: Pair) -> float:
    shares = [(c.values == 0).mean() for c in (pair.real, pair.made) if c.values is not None]
    return float(abs(shares[0] - shares[1]))


# -- pairs ---------------------------------------------------------------------------------------------------


def _joint(both: list[Pair]) -> tuple[float, float]:
    """Return the mean TVD over all pairs, and the mean absolute difference of the association matrices.

    Association is Spearman's correlation between two ordered columns, and else Cramér's V of the cells.
    """
    coded = {pair.name: pair.codes() for pair in both}
    ranks = {p.name: (_ranks(p.real.values), _ranks(p.made.values)) for p in both if p.ordered}
    distances, differences = [], []
    for one, two in combinations([pair.name for pair in both], 2):
        real, made = (_table(coded[one], coded[two], side) for side in (0, 1))
        distances.append(np.abs(real - made).sum() / 2)
        if one in ranks and two in ranks:
            spearman = [_correlation(ranks[one][side], ranks[two][side]) for side in (0, 1)]
            differences.append(abs(spearman[0] - spearman[1]))
        else:
            differences.append(abs(_cramer(real) - _cramer(made)))
    return float(np.mean(distances)), float(np.mean(differences))


def _table(one: tuple[Codes, Codes, int], two: tuple[Codes, Codes, int], side: int) -> Floats:
    first, second = (one[0], two[0]) if side == 0 else (one[1], two[1])
    counts = np.bincount(first * two[2] + second, minlength=one[2] * two[2]).reshape(one[2], two[2])
    return np.asarray(counts / max(1, len(first)))


def _cramer(shares: Floats) -> float:
    shares = shares[shares.sum(axis=1) > 0][:, shares.sum(axis=0) > 0]
    free = min(shares.shape) - 1
    if free < 1:
        return 0.0
    product = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return float(np.sqrt(((shares - product) ** 2 / product).sum() / free))


def _ranks(values: Floats | None) -> Floats:
    """Return mid-ranks; NaN stays NaN."""
    assert values is not None
    out = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    _, place, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    out[known] = (ends - (counts - 1) / 2)[place]
    return out


def _correlation(x: Floats, y: Floats) -> float:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if len(x) < 3 or not x.std() or not y.std():
        return 0.0
    return float(((x - x.mean()) * (y - y.mean())).mean() / (x.std() * y.std()))


def _missing_together(both: list[Pair]) -> float:
    """Return the mean absolute difference of the share of rows in which two columns are both missing."""
    kept = [pair for pair in both if pair.real.attribute.missing and pair.real.absent.any()]
    if len(kept) < 2:
        return 0.0
    real, made = (np.stack([getattr(p, side).absent for p in kept]).astype(float) for side in ("real", "made"))
    apart = real @ real.T / real.shape[1] - made @ made.T / made.shape[1]
    return float(np.abs(apart[np.triu_indices(len(kept), 1)]).mean())


# -- the look of a cell --------------------------------------------------------------------------------------


def _rounding(pair: Pair) -> float:
    """Return the TVD between how often values of both columns are round, class by class."""
    decimals = max((_decimals(t) for t in np.unique(pair.real.texts.astype(str))), default=0)
    classes = [_classes(c.present, decimals) for c in (pair.real, pair.made)]
    return float(np.abs(classes[0] - classes[1]).sum() / 2)


def _classes(values: Floats, decimals: int) -> Floats:
    units = np.round(values * 10.0**decimals).astype(np.int64)
    found = np.full(len(units), len(ROUND))
    for index in reversed(range(len(ROUND))):
        found[units % ROUND[index] == 0] = index
    found[units == 0] = len(ROUND) + 1
    return np.bincount(found, minlength=len(ROUND) + 2) / max(1, len(units))


def _decimals(text: str) -> int:
    match = _NUMBER.fullmatch(text)
    return len(match[2] or "") if match else 0


def _format(pair: Pair) -> float:
    """Return the share of synthetic cells that are written as some cell of the real column is."""
    known = {_look(t, pair.real.attribute) for t in np.unique(pair.real.texts.astype(str))}
    levels, counts = np.unique(pair.made.texts.astype(str), return_counts=True)
    fits = np.asarray([_look(t, pair.real.attribute) in known for t in levels])
    return float(counts[fits].sum() / max(1, counts.sum()))


def _look(text: str, attribute: Attribute) -> str:
    """Return sign and number of decimals of a number, the pattern of a date, or the text itself."""
    if text in attribute.missing or attribute.kind not in ("integer", "number", "date", "datetime"):
        return text
    if attribute.kind in ("date", "datetime"):
        return _DIGIT.sub("9", text)
    match = _NUMBER.fullmatch(text)
    return f"{match[1]}.{len(match[2] or '')}" if match else text
