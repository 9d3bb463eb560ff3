"""The study behind docs/decisions/0017-noisy-tree.md: one column, one price, and how far the shape is from the rows.

    python benchmarks/raw/tree_study.py methods      the tree beside other ways to spend the same price
    python benchmarks/raw/tree_study.py sweep NAME   one constant of the tree after the other (see SWEEPS)
    python benchmarks/raw/tree_study.py stages       the tree alone, or a cheaper one and a table on its cells

Noise is floating-point here: this is a simulation on generated or public columns, not a release.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from noisy_tree import (
    Cells,
    Estimates,
    Floats,
    Range,
    Settling,
    Tree,
    Units,
    cells_of,
    cells_wanted,
    gathered_upwards,
    nearest_counts,
    settled,
    tree_of,
    unit_masses,
    units_of,
)
from shapes import SHAPES, Shape

SIZES = (300, 3_000, 30_000, 300_000)
ATTRIBUTES = 15
ONE_WAY = 0.2  # of the budget, for all one-way tables together
DELTA = 1e-6
POINTS = 20_000  # quantiles that stand for a released distribution


# -- prices --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """What one attribute may cost: rho under zCDP and add-remove, or epsilon under replace-one."""

    name: str
    cost: float
    pure: bool

    @staticmethod
    def of(epsilon: float, pure: bool) -> Price:
        if pure:
            return Price(f"pure {epsilon:g}", epsilon * ONE_WAY / ATTRIBUTES, True)
        log = math.log(1 / DELTA)
        rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
        return Price(f"zCDP {epsilon:g}", rho * ONE_WAY / ATTRIBUTES, False)

    def scale(self, share: float) -> float:
        """Return the noise scale of a table of counts that gets this share: sigma, or the Laplace scale."""
        return 2 / (self.cost * share) if self.pure else math.sqrt(1 / (2 * self.cost * share))

    def variance(self, share: float) -> float:
        return 2 * self.scale(share) ** 2 if self.pure else self.scale(share) ** 2

    def noise(self, share: float, cells: int, generator: np.random.Generator) -> Floats:
        if self.pure:
            return generator.laplace(0, self.scale(share), cells)
        return generator.normal(0, self.scale(share), cells)

    def epsilon(self, share: float) -> float:
        """Return the epsilon of a pure mechanism under add-remove at this share (an epsilon is epsilon²/2-zCDP)."""
        return self.cost * share / 2 if self.pure else math.sqrt(2 * self.cost * share)


PRICES = (Price.of(1, False), Price.of(4, False), Price.of(1, True), Price.of(4, True))


# -- a released distribution ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Density:
    """Masses of consecutive pieces [low, high), flat inside; whole steps where there is a step."""

    low: Floats
    high: Floats
    mass: Floats
    step: float

    def quantiles(self, count: int = POINTS) -> Floats:
        """Return evenly spaced quantiles: the released distribution without the noise of sampling."""
        mass = np.maximum(self.mass, 0.0)
        if not mass.sum():
            mass = np.ones(len(mass))
        kept = mass > 0
        low, high, ends = self.low[kept], self.high[kept], np.cumsum(mass[kept] / mass.sum())
        begins = np.concatenate([[0.0], ends[:-1]])
        at = (np.arange(count) + 0.5) / count
        piece = np.clip(np.searchsorted(ends, at), 0, len(ends) - 1)
        inside = (at - begins[piece]) / np.maximum(ends[piece] - begins[piece], 1e-300)
        values = low[piece] + np.clip(inside, 0, 1 - 1e-12) * (high[piece] - low[piece])
        if self.step:
            origin = low[piece]
            values = origin + np.floor((values - origin) / self.step + 1e-9) * self.step
        return np.sort(values)


def of_leaves(tree: Tree, mass: Floats) -> Density:
    units = tree.units
    last = np.append(tree.starts[-1][1:], len(units)) - 1
    return Density(units.low[tree.starts[-1]], units.high[last], mass, units.span.step)


def distances(real: Floats, made: Floats) -> tuple[float, float, float]:
    """Return W1 in standard deviations, KS, and the mean error of ranks at the real deciles."""
    every = np.unique(np.concatenate([real, made]))
    below_real = np.searchsorted(real, every, side="right") / len(real)
    below_made = np.searchsorted(made, every, side="right") / len(made)
    apart = np.abs(below_real - below_made)
    w1 = float((apart[:-1] * np.diff(every)).sum() / (real.std() or 1.0))
    cuts = np.unique(np.quantile(real, np.arange(1, 10) / 10))
    shares = [np.diff(np.searchsorted(v, cuts, side="right") / len(v), prepend=0, append=1) for v in (real, made)]
    return w1, float(apart.max()), float(np.abs(shares[0] - shares[1]).sum() / 2)


# -- the tree ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Design:
    """All constants of the tree."""

    first: int = 4  # nodes of the first level
    fanout: int = 4
    depth: int | None = None  # None: by the rule
    deepest: float = 1.0  # times rows over the noise of a one-way count: as many leaves, or the next power
    deepest_pure: float = 0.25  # where epsilons of levels add up
    least: int = 16  # leaves in any case
    single: float = 64.0  # pure: with less rows over noise than this, one level of 16 nodes
    linear: float = 0.5
    zero: float = 0.05
    end: float = 0.01
    other: float = 0.0005
    peak: float = 64.0  # cells of the level that costs most
    ratio: float = 0.7  # of the price of a level to that of the one nearer to the peak
    settling: Settling = field(default_factory=Settling)
    points: bool = True
    alone: int = 256

    def sizes(self, rows: float, price: Price, units: Units) -> tuple[int, ...]:
        """Return how many nodes each level has: a public rule on rows and price."""
        deepest = self.deepest_pure if price.pure else self.deepest
        most = min(max(self.least, deepest * rows / math.sqrt(price.variance(1.0))), len(units), 16_384)
        if price.pure and rows / math.sqrt(price.variance(1.0)) < self.single:
            return (self.least,)
        found = [self.first]
        while (len(found) < self.depth) if self.depth else found[-1] < most:
            found.append(found[-1] * self.fanout)
        return tuple(found)

    def shares(self, sizes: Sequence[int]) -> Floats:
        """Return the part of the price that each level gets."""
        far = [abs(math.log(size / self.peak, self.fanout)) for size in sizes]
        weights = np.asarray([self.ratio**away for away in far])
        return np.asarray(weights / weights.sum())


_UNITS: dict[Any, Units] = {}
_TREES: dict[Any, Tree] = {}


def units_for(span: Range, design: Design) -> Units:
    key = (span, design.linear, design.zero, design.end, design.other, design.points)
    if key not in _UNITS:
        points = None if design.points else np.empty(0)
        _UNITS[key] = units_of(span, 16_384, design.linear, design.zero, design.end, design.other, points)
    return _UNITS[key]


def tree_for(span: Range, design: Design, sizes: tuple[int, ...]) -> Tree:
    units = units_for(span, design)
    key = (id(units), sizes, design.alone)
    if key not in _TREES:
        _TREES[key] = tree_of(units, sizes, design.alone)
    return _TREES[key]


def measured(values: Floats, span: Range, price: Price, design: Design, generator: np.random.Generator) -> Estimates:
    """Return what the noisy tree says of all nodes."""
    units = units_for(span, design)
    sizes = design.sizes(len(values), price, units)
    tree, shares = tree_for(span, design, sizes), design.shares(sizes)
    counts = tree.counts(units.encode(values))
    noisy = [c + price.noise(s, len(c), generator) for c, s in zip(counts, shares)]
    return gathered_upwards(tree, noisy, [price.variance(s) for s in shares])


def by_tree(values: Floats, span: Range, price: Price, generator: np.random.Generator, design: Design) -> Density:
    found = measured(values, span, price, design, generator)
    return of_leaves(found.tree, settled(found, float(len(values)), design.settling))


@dataclass(frozen=True)
class Stages:
    """A tree for part of the price; the rest for one table of counts on its cells."""

    design: Design
    tree: float = 1 / 3  # of the price

    def __call__(self, values: Floats, span: Range, price: Price, generator: np.random.Generator) -> Density:
        first, rows = replace(price, cost=price.cost * self.tree), float(len(values))
        found = measured(values, span, first, self.design, generator)
        mass = unit_masses(found.tree, settled(found, rows, self.design.settling))
        wanted = cells_wanted(rows, math.sqrt(price.variance(1.0)))
        cells = cells_of(found.tree.units, mass, wanted, math.sqrt(price.variance(1 - self.tree)))
        counts = np.bincount(cells.encode(values), minlength=len(cells.first))
        noisy = counts + price.noise(1 - self.tree, len(counts), generator)
        return _refilled(cells, nearest_counts(noisy, rows))


def _refilled(cells: Cells, counts: Floats) -> Density:
    """Return the units with each cell's mass as it was measured, and its shape as the tree has it."""
    size = np.diff(np.append(cells.first, len(cells.units)))
    owner = np.repeat(np.arange(len(size)), size)
    weight = np.where(cells.counts[owner] > 0, cells.mass, cells.units.width + 1e-12)
    share = weight / np.add.reduceat(weight, cells.first)[owner]
    return Density(cells.units.low, cells.units.high, share * counts[owner], cells.units.span.step)


