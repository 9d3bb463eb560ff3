"""The network drawn: attributes and their parents, or the cliques of a junction tree, as a graph and as a list."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.models.junction_tree import JunctionTree
from understudy.models.ruled_model import free_model
from understudy.release import Release
from understudy.release.facts import NetworkLine
from understudy.report.bars import drawing
from understudy.report.layering import Box, Placed, place
from understudy.report.markup import Markup, join, shape, shortened, tag
from understudy.report.numerals import listed, plural
from understudy.schema import Axes

WIDE, NARROW = 820.0, 270.0  # how wide a row of boxes may be on a screen and on a phone
MAX_BOXES = 160  # more are listed, not drawn
MAX_LINES = 640
MAX_NAMES = 6  # of a clique
_FONT, _LINE = 12.5, 16.0
_LONGEST = 22
_ROOM = {"wide": 1032.0, "narrow": 358.0}
_SMALLEST = 0.72


@dataclass(frozen=True)
class Edge:
    start: str
    end: str
    coarse: bool = False  # the parent is seen at a level of its taxonomy
    label: str = ""


@dataclass(frozen=True)
class Picture:
    """Boxes (parents first) with the lines of text in each, and edges."""

    boxes: dict[str, tuple[str, ...]]
    edges: tuple[Edge, ...]
    directed: bool


def network_section(release: Release) -> Markup | None:
    """Return the graph, what it means, and the same as a list; None where the model has no structure to show."""
    if pairs := release.facts.network:
        return join([*_drawn(_bayesian(pairs)), _pair_list(pairs)])
    model = free_model(release.model)
    if isinstance(model, JunctionTree):
        picture = _cliques(model, [name for name in release.schema.names if model.schema.find(name) is not None])
        words = "Attributes in one box were modelled together; a line joins boxes that share attributes."
        listing = [tag("li", ", ".join(lines)) for lines in picture.boxes.values()]
        return join([tag("p", words), *_drawn(picture), _details("The cliques as a list", listing)])
    return None


# -- what is drawn -----------------------------------------------------------------------------------------------


def _bayesian(pairs: Sequence[NetworkLine]) -> Picture:
    names = [pair.attribute for pair in pairs]
    boxes: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    edges: list[Edge] = []
    for i, pair in enumerate(pairs):
        earlier = set(names[:i])
        for parent in pair.parents:
            base = parent if parent in boxes else re.sub(r"@\d+$", "", parent)
            if base in earlier:
                edges.append(Edge(base, names[i], base != parent))
    return Picture(boxes, tuple(edges), True)


def _cliques(tree: JunctionTree, order: Sequence[str]) -> Picture:
    keys = [str(i) for i in range(len(tree.cliques))]
    boxes = {key: _names(axes, order) for key, axes in zip(keys, tree.cliques)}
    shared = tree.layout.separators
    parents = tree.layout.parent.tolist()
    edges = (
        Edge(keys[p], key, label=listed(_names(shared[i], order)))
        for i, (key, p) in enumerate(zip(keys, parents))
        if p >= 0 and shared[i]
    )
    return Picture(boxes, tuple(edges), False)


def _names(axes: Axes, order: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the order of the schema, whatever the model's own."""
    within = {axis.attribute for axis in axes}
    return tuple(name for name in order if name in within)


# -- drawing -----------------------------------------------------------------------------------------------------


def _drawn(picture: Picture) -> list[Markup]:
    many = len(picture.boxes)
    if many > MAX_BOXES or len(picture.edges) > MAX_LINES:
        what = plural(many, "box", "boxes") if many > MAX_BOXES else plural(len(picture.edges), "line")
        return [tag("p", f"{what} are too many to draw; the list below has them all.")]
    both = ((WIDE, "wide"), (NARROW, "narrow"))
    figures = [tag("div", _svg(picture, widest, which), class_=f"graph scroll {which}") for widest, which in both]
    legend = "Dashed: the parent was seen in coarser groups of its taxonomy."
    dashed = any(edge.coarse for edge in picture.edges)
    return [*figures, *([tag("p", legend, class_="source")] if dashed else [])]


