"""The budget by phase, and the promise drawn: how far a suspicion can grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from understudy.release.card import Card, ChargeTotal, at_most
from understudy.report.bars import drawing
from understudy.report.markup import Markup, join, shape, tag
from understudy.report.numerals import amount, percent
from understudy.report.parts import figures_row

_WIDTH = 1000
TONES = 10  # colours of the style sheet


def budget_bar(card: Card) -> Markup:
    """Return one bar cut by phase, and the same as a table."""
    costs = [charge.cost for charge in card.charges]
    return join([phase_bar(costs), _table(card.charges, sum(costs) or 1.0)])


def phase_bar(costs: Sequence[float | Fraction]) -> Markup:
    """Return one bar cut by phase, as wide as the phases cost."""
    cuts, at, total = [], 0.0, float(sum(costs)) or 1.0
    for i, cost in enumerate(costs):
        width = _WIDTH * float(cost) / total
        cuts.append(shape("rect", class_=f"tone{i % TONES}", x=at, width=max(0.0, width - 2), height=20))
        at += width
    return drawing(_WIDTH, 20, *cuts, class_="stack", stretched=True)


def _table(charges: Sequence[ChargeTotal], total: float) -> Markup:
    unit = charges[0].unit if charges else "epsilon"
    heads = [
        tag("th", "phase", scope="col"),
        *(tag("th", h, scope="col", class_="figure") for h in (unit, "share", "times")),
    ]
    lines = [
        figures_row(
            join([tone_swatch(i), charge.purpose]),
            amount(charge.cost), percent(charge.cost / total, 0), f"{charge.times:,}",
        )
        for i, charge in enumerate(charges)
    ]  # fmt: skip
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines), class_="plain")


def tone_swatch(i: int) -> Markup:
    """Return a square in the colour of the i-th phase."""
    return swatch(shape("rect", class_=f"tone{i % TONES}", width=12, height=12, rx=3))


def swatch(content: Markup) -> Markup:
    return tag("svg", content, class_="swatch", viewBox="0 0 12 12", aria_hidden="true")


def suspicion(epsilon: float) -> Markup:
    """Draw an even guess and the most it can become, by Bayes' rule: 1 / (1 + e^−epsilon)."""
    after = 1 / (1 + math.exp(-min(700.0, epsilon)))
    end = _WIDTH * after
    picture = drawing(
        _WIDTH, 20, shape("rect", class_="track", width=_WIDTH, height=20),
        shape("rect", class_="before", width=_WIDTH / 2, height=20),
        shape("rect", class_="gain", x=_WIDTH / 2, width=end - _WIDTH / 2, height=20),
        shape("path", class_="mark", d="M500 0V20"), class_="stack", stretched=True,
    )  # fmt: skip
    scale = tag("div", *(tag("span", text) for text in ("0 %", "50 %", "100 %")), class_="scale", aria_hidden="true")
    grown = tag("p", "50 % → ", tag("b", at_most(after)), class_="grown")
    words = "A suspicion about one person: an even guess before, and the most it can become after."
    return tag("figure", grown, picture, scale, tag("figcaption", words))