# -- other ways to spend the price ---------------------------------------------------------------------------


def equal_edges(span: Range, bins: int) -> Floats:
    high = span.high + span.step
    if span.values is not None and span.values <= bins:
        return span.low + span.step * np.arange(span.values + 1)
    edges = span.low + (high - span.low) * np.arange(bins + 1) / bins
    return np.ceil(edges / span.step) * span.step if span.step else edges


def by_equal_bins(values: Floats, span: Range, price: Price, generator: np.random.Generator) -> Density:
    """Twenty equal bins, one cell a value up to 100 values: what `init` drafts."""
    edges = equal_edges(span, 20 if span.values is None or span.values > 100 else span.values)
    counts = np.histogram(values, edges)[0] + price.noise(1.0, len(edges) - 1, generator)
    return Density(edges[:-1], edges[1:], np.maximum(counts, 0), span.step)


def by_equal_bins_and_halves(values: Floats, span: Range, price: Price, generator: np.random.Generator) -> Density:
    """The same with 0 as a point, and three halvings of each bin for half of the price."""
    edges = equal_edges(span, 20)
    zero = (values == 0) & (span.low <= 0)
    low, high, mass = [np.zeros(1)], [np.full(1, span.step)], [zero.sum() + price.noise(0.5, 1, generator)]
    counts = np.histogram(values[~zero], edges)[0] + price.noise(0.5, len(edges) - 1, generator)
    fine = np.concatenate([np.linspace(a, b, 9)[:-1] for a, b in pairwise(edges)] + [edges[-1:]])
    cells = np.histogram(values[~zero], fine)[0].astype(float)
    share = np.maximum(counts, 0.0)
    for _ in range(3):  # details of three levels at equal price; sensitivity of a level is that of a table
        half = cells.reshape(len(share) * 2, -1).sum(axis=1)
        noisy = half[::2] - half[1::2] + price.noise(0.5 / 3, len(share), generator)
        spread = max(0.0, (noisy**2 - price.variance(0.5 / 3)).sum() / max(1.0, (share**2).sum()))
        kept = spread * share**2 / np.maximum(spread * share**2 + price.variance(0.5 / 3), 1e-300)
        left = (share + np.clip(kept * noisy, -share, share)) / 2
        share = np.stack([left, share - left], axis=1).ravel()
    low.append(fine[:-1]), high.append(fine[1:]), mass.append(share)
    keep = slice(0 if span.low <= 0 <= span.high else 1, None)
    parts = [np.concatenate(part[keep]) for part in (low, high, mass)]
    order = np.argsort(parts[0], kind="stable")
    return Density(*(part[order] for part in parts), step=span.step)  # type: ignore[misc]


