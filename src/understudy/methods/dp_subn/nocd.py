"""Non-overlapping covering designs (Su et al. 2016, Sections VI-C and VI-D): every pair of attributes is in one view.

Attributes stand in a grid of l rows and n columns, n a prime and l ≤ n. A view takes one attribute of each row, on a
line of slope m: n² views, and two attributes of different rows are on exactly one line, since n is prime. Pairs of the
same row are covered by that row's own design, down to a row that is a view as it is. A public object: it depends on
the number of attributes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Views = tuple[tuple[int, ...], ...]
Aim = Literal["pairs", "views"]

WIDEST = 20  # attributes of a view at most: a larger one has more than a million cells


@dataclass(frozen=True)
class ViewGrid:
    """A node of the parameter tree: `size` attributes in rows of `columns`; without rows of its own it is one view."""

    size: int
    columns: int
    rows: tuple[ViewGrid, ...] = ()

    def views(self, first: int = 0) -> Views:
        """Return the views of the attributes first, first + 1, ….

        A line or row with a single attribute holds no pair and is no view.
        """
        if not self.rows:
            return (tuple(range(first, first + self.size)),) if self.size > 1 else ()
        n = self.columns
        lines = (
            tuple(i * n + (j + i * m) % n for i in range(len(self.rows)) if i * n + (j + i * m) % n < self.size)
            for m in range(n)
            for j in range(n)
        )
        found = [tuple(first + place for place in line) for line in lines if len(line) > 1]
        for i, row in enumerate(self.rows):
            found += row.views(first + i * n)
        return tuple(found)


@dataclass(frozen=True)
class ViewDesign:
    """A parameter tree, how many views it has, and their weight: what their cells count for in the error."""

    grid: ViewGrid
    views: int
    weight: int

    def error(self, power: int) -> int:
        """Return the expected squared error, but for a constant: each cell has a variance proportional to |V|^power."""
        return self.weight * int(self.views**power)


def weight_of(aim: Aim) -> Callable[[int], int]:
    """Return what a view of s attributes adds to the error: its cells, or the cells summed into all its 2-way tables.

    A cell of a 2-way table is a sum over 2^(s−2) cells of the view, and there are four for each of C(s, 2) pairs.
    """
    return (lambda s: 2**s) if aim == "views" else (lambda s: math.comb(s, 2) * 2**s)


@lru_cache(maxsize=256)
def covering_views(attributes: int, aim: Aim = "pairs", power: int = 2) -> Views:
    """Return the views of least error."""
    return best_design(attributes, aim, power).grid.views()


@lru_cache(maxsize=256)
def best_design(attributes: int, aim: Aim = "pairs", power: int = 2) -> ViewDesign:
    """Return the parameter tree of least weight · |V|^power: a cell's variance is 8|V|²/ε² (Laplace) or |V|/ρ.

    Weight and number of views add up over a tree, their product does not, so Algorithm 2 cannot minimise it. But its
    logarithm is concave in both, so the least is at a corner of the convex hull of all (views, weight), and a corner
    has the least weight + price · views for some price: that does add up. Corners are found one between two, where
    the two leave room for a better one.
    """
    few, light = _cheapest(attributes, aim, (0, 1)), _cheapest(attributes, aim, (1, 0))
    best = min(few, light, key=lambda design: design.error(power))
    gaps = [(few, light)]
    while gaps:
        few, light = gaps.pop()
        if light.weight * few.views**power >= best.error(power) or few.views >= light.views:
            continue
        price = (light.views - few.views, few.weight - light.weight)
        found = _cheapest(attributes, aim, price)
        if _cost(found, price) < _cost(few, price):
            best = min(best, found, key=lambda design: design.error(power))
            gaps += [(few, found), (found, light)]
    return best


Price = tuple[int, int]  # of a unit of weight, and of a view


def _cost(design: ViewDesign, price: Price) -> int:
    return price[0] * design.weight + price[1] * design.views


def _cheapest(attributes: int, aim: Aim, price: Price) -> ViewDesign:
    """Return the tree of least cost, by dynamic programming over all smaller sizes; of equals the lighter one."""
    a, b = price
    best = [(0, 0, 0, 0)] * min(2, attributes + 1)  # cost, weight, views, columns
    for size in range(len(best), attributes + 1):
        options = []
        if size <= WIDEST:
            own = weight_of(aim)(size)
            options.append((a * own + b, own, 1, size))
        for n, whole, last, weight, views in _grids(size, aim):
            weight += whole * best[n][1] + best[last][1]
            views += whole * best[n][2] + best[last][2]
            options.append((a * weight + b * views, weight, views, n))
        best.append(min(options))
    return ViewDesign(_grid(attributes, [found[3] for found in best]), best[attributes][2], best[attributes][1])


@lru_cache(maxsize=1024)
def _grids(size: int, aim: Aim) -> tuple[tuple[int, int, int, int, int], ...]:
    """Return of every grid: columns, whole rows, the size of the last row, and the weight and number of its lines.

    A line that meets the last, shorter row has l attributes, another l − 1.
    """
    found = []
    for n in (n for n in range(2, size) if -(-size // n) <= n and all(n % p for p in range(2, math.isqrt(n) + 1))):
        rows = -(-size // n)
        last = size - n * (rows - 1)
        lines = {rows: n * last, rows - 1: n * (n - last)}
        weight = sum(many * weight_of(aim)(s) for s, many in lines.items() if s > 1)
        found.append((n, rows - 1, last, weight, sum(many for s, many in lines.items() if s > 1)))
    return tuple(found)


def _grid(size: int, columns: list[int]) -> ViewGrid:
    n = columns[size]
    if n in (0, size):
        return ViewGrid(size, size)
    rows = -(-size // n)
    whole = _grid(n, columns)
    return ViewGrid(size, n, (*[whole] * (rows - 1), _grid(size - n * (rows - 1), columns)))
