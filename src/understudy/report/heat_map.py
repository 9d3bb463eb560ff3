"""The heat map: the error of every two-way table, as a triangle: exact for the custodian, expected for anyone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.evaluate.distances import TableErrors
from understudy.report.bars import drawing
from understudy.report.markup import Markup, join, shape, shortened, tag
from understudy.report.network import text_width
from understudy.report.numerals import plural

SHADES = 8
HIGH = 5  # from this shade on, figures are written in the colour of the paper
MAX_NAMES = 80
_NUMBERED = 18  # up to so many attributes, the figures stand in the cells
_TITLED = 40  # and up to so many, a pointer shows them
_LONGEST = 20
_TEXT = 15.0  # no row is lower than its name


@dataclass(frozen=True)
class HeatMapGrid:
    """Names down the side, numbered; a cell for each pair; sizes in pixels."""

    names: Sequence[str]
    errors: Mapping[frozenset[str], float]
    across: float  # of a cell
    down: float
    margin: float  # for the names

    @property
    def top(self) -> float:
        return max(1e-9, *self.errors.values())

    def shade(self, error: float) -> int:
        return min(SHADES - 1, int(SHADES * error / self.top))

    def place(self, i: int, j: int) -> tuple[float, float]:
        return self.margin + j * self.across, (i - 1) * self.down

    @property
    def pairs(self) -> list[tuple[int, int, float]]:
        """Return row, column and error of every pair that was compared."""
        every = ((i, j, frozenset((self.names[i], self.names[j]))) for i in range(len(self.names)) for j in range(i))
        return [(i, j, self.errors[pair]) for i, j, pair in every if pair in self.errors]


def heat_map(found: TableErrors, every: Sequence[str]) -> Markup:
    """Return two drawings, for a screen and a phone, and what the shades mean."""
    return pairs_map({frozenset(t.attributes): float(t.tvd) for t in found.each}, every)


def pairs_map(each: Mapping[frozenset[str], float], every: Sequence[str]) -> Markup:
    """Return the heat map of the errors of pairs."""
    names = every[:MAX_NAMES]
    errors = {pair: error for pair, error in each.items() if pair <= set(names)}
    margin = min(max(text_width(_short(name)) for name in names) + 34, 190)
    wide, narrow = (
        HeatMapGrid(names, errors, across, max(_TEXT, across * 0.7), margin)
        for across in (min(58.0, (980 - margin) / len(names)), max(4.0, min(30.0, (326 - margin) / len(names))))
    )
    drawings = [
        tag("div", _drawn(grid, which), class_=f"{which} scroll")
        for grid, which in ((wide, "wide"), (narrow, "narrow"))
    ]
    more = len(every) - len(names)
    note = f"The first {len(names)} attributes; {plural(more, 'more')}." if more > 0 else None
    return join([*drawings, _legend(wide), None if note is None else tag("p", note, class_="source")])


def _drawn(grid: HeatMapGrid, which: str) -> Markup:
    size = len(grid.names)
    side, depth = (size - 1) * grid.across, (size - 1) * grid.down
    parts = [tag("title", "The total variation distance of every two-way table"), *_cells(grid, which == "wide")]
    for i, name in enumerate(grid.names):
        middle = grid.place(i, 0)[1] + grid.down / 2 + 4
        if i:
            parts.append(tag("text", f"{_short(name)} {i + 1}", x=grid.margin - 6, y=middle, class_="end"))
        if i < size - 1 and grid.across >= 13:
            parts.append(
                tag("text", str(i + 1), x=grid.place(i, i)[0] + grid.across / 2, y=depth + 16, class_="number")
            )
    first = tag("text", f"1 is {_short(grid.names[0])}", x=grid.margin - 6, y=depth + 16, class_="end")
    width, height = grid.margin + side + 2, depth + 24
    svg = drawing(width, height, *parts, first, class_="heat")
    return tag("div", svg, style=f"width:{width:.0f}px;max-width:100%")


def _cells(grid: HeatMapGrid, titled: bool) -> list[Markup]:
    """Return one element a cell where a pointer may ask for it; otherwise one a shade, which is far smaller."""
    gap = 1.5 if grid.across > 12 else 0.5
    width, height = grid.across - gap, grid.down - gap
    if titled and len(grid.names) <= _TITLED:
        return [_cell(grid, (i, j), error, (width, height)) for i, j, error in grid.pairs]
    paths = [""] * SHADES
    for i, j, error in grid.pairs:
        x, y = grid.place(i, j)
        paths[grid.shade(error)] += f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"
    return [shape("path", d=path, class_=f"heat{k}") for k, path in enumerate(paths) if path]


def _cell(grid: HeatMapGrid, at: tuple[int, int], error: float, size: tuple[float, float]) -> Markup:
    (i, j), (width, height) = at, size
    x, y = grid.place(i, j)
    shade = grid.shade(error)
    title = tag("title", f"{grid.names[j]} and {grid.names[i]}: {error:.4f}")
    box = tag("rect", title, x=x, y=y, width=width, height=height, class_=f"heat{shade}")
    if len(grid.names) > _NUMBERED or grid.across < 26:
        return box
    kind = "number high" if shade >= HIGH else "number"
    shown = f"{error:.3f}".removeprefix("0")
    return join([box, tag("text", shown, x=x + width / 2, y=y + height / 2 + 4, class_=kind)])


def _legend(grid: HeatMapGrid) -> Markup:
    boxes = [shape("rect", class_=f"heat{k}", x=k * 125, width=124, height=20) for k in range(SHADES)]
    ramp = drawing(1000, 20, *boxes, class_="strip", stretched=True)
    ends = tag("div", tag("span", "0"), tag("span", f"{grid.top:.4f}"), class_="scale")
    return tag("div", ramp, ends, class_="ramp")


def _short(name: str) -> str:
    return shortened(name, _LONGEST)
