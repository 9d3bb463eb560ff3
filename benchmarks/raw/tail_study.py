"""Single columns, many times: the tree, the bins, the one-way table and the refit that a publication makes of one.

    python benchmarks/raw/tail_study.py [8000x24 30000x15 ma2019 covid_testing …] [--promise pure] [--epsilon 4]
                                        [--runs 20] [--variants base "understudy.models.tails:TOGETHER=1.5"]

`8000x24` are the generated shapes, each as a column of a table of 8,000 rows and 24 columns; a name is a raw table, of
which every ordered column is taken alone. A column pays what it would pay in its whole table. All variants see the
same noise; the first one is the earlier rule of tails. Each cell is W1, KS, quantile error and |ln| of the ratio of
standard deviations, and after it a sign for each: `*` better and `!` worse than the first by two standard errors.
The study behind docs/decisions/0040-far-tails.md. Noise is floating-point and seeded here: nothing is a release.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from closeness import QUANTILES, columns, kolmogorov, wasserstein
from few_rows import constants
from numpy.typing import NDArray
from run import PROMISES
from tables import RawTable, read_texts

from understudy.methods.binned import Trees
from understudy.methods.looks import looked_cost, unsure_units
from understudy.models.edition import Edition
from understudy.models.noisy_tree import NoisyTree
from understudy.models.refit import Design, refit
from understudy.models.spikes import Look, cells_of, standing_out, units_of
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement, Noise, table_noise
from understudy.privacy.noise import Laplace
from understudy.schema import Axis, Schema
from understudy.schema.files import schema_from_dict

Floats = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Any]
SINGLE = Fraction(1, 4)  # of what trees leave, for one-way tables
DRAWN = 20_000  # evenly spaced quantiles that stand for the synthetic column
EARLIER = "earlier"
looks = 0  # how often leaves were looked into
MONEY, LONG = {"kind": "integer", "range": [0, 1_000_000]}, {"kind": "integer", "range": [0, 99_999]}


def _some(share: float, values: Any, n: int, g: np.random.Generator) -> Any:
    """Return zeros, and values in this share of the rows."""
    return np.where(g.random(n) < share, values, 0)


SHAPES: dict[str, tuple[dict[str, Any], Draw]] = {
    "lognormal and 0": (MONEY, lambda n, g: _some(0.8, g.lognormal(10, 0.9, n), n, g)),
    "exponential": ({"kind": "number", "range": [0, 100], "decimals": 2}, lambda n, g: g.exponential(4, n)),
    "exponential, long": ({"kind": "number", "range": [0, 2000], "decimals": 2}, lambda n, g: g.exponential(4, n)),
    "Pareto 2.5": ({"kind": "integer", "range": [0, 100_000]}, lambda n, g: 200 * g.pareto(2.5, n)),
    "Pareto 1.5": (MONEY, lambda n, g: 200 * g.pareto(1.5, n)),
    "95 % zeros": (LONG, lambda n, g: _some(0.05, g.lognormal(8.3, 0.9, n), n, g)),
    "70 % zeros": (MONEY, lambda n, g: _some(0.3, g.lognormal(8, 1, n), n, g)),
    "gains and a code": (
        LONG,
        lambda n, g: _some(0.08, np.where(g.random(n) < 0.06, 99_999, g.lognormal(8.5, 0.7, n)), n, g),
    ),
    "weights": ({"kind": "integer", "range": [1, 9_999]}, lambda n, g: g.lognormal(4.4, 0.55, n)),
    "dates": ({"kind": "integer", "range": [0, 9_131]}, lambda n, g: g.integers(5_479, 9_131, n)),
    "short counts": ({"kind": "integer", "range": [0, 20]}, lambda n, g: 1 + g.poisson(1.6, n)),
    "short geometric": ({"kind": "integer", "range": [0, 40]}, lambda n, g: g.geometric(0.4, n) - 1),
    "short and wide": ({"kind": "integer", "range": [0, 60]}, lambda n, g: g.binomial(50, 0.55, n)),
    "ages": ({"kind": "integer", "range": [0, 120]}, lambda n, g: g.gamma(6, 7, n)),
    "uniform": ({"kind": "number", "range": [0, 100], "decimals": 1}, lambda n, g: g.uniform(0, 100, n)),
    "normal": ({"kind": "number", "range": [0, 300], "decimals": 1}, lambda n, g: g.normal(120, 18, n)),
    "two humps": (
        {"kind": "number", "range": [-100, 100], "decimals": 1},
        lambda n, g: np.where(g.random(n) < 0.6, g.normal(-40, 4, n), g.normal(50, 3, n)),
    ),
    "a small hump far away": (
        {"kind": "integer", "range": [0, 50_000]},
        lambda n, g: np.where(g.random(n) < 0.95, g.normal(2_000, 300, n), g.normal(30_000, 800, n)),
    ),
    "signed": ({"kind": "integer", "range": [-1_000_000, 1_000_000]}, lambda n, g: 1_000 * g.standard_t(3, n)),
}


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table, numbers with NaN where they are missing, and the schema of the whole table."""

    label: str
    schema: Schema
    name: str
    values: Floats

    @cached_property
    def present(self) -> Floats:
        return self.values[~np.isnan(self.values)]

    def counted(self, codes: Any, size: int) -> Floats:
        """Return exact counts of codes, and of missing cells where the attribute has them."""
        found = np.bincount(codes, minlength=size).astype(np.float64)
        return np.append(found, [np.isnan(self.values).sum()] * self.schema[self.name].has_missing)

    def distances(self, made: Floats) -> list[float]:
        """Return W1, KS, quantile error and |ln| of the ratio of standard deviations."""
        real, spread = self.present, float(self.present.std()) or 1.0
        apart = np.abs(np.quantile(made, QUANTILES) - np.quantile(real, QUANTILES)).mean()
        ratio = abs(math.log(made.std() / spread)) if made.std() else 1.0
        return [wasserstein(real, made) / spread, kolmogorov(real, made), float(apart / spread), ratio]


