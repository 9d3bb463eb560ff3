"""Bars: one line of a table drawn as a bar, with a whisker for noise or a mark for the original; any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.report.markup import Child, Markup, join, shape, shortened, tag, text

WIDTH, HEIGHT = 1000, 20  # of the drawing; the page stretches it, lines keep their width
_SHORT = 14
_LONGEST, _LONGEST_NAME, _POINTED = 80, 160, 240  # characters of a value, of names, of what a pointer shows


@dataclass(frozen=True)
class Whisker:
    """What was measured, and where the truth is 19 times in 20."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Bar:
    """A share of the rows, or a rate: from 0 to 1."""

    label: str
    share: float
    cells: tuple[str, ...]  # the figures beside the bar
    whisker: Whisker | None = None
    mark: float | None = None
    kind: str = "share"  # a class of the style sheet

    @property
    def reach(self) -> float:
        ends = [self.share, self.mark or 0.0, self.whisker.high if self.whisker else 0.0]
        return min(1.0, max(ends))


def scale_of(bars: Sequence[Bar]) -> float:
    """Return the share at the right end of every strip of a table."""
    return max(1e-9, *(bar.reach for bar in bars)) * 1.02 if bars else 1.0


def strip(bar: Bar, full: float) -> Markup:
    """Return the drawing of one bar; `full` is the share at its right end."""
    parts = [shape("rect", class_="track", width=WIDTH, height=HEIGHT)]
    parts.append(shape("rect", class_=bar.kind, y=4, width=WIDTH * _inside(bar.share / full), height=12))
    if bar.whisker is not None:
        parts.append(_whisker(bar.whisker, full))
    if bar.mark is not None:
        at = WIDTH * _inside(bar.mark / full)
        parts.append(shape("path", class_="mark", d=f"M{at:.1f} 0V{HEIGHT}"))
    return drawing(WIDTH, HEIGHT, *parts, class_="strip", stretched=True)


def _whisker(whisker: Whisker, full: float) -> Markup:
    low, middle, high = (WIDTH * _inside(x / full) for x in (whisker.low, whisker.middle, whisker.high))
    caps = f"M{low:.1f} 6v8M{high:.1f} 6v8" if whisker.high <= full else f"M{low:.1f} 6v8"
    return join([
        shape("path", class_="whisker", d=f"M{low:.1f} 10H{high:.1f}{caps}"),
        shape("path", class_="measured", d=f"M{middle:.1f} 7v6"),
    ])  # fmt: skip


def _inside(x: float) -> float:
    return min(1.0, max(0.0, x))


def drawing(width: float, height: float, *children: Child, class_: str, stretched: bool = False) -> Markup:
    """Return an SVG of these units; a stretched one is as wide as its place and says nothing to a screen reader."""
    return tag(
        "svg", *children, class_=class_, viewBox=f"0 0 {width:.0f} {height:.0f}",
        preserveAspectRatio="none" if stretched else None, aria_hidden="true" if stretched else None,
        role=None if stretched else "img",
    )  # fmt: skip


def table_of(
    bars: Sequence[Bar], heads: Sequence[str], full: float | None = None, label: str = "value", class_: str = "bars"
) -> Markup:
    """Return a real table: a label, a strip and figures on every line.

    Heads may be "rows:wide" to leave a phone out.
    """
    full = scale_of(bars) if full is None else full
    longest = _LONGEST_NAME if "names" in class_.split() else _LONGEST
    names, classes = zip(*(head.partition(":")[::2] for head in heads)) if heads else ((), ())
    top = tag(
        "tr", tag("th", label, scope="col"), tag("td", class_="bar"),
        *(tag("th", name, scope="col", class_=f"figure {c}".strip()) for name, c in zip(names, classes)),
    )  # fmt: skip
    lines = [
        tag(
            "tr", _label(bar.label, longest), tag("td", strip(bar, full), class_="bar"),
            *(tag("td", cell, class_=f"figure {c}".strip()) for cell, c in zip(bar.cells, classes)),
        )
        for bar in bars
    ]  # fmt: skip
    return tag("table", tag("thead", top), tag("tbody", *lines), class_=class_)


def legend_of(*bars: Bar) -> Markup:
    """Return what the parts of a strip mean: the label of each bar beside it."""
    return tag("ul", *(tag("li", strip(bar, 1.0), bar.label) for bar in bars), class_="legend")


def _label(label: str, longest: int) -> Markup:
    """Return a value's label: one of many words is cut (the rest under a pointer), an empty one is named."""
    if len(label) > longest:
        return tag("th", shortened(label, longest), scope="row", title=shortened(label, _POINTED))
    return tag("th", _broken(label) if label.strip() else "(empty)", scope="row")


def _broken(label: str) -> Markup:
    """Let a span of dates or numbers break after its dots, and nowhere else where its ends are short."""
    first, dots, last = label.partition("..")
    if not dots or max(len(first), len(last)) > _SHORT:
        return text(label)
    return join([tag("span", first + dots, class_="whole"), Markup("<wbr>"), tag("span", last, class_="whole")])