def _svg(picture: Picture, widest: float, which: str) -> Markup:
    sizes = {key: _size(lines) for key, lines in picture.boxes.items()}
    lines_between = [(edge.start, edge.end) for edge in picture.edges]
    placed = place(sizes, lines_between, widest)
    if placed.width * _SMALLEST > _ROOM[which]:  # it will not fit anyhow, so it may as well be clear
        placed = place(sizes, lines_between, WIDE)
    ends = {edge.end for edge in picture.edges}
    arrow = f"arrow-{which}"
    parts = [tag("title", "The structure of the model"), _arrow(arrow) if picture.directed else None]
    parts += [_edge(edge, placed, arrow if picture.directed else None) for edge in picture.edges]
    parts += [_box(placed.boxes[key], lines, key not in ends) for key, lines in picture.boxes.items()]
    svg = drawing(placed.width, placed.height, *parts, class_="network")
    return tag("div", svg, style=_width(placed.width, _ROOM[which]))


def _width(own: float, room: float) -> str:
    """Return a drawing's width: shrunk to its place as long as names can be read.

    Wider ones are moved under a finger.
    """
    return f"max-width:{own:.0f}px" if own * _SMALLEST <= room else f"width:{own * _SMALLEST:.0f}px"


def _arrow(name: str) -> Markup:
    head = shape("path", d="M0 0L8 4L0 8z", class_="arrow")
    marker = tag(
        "marker", head, id=name, viewBox="0 0 8 8", refX=7, refY=4, markerWidth=7, markerHeight=7, orient="auto"
    )
    return tag("defs", marker)


def _edge(edge: Edge, placed: Placed, arrow: str | None) -> Markup:
    """Return a smooth line through the middles of the places it passes."""
    route = placed.routes[edge.start, edge.end]
    x, y = route[0].x, route[0].y + route[0].height
    steps = [f"M{x:.1f} {y:.1f}"]
    for box in route[1:]:
        middle = (y + box.y) / 2
        steps.append(f"C{x:.1f} {middle:.1f} {box.x:.1f} {middle:.1f} {box.x:.1f} {box.y:.1f}")
        x, y = box.x, box.y + box.height
        if box.name is None:
            steps.append(f"V{y:.1f}")
    title = tag("title", edge.label) if edge.label else None
    kind = "edge coarse" if edge.coarse else "edge"
    return tag("path", title, class_=kind, d="".join(steps), marker_end=f"url(#{arrow})" if arrow else None)


def _box(box: Box, lines: tuple[str, ...], root: bool) -> Markup:
    shown = _shown(lines)
    parts = [tag("title", ", ".join(lines))]
    parts.append(shape("rect", x=box.x - box.width / 2, y=box.y, width=box.width, height=box.height, rx=7))
    for i, line in enumerate(shown):
        y = box.y + box.height / 2 + _LINE * (i - (len(shown) - 1) / 2) + _FONT * 0.35
        parts.append(tag("text", line, x=box.x, y=y))
    return tag("g", *parts, class_="box root" if root else "box")


def _shown(lines: tuple[str, ...]) -> list[str]:
    kept = lines if len(lines) <= MAX_NAMES else (*lines[: MAX_NAMES - 1], f"… {len(lines) - MAX_NAMES + 1} more")
    return [shortened(line, _LONGEST) for line in kept]


def _size(lines: tuple[str, ...]) -> tuple[float, float]:
    shown = _shown(lines)
    return max(text_width(line) for line in shown) + 20, len(shown) * _LINE + 12


def text_width(line: str) -> float:
    """Return about how wide the text will be; characters of East Asian scripts are square."""
    return sum(_FONT if unicodedata.east_asian_width(c) in "WF" else _FONT * 0.6 for c in line)


# -- the same as a list ------------------------------------------------------------------------------------------


def _pair_list(pairs: Sequence[NetworkLine]) -> Markup:
    lines = []
    for pair in pairs:
        rest = [tag("span", " ← ", class_="muted"), ", ".join(pair.parents)] if pair.parents else []
        lines.append(tag("li", tag("b", pair.attribute), *rest))
    return _details("The network as a list", lines)


def _details(title: str, lines: list[Markup]) -> Markup:
    return tag("details", tag("summary", title), tag("ol", *lines, class_="pairs"))