def generated(
    rows: int, width: int, promise: str, shapes: dict[str, tuple[dict[str, Any], Draw]] = SHAPES
) -> Iterator[Column]:
    """Yield each shape as a column of a table of so many columns, half of the others numbers."""
    table = {"name": "t", "neighbours": PROMISES[promise][0]} | ({"rows": rows} if promise == "pure" else {})
    others = [LONG if i % 2 else {"kind": "category", "values": ["a", "b"]} for i in range(width - 1)]
    for label, (body, draw) in shapes.items():
        drawn = draw(rows, np.random.default_rng(sum(map(ord, label)) + rows))
        places = body.get("decimals", 6 if body["kind"] == "number" else 0)
        values = np.round(np.clip(drawn, *body["range"]), places).astype(np.float64)
        attributes = {"x": body} | {f"c{i}": other for i, other in enumerate(others)}
        yield Column(label, schema_from_dict({"table": table, "attributes": attributes}, in_file=True), "x", values)


def raw(name: str, promise: str) -> Iterator[Column]:
    """Yield the ordered columns of a raw table."""
    table = RawTable(name)
    with tempfile.TemporaryDirectory() as folder:
        table.write_csv(Path(folder) / "t.csv")
        frame = read_texts(Path(folder) / "t.csv")
    schema = table.schema("plain", PROMISES[promise][0])
    for column in columns(frame, table.schema("drafted", "add-remove")).values():
        if column.values is not None and len(column.present) and column.present.std():
            yield Column(f"{name}.{column.attribute.name}", schema, column.attribute.name, column.values)


def _noisy(exact: Floats, noise: Noise, generator: np.random.Generator) -> Any:
    scale, size = float(noise.scale), exact.shape
    drawn = generator.laplace(0, scale, size) if isinstance(noise, Laplace) else generator.normal(0, scale, size)
    return np.rint(exact + drawn).astype(np.int64)


