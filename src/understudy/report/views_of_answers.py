"""Views of an answer and of an evaluation, exact or bought."""

from __future__ import annotations

from understudy.errors import UsageError
from understudy.evaluate.buying import BoughtFigures
from understudy.evaluate.evaluation import Evaluation
from understudy.evaluate.hops import HopFigures
from understudy.privacy.custodian import STAMP
from understudy.query.answer_text import compared, interval_decimals, interval_words, shown_number
from understudy.query.queries import Answer, Figure
from understudy.report.bars import Bar, Whisker, table_of
from understudy.report.bought import bought_section
from understudy.report.custodian import compared_card, errors_table, worst_tables
from understudy.report.heat_map import heat_map
from understudy.report.markup import Child, Markup, coded, join, shortened, tag
from understudy.report.numerals import TVD_IN_WORDS, count, plural
from understudy.report.page import tiles
from understudy.report.parts import heading, plain_table

MAX_FIGURES = 60  # of an answer
MAX_DRAWN = 6  # attributes of an evaluation
_LONGEST = 160  # characters of a question
REACH = 1.96  # standard errors of a whisker: 19 times in 20


def answer_view(answer: Answer) -> Markup:
    shown = answer.figures[:MAX_FIGURES]
    more = len(answer.figures) - len(shown)
    title = f"{answer.measure} by {', '.join(answer.by)}" if answer.by else answer.measure
    return join([
        heading("answer", shortened(answer.question, _LONGEST) or title),
        _groups(answer, shown) if answer.by else _single(answer),
        tag("p", plural(more, "more group"), class_="source") if more > 0 else None,
        *_covers(answer), _compared(answer),
        *(tag("p", coded(note), class_="source") for note in answer.notes),
    ])  # fmt: skip


def _single(answer: Answer) -> Markup:
    value, error = (shown_number(n, answer.measure, interval_decimals(answer)) for n in (answer.value, answer.stderr))
    figures = [(value, answer.measure), *([(f"± {error}", "standard error")] if answer.stderr else [])]
    if answer.interval is not None:
        figures.append((" to ".join(_ends(answer, answer.figures[0])), f"{_percent(answer)} interval"))
    return tiles(*figures)


def _covers(answer: Answer) -> list[Markup]:
    """Return what the interval and the standard error cover, as far as either is there."""
    words = (
        [] if answer.confidence is None else [f"{_percent(answer)} {interval_words(answer)}: {answer.interval_covers}."]
    )
    if answer.confidence is None or any(figure.stderr is not None for figure in answer.figures):
        words.append(f"Standard error: {answer.stderr_covers or 'not known; no measured table shows this sum'}.")
    return [tag("p", line, class_="source") for line in words]


def _compared(answer: Answer) -> Markup | None:
    lines = [tag("p", line, class_="source") for line in compared(answer)[: MAX_FIGURES - 1]]
    return tag("details", tag("summary", "Each group against the first"), *lines) if lines else None


def _percent(answer: Answer) -> str:
    return f"{100 * (answer.confidence or 0.0):.4g} %"


def _ends(answer: Answer, figure: Figure) -> list[str]:
    decimals = interval_decimals(answer)
    return [shown_number(end, answer.measure, decimals) for end in figure.interval or (None, None)]


def _groups(answer: Answer, shown: tuple[Figure, ...]) -> Markup:
    top = max((max(abs(place) for place in (f.value or 0.0, *_reach(f))) for f in shown), default=0.0) or 1.0
    known = any(figure.stderr is not None for figure in shown)
    bars = [_bar(figure, answer, top, known) for figure in shown]
    ends = ["from", "to"] if answer.confidence is not None else []
    heads = [answer.measure, *(["± stderr"] if known else []), *ends]
    return tag("div", table_of(bars, heads, 1.0, " × ".join(answer.by)), class_="panel")


def _reach(figure: Figure) -> tuple[float, float] | tuple[()]:
    """Return the ends of a figure's whisker: its interval, else what its standard error reaches."""
    if figure.interval is not None:
        low, high = figure.interval
        return float(low), float(high)
    if figure.stderr is None:
        return ()
    return (figure.value or 0.0) - REACH * figure.stderr, (figure.value or 0.0) + REACH * figure.stderr


