"""Views: what a notebook shows in the place of an object, and single figures to put into a page of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import UsageError, check_path
from understudy.evaluate.buying import BoughtFigures
from understudy.evaluate.evaluation import Evaluation
from understudy.evaluate.hops import HopFigures
from understudy.methods.plan import Plan
from understudy.privacy.ledger import Ledger
from understudy.query.queries import Answer
from understudy.release import Release
from understudy.report import custodian_report, public_report
from understudy.report.file import check_custodian_file, check_public_file, write_report
from understudy.report.markup import Markup, tag
from understudy.report.network import network_section
from understudy.report.one_way import OneWay
from understudy.report.tables import Below
from understudy.report.view_style import VIEW_STYLE
from understudy.report.views_of_answers import (
    answer_view,
    bought_view,
    compared_attribute,
    evaluation_view,
    hops_view,
    pairs_map,
)
from understudy.report.views_of_releases import ledger_view, plan_view, release_view
from understudy.report.views_of_schemas import schema_view
from understudy.schema import Schema

_PLOT_LINES = 40  # of one attribute that is drawn alone


@dataclass(frozen=True, repr=False)
class View:
    """Something to look at: a notebook draws it, `save` writes it to a file.

    Args:
        title: what it shows.
        html: its code, with its own style sheet and no script.
        custodian: whether it has exact figures: a file's name must then say so.

    >>> view = View("a picture", "<p>hello</p>")
    >>> view
    <a picture: shown in a notebook, or .save("FILE.html")>
    """

    title: str
    html: str
    custodian: bool = False

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        name = "FILE.custodian.html" if self.custodian else "FILE.html"
        return f'<{self.title}: shown in a notebook, or .save("{name}")>'

    def save(self, path: str | Path) -> None:
        """Write it to `path` as a page of its own; exact figures only to a name that ends .custodian.html."""
        target = Path(check_path(path, "a view", "saved to"))
        (check_custodian_file if self.custodian else check_public_file)(target)
        head = tag("meta", charset="utf-8") + tag("title", self.title)
        write_report(target, f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{self.html}</body></html>\n')


@dataclass(frozen=True, repr=False)
class ReportPage(View):
    """A whole report: a notebook shows it in a frame of its own; `page` is the file."""

    page: str = ""

    def _repr_html_(self) -> str:
        frame = "width:100%;height:720px;border:1px solid #8888;border-radius:8px"
        return tag("iframe", srcdoc=self.page, style=frame, sandbox="", title=self.title)

    def save(self, path: str | Path) -> None:
        """Write the report, as `understudy report` does."""
        target = Path(check_path(path, "a report", "saved to"))
        (check_custodian_file if self.custodian else check_public_file)(target)
        write_report(target, self.page)


def framed(content: Markup, title: str, custodian: bool = False) -> View:
    """Return a view with its style sheet; the sheet touches nothing outside of it."""
    html = tag("div", tag("style", Markup(VIEW_STYLE)), content, class_="understudy")
    return View(title, str(html), custodian)


def view_of(thing: object) -> View:
    """Return the view of an object that has one."""
    for kind, make in _VIEWS.items():
        if isinstance(thing, kind):
            exact = isinstance(thing, Evaluation | HopFigures)
            return framed(make(thing), kind.__name__.lower(), exact)
    raise TypeError(f"a {type(thing).__name__} has no view")


_VIEWS: dict[type, Callable[..., Markup]] = {
    Release: release_view,
    Plan: plan_view,
    Schema: schema_view,
    Ledger: ledger_view,
    Evaluation: evaluation_view,
    HopFigures: hops_view,
    BoughtFigures: bought_view,
    Answer: answer_view,
}


def figure_of(thing: Release | Evaluation, figure: str, *names: str) -> View:
    """Return one figure: the report, the network, every pair, or one attribute."""
    match thing, figure:
        case Release(), "report":
            return ReportPage("public report", "", page=public_report(thing))
        case Release(), "network":
            return _network(thing)
        case Release(), "plot":
            return framed(_attribute(thing, names[0]), names[0])
        case Evaluation(), "report":
            return ReportPage("custodian's report", "", True, page=custodian_report(thing))
        case Evaluation(), "plot":
            drawn = compared_attribute(thing, names[0], _PLOT_LINES) if names else pairs_map(thing)
            return framed(drawn, names[0] if names else "every pair", True)
    raise TypeError(f"a {type(thing).__name__} has no figure {figure!r}")


def _attribute(release: Release, name: str) -> Markup:
    """Return one attribute; "orders.price" is one of a table below the root."""
    below, (table, _, own) = Below.of(release), str(name).partition(".")
    child = next((c for c in release.schema.tables if c.name == table), None)
    schema = child.schema if child is not None and own else release.schema
    attribute = schema[own if schema is not release.schema else name]
    if not attribute.modelled:
        raise UsageError(f"{attribute.name} is not part of the model (kind {attribute.kind})")
    if below is not None and schema is not release.schema:
        return below.card(table, attribute, _PLOT_LINES)
    return OneWay(release, attribute).card(_PLOT_LINES)


def _network(release: Release) -> View:
    drawn = network_section(release)
    if drawn is None:
        raise UsageError(
            f"a model of {release.card.method} has no network or cliques to draw; release.plot(NAME) draws an attribute"
        )
    return framed(tag("div", drawn), "network")