def by_quantiles(values: Floats, span: Range, price: Price, generator: np.random.Generator) -> Density:
    """Sixteen private quantiles (exponential mechanism on 4,096 places) for half of the price, then their counts."""
    places = np.linspace(span.low, span.high, 4_097)[1:-1]
    cuts = _median_cuts(np.sort(values), places, 4, price.epsilon(0.5 / 4), generator)
    edges = np.unique(np.concatenate([[span.low], cuts, [span.high + span.step]]))
    edges = np.unique(np.ceil(edges / span.step) * span.step) if span.step else edges
    counts = np.histogram(values, edges)[0] + price.noise(0.5, len(edges) - 1, generator)
    return Density(edges[:-1], edges[1:], np.maximum(counts, 0), span.step)


def _median_cuts(ordered: Floats, places: Floats, levels: int, epsilon: float, g: np.random.Generator) -> list[float]:
    if not levels or not len(places):
        return []
    rank = np.searchsorted(ordered, places)
    score = -np.abs(rank - len(ordered) / 2) * epsilon / 2
    cut = places[int(np.argmax(score + g.gumbel(size=len(score))))]
    left = _median_cuts(ordered[ordered < cut], places[places < cut], levels - 1, epsilon, g)
    return [*left, cut, *_median_cuts(ordered[ordered >= cut], places[places > cut], levels - 1, epsilon, g)]


