"""The size law: how far a table that was not measured is from the model's, beyond noise and the chance of whole rows.

The size of a table is Σ|c − r| over the rows. Sizes of pairs follow a lognormal law with mean μ and spread s; those of
triples one with mean ρ·μ and a spread a little smaller. The three figures that a release bought (`methods.model_error`)
are the mean and the largest over pairs and the mean over triples, all with noise, and all with what noise and whole
rows explain (`known_distance`, from public things alone). (μ, s, ρ) has a posterior given them, on a grid: flat in μ,
and for s and ρ what tables usually have. Sizes are drawn from the posterior, so that a figure that noise hides widens
the intervals instead of misleading them. Where nothing was bought, sizes are those of tables with so few rows for their
epsilon: a rough guess, and intervals say so, but to leave it out would be to guess that the model leaves out nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TooLarge
from understudy.inference.refits import Refits, Released
from understudy.privacy.noise import NOISES, Laplace

Floats = NDArray[np.float64]
Known = Mapping[str, Floats]  # what noise and whole rows explain of compared tables, in rows, by "pairs" and "triples"
SPREADS = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)
USUAL_SPREAD = (1.2, 0.3)  # mean and standard deviation
RATIOS = (1.2, 1.5, 1.85, 2.2, 2.6)  # of the mean size of triples to that of pairs
USUAL_RATIO = (math.log(1.85), 0.2)
SPREAD_OF_TRIPLES = 0.8  # of the spread of pairs
UNBOUGHT_MOST = 0.6  # of a pair's size then
BEYOND = 1.5  # times the largest pair that was bought, with twice its noise: no pair is drawn larger
MEANS = np.linspace(0.08, 2.5, 32)  # of pairs, in units of what the bought figures say at first sight
MISFIT = 0.1  # of a predicted figure: the law is a rough one
MAX_SIZE = 1.5  # Σ|c − r| over the rows is at most 2
UNBOUGHT = (math.log(0.1), 0.8)  # of the logarithm of the pairs' mean size, where none was bought
TABLES = 40  # of the compared ones that the known part is worked out for
SIMULATED = 60  # sets of tables whose largest distance is worked out
_SEED = 26
_NORMAL = np.asarray([NormalDist().inv_cdf((i + 0.5) / 40) for i in range(40)])
_EXPONENTIAL = -np.log((np.arange(40) + 0.5) / 40)


@dataclass(frozen=True, eq=False)
class Size:
    """A mixture of lognormal laws, as shares of the rows: a mean, a spread and a weight for each."""

    means: Floats
    spreads: Floats
    weights: Floats
    most: float = MAX_SIZE

    @property
    def mean(self) -> float:
        """Return the mean size."""
        return float(self.weights @ self.means)

    @property
    def spread(self) -> float:
        """Return the mean spread of the logarithm."""
        return float(self.weights @ self.spreads)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw sizes; none is above `most`."""
        which = generator.choice(len(self.weights), count, p=self.weights)
        spread = self.spreads[which]
        drawn = self.means[which] * np.exp(spread * generator.standard_normal(count) - 0.5 * spread**2)
        return np.minimum(drawn, self.most)

    def times(self, factor: float) -> Size:
        """Return the law of sizes that are so many times as large."""
        return Size(np.minimum(self.means * factor, MAX_SIZE), self.spreads, self.weights, _capped(self.most * factor))


@dataclass(frozen=True)
class DiscrepancyLaw:
    """Sizes for pairs and for triples, as shares of the rows; larger tables grow as triples grew from pairs."""

    pairs: Size
    triples: Size

    def size(self, ways: int) -> Size:
        """Return the law of tables of so many attributes."""
        if ways <= 2:
            return self.pairs
        growth = min(2.0, max(1.0, self.triples.mean / max(self.pairs.mean, 1e-9)))
        return self.triples if ways == 3 else self.triples.times(growth ** (ways - 3))

    @staticmethod
    def of(release: Released, refits: Refits | None, known: Known | None = None) -> DiscrepancyLaw | None:
        """Fit the law to what the release bought; None where it bought nothing, or no table of the model to compare.

        `known` is what `known_distances` said of this release before.
        """
        bought = release.model_error
        if not bought:
            return None
        figures = {name: Bought.of(bought[name]) for name in ("pairs", "largest", "triples")}
        known = known or known_distances(release, refits)
        if not all(map(len, known.values())):
            return None
        return posterior(figures, known, int(bought["pairs"]["tables"]), release.rows)

    @staticmethod
    def usual() -> DiscrepancyLaw:
        """Return the law where nothing was bought: what tables usually have whose rows are too few to buy it."""
        means = np.exp(UNBOUGHT[0] + UNBOUGHT[1] * _NORMAL)
        spreads, weights = np.full(len(means), USUAL_SPREAD[0]), np.full(len(means), 1 / len(means))
        triples = Size(means * RATIOS[2], SPREAD_OF_TRIPLES * spreads, weights, UNBOUGHT_MOST * RATIOS[2])
        return DiscrepancyLaw(Size(means, spreads, weights, UNBOUGHT_MOST), triples)


