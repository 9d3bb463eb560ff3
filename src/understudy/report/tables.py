"""Tables with foreign keys on a page: how they hang together, and what was drawn for those below the root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.privacy.random_source import seeded_generator
from understudy.relations.linked_model import DrawnTable, LinkedModel
from understudy.release import Release
from understudy.report.bars import Bar, table_of
from understudy.report.cells import lines_for, lines_of
from understudy.report.markup import Child, Markup, tag
from understudy.report.numerals import count, percent, plural
from understudy.report.one_way import attribute_card
from understudy.report.page import Section, paragraphs
from understudy.schema import Attribute, Schema

DRAWN = 20_000  # rows of the root whose children are drawn for a page, at most


def modelled_in_all(schema: Schema) -> int:
    """Return how many attributes are modelled, in the root and in the tables below it."""
    return len(schema.modelled) + sum(len(child.schema.modelled) for child in schema.tables)


def belonging(schema: Schema) -> list[tuple[str, str]]:
    """Return each table below the root and, in words, which rows its rows belong to."""
    return [
        (c.name, f"Up to {plural(c.at_most, 'row')} for a row of {c.parent}, which {c.key} names")
        for c in schema.tables
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Below:
    """The tables below the root of a release, seen through rows that are drawn from it, always the same ones."""

    release: Release
    model: LinkedModel

    @staticmethod
    def of(release: Release) -> Below | None:
        """Return them; None where a release is of one table."""
        return Below(release, release.model) if isinstance(release.model, LinkedModel) else None

    @cached_property
    def drawn(self) -> Mapping[str, DrawnTable]:
        return self.model.sample_tables(self._rows, seeded_generator(0))

    @property
    def _rows(self) -> int:
        return max(1, min(DRAWN, self.release.rows))

    def rows(self, table: str) -> float:
        """Return about how many rows of a table are drawn with the rows of the root that there are."""
        return self.drawn[table].rows * self.release.rows / self._rows

    def attributes(self) -> list[tuple[str, Attribute]]:
        """Return every modelled attribute below the root, with its table."""
        return [(c.name, a) for c in self.model.schema.tables for a in c.schema.modelled]

    def card(self, table: str, attribute: Attribute, most: int) -> Markup:
        """Return one attribute of a table below the root, as it is drawn."""
        codes = np.asarray(self.drawn[table].columns[attribute.name], dtype=np.int64)
        shares = np.bincount(codes, minlength=attribute.size) / max(1, len(codes))
        bars = []
        for line in lines_of(attribute, shares.tolist(), most):
            share = float(shares[list(line.codes)].sum())
            bars.append(Bar(line.label, share, (count(share * self.rows(table)), percent(share))))
        source = f"As {plural(len(codes), 'drawn row')} of {table} have it; no error bar is claimed."
        return attribute_card(
            attribute, table_of(bars, ["rows:wide", "share"]), source, title=f"{table}.{attribute.name}"
        )

    def cards(self, most: int, attributes: int | None = None) -> list[Markup]:
        """Return a card for each attribute below the root, or for the first of them."""
        return [self.card(table, attribute, most) for table, attribute in self.attributes()[:attributes]]


def tables_section(release: Release) -> Section | None:
    """Return what belongs to what, and each attribute below the root; None for a release of one table."""
    below = Below.of(release)
    if below is None:
        return None
    words = (
        f"Synthetic rows of {release.schema.name} are drawn first, then for each the rows that belong to it; keys are "
        "fresh numbers that fit. The sections on one attribute and on pairs are about "
        f"{release.schema.name}; the other tables are here."
    )
    heads = [tag("th", h, scope="col") for h in ("table", "which rows are used")]
    lines = [
        tag("tr", tag("th", name, scope="row"), tag("td", said), tag("td", f"{below.rows(name):,.0f}", class_="figure"))
        for name, said in belonging(release.schema)
    ]
    top = tag("tr", *heads, tag("th", "rows, about", scope="col", class_="figure"))
    table = tag("table", tag("thead", top), tag("tbody", *lines), class_="plain")
    cards: list[Child] = list(below.cards(lines_for(len(below.attributes()))))
    return Section.of(
        "tables", "The tables", paragraphs(words), tag("div", table, class_="panel scroll"),
        tag("div", *cards, class_="cards spaced"),
    )  # fmt: skip