def by_privtree(values: Floats, span: Range, price: Price, generator: np.random.Generator) -> Density:
    """PrivTree with two children (Zhang, Xiao, Xie 2016) for half of the price, then counts of its leaves."""
    scale = 3 / price.epsilon(0.5)
    decay, ordered = scale * math.log(2), np.sort(values)
    leaves, queue = [], [(span.low, span.high + span.step, 0)]
    while queue:
        low, high, depth = queue.pop()
        inside = np.searchsorted(ordered, high) - np.searchsorted(ordered, low)
        biased = max(inside - depth * decay, -decay)
        middle = (low + high) / 2
        if span.step:
            middle = math.ceil(middle / span.step) * span.step
        if depth < 16 and low < middle < high and biased + generator.laplace(0, scale) > 0:
            queue += [(low, middle, depth + 1), (middle, high, depth + 1)]
        else:
            leaves.append((low, high))
    leaves.sort()
    edges = np.asarray([leaf[0] for leaf in leaves] + [leaves[-1][1]])
    counts = np.histogram(values, edges)[0] + price.noise(0.5, len(leaves), generator)
    return Density(edges[:-1], edges[1:], np.maximum(counts, 0), span.step)


# -- trials --------------------------------------------------------------------------------------------------

Maker = Callable[[Floats, Range, Price, np.random.Generator], Density]


def trial(shape: Shape, rows: int, price: Price, make: Maker, run: int) -> tuple[float, float, float]:
    generator = np.random.default_rng([run, rows, _number(shape.name)])
    values = shape.sample(rows, generator)
    made = make(values, shape.span, price, generator).quantiles()
    return distances(_thinned(np.sort(values)), made)


