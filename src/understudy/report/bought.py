"""Bought figures on the page: public, with cost and error bars."""

from __future__ import annotations

from understudy.evaluate.buying import CONFIDENCE, BoughtFigure, BoughtFigures
from understudy.privacy.budget import show
from understudy.report.bars import Bar, Whisker, table_of
from understudy.report.markup import Markup, tag
from understudy.report.numerals import TVD_IN_WORDS, listed, percent
from understudy.report.page import Section, paragraphs


def bought_section(bought: BoughtFigures) -> Section | None:
    words = (
        f"These figures compare the stand-in with the private rows. They were bought: {bought.budget} was charged for "
        f"them, besides the release itself, so they may be published. Error bars hold {percent(CONFIDENCE, 0)} of the "
        "noise."
    )
    stamp = tag("p", bought.stamp, class_="muted" if bought.private else "warning")
    return Section.of(
        "bought", "How good it is, as bought", paragraphs(words), stamp, paragraphs(*_meaning(bought)), _table(bought)
    )


def _meaning(bought: BoughtFigures) -> list[str]:
    kinds = {figure.place[0] for figure in bought.figures}
    lines = [TVD_IN_WORDS] if "tvd" in kinds else []
    if "errors" in kinds:
        lines.append(
            "The error of a classifier: trained on synthetic rows, it is wrong on this share of the real ones."
        )
    if scores := [
        f"{s:.1f} ({low:.1f} to {high:.1f}) for {a}-way tables" for a, (s, low, high) in bought.scores.items()
    ]:
        lines.append(f"NIST's k-marginal score, 1000 · (1 − mean TVD): {listed(scores)}.")
    return lines if bought.row_count is None else [*lines, f"{bought.row_count}."]


def _table(bought: BoughtFigures) -> Markup:
    bars = [_bar(figure) for figure in bought.figures]
    return tag(
        "div",
        table_of(bars, ["value", "from", "to", f"{bought.unit}:wide"], label="figure", class_="bars names tall"),
        class_="panel",
    )


def _bar(figure: BoughtFigure) -> Bar:
    cells = (f"{figure.value:.4f}", f"{figure.low:.4f}", f"{figure.high:.4f}", show(figure.cost))
    return Bar(figure.name, figure.value, cells, Whisker(figure.low, figure.value, figure.high))
