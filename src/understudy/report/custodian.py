"""The CUSTODIAN report: exact figures of a stand-in against its original. Stamped; never for release."""

from __future__ import annotations

from understudy.evaluate.classification import ClassifierErrors
from understudy.evaluate.distances import TableErrors
from understudy.evaluate.evaluation import Evaluation, Shares
from understudy.privacy.custodian import STAMP
from understudy.release import Release
from understudy.report.bars import Bar, legend_of, table_of
from understudy.report.cells import MAX_ATTRIBUTES, lines_for, lines_of
from understudy.report.exact import figures_section, numeric_section
from understudy.report.heat_map import heat_map
from understudy.report.markup import Markup, tag
from understudy.report.numerals import TVD_IN_WORDS, count, percent, plural
from understudy.report.one_way import attribute_card, left_out
from understudy.report.page import Section, page, paragraphs, top
from understudy.report.public import (
    budget_section,
    closing_sections,
    promise_section,
    rules_section,
    structure_section,
)
from understudy.schema import Attribute

_COLUMNS = ("figure", "figure", "figure wide", "figure wide", "figure many")


def custodian_report(found: Evaluation, release: Release | None = None) -> str:
    """Return one HTML file for the custodian's own eyes; with the release, the promise and the network stand beside."""
    published = (
        [] if release is None else [promise_section(release, "This page is not among them."), budget_section(release)]
    )
    sections = [
        *published,
        _tables(found),
        _pairwise(found),
        _one_way(found),
        _classifiers(found),
        numeric_section(found),
        figures_section(found),
        *([] if release is None else [structure_section(release), rules_section(release), *closing_sections(release)]),
    ]
    title, made = f"{found.schema.name} · custodian's report", "Made from exact figures of the private table."
    return page(title, _header(found, release), sections, "custodian", made, STAMP)


def _header(found: Evaluation, release: Release | None) -> Markup:
    real, other = found.rows
    lead = (
        f"{count(other)} synthetic rows compared with the {count(real)} real ones they stand in for. The figures are "
        "exact: they were computed from the private rows outside every promise, so this page must stay in the "
        "building."
    )
    figures = [(f"{e.mean:.4f}", f"mean TVD, {a}-way tables") for a, e in found.tables.items()]
    if release is not None:
        figures.insert(0, (f"ε = {release.card.epsilon:.6g}", release.card.method))
    return top("custodian's report", f"How good is the stand-in for {found.schema.name}?", lead, *figures)


# -- tables ------------------------------------------------------------------------------------------------------


def _tables(found: Evaluation) -> Section | None:
    if not found.tables:
        return None
    worst = [worst_tables(errors) for errors in found.tables.values()]
    body = [
        tag("div", errors_table(found), class_="panel scroll"),
        tag("h3", "The worst tables"),
        tag("div", *worst, class_="two"),
    ]
    return Section.of("errors", "Tables", paragraphs(TVD_IN_WORDS), *body)


def errors_table(found: Evaluation) -> Markup:
    """Return the mean and largest errors of the tables, a line for each number of attributes."""
    heads = ("mean TVD", "max TVD", "mean L2", "k-marginal", "tables")
    top = tag("tr", tag("td", ""), *(tag("th", h, scope="col", class_=c) for h, c in zip(heads, _COLUMNS)))
    lines = [tag("tr", tag("th", f"{alpha}-way", scope="row"), *_summary_cells(e)) for alpha, e in found.tables.items()]
    return tag("table", tag("thead", top), tag("tbody", *lines), class_="plain short")


def _summary_cells(errors: TableErrors) -> list[Markup]:
    many = f"{len(errors.each):,}" + ("" if errors.seed is None else f" of {errors.of:,}, seed {errors.seed}")
    cells = (f"{errors.mean:.4f}", f"{errors.max:.4f}", f"{errors.l2:.4f}", f"{errors.k_marginal:.1f}", many)
    return [tag("td", cell, class_=c) for cell, c in zip(cells, _COLUMNS)]


def worst_tables(errors: TableErrors) -> Markup:
    """Return the tables with the largest errors, as bars."""
    bars = [Bar(" × ".join(t.attributes), t.tvd, (f"{t.tvd:.4f}",)) for t in errors.worst]
    return tag("div", table_of(bars, ["TVD"], label=f"{errors.alpha}-way", class_="bars names tall"), class_="panel")


def _pairwise(found: Evaluation) -> Section | None:
    if 2 not in found.tables or len(found.schema.names) < 2:
        return None
    words = "The TVD of every two-way table. The further along the scale, the worse."
    if found.tables[2].seed is not None:
        words += " Only a sample of the tables was compared: the other places are empty."
    picture = tag("div", heat_map(found.tables[2], found.schema.names), class_="panel")
    return Section.of("pairs", "Two attributes at a time", paragraphs(words), picture)


# -- one-way -----------------------------------------------------------------------------------------------------


def _one_way(found: Evaluation) -> Section | None:
    shown = [a for a in found.schema.modelled[:MAX_ATTRIBUTES] if a.name in found.one_way]
    if not shown:
        return None
    most = lines_for(len(shown))
    cards = [compared_card(attribute, found.one_way[attribute.name], most) for attribute in shown]
    body = tag("div", *cards, left_out(found.schema), class_="cards")
    legend = legend_of(Bar("synthetic", 0.6, ()), Bar("original", 0.0, (), mark=0.5))
    return Section.of("tables", "One attribute at a time", legend, body)


def compared_card(attribute: Attribute, shares: Shares, most: int) -> Markup:
    """Return one attribute in the stand-in (bars) and in the original (marks)."""
    bars = []
    for line in lines_of(attribute, shares.original, most):
        real, other = (sum(side[c] for c in line.codes) for side in (shares.original, shares.synthetic))
        bars.append(Bar(line.label, other, (percent(other), percent(real)), mark=real))
    return attribute_card(attribute, table_of(bars, ["synthetic", "original"]))


# -- classifiers -------------------------------------------------------------------------------------------------


def _classifiers(found: Evaluation) -> Section | None:
    if not found.classification:
        return None
    words = (
        "Each classifier was trained on synthetic rows and, for comparison, on four fifths of the real ones, and "
        "tested on the other fifth. Shorter is better; always saying the most common class is the line to beat."
    )
    cards = [_classifier(task) for task in found.classification]
    return Section.of("classifiers", "Classifiers", paragraphs(words), tag("div", *cards, class_="two"))


def _classifier(task: ClassifierErrors) -> Markup:
    bars = []
    for model, rate in task.synthetic.items():
        bars.append(Bar(f"{model}, on synthetic", rate, (percent(rate),)))
        bars.append(Bar(f"{model}, on real", task.real[model], (percent(task.real[model]),), kind="real"))
    bars.append(Bar("most common class", task.majority, (percent(task.majority),), kind="plainest"))
    tested = tag("span", plural(task.test_rows, "test row"), class_="kind")
    return tag(
        "article",
        tag("h3", task.target, tested),
        table_of(bars, ["error"], label="trained", class_="bars names"),
        class_="card",
    )