@dataclass(frozen=True)
class Bought:
    """A bought figure in rows, the standard deviation of its noise, and whether that is Laplace noise."""

    rows: float
    deviation: float
    laplace: bool = False

    @staticmethod
    def of(figure: Mapping[str, Any]) -> Bought:
        """Read a figure as the release file has it."""
        noise = NOISES[figure["noise"]](figure["scale"])
        return Bought(float(figure["rows"]), math.sqrt(noise.variance), isinstance(noise, Laplace))

    def likelihood(self, predicted: Floats, more: Floats | float = 0.0) -> Floats:
        """Return the log likelihood of each predicted figure; `more` is a standard deviation beside the noise.

        Laplace noise is normal noise of a variance that is exponential itself: a figure far off says less.
        """
        beside = (MISFIT * predicted) ** 2 + np.square(more) + 1e-9
        noise = self.deviation**2 * (_EXPONENTIAL if self.laplace else np.ones(1))
        variance = beside[:, None] + noise
        logs = -0.5 * ((predicted - self.rows)[:, None] ** 2 / variance + np.log(variance))
        most = logs.max(axis=1)
        return np.asarray(most + np.log(np.exp(logs - most[:, None]).mean(axis=1)))


def posterior(figures: Mapping[str, Bought], known: Mapping[str, Floats], count: int, rows: int) -> DiscrepancyLaw:
    """Return the law of sizes given the bought figures and the known parts of the tables, both in rows."""
    pairs, triples = figures["pairs"], figures["triples"]
    unit = max(pairs.rows, triples.rows / RATIOS[2], pairs.deviation)
    means = unit * MEANS
    spreads, ratios = np.asarray(SPREADS), np.asarray(RATIOS)
    logs = np.empty((len(means), len(spreads), len(ratios)))
    for j, spread in enumerate(SPREADS):
        one, largest, chance = _predicted(known["pairs"], means, spread, max(2, count))
        own = pairs.likelihood(one) + figures["largest"].likelihood(largest, chance)
        for k, ratio in enumerate(RATIOS):
            two = _mean_distance(known["triples"], ratio * means, SPREAD_OF_TRIPLES * spread)
            logs[:, j, k] = own + triples.likelihood(two) + _usual(spread, ratio)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    grid_means, grid_spreads, grid_ratios = np.meshgrid(means / rows, spreads, ratios, indexing="ij")
    flat = weights.ravel()
    bound = figures["largest"].rows + 2 * figures["largest"].deviation
    most = _capped(BEYOND * max(0.0, bound) / rows)
    of_pairs = Size(np.minimum(grid_means.ravel(), MAX_SIZE), grid_spreads.ravel(), flat, most)
    means_of_three = np.minimum((grid_means * grid_ratios).ravel(), MAX_SIZE)
    spreads_of_three = SPREAD_OF_TRIPLES * grid_spreads.ravel()
    return DiscrepancyLaw(of_pairs, Size(means_of_three, spreads_of_three, flat, _capped(most * RATIOS[-1])))


def _capped(size: float) -> float:
    return min(size, MAX_SIZE)


def _usual(spread: float, ratio: float) -> float:
    """Return the log of what is known of spreads and ratios beforehand."""
    by_spread = (spread - USUAL_SPREAD[0]) / USUAL_SPREAD[1]
    by_ratio = (math.log(ratio) - USUAL_RATIO[0]) / USUAL_RATIO[1]
    return -0.5 * (by_spread**2 + by_ratio**2)


def _mean_distance(known: Floats, means: Floats, spread: float) -> Floats:
    """Return the mean distance of tables with these known parts, for each mean size."""
    unit = np.exp(spread * _NORMAL - 0.5 * spread**2)
    return np.asarray([np.hypot(known[:, None], mean * unit).mean() for mean in means])


def _predicted(known: Floats, means: Floats, spread: float, count: int) -> tuple[Floats, Floats, Floats]:
    """Return the mean distance of so many tables, the middle of their largest one, and its standard deviation."""
    generator = np.random.default_rng(_SEED)
    parts = generator.choice(known, (SIMULATED, count))
    unit = np.exp(spread * generator.standard_normal((SIMULATED, count)) - 0.5 * spread**2)
    largest = np.asarray([np.hypot(parts, mean * unit).max(axis=1) for mean in means])
    return _mean_distance(known, means, spread), np.median(largest, axis=1), largest.std(axis=1)


def known_distances(release: Released, refits: Refits | None) -> Known:
    """Return the known parts of the tables that the release compared, by "pairs" and "triples"; none if it did not."""
    compared = (release.model_error or {}).get("compared", {})
    return {ways: _known(release, refits, tables) for ways, tables in compared.items()}


def _known(release: Released, refits: Refits | None, tables: Sequence[Sequence[str]]) -> Floats:
    """Return what noise and whole rows explain of the distances of some of the compared tables, in rows.

    A table that would take too much to work out was compared as a flat one, and is left out.
    """
    found = []
    for names in tables[:: max(1, len(tables) // TABLES)]:
        with suppress(TooLarge):
            found.append(known_distance(release, refits, names))
    return np.asarray(found)


def known_distance(release: Released, refits: Refits | None, names: Sequence[str]) -> float:
    """Return Σ|c − r| as far as noise and the chance of whole rows explain it, in rows."""
    own = release.rows * release.model.project(names).table
    free = 1 - (1 + sum(size - 1 for size in own.shape)) / own.size
    chance = math.sqrt(free) * float(np.minimum(math.sqrt(2 / math.pi) * np.sqrt(own), 2 * own).sum())
    if refits is None:
        return chance
    noise = [np.abs(release.rows * table - own).sum() for table in refits.project(names)[:5]]
    return math.hypot(chance, float(np.mean(noise)))
