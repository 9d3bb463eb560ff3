"""A plot by hand: panels of lines over epsilon, both axes logarithmic, one legend, on white."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, GAP, LEFT, TOP = 360, 260, 70, 56, 36
COLOURS = ("#0b6e4f", "#14a37f", "#b3423a", "#c77d0a", "#8a5a00", "#4361a8", "#7a4ea3", "#a8447f", "#6b7280", "#374151")
EPSILONS = (0.1, 0.4, 1.6)
TICKS = (0.003, 0.01, 0.03, 0.1, 0.3)
LINE = 18  # of the legend


@dataclass(frozen=True)
class Line:
    title: str
    points: tuple[tuple[float, float], ...]  # epsilon, error
    ours: bool


@dataclass(frozen=True)
class Panel:
    title: str
    lines: tuple[Line, ...]


def draw(panels: Sequence[Panel]) -> str:
    titles = list(dict.fromkeys(line.title for panel in panels for line in panel.lines))
    colour = {title: COLOURS[i % len(COLOURS)] for i, title in enumerate(titles)}
    values = [y for panel in panels for line in panel.lines for _, y in line.points]
    span = (min([*values, TICKS[1]]) / 1.2, max([*values, TICKS[-2]]) * 1.2)
    wide = LEFT + len(panels) * WIDTH + (len(panels) - 1) * GAP + 20
    high = TOP + HEIGHT + 60 + LINE * len(titles)
    body = [_panel(panel, LEFT + i * (WIDTH + GAP), span, colour) for i, panel in enumerate(panels)]
    ours = {line.title for panel in panels for line in panel.lines if line.ours}
    body += [_legend(t, TOP + HEIGHT + 62 + LINE * i, colour[t], t in ours) for i, t in enumerate(titles)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, f'<rect width="{wide}" height="{high}" fill="#ffffff"/>', *body, "</svg>", ""])


def _panel(panel: Panel, left: float, span: tuple[float, float], colour: dict[str, str]) -> str:
    def x(epsilon: float) -> float:
        low, high = math.log(EPSILONS[0]), math.log(EPSILONS[-1])
        return left + 20 + (WIDTH - 40) * (math.log(epsilon) - low) / (high - low)

    def y(value: float) -> float:
        low, high = map(math.log, span)
        return TOP + HEIGHT - HEIGHT * (math.log(value) - low) / (high - low)

    out = [_text(left, TOP - 14, f"{panel.title}: mean TVD, 2-way tables", "start", 14)]
    out.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#9ca3af"/>')
    for tick in (t for t in TICKS if span[0] <= t <= span[1]):
        out.append(f'<path d="M{left} {y(tick):.1f}h{WIDTH}" stroke="#e5e7eb"/>')
        out.append(_text(left - 6, y(tick) + 4, f"{tick:g}", "end"))
    out += [_text(x(e), TOP + HEIGHT + 18, f"{e:g}", "middle") for e in EPSILONS]
    out.append(_text(left + WIDTH / 2, TOP + HEIGHT + 36, "ε", "middle"))
    for line in panel.lines:
        stroke = f'stroke="{colour[line.title]}" stroke-width="{3 if line.ours else 1.5}"'
        path = " ".join(f"{x(e):.1f},{y(v):.1f}" for e, v in line.points)
        out.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        out += [
            f'<circle cx="{x(e):.1f}" cy="{y(v):.1f}" r="3.5" fill="{colour[line.title]}"/>' for e, v in line.points
        ]
    return "\n".join(out)


def _legend(title: str, top: float, colour: str, ours: bool) -> str:
    mark = f'<path d="M{LEFT} {top - 4}h26" stroke="{colour}" stroke-width="{3 if ours else 1.5}"/>'
    return mark + _text(LEFT + 34, top, title, "start")


def _text(x: float, y: float, text: str, anchor: str, size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#111827">{escape(text)}</text>'
    )