def _tree(column: Column, trees: Trees, pooled: bool, generator: np.random.Generator) -> NoisyTree:
    """Return the tree of a column with fresh noise, and its bins."""
    attribute = column.schema[column.name]
    grid, rows = attribute.grid, float(len(column.values))
    assert grid is not None
    if not trees.enough:
        return NoisyTree(attribute, (), trees.public_bins(attribute), rows, pooled=pooled)
    levels = []
    for ask, share in zip(trees.workload, trees.shares):
        if ask[0].attribute == column.name:
            noise = table_noise(column.schema, trees.accounting, trees.cost * share)
            starts = grid.first_units(grid.sizes[len(grid.sizes) - ask[0].level])
            node = np.searchsorted(starts, _units(column), side="right") - 1
            levels.append(Measurement(ask, _noisy(column.counted(node, len(starts)), noise, generator), noise))
    tree = NoisyTree(attribute, tuple(levels), np.zeros(1, dtype=np.int64), rows, pooled=pooled)
    tree = replace(tree, total=min(tree.counts.total, rows) if attribute.has_missing else rows)
    seen, own = attribute.rounding_seen, np.random.default_rng(generator.integers(2**32))
    if seen is not None and (Axis(seen.name),) in trees.rounding:
        noise = table_noise(column.schema, trees.accounting, trees.rounding_cost / len(trees.rounding))
        exact = column.counted(seen.ordered.encode_numbers(column.present), seen.ordered.size)
        tree = replace(tree, rounding=Measurement((Axis(seen.name),), _noisy(exact, noise, own), noise))
    tree = _looked_into(column, trees, tree, np.random.default_rng(own.integers(2**32)))
    return replace(tree, first=trees.bins(attribute, tree))


def _looked_into(column: Column, trees: Trees, tree: NoisyTree, generator: np.random.Generator) -> NoisyTree:
    """Return the tree with a look into its leaves that stand out, if any do."""
    noise, counts = table_noise(column.schema, trees.accounting, trees.look_price), tree.counts
    leaves = standing_out(counts, tree.total, math.sqrt(noise.variance))
    if not len(leaves):
        return tree
    global looks
    looks += 1
    cells = cells_of(counts.grid, units_of(counts.grid, counts.sizes[-1], leaves))
    exact = column.counted(np.searchsorted(cells, _units(column), side="right") - 1, len(cells))
    tree = replace(tree, look=Look(leaves, Measurement((Axis(column.name),), _noisy(exact, noise, generator), noise)))
    units, seen = unsure_units(tree, column.schema), tree.attribute.endings_seen
    if not len(units) or tree.look is None or seen is None:
        return tree
    cells = cells_of(counts.grid, units)
    table = np.zeros((len(cells), seen.ordered.size))
    where = np.searchsorted(cells, _units(column), side="right") - 1
    np.add.at(table, (where, seen.ordered.encode_numbers(column.present)), 1)
    measured = Measurement((Axis(column.name), Axis(seen.name)), _noisy(table, noise, generator), noise)
    return replace(tree, look=replace(tree.look, units=units, endings=measured))


def _units(column: Column) -> Any:
    grid = column.schema[column.name].grid
    assert grid is not None
    found = np.searchsorted(grid.unit_starts, column.present + grid.step * 1e-6, side="right") - 1
    return np.clip(found, 0, len(grid.prior) - 1)


