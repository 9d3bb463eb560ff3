"""The pictures of the pages on choosing, by the package's own arithmetic: `python docs/pictures.py` makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import table_noise
from understudy.schema import Schema

HERE = Path(__file__).with_name("choose")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 64, 150, 16, 44
COLOURS = ("#1d6b86", "#d98a2b", "#7a4e86", "#5b8a3c")
EPSILONS = [0.1 * 1.12**i for i in range(42)]  # 0.1 to 10
SCHEMA = Schema.from_toml("""
[table]
name = "t"
rows = 10000
[attributes.a]
kind = "category"
values = ["x", "y"]
""")
HIDDEN = replace(SCHEMA, rows=None, neighbours="add-remove", text=None)


def noise(schema: Schema, epsilon: float, delta: str = "0", tables: int = 15) -> float:
    """Return half the width of the middle 95 % of the noise in a cell, the budget cut evenly among so many tables."""
    budget = Budget(f"{epsilon:.6g}", delta)
    found = table_noise(schema, accounting_of(budget), total_cost(budget) / tables)
    return found.scale * found.middle_95


def suspicion(epsilon: float, prior: float) -> float:
    """Return the most that a suspicion can become, by Bayes' rule."""
    odds = prior / (1 - prior) * math.exp(epsilon)
    return odds / (1 + odds)


def rows_needed(values: int, epsilon: float, error: float = 0.03) -> float:
    """Return the rows at which the noise of a column of so many values is this total variation distance."""
    budget = Budget(f"{epsilon:.6g}")
    found = table_noise(SCHEMA, accounting_of(budget), total_cost(budget) * Fraction(1, 15))
    return values * found.mean_abs / (2 * error)


def chart(title: str, across: str, up: str, lines: Sequence[tuple[str, list[tuple[float, float]]]], log: bool) -> str:
    """Return a small line chart as SVG; x is logarithmic, y if `log`."""
    every = [y for _, points in lines for _, y in points]
    low, high = (min(every), max(every)) if log else (0.0, max(every))

    def x(value: float) -> float:
        ends = math.log(EPSILONS[0]), math.log(EPSILONS[-1])
        return LEFT + (math.log(value) - ends[0]) / (ends[1] - ends[0]) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        share = (math.log(value / low) / math.log(high / low)) if log else value / high
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    steps = (
        [10.0**k for k in range(math.ceil(math.log10(low)), int(math.log10(high)) + 1)]
        if log
        else [0, 0.25, 0.5, 0.75, 1]
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" '
        f'font-size="12"><title>{title}</title><rect width="{WIDTH}" height="{HEIGHT}" fill="#fffefb"/>'
    ]
    for step in steps:
        shown = f"{step:,.0f}" if log else f"{step:.0%}"
        parts.append(f'<path d="M{LEFT} {y(step):.1f}H{WIDTH - RIGHT}" stroke="#dedbd1"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(step) + 4:.1f}" text-anchor="end" fill="#5d666e">{shown}</text>')
    for at in (0.1, 0.3, 1, 3, 10):
        parts.append(f'<text x="{x(at):.1f}" y="{HEIGHT - 26}" text-anchor="middle" fill="#5d666e">{at:g}</text>')
    heights = _apart([y(points[-1][1]) + 4 for _, points in lines])
    for i, (name, points) in enumerate(lines):
        path = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{heights[i]:.1f}" fill="{COLOURS[i]}">{name}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle" fill="#1b2126">{across}</text>'
    )
    parts.append(f'<text x="{LEFT}" y="12" fill="#1b2126">{up}</text></svg>\n')
    return "".join(parts)


def _apart(places: list[float], gap: float = 14.0) -> list[float]:
    """Return the heights of names, moved down where they would stand on each other."""
    moved, last = list(places), -gap
    for i in sorted(range(len(places)), key=lambda i: places[i]):
        last = moved[i] = max(places[i], last + gap)
    return moved


def pictures() -> dict[str, str]:
    """Return every picture by the name of its file."""
    priors = [("a 50 % suspicion", 0.5), ("a 10 % suspicion", 0.1), ("a 1 % suspicion", 0.01)]
    promises = [
        ("replace-one", SCHEMA, "0"), ("add-remove", HIDDEN, "0"), ("replace-one, δ", SCHEMA, "1e-9"),
        ("add-remove, δ", HIDDEN, "1e-9"),
    ]  # fmt: skip
    return {
        "suspicion.svg": chart(
            "The most that a suspicion can become", "epsilon", "can become at most",
            [(name, [(e, suspicion(e, p)) for e in EPSILONS]) for name, p in priors], False,
        ),
        "noise.svg": chart(
            "Noise in a cell", "epsilon", "± rows in a cell, 19 times in 20",
            [(name, [(e, noise(schema, e, delta)) for e in EPSILONS]) for name, schema, delta in promises], True,
        ),
        "rows.svg": chart(
            "Rows needed", "epsilon", "rows for an error of 3 %",
            [(f"{v} values", [(e, rows_needed(v, e)) for e in EPSILONS]) for v in (100, 20, 5, 2)], True,
        ),
    }  # fmt: skip


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (HERE / name).write_text(svg, encoding="utf-8", newline="\n")
