"""The shape of an attribute inside its bins, drawn: how thickly its values lie, cell by cell of the fine grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.models.noisy_tree import TreeShape
from understudy.models.within_bins import Shape
from understudy.privacy.noise import Noise
from understudy.report.bars import drawing
from understudy.report.markup import Markup, shape, tag
from understudy.report.numerals import count
from understudy.schema import Intervals

WIDTH, HEIGHT = 1000, 120
DRAWN_CELLS = 200  # of the shape that a tree measured

Floats = NDArray[np.float64]


def density(inside: Shape, shares: Floats, noise: Noise) -> Markup:
    """Draw the density inside bins from the published `shares` of the coarse codes. Declared points have no width."""
    coarse, fine = inside.attribute.ordered, inside.fine.ordered
    cells = (inside.shares * shares[inside.home])[fine.bin_codes] / np.diff(fine.edges)
    bins = shares[coarse.bin_codes] / np.diff(coarse.edges)
    top = max(float(cells.max()), float(bins.max()), 1e-300) * 1.05
    area = f"M0 {HEIGHT}{_steps(fine, cells / top)}V{HEIGHT}Z"
    line = f"M0 {HEIGHT}{_steps(coarse, bins / top)}"
    ends = [coarse.show(value) for value in (coarse.bounds(0)[0], coarse.bounds(coarse.size - 1)[1])]
    spread = noise.reach_95 * math.sqrt(inside.variance)
    words = (
        f"How thickly values lie inside the bins: {len(cells):,} cells by the measured details, the line is the bins "
        f"alone. A difference between two halves was measured to ± {count(spread)} rows, 19 times in 20."
    )
    return _figure(ends, words, shape("path", class_="share", d=area), shape("path", class_="flat", d=line))


def tree_density(inside: TreeShape, shares: Floats, noise: Noise) -> Markup:
    """Draw the shape that a noisy tree measured, over the middle 98 % of the rows, in cells of equal width.

    Values that have a bin of their own are not drawn: they would hide the rest.
    """
    domain, grid = inside.fine.ordered, inside.fine.grid
    assert grid is not None
    units = len(domain.edges) - 1
    mass = (inside.shares * shares[inside.home])[:units]
    alone = grid.single[:units] & (np.bincount(inside.home)[inside.home][:units] == 1)
    below = np.concatenate([[0.0], np.cumsum(np.where(alone, 0.0, mass))])
    low, high = (
        np.interp(np.asarray([0.01, 0.99]) * below[-1], below, domain.edges) if below[-1] > 0 else domain.edges[:2]
    )
    at = np.linspace(low, max(high, np.nextafter(low, np.inf)), DRAWN_CELLS + 1)
    heights = np.diff(np.interp(at, domain.edges, below))
    heights /= max(float(heights.max()), 1e-300) * 1.05
    steps = "".join(f"V{HEIGHT * (1 - h):.1f}H{WIDTH * (i + 1) / DRAWN_CELLS:.1f}" for i, h in enumerate(heights))
    spread = noise.reach_95 * math.sqrt(inside.variance)
    words = (
        f"How thickly values lie, by the noisy tree: the middle 98 % of the rows, without values that have a bin of "
        f"their own. A leaf of the tree was measured to ± {count(spread)} rows, 19 times in 20."
    )
    bounds = grid.steps.value(grid.steps.at_most(low)), grid.steps.value(grid.steps.at_least(high))
    ends = [domain.show(float(bound)) for bound in bounds]
    return _figure(ends, words, shape("path", class_="share", d=f"M0 {HEIGHT}{steps}V{HEIGHT}Z"))


def _figure(ends: list[str], words: str, *paths: Markup) -> Markup:
    picture = drawing(WIDTH, HEIGHT, *paths, class_="density", stretched=True)
    scale = tag("div", *(tag("span", end) for end in ends), class_="scale")
    return tag("figure", picture, scale, tag("figcaption", words))


def _steps(domain: Intervals, heights: Floats) -> str:
    low, span = domain.edges[0], domain.edges[-1] - domain.edges[0]
    ends = [WIDTH * (edge - low) / span for edge in domain.edges[1:]]
    return "".join(f"V{HEIGHT * (1 - h):.1f}H{end:.1f}" for h, end in zip(heights.tolist(), ends))
