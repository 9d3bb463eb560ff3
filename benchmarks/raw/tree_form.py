"""The noisy tree in front of today's engine, as a prototype: cells from a tree of each ordered column, then `publish`.

A tenth of the budget goes to the trees, in equal parts for all columns that are not ids; the rest is published with
the cells as edges and points; and each synthetic value is drawn anew inside its cell, by the tree's leaves. The noise
of the trees is floating-point: this is for figures, never for a release. In the product the tree would also be the
one-way table, which is bought a second time here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from closeness import columns
from noisy_tree import Cells, Floats, Range, cells_of, cells_wanted, settled, unit_masses
from tables import Neighbours, RawTable
from tree_study import BASE, DELTA, Design, Price, measured

from understudy.schema import Attribute, Intervals, Schema

TREES = 0.1  # of the budget
SHORT = 32  # a range of no more values has a cell for each, and no tree


@dataclass(frozen=True)
class Split:
    """What the trees cost and what is left, under one promise."""

    each: Price
    left: str  # epsilon for the engine

    @staticmethod
    def of(epsilon: float, pure: bool, attributes: int, trees: int) -> Split:
        taken = TREES * trees / attributes
        if pure:
            return Split(Price("", epsilon * TREES / attributes, True), f"{epsilon * (1 - taken):.6f}")
        log = math.log(1 / DELTA)
        rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
        rest = rho * (1 - taken)
        return Split(Price("", rho * TREES / attributes, False), f"{rest + 2 * math.sqrt(rest * log):.6f}")


@dataclass(frozen=True)
class Treed:
    """A schema whose ordered attributes have cells from trees, and those cells by name."""

    schema: Schema
    cells: dict[str, Cells]
    left: str


def treed(
    table: RawTable, frame: pd.DataFrame, epsilon: str, neighbours: Neighbours, seed: int, design: Design = BASE
) -> Treed:
    """Buy a tree for each ordered attribute with a range and no edges; return the schema that follows."""
    schema = table.schema("drafted", neighbours)
    long = [a for a in schema.modelled if isinstance(a.domain, Intervals) and (span_of(a).values or SHORT + 1) > SHORT]
    split = Split.of(float(epsilon), neighbours == "replace-one", len(schema.modelled), len(long))
    generator = np.random.default_rng(seed)
    real = columns(frame, schema)
    found = {a.name: _cells(real[a.name].present, a, split.each, generator, design) for a in long}
    body = {a.name: _attribute(a, found[a.name]) if a.name in found else a for a in schema.attributes}
    return Treed(replace(schema, attributes=tuple(body.values()), text=None), found, split.left)


def span_of(attribute: Attribute) -> Range:
    """Return the declared range; whole numbers and dates have a step of 1."""
    domain = attribute.domain
    assert isinstance(domain, Intervals)
    low, high = domain.edges[0], domain.edges[-1]
    if not domain.integral:
        return Range(low, high)
    return Range(math.ceil(low), math.floor(high), 1.0, logarithmic=domain.kind == "integer")


def _cells(values: Floats, attribute: Attribute, price: Price, generator: np.random.Generator, design: Design) -> Cells:
    estimates = measured(values, span_of(attribute), price, design, generator)
    mass = unit_masses(estimates.tree, settled(estimates, float(len(values)), design.settling))
    noise = math.sqrt(price.variance(1.0))
    return cells_of(estimates.tree.units, mass, cells_wanted(len(values), noise), noise)


def _attribute(attribute: Attribute, cells: Cells) -> Attribute:
    edges, points = cells.edges_and_points()
    domain = attribute.domain
    assert isinstance(domain, Intervals)
    new = Intervals(domain.kind, tuple(edges.tolist()), tuple(points.tolist()), domain.format)
    return replace(attribute, domain=new, taxonomy=None)


def redrawn(path: Path, found: Treed, seed: int) -> None:
    """Draw every value of the synthetic file anew inside its cell, by the leaves of its tree."""
    from tables import read_texts

    frame, generator = read_texts(path), np.random.default_rng(seed)
    for name, column in columns(frame, found.schema).items():
        if name not in found.cells or column.values is None:
            continue
        present = ~np.isnan(column.values)
        values = _drawn(column.values[present], found.cells[name], generator)
        domain = found.schema[name].domain
        assert isinstance(domain, Intervals)
        texts = frame[name].to_numpy(dtype=object).copy()
        texts[present] = [domain.show(v) for v in values.tolist()]
        frame[name] = texts
    frame.to_csv(path, index=False)


def _drawn(values: Floats, cells: Cells, generator: np.random.Generator) -> Floats:
    span = cells.units.span
    drawn = cells.draw(cells.encode(values), generator)
    if span.step:
        return drawn
    rounded = np.round(drawn, max(0, 4 - math.floor(math.log10(span.high - span.low))))
    return np.where(np.isin(drawn, cells.units.low[cells.units.point]), drawn, rounded)
