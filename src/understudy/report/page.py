"""The page: one HTML file with everything inside, and a policy that lets it ask for nothing from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.report.markup import Child, Markup, join, tag
from understudy.report.style import STYLE
from understudy.version import VERSION

MAX_BYTES = 2_000_000


@dataclass(frozen=True)
class Section:
    """A part of the page; `key` is its anchor."""

    key: str
    title: str
    body: tuple[Child, ...]

    @staticmethod
    def of(key: str, title: str, *body: Child) -> Section | None:
        """Return a section, or None where nothing but introductions would be there."""
        return Section(key, title, body) if body and body[-1] is not None else None


def page(
    title: str, header: Markup, sections: Sequence[Section | None], kind: str, made: str, stamp: str | None = None
) -> str:
    """Return the whole document. `made` says of what; `stamp` is printed above, below and on every sheet of paper."""
    shown = [section for section in sections if section is not None]
    banner = None if stamp is None else tag("div", stamp, class_="stamp", role="note")
    body = tag(
        "body", banner, tag("header", header, _contents(shown)),
        tag("main", *(_section(section) for section in shown)), _footer(made, stamp), class_=kind,
    )  # fmt: skip
    return "<!DOCTYPE html>\n" + tag("html", _head(title), body, lang="en") + "\n"


def _head(title: str) -> Markup:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return tag(
        "head",
        Markup('<meta charset="utf-8">'),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )


def _contents(sections: Sequence[Section]) -> Markup:
    return tag("nav", *(tag("a", s.title, href=f"#{s.key}") for s in sections), aria_label="Contents")


def _section(section: Section) -> Markup:
    return tag("section", tag("h2", section.title), *section.body, id=section.key)


def _footer(made: str, stamp: str | None) -> Markup:
    return tag("footer", None if stamp is None else tag("strong", stamp), tag("p", f"understudy {VERSION}. {made}"))


def top(kind: str, title: str, lead: str, *figures: tuple[str, str]) -> Markup:
    """Return the top of a page: what it is, its title, a sentence, and large figures."""
    return join([
        tag("p", f"understudy · {kind}", class_="eyebrow"), tag("h1", title), tag("p", lead, class_="lead"),
        tiles(*figures) if figures else None,
    ])  # fmt: skip


def tiles(*figures: tuple[str, str]) -> Markup:
    """Return large figures with a word below."""
    return tag("div", *(tag("div", tag("b", figure), tag("span", word)) for figure, word in figures), class_="tiles")


def paragraphs(*texts: Child) -> Markup:
    return join(tag("p", text) for text in texts if text)