def _thinned(ordered: Floats) -> Floats:
    """Return evenly spaced order statistics where there are very many rows."""
    if len(ordered) <= 2 * POINTS:
        return ordered
    return ordered[(np.arange(POINTS) * 2 + 1) * len(ordered) // (2 * POINTS)]


def _number(name: str) -> int:
    return sum(ord(c) * (i + 1) for i, c in enumerate(name))


def table(
    makers: dict[str, Maker], runs: int, sizes: Iterable[int] = SIZES, prices: Iterable[Price] = PRICES,
    shapes: Iterable[Shape] = SHAPES,
) -> dict[str, Floats]:  # fmt: skip
    """Return for each maker an array over shapes, sizes, prices, runs and the three measures."""
    out = {}
    for name, make in makers.items():
        out[name] = np.asarray(
            [[[[trial(s, n, p, make, r) for r in range(runs)] for p in prices] for n in sizes] for s in shapes]
        )
    return out


def report(found: dict[str, Floats], prices: Iterable[Price] = PRICES) -> None:
    """Print geometric means over shapes and runs, by size and price, and over all."""
    names = [p.name for p in prices]
    print("\ngeometric mean of the three measures over everything, ± its standard deviation between runs")
    for name, values in found.items():
        by_run = np.exp(np.log(np.maximum(values, 1e-5)).mean(axis=(0, 1, 2, 4)))
        print(f"{name:28s} {by_run.mean():.4f} ±{by_run.std(ddof=1) if len(by_run) > 1 else 0:.4f}")
    for index, measure in enumerate(("W1/sd", "KS", "deciles")):
        print(f"\n{measure:28s} all   |" + " ".join(f"{n}:" + " " * 22 for n in names))
        for name, values in found.items():
            logs = np.log(np.maximum(values[..., index], 1e-5)).mean(axis=(0, 3))  # sizes × prices
            by = "  ".join(
                " ".join(f"{np.exp(logs[s, p]):.3f}" for s in range(logs.shape[0])) for p in range(len(names))
            )
            print(f"{name:28s} {np.exp(logs.mean()):.4f} | {by}", flush=True)


STAGES = {"tree alone": None, **{f"tree {s:.2f}, then its cells": s for s in (0.2, 1 / 3, 0.5, 2 / 3)}}


def stage_makers() -> dict[str, Maker]:
    return {name: tree_maker(BASE) if s is None else Stages(BASE, s) for name, s in STAGES.items()}


def tree_maker(design: Design) -> Maker:
    return lambda values, span, price, generator: by_tree(values, span, price, generator, design)


OTHERS: dict[str, Maker] = {
    "20 equal bins": by_equal_bins,
    "equal bins, zero, halves": by_equal_bins_and_halves,
    "quantile bins": by_quantiles,
    "PrivTree": by_privtree,
}
BASE = Design()


def sweeps() -> dict[str, dict[str, Design]]:
    """Return the constants that are varied, one at a time."""
    s = BASE.settling

    def of(**changes: Any) -> Design:
        return replace(BASE, **changes)

    def settling(**changes: Any) -> Design:
        return replace(BASE, settling=replace(s, **changes))

    return {
        "fanout": {f"fanout {f}": of(fanout=f, first=f) for f in (2, 3, 4, 6, 8)},
        "first": {f"first level of {f}": of(first=f) for f in (4, 8, 16, 32)},
        "deepest": {f"leaves ≥ {d:g} n/σ": of(deepest=d, deepest_pure=d / 4) for d in (0.25, 0.5, 1, 2, 4, 16)},
        "single": {f"one level below n/σ = {x}": of(single=x) for x in (0, 20, 64, 200)},
        "linear": {f"linear part {a:g}": of(linear=a) for a in (0.1, 0.3, 0.5, 0.7, 1.0)},
        "zero": {f"mass of zero {z:g}": of(zero=z) for z in (0.0005, 0.02, 0.05, 0.1, 0.2)},
        "peak": {f"peak {p:g}, ratio {r:g}": of(peak=p, ratio=r) for p in (4, 16, 64) for r in (0.5, 0.7, 1.0)},
        "coarse": {f"{c} sparse levels": settling(coarse=c) for c in (0, 1, 2, 3, 4)},
        "small": {f"empty below {c:g} σ": settling(small=c) for c in (0, 1, 1.5, 2, 3)},
        "filled": {f"sparse below {c:g} filled": settling(filled=c) for c in (0.5, 0.75, 1.0, 2.0)},
        "sure": {f"sparse from {c:g} σ": settling(sure=c) for c in (0, 2, 3, 4, 6, 10)},
        "stein": {f"stein {c:g}": settling(stein=c) for c in (0, 0.5, 1, 2, 3)},
        "flat": {f"flat by {f}": settling(flat=f) for f in ("width", "prior")},
        "alone": {f"points alone from {a:g} leaves": of(alone=a) for a in (4, 64, 256, 1024, 10**9)},
        "points": {f"points {b}": of(points=b) for b in (True, False)},
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["methods", "sweep", "shapes", "stages"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    asked = parser.parse_args()
    if asked.what == "methods":
        report(table(OTHERS | {"tree": tree_maker(BASE)}, asked.runs, asked.sizes))
    elif asked.what == "stages":
        report(table(stage_makers(), asked.runs, asked.sizes))
    elif asked.what == "shapes":
        found = table(OTHERS | {"tree": tree_maker(BASE)}, asked.runs, asked.sizes)
        for i, shape in enumerate(SHAPES):
            print(f"\n== {shape.name}")
            report({k: v[i : i + 1] for k, v in found.items()})
    else:
        for name in asked.names or sweeps():
            print(f"\n=== {name}")
            report(table({k: tree_maker(d) for k, d in sweeps()[name].items()}, asked.runs, asked.sizes))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