def _bar(figure: Figure, answer: Answer, top: float, known: bool) -> Bar:
    value, reach = figure.value or 0.0, _reach(figure)
    whisker = Whisker(reach[0] / top, value / top, reach[1] / top) if reach else None
    cells = [shown_number(figure.value, answer.measure, interval_decimals(answer))]
    cells += [shown_number(figure.stderr, answer.measure)] if known else []
    cells += _ends(answer, figure) if answer.confidence is not None else []
    return Bar(" × ".join(figure.by[name] for name in answer.by), max(0.0, value) / top, tuple(cells), whisker)


# -- evaluations -------------------------------------------------------------------------------------------------


def evaluation_view(found: Evaluation) -> Markup:
    """Return an evaluation under its stamp: the figures are exact."""
    real, other = found.rows
    figures = [(f"{errors.mean:.4f}", f"mean TVD, {alpha}-way") for alpha, errors in found.tables.items()]
    title = f"How good is the stand-in for {found.schema.name}?"
    words = f"{count(other)} synthetic rows against the {count(real)} real ones they stand in for."
    return join([
        _stamp(), heading("evaluation", title, words), tiles(*figures) if figures else None, *_tables(found),
        _one_way(found),
        tag("p", "Next: ", tag("code", 'evaluation.plot("' + found.schema.names[0] + '")'), " ",
            tag("code", 'evaluation.report().save("FILE.custodian.html")'), class_="next"),
    ])  # fmt: skip


def _stamp() -> Markup:
    return tag("div", STAMP, class_="stamp", role="note")


def _tables(found: Evaluation) -> list[Markup]:
    if not found.tables:
        return []
    worst = tag("div", *(worst_tables(errors) for errors in found.tables.values()), class_="two")
    parts = [tag("div", errors_table(found), class_="panel scroll"), tag("p", TVD_IN_WORDS, class_="source")]
    if 2 in found.tables and len(found.schema.names) > 1:
        drawn = tag("div", heat_map(found.tables[2], found.schema.names), class_="panel")
        parts.append(tag("details", tag("summary", "Two attributes at a time"), drawn))
    return [*parts, tag("details", tag("summary", "The worst tables"), worst)]


def _one_way(found: Evaluation) -> Markup | None:
    shown = [a for a in found.schema.modelled if a.name in found.one_way][:MAX_DRAWN]
    cards = [compared_card(attribute, found.one_way[attribute.name], 8) for attribute in shown]
    return (
        tag("details", tag("summary", "One attribute at a time"), tag("div", *cards, class_="cards")) if cards else None
    )


def pairs_map(found: Evaluation) -> Markup:
    """Return the error of every two-way table, under the stamp."""
    if 2 not in found.tables or len(found.schema.names) < 2:
        raise UsageError("no two-way tables were compared: ask for them with alpha=[2], or plot one attribute by name")
    return join([_stamp(), tag("div", heat_map(found.tables[2], found.schema.names), class_="panel")])


def compared_attribute(found: Evaluation, name: str, most: int) -> Markup:
    """Return one attribute in the original and in the stand-in, under the stamp."""
    attribute = found.schema[name]
    if name not in found.one_way:
        raise UsageError(f"{name} was not compared (kind {attribute.kind})", attribute=name)
    return join([_stamp(), compared_card(attribute, found.one_way[name], most)])


def hops_view(found: HopFigures) -> Markup:
    """Return how well tables with foreign keys go together, under the stamp."""
    words = "Counts by a value of each of two joined tables, of at least 1 % of the joined rows: how far they are off."
    tables: list[list[Child]] = [
        [tag("b", name), count(real), count(other), _distance(found.fan_out.get(name))]
        for name, (real, other) in found.rows.items()
    ]
    hops: list[list[Child]] = [
        [" and ".join(hop.tables), f"{hop.hops}", f"{hop.queries:,}", f"{hop.median:.3f}", f"{hop.tvd:.4f}"]
        for hop in found.hops
    ]
    figures = [(f"{error:.3f}", f"median relative error, {hops}-hop") for hops, error in found.median.items()]
    return join([
        _stamp(), heading("evaluation", f"How good are the stand-ins for {found.name}?", words),
        tiles(*figures) if figures else None,
        plain_table(["table", "real rows", "synthetic rows", "TVD of rows per parent"], tables, 3),
        plain_table(["tables", "hops", "queries", "median relative error", "mean TVD"], hops, 4),
    ])  # fmt: skip


def _distance(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def bought_view(bought: BoughtFigures) -> Markup:
    section = bought_section(bought)
    title = f"How good is the stand-in for {bought.schema.name}?"
    return join([heading("bought figures", title), *(() if section is None else section.body)])
