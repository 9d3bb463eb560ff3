"""Charts by hand: panels of curves with 95 % intervals, one legend, on white; and the figures behind them as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from records import Point, Records

WIDTH, HEIGHT, GAP, LEFT, TOP, LINE = 300, 220, 76, 66, 40, 18
COLOURS = ("#0b6e4f", "#c0392b", "#2c5aa0", "#c77d0a", "#7a4ea3", "#6b7280", "#0e9aa7", "#a8447f")


@dataclass(frozen=True)
class Curve:
    """`points` are (x, what was measured there); a dashed curve is not private, a thin one is an extra of ours."""

    title: str
    points: tuple[tuple[float, Point], ...]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    title: str
    curves: tuple[Curve, ...]
    x: str = "ε"
    y: str = "error"
    log_x: bool = True
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """One figure of a paper."""

    key: str  # its file name
    title: str
    panels: tuple[Panel, ...]
    across: int = 2

    @property
    def points(self) -> list[Point]:
        return list(dict.fromkeys(p for panel in self.panels for curve in panel.curves for _, p in curve.points))


def write(figure: Figure, records: Records, folder: Path) -> list[Path]:
    """FIGURE.svg and FIGURE.csv, of what has been measured."""
    folder.mkdir(parents=True, exist_ok=True)
    drawing, numbers = folder / f"{figure.key}.svg", folder / f"{figure.key}.csv"
    drawing.write_text(draw(figure, records), encoding="utf-8")
    with numbers.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["panel", "curve", "x", "epsilon", "measure", "mean", "low", "high", "repetitions"])
        for panel in figure.panels:
            for curve in panel.curves:
                for x, point in curve.points:
                    if (found := records.mean(point)) is not None:
                        bounds = [f"{v:.5g}" for v in (found.mean, found.low, found.high)]
                        writer.writerow(
                            [panel.title, curve.title, f"{x:g}", point.epsilon, point.measure, *bounds, found.runs]
                        )
    return [drawing, numbers]


def draw(figure: Figure, records: Records) -> str:
    titles = list(dict.fromkeys(c.title for panel in figure.panels for c in panel.curves if _known(c, records)))
    colour = {title: COLOURS[i % len(COLOURS)] for i, title in enumerate(titles)}
    dashed = {c.title for panel in figure.panels for c in panel.curves if c.dashed}
    across = min(figure.across, len(figure.panels))
    down = -(-len(figure.panels) // across)
    wide = LEFT + across * WIDTH + (across - 1) * GAP + 30
    base = TOP + 24 + down * (HEIGHT + GAP)
    high = base + LINE * len(titles) + 10
    body = [_text(12, 22, figure.title, "start", 15)]
    for i, panel in enumerate(figure.panels):
        left, top = LEFT + (i % across) * (WIDTH + GAP), TOP + 24 + (i // across) * (HEIGHT + GAP)
        body.append(_panel(panel, records, left, top, colour))
    for i, title in enumerate(titles):
        y = base + LINE * i
        body.append(f'<path d="M{LEFT} {y - 4}h30" {_stroke(colour[title], title in dashed)}/>')
        body.append(_text(LEFT + 40, y, title, "start"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
    head += 'font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{wide}" height="{high}" fill="#ffffff"/>', *body, "</svg>", ""])


def _known(curve: Curve, records: Records) -> bool:
    return any(records.mean(point) is not None for _, point in curve.points)


def _panel(panel: Panel, records: Records, left: float, top: float, colour: dict[str, str]) -> str:
    known = [
        (curve, [(x, found) for x, point in curve.points if (found := records.mean(point)) is not None])
        for curve in panel.curves
    ]
    values = [v for _, line in known for _, f in line for v in (f.mean, f.low, f.high) if math.isfinite(v)]
    places = sorted({x for curve in panel.curves for x, _ in curve.points})
    out = [_text(left, top - 10, panel.title, "start", 13)]
    out.append(f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#9ca3af"/>')
    if not values:
        return "\n".join([*out, _text(left + WIDTH / 2, top + HEIGHT / 2, "not measured yet", "middle")])
    x_of = _scale((places[0], places[-1]), (left + 14, left + WIDTH - 14), panel.log_x)
    means = [f.mean for _, line in known for _, f in line]
    span = (min(means) / 1.3, max(means) * 1.3) if panel.log_y else _span(values)
    y_of = _scale(span, (top + HEIGHT, top), panel.log_y)
    ticks = _powers(*span) if panel.log_y else _ticks(*span)
    for tick in ticks:
        out.append(f'<path d="M{left} {y_of(tick):.1f}h{WIDTH}" stroke="#e5e7eb"/>')
        out.append(_text(left - 6, y_of(tick) + 4, f"{tick:.4g}", "end", 11))
    last = -math.inf
    for place in places:
        if x_of(place) - last >= 24:
            out.append(_text(x_of(place), top + HEIGHT + 16, f"{place:g}", "middle", 11))
            last = x_of(place)
    out.append(_text(left + WIDTH / 2, top + HEIGHT + 34, panel.x, "middle"))
    x, y = left - 46, top + HEIGHT / 2
    out.append(f'<g transform="rotate(-90 {x:.1f} {y:.1f})">{_text(x, y, panel.y, "middle", 11)}</g>')
    for curve, line in known:
        if not line:
            continue
        hue = colour[curve.title]
        path = " ".join(f"{x_of(x):.1f},{y_of(f.mean):.1f}" for x, f in line)
        out.append(f'<polyline points="{path}" fill="none" {_stroke(hue, curve.dashed)}/>')
        for x, f in line:
            low, high = (min(max(v, span[0]), span[1]) for v in (f.low, f.high))
            if f.runs > 1:
                out.append(f'<path d="M{x_of(x):.1f} {y_of(low):.1f}V{y_of(high):.1f}" stroke="{hue}"/>')
            out.append(f'<circle cx="{x_of(x):.1f}" cy="{y_of(f.mean):.1f}" r="2.6" fill="{hue}"/>')
    return "\n".join(out)


def _stroke(colour: str, dashed: bool) -> str:
    return f'stroke="{colour}" stroke-width="1.8"' + (' stroke-dasharray="6 4"' if dashed else "")


def _scale(values: tuple[float, float], places: tuple[float, float], log: bool):  # type: ignore[no-untyped-def]
    low, high = (math.log(v) if log else v for v in values)
    width = high - low or 1.0

    def place(value: float) -> float:
        at = math.log(value) if log else value
        return places[0] + (places[1] - places[0]) * (at - low) / width

    return place


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.06 * (high - low or abs(high) or 1.0)
    return (0.0 if 0 <= low < 0.3 * high else low - room), high + room


def _ticks(low: float, high: float) -> list[float]:
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step = next(step * m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 6)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _powers(low: float, high: float) -> list[float]:
    every = [m * 10.0**p for p in range(-9, 4) for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    return every if len(every) <= 8 else [v for v in every if round(math.log10(v), 9).is_integer()]


def _text(x: float, y: float, text: str, anchor: str, size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#111827">{escape(text)}</text>'
    )
