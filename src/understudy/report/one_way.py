"""One-way tables of a release: the model's share of each value, and what its noisy measurement says about the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.measurement import Measurement
from understudy.query.standard_errors import sum_noise
from understudy.release import Release
from understudy.report.bars import Bar, Whisker, table_of
from understudy.report.cells import MAX_ATTRIBUTES, Line, lines_for, lines_of
from understudy.report.density import density, tree_density
from understudy.report.markup import Child, Markup, join, tag
from understudy.report.numerals import count, listed, percent, plural, points
from understudy.schema import Attribute, Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reading:
    """One attribute read off a measured table: noisy counts and the variance of each."""

    table: Measurement
    counts: Floats
    variance: Floats

    @property
    def others(self) -> list[str]:
        return list(dict.fromkeys(axis.attribute for axis in self.table.axes))


def quietest_reading(release: Release, name: str) -> Reading | None:
    """Return the shares of the table that shows this attribute with the least noise (a public choice), if any."""
    schema, found = release.schema, []
    for table in release.measurements:
        variance = sum_noise(table, schema, {name: np.ones(schema[name].size)}, [name])
        if variance is not None:
            found.append(Reading(table, _read_off(table, schema, name), variance))
    return min(found, key=lambda reading: float(reading.variance.sum()), default=None)


def _read_off(table: Measurement, schema: Schema, name: str) -> Floats:
    """Sum out every other attribute; an attribute split into bits is put together."""
    own = tuple(i for i, axis in enumerate(table.axes) if axis.attribute == name)
    gone = tuple(i for i in range(len(table.axes)) if i not in own)
    counts = table.values.sum(axis=gone)[tuple(schema.view_map(table.axes[i]) for i in own)]
    return np.asarray(counts, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class OneWay:
    """One attribute as it was published."""

    release: Release
    attribute: Attribute

    @cached_property
    def shares(self) -> Floats:
        return self.release.model.project([self.attribute.name]).table

    @cached_property
    def reading(self) -> Reading | None:
        return quietest_reading(self.release, self.attribute.name)

    def bar(self, line: Line) -> Bar:
        codes, rows = list(line.codes), self.release.rows
        share = float(self.shares[codes].sum())
        figures = (count(share * rows), percent(share))
        if self.reading is None or rows < 1:
            return Bar(line.label, share, figures)
        middle = float(self.reading.counts[codes].sum()) / rows
        spread = math.sqrt(float(self.reading.variance[codes].sum())) * self.reading.table.noise.reach_95 / rows
        whisker = Whisker(middle - spread, middle, middle + spread)
        return Bar(line.label, share, (*figures, f"± {points(spread)} %"), whisker)

    def card(self, most: int) -> Markup:
        lines = lines_of(self.attribute, self.shares.tolist(), most)
        heads = ["rows:wide", "share"] + ([] if self.reading is None else ["noise"])
        table = table_of([self.bar(line) for line in lines], heads)
        return attribute_card(self.attribute, join([table, self._density()]), self._source())

    def _density(self) -> Markup | None:
        """Draw the density where the shape inside bins was published too."""
        name = self.attribute.name
        for tree in self.release.trees:
            if tree.attribute.name == name and tree.levels:
                return tree_density(tree.shape, self.shares, tree.levels[-1].noise)
        found = [d for d in self.release.details if d.attribute == name]
        return density(self.release.shapes[name], self.shares, found[0].noise) if found else None

    def _source(self) -> str:
        if self.reading is None:
            return "No measured table shows this attribute value by value, so no error bar is claimed."
        if self.reading.others == [self.attribute.name]:
            return "Error bars from a table of this attribute alone."
        return f"Error bars from the measured table of {listed(self.reading.others)}."


def attribute_card(attribute: Attribute, table: Markup, *notes: Child, title: str | None = None) -> Markup:
    kind = f"{attribute.kind}, {plural(attribute.size, 'value')}"
    head = tag("h3", title or attribute.name, tag("span", kind, class_="kind"))
    return tag("article", head, table, *(tag("p", note, class_="source") for note in notes), class_="card")


def one_way_tables(release: Release) -> Markup:
    """Return a card for each attribute, as many as the page can hold."""
    shown = release.schema.modelled[:MAX_ATTRIBUTES]
    cards = [OneWay(release, attribute).card(lines_for(len(shown))) for attribute in shown]
    return tag("div", *cards, left_out(release.schema), class_="cards")


def left_out(schema: Schema) -> Markup | None:
    more = len(schema.modelled) - MAX_ATTRIBUTES
    return tag("p", f"{plural(more, 'more attribute')}: not drawn, to keep this page small.") if more > 0 else None
