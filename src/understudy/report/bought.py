"""Bought figures on the page: public, with cost and error bars."""

from __future__ import annotations

from understudy.evaluate.buying import CONFIDENCE, BoughtFigure, BoughtFigures
from understudy.privacy.budget import show
from understudy.report.bars import Bar, Whisker, table_of
from understudy.report.markup import Markup, tag
from understudy.report.page import Section, paragraphs


def bought_section(bought: BoughtFigures) -> Section | None:
    words = (
        f"These figures compare the stand-in with the private rows. They were bought: {bought.budget} was charged for "
        f"them, besides the release itself, so they may be published. Error bars hold {CONFIDENCE:.0%} of the noise."
    )
    stamp = tag("p", bought.stamp, class_="muted" if bought.private else "warning")
    return Section.of("bought", "How good it is, as bought", paragraphs(words), stamp, _table(bought))


def _table(bought: BoughtFigures) -> Markup:
    bars = [_bar(figure) for figure in bought.figures]
    return tag(
        "div",
        table_of(bars, ["value", "from", "to", f"{bought.unit}:wide"], label="figure", class_="bars names"),
        class_="panel",
    )


def _bar(figure: BoughtFigure) -> Bar:
    cells = (f"{figure.value:.4f}", f"{figure.low:.4f}", f"{figure.high:.4f}", show(figure.cost))
    return Bar(figure.name, figure.value, cells, Whisker(figure.low, figure.value, figure.high))