def trial(column: Column, promise: str, epsilon: str, pooled: bool, run: int) -> list[float]:
    """Return the distances of one run."""
    generator = np.random.default_rng(7919 * run + sum(map(ord, column.label)))
    budget = Budget(epsilon=epsilon, delta=PROMISES[promise][1])
    schema, attribute, rows = column.schema, column.schema[column.name], len(column.values)
    trees = Trees(schema, accounting_of(budget), total_cost(budget), tuple(schema.unbinned), float(rows))
    tree = _tree(column, trees, pooled, generator) if attribute in schema.unbinned else None
    binned = attribute if tree is None else attribute.binned(tree.first)
    looks = looked_cost([] if tree is None else [tree], trees.look_price)
    left = trees.whole - trees.cost - trees.written_cost - looks
    noise = table_noise(schema, trees.accounting, left * SINGLE / len(schema.modelled))
    if tree is None:
        codes = binned.ordered.encode_numbers(column.present)
    else:
        codes = np.searchsorted(tree.first, _units(column), side="right") - 1
    measured = Measurement(
        (Axis(column.name),), _noisy(column.counted(codes, binned.ordered.size), noise, generator), noise
    )
    alone = replace(schema, attributes=(binned,), text=None, rows=rows, neighbours="replace-one")
    design = Design(
        alone.with_found_bins({column.name} if tree else set()), edition=Edition.NEWEST if pooled else Edition.FIRST
    )
    model = refit([measured], design).model.project([column.name]).table
    return column.distances(_drawn(tree, binned, rows * model))


def _drawn(tree: NoisyTree | None, binned: Any, counts: Floats) -> Floats:
    """Return evenly spaced quantiles of the column that would be drawn."""
    if tree is None:
        bounds = np.asarray([binned.ordered.bounds(code) for code in range(binned.ordered.size)])
        mass, low, width = counts[: len(bounds)], bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    else:
        grid = tree.attribute.grid
        assert grid is not None
        shape = tree.shape if tree.levels else tree.written_shape(counts)
        mass = shape.shares[: len(grid.prior)] * counts[grid.homes(tree.first)]
        if (
            tree.written_shape(counts).fine.domain != tree.attribute.domain
            or tree.rounding is not None
            or tree.look is not None
        ):
            below = np.cumsum(mass)
            at = (np.arange(DRAWN) + 0.5) / DRAWN * below[-1]
            units = np.minimum(np.searchsorted(below, at, side="right"), len(mass) - 1)
            fine = tree.written_shape(counts).fine.ordered
            return np.asarray(fine.decode(units.astype(np.int32), np.random.default_rng(0)), dtype=np.float64)
        low, width = grid.unit_starts, np.where(grid.single, 0.0, grid.widths * grid.step - grid.step * grid.integral)
    below = np.concatenate([[0.0], np.cumsum(mass)])
    at = (np.arange(DRAWN) + 0.5) / DRAWN * below[-1]
    unit = np.clip(np.searchsorted(below, at, side="right") - 1, 0, len(mass) - 1)
    return np.asarray(low[unit] + width[unit] * np.clip((at - below[unit]) / np.maximum(mass[unit], 1e-300), 0, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["8000x24", "30000x15"])
    parser.add_argument("--promise", default="approximate", choices=list(PROMISES))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--variants", nargs="*", default=["base"])
    asked = parser.parse_args()
    for name in asked.tables:
        made = generated(*map(int, name.split("x")), asked.promise) if name[0].isdigit() else raw(name, asked.promise)
        found = {column.label: _variants(column, asked) for column in made}
        for label, figures in found.items():
            print(f"{label:28}", *(shown(of, figures[0]) for of in figures), sep=" | ", flush=True)
        means = np.asarray([[of.mean(axis=0) for of in figures] for figures in found.values()]).mean(axis=0)
        print(f"{name + ', mean':28}", *(" ".join(f"{value:.3f}" for value in mean) for mean in means), sep=" | ")


def _variants(column: Column, asked: argparse.Namespace) -> list[Floats]:
    out = []
    for variant in (EARLIER, *asked.variants):
        with constants("base" if variant == EARLIER else variant):
            runs = [trial(column, asked.promise, asked.epsilon, variant != EARLIER, run) for run in range(asked.runs)]
        out.append(np.asarray(runs))
    return out


def shown(figures: Floats, first: Floats) -> str:
    apart = figures - first
    error = np.maximum(apart.std(axis=0, ddof=1) / math.sqrt(len(apart)), 1e-12)
    signs = "".join("!" if t > 2 else "*" if t < -2 else "." for t in apart.mean(axis=0) / error)
    return " ".join(f"{value:.3f}" for value in figures.mean(axis=0)) + f" {signs}"


if __name__ == "__main__":
    main()
