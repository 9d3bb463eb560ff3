"""The PUBLIC report: what was published, under which promise. From a release and bought figures; reads no row."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.evaluate.buying import BoughtFigures
from understudy.privacy.accounting import GDP, ZCDP
from understudy.privacy.custodian import refuse_exact
from understudy.release import Release
from understudy.report.bars import Bar, Whisker, legend_of
from understudy.report.bought import bought_section
from understudy.report.budget import budget_bar, suspicion
from understudy.report.card import card_section, not_promised, promise
from understudy.report.markup import Markup, tag
from understudy.report.network import network_section
from understudy.report.numerals import count, listed, plural
from understudy.report.one_way import one_way_tables
from understudy.report.page import Section, page, paragraphs, top
from understudy.report.tables import modelled_in_all, tables_section
from understudy.report.what_holds import what_holds_section

_RELEASE_ALONE = "Made from the release alone; no row was read."
_ALSO_BOUGHT = "Made from the release and from figures that were bought; no exact figure is on this page."
_BOUGHT = "Made from figures that were bought; no exact figure is on this page."


def public_report(release: Release, bought: Sequence[BoughtFigures] = (), signature: str | None = None) -> str:
    """Return one HTML file; the same release gives the same bytes. Exact figures are refused.

    `signature` says in words whether a signature of the release holds.
    """
    refuse_exact(release.facts, release.card, *bought)
    if not isinstance(release, Release) or not all(isinstance(figures, BoughtFigures) for figures in bought):
        raise TypeError("a public report takes a release and bought figures, nothing else")
    sections = [
        promise_section(release, _own_promise(bought)),
        budget_section(release),
        *(bought_section(figures) for figures in bought),
        tables_section(release),
        structure_section(release),
        rules_section(release),
        what_holds_section(release),
        _one_way(release),
        *closing_sections(release, signature),
    ]
    title, made = f"{release.schema.name} · public report", _ALSO_BOUGHT if bought else _RELEASE_ALONE
    return page(title, _header(release), sections, "public", made)


def bought_report(bought: BoughtFigures) -> str:
    """Return the page of bought figures alone, for a stand-in that came without a release."""
    refuse_exact(bought)
    if not isinstance(bought, BoughtFigures):
        raise TypeError("a public report takes bought figures, nothing else")
    lead = "Figures bought under differential privacy; no exact figure is on this page."
    header = top("public report", f"How good is the stand-in for {bought.schema.name}?", lead)
    return page(f"{bought.schema.name} · public report", header, [bought_section(bought)], "public", _BOUGHT)


# -- parts that the custodian's report shares --------------------------------------------------------------------


def promise_section(release: Release, own: str) -> Section | None:
    """Return the section of the promise; `own` says whether it holds for the page itself."""
    card = release.card
    words = card.in_words
    warnings = [tag("p", warning, class_="warning") for warning in card.warnings]
    plain = paragraphs(
        f"Whatever anyone does with this release, and whatever they know already: {words}.",
        f"The promise is {promise(card)} for {card.unit}. It holds for the synthetic rows, the model behind "
        f"them, and all that is made from these. {own}",
        tag("span", f"What may differ — {card.neighbours_in_words}.", class_="muted"),
    )
    columns = tag("div", tag("div", plain), tag("div", suspicion(card.epsilon), class_="panel"), class_="two")
    return Section.of("promise", "The promise", *warnings, columns)


_UNITS = {
    GDP.unit: " Costs are in mu squared (Gaussian privacy), which adds up to the epsilon and delta above.",
    ZCDP.unit: " Costs are in rho (zero-concentrated privacy), which adds up to the epsilon and delta above.",
}


def budget_section(release: Release) -> Section | None:
    card = release.card
    if not card.charges:
        return None
    words = "Every look at the private rows was paid for. This is what the budget bought."
    words += _UNITS.get(card.charges[0].unit, "")
    return Section.of("budget", "The budget, by phase", paragraphs(words), tag("div", budget_bar(card), class_="panel"))


def structure_section(release: Release) -> Section | None:
    words = None
    if release.facts.network:
        words = (
            "Each attribute was modelled given its parents: an arrow runs from a parent to its child. The arrows say "
            "which tables were measured together; they are not causes, and noise took part in choosing them."
        )
    title = "The network" if words else "The cliques"
    return Section.of("network", title, paragraphs(words), network_section(release))


def rules_section(release: Release) -> Section | None:
    """Return the rules that every row meets; None where there are none."""
    if not release.schema.rules:
        return None
    computed = release.schema.rule_book.determined
    words = (
        "Public knowledge, declared before any row was read. Every synthetic row meets each of these; a comparison "
        "with a missing value is met."
    )
    if computed:
        words += f" {listed(list(computed))}: computed from other columns, and never counted."
    items = [tag("li", tag("code", rule.text)) for rule in release.schema.rules]
    return Section.of("rules", "The rules", paragraphs(words), tag("ul", *items))


def closing_sections(release: Release, signature: str | None = None) -> list[Section | None]:
    return [
        Section.of("limits", "What is not promised", not_promised(release.card)),
        Section.of("card", "The privacy card", card_section(release, signature)),
    ]


def columns_in_words(release: Release) -> str:
    """Return what became of the columns that are no part of the model."""
    schemas = (release.schema, *(child.schema for child in release.schema.tables))
    every = [a for schema in schemas for a in schema.attributes]
    by_kind = {kind: list(dict.fromkeys(a.name for a in every if a.kind == kind)) for kind in ("id", "drop")}
    words = ""
    if by_kind["id"]:
        read = "never read" if not release.schema.relational else "read to know whose row each is, never shown"
        words += f" {listed(by_kind['id'])}: {read}, fresh numbers on output."
    return words + (f" {listed(by_kind['drop'])}: left out." if by_kind["drop"] else "")


# -- the public page's own ---------------------------------------------------------------------------------------


def _header(release: Release) -> Markup:
    card = release.card
    rows, columns = count(release.rows), plural(modelled_in_all(release.schema), "attribute")
    many = len(release.schema.tables) + 1
    fitted = "a private table" if many == 1 else f"{many} private tables"
    lead = (
        f"A model of {columns}, fitted to {fitted} under differential privacy, and synthetic rows drawn from "
        f"it. Not one row of the original is shown, here or there.{columns_in_words(release)}"
    )
    figures = [(f"ε = {card.epsilon:.6g}", card.unit), (rows, "rows" if release.schema.rows else "rows, noisy")]
    if card.delta:
        figures.insert(1, (f"δ = {card.delta:.6g}", "failure probability"))
    title = f"A stand-in for {release.schema.name}"
    return top("public report", title, lead, *figures, _split(columns), (card.method, "method"))


def _own_promise(bought: Sequence[BoughtFigures]) -> str:
    if not bought:
        return "They include this page."
    more = " and ".join(str(figures.budget) for figures in bought)
    return f"This page also shows figures that were bought for {more} more: for the whole page, the costs add up."


def _split(words: str) -> tuple[str, str]:
    many, _, of = words.partition(" ")
    return many, of


def _one_way(release: Release) -> Section | None:
    rows = "the rows" if release.schema.rows else "the noisy row count"
    words = (
        "The bar is the published share, which synthetic rows follow. The error bar is a noisy count that was "
        f"measured, as a share of {rows}, with its noise: the true count lies inside 19 times in 20, for one value "
        "at a time. It covers the noise added for privacy and nothing else: not the chance in drawing synthetic rows, "
        "and not how attributes depend on each other. The model weighs all measured tables together and allows no "
        "negative counts, so a bar may lie beside the middle of its error bar."
    )
    return Section.of("tables", "One attribute at a time", paragraphs(words), _legend(), one_way_tables(release))


def _legend() -> Markup:
    noise = Bar("measured, ± 95 % of the noise", 0.0, (), Whisker(0.25, 0.5, 0.75))
    return legend_of(Bar("published share", 0.6, ()), noise)
