"""Discovery: what a schema leaves open is bought before a method begins, out of the same budget.

Kinds and formats come from one histogram a column, ranges from octaves or decades, value lists from thresholded counts.
What each costs is a public rule of the declared schema and the budget (docs/decisions/0024-paid-discovery.md). The
schema that comes out is a function of the declared one and of the outcomes in the ledger's journal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from understudy.errors import UsageError
from understudy.methods.discovered_attributes import MIDDLE, completed_body, completed_schema, one_way
from understudy.methods.discovery_probes import (
    FEW_VALUES,
    FORMATS,
    LISTS,
    RANGES,
    left_open,
    probe_axis,
    probes_of,
    range_axis,
    range_edges,
)
from understudy.methods.plan import Phase, short_list
from understudy.models import discovered
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.noise import Noise
from understudy.privacy.questions.value_lists import NO_DELTA, Grouping, ValueList, ValueLists
from understudy.privacy.table import PrivateTable
from understudy.schema import Attribute, Axis, Schema
from understudy.schema.attribute import MISSING
from understudy.schema.files import attribute_from_dict
from understudy.schema.octaves import FEW
from understudy.schema.scales import DISCOVERABLE_KINDS, LISTED_KINDS, MOMENT_KINDS, ordered_scale
from understudy.schema.text_classes import TextClasses, formats
from understudy.schema.undiscovered import What

KINDS_SHARE = Fraction(1, 25)  # of the budget, for the formats of all columns if each had to be found
RANGES_SHARE = Fraction(1, 25)
LISTS_SHARE = Fraction(1, 5)  # which also buys the one-way tables of these columns
LISTS_DELTA = Fraction(1, 2)  # of delta, for value lists
LARGEST_GROUP = Fraction(1, 4)  # of the rows: where no smaller group would be seen, nothing is bought
_OCTAVES = len(ordered_scale("number").search_edges())  # cells in which the range of a number is looked for
_PLACEHOLDERS: dict[What, dict[str, Any]] = {
    "kind": {"kind": "number", "range": [0, 100]},
    "range": {"range": [0, 100]},
    "values": {"values": [str(i) for i in range(10)], "other": "0"},
}
_SHORT_LIST: dict[str, Any] = {"kind": "category", "values": [str(i) for i in range(6)], "other": "0"}


@dataclass(frozen=True, eq=False)
class Discovered:
    """A schema in which nothing is left open, the one-way tables that came with it, and what to say about it."""

    schema: Schema
    known: tuple[Measurement, ...] = ()
    notes: tuple[str, ...] = ()
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of what was bought, as a file has them


@dataclass(frozen=True)
class Among:
    """Several owners: how many, how many shares make up the whole noise, and each one's rows where they are public."""

    owners: int
    honest: int
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Discovery:
    """What is to be bought for a declared schema, and at what cost: all of it public."""

    schema: Schema
    budget: Budget  # with the delta of value lists set aside
    portion: Fraction = Fraction(1)  # how many times the usual shares are spent: more where nothing else is bought
    among: Among | None = None

    @staticmethod
    def of(schema: Schema, budget: Budget, among: Among | None = None) -> Discovery:
        """Return what is to be bought, by several owners perhaps; refuse lists under pure epsilon."""
        if schema.rules:
            raise UsageError("rules need a schema in which nothing is left to be bought: buy it first (init --epsilon)")
        left = {left_open(a).what for a in schema.undiscovered}
        if "values" in left and not budget.delta:
            raise UsageError(NO_DELTA)
        aside = budget.delta * LISTS_DELTA if left & {"values", "kind"} else Fraction(0)
        return Discovery(schema, budget.setting_aside(aside), among=among)

    def alone(self) -> Discovery:
        """Return the same for a run that buys nothing else, and so spends all on it."""
        return replace(self, portion=self.whole / self.cost)

    # -- costs -----------------------------------------------------------------------------------------------

    @property
    def accounting(self) -> Accounting:
        return accounting_of(self.budget)

    @cached_property
    def whole(self) -> Fraction:
        return total_cost(self.budget)

    def _asked(self, *what: What) -> tuple[Attribute, ...]:
        return tuple(a for a in self.schema.undiscovered if left_open(a).what in what)

    @property
    def _columns(self) -> int:
        """Return the columns that a budget is split over."""
        return len(self.schema.modelled) + len(self.schema.undiscovered)

    def _each(self, share: Fraction) -> Fraction:
        return self.whole * share * self.portion / self._columns

    @property
    def lists_delta(self) -> Fraction:
        """Return the delta of one column's list: all columns that may turn out to have one share evenly."""
        return self.budget.aside / max(1, len(self._asked("values", "kind")))

    @property
    def cost(self) -> Fraction:
        """Return the most that discovery can cost: an undeclared column may have a range of few whole numbers."""
        return sum((self._each(_most(a)) for a in self.schema.undiscovered), Fraction(0))

    # -- what can be seen ------------------------------------------------------------------------------------

    def table_noise(self, share: Fraction) -> Noise:
        """Return the noise of one histogram."""
        noise = table_noise(self.schema, self.accounting, self._each(share))
        return noise if self.among is None else noise.summed(self.among.honest, self.among.owners)

    def list_threshold(self) -> tuple[Noise, int]:
        """Return the noise of a list's counts, and the noisy count from which a value is listed."""
        question = ValueLists((Grouping("any"),), self.lists_delta)
        noise = question.noise(self.schema, self.accounting, self._each(LISTS_SHARE))
        return noise, question.threshold(self.schema, noise)

    @cached_property
    def groups(self) -> dict[str, int]:
        """Return about the smallest group that each part of discovery can see."""
        found = {}
        if self._asked("kind"):
            found[FORMATS] = discovered.visible(self.table_noise(KINDS_SHARE), formats().size)
        if self._asked("kind", "range"):
            found[RANGES] = discovered.visible(self.table_noise(RANGES_SHARE), _OCTAVES)
        if self._asked("values") or (self._asked("kind") and self.budget.delta):
            found[LISTS] = self.list_threshold()[1]
        return found

    def check(self, rows: int | None) -> None:
        """Refuse, from public facts, what would see no group smaller than a quarter of the rows."""
        if rows is None:
            return
        alone = rows if self.among is None else max(self.among.rows, default=rows)
        for what, group in self.groups.items():
            whole = alone if what == LISTS else rows
            if group > LARGEST_GROUP * whole:
                held = "there are" if whole == rows else "the largest owner has"
                raise UsageError(
                    f"discovery of {what} would see no group of fewer than about {group:,} rows, more than a quarter "
                    f"of the {whole:,} {held}: nothing would be found. Declare more of the schema, leave columns "
                    "out, or spend a larger epsilon"
                )

    def notes(self) -> tuple[str, ...]:
        """Return what a plan says about it."""
        shown = ", ".join(f"{what} from about {group:,} rows on" for what, group in self.groups.items())
        found = [f"what the schema leaves open is bought first: the smallest groups that are seen are {shown}"]
        if self.budget.aside:
            found.append(
                f"delta {float(self.budget.delta):.6g} is split: {float(self.budget.delta - self.budget.aside):.6g} "
                f"for the conversion, {float(self.budget.aside):.6g} for value lists, evenly over "
                f"{len(self._asked('values', 'kind'))} columns"
            )
        return (*found, *self.losses())

    def losses(self) -> list[str]:
        """Return what several owners lose against one table of all their rows."""
        if self.among is None:
            return []
        found = []
        if self._asked("kind", "range"):
            found.append(
                f"several owners: kinds and ranges are sums over all of them, with {self.among.owners} owners' shares "
                f"of noise of which {self.among.honest} are enough"
            )
        if LISTS in self.groups:
            found.append(
                f"several owners: each lists the texts that about {self.groups[LISTS]:,} of its own rows share, and "
                "the list is the union: a text that is spread thin over the owners counts as other, and counts are "
                "bought again where the lists differ"
            )
        return found

    def phases(self) -> tuple[Phase, ...]:
        """Return what would be bought, at most."""
        whole = [a for a in self._asked("range") if left_open(a).whole_numbers]
        few = (*whole, *(() if self.budget.delta else self._asked("kind")))
        found = [
            self._histograms(FORMATS, KINDS_SHARE, self._asked("kind"), formats().size),
            self._histograms(RANGES, RANGES_SHARE, self._asked("kind", "range"), _OCTAVES),
            self._histograms(FEW_VALUES, LISTS_SHARE, few, FEW),
        ]
        if names := (self._asked("values", "kind") if self.budget.delta else ()):
            noise, threshold = self.list_threshold()
            detail = f"{_names(names)}: texts of {threshold:,} rows or more, with noise"
            found.append(Phase(LISTS, self._each(LISTS_SHARE) * len(names), len(names), 0, noise.scale, None, detail))
        return tuple(phase for phase in found if phase.tables)

    def _histograms(self, name: str, share: Fraction, columns: Sequence[Attribute], cells: int) -> Phase:
        """Return the phase in which a histogram of each of these columns is bought."""
        scale, cost = self.table_noise(share).scale, self._each(share) * len(columns)
        return Phase(name, cost, len(columns), cells, scale, None, _names(columns))

    # -- schemas ---------------------------------------------------------------------------------------------

    def stand_in(self) -> Schema:
        """Return a schema of the same shape with public guesses in the place of what is to be bought: for plans.

        Of the columns without a kind every other one is taken for a number, the rest for short lists.
        """
        guessed = {a.name: _guess(a, i % 2 == 1) for i, a in enumerate(self.schema.undiscovered)}
        return replace(self.schema, attributes=tuple(guessed.get(a.name, a) for a in self.schema.attributes), text=None)

    def probes(self) -> Schema:
        """Return the schema on which rows are coded for discovery: one more attribute for each histogram."""
        found: list[Attribute] = []
        for attribute in self.schema.attributes:
            found += probes_of(attribute, self.schema.csv.decimal)
        return replace(self.schema, attributes=tuple(found), text=None)

    # -- buying ----------------------------------------------------------------------------------------------

    def buy(self, table: PrivateTable) -> Discovered:
        """Buy what is left open from a table coded on `probes`, in the order that a resumed run asks again."""
        bodies, notes = self._kinds(table)
        bodies |= {a.name: left_open(a).body for a in self._asked("range", "values")}
        ranged = [a for a in self.schema.undiscovered if bodies[a.name].get("kind") in DISCOVERABLE_KINDS]
        few = self._ranges(table, ranged, bodies, notes)
        counted = self._few_values(table, few, bodies)
        listed = [a for a in self.schema.undiscovered if bodies[a.name].get("kind") in LISTED_KINDS]
        lists = self._lists(table, listed, bodies, notes)
        found = {a.name: completed_body(a.name, bodies[a.name], notes) for a in self.schema.undiscovered}
        schema = completed_schema(self.schema, found)
        known = [m for n, v in lists.items() if (m := one_way(schema[n], v)) is not None]
        known += [m for m in counted if m.values.size == schema[m.axes[0].attribute].size]
        return Discovered(schema, tuple(known), tuple(notes), found)

    def _counted(
        self, table: PrivateTable, phase: str, share: Fraction, asked: Sequence[Attribute], axes: Sequence[Axis]
    ) -> list[tuple[Attribute, Measurement]]:
        """Buy the histograms of these attributes, a probe for each."""
        if not asked:
            return []
        table.progress(phase, 0, 1)
        found = table.measure([(axis,) for axis in axes], self._each(share) * len(asked), phase)
        return list(zip(asked, found))

    def _kinds(self, table: PrivateTable) -> tuple[dict[str, dict[str, Any]], list[str]]:
        bodies, notes = {}, []
        asked = self._asked("kind")
        axes = [probe_axis(a, FORMATS) for a in asked]
        for attribute, histogram in self._counted(table, FORMATS, KINDS_SHARE, asked, axes):
            domain = table.schema[histogram.axes[0].attribute].domain
            assert isinstance(domain, TextClasses)
            found = discovered.found_kind(histogram, domain)
            notes += [f"{attribute.name}: {note}" for note in found.notes]
            if found.body is None:
                notes.append(f"{attribute.name}: no format stood out from the noise, so the column is left out")
            missing = [*dict.fromkeys([*attribute.missing, *(found.body or {}).get("missing", []), ""])]
            bodies[attribute.name] = {"kind": "drop"} if found.body is None else found.body | {"missing": missing}
        return bodies, notes

    def _ranges(
        self, table: PrivateTable, asked: Sequence[Attribute], bodies: dict[str, dict[str, Any]], notes: list[str]
    ) -> list[Attribute]:
        """Fill in the range of each of these bodies; return the attributes that seem to have few whole numbers."""
        axes, few = [range_axis(a, bodies[a.name]["kind"]) for a in asked], []
        for attribute, histogram in self._counted(table, RANGES, RANGES_SHARE, asked, axes):
            body = bodies[attribute.name]
            edges = range_edges(attribute, body["kind"])
            zero = bisect_right(edges, 0.0) - 1 if ordered_scale(body["kind"]).arithmetic else None
            found = discovered.found_cells(histogram.values[: len(edges) - 1].tolist(), histogram.noise, zero)
            if found is None:
                notes.append(f"{attribute.name}: no range stood out from the noise, so the column is left out")
                bodies[attribute.name] = {"kind": "drop"}
            else:
                most = int(np.argmax(histogram.values[: len(edges) - 1]))
                middle = (edges[most] + edges[most + 1]) / 2
                bodies[attribute.name] = body | discovered.range_body(body, edges, *found) | {MIDDLE: middle}
                few += [attribute] if discovered.few_values(body["kind"], edges, *found) else []
        return few

    def _few_values(
        self, table: PrivateTable, asked: Sequence[Attribute], bodies: dict[str, dict[str, Any]]
    ) -> list[Measurement]:
        """Count small whole numbers one by one, which says where their range ends; return the one-way tables."""
        axes, known = [probe_axis(a, FEW_VALUES) for a in asked], []
        for attribute, found in self._counted(table, FEW_VALUES, LISTS_SHARE, asked, axes):
            counts = found.values[1 : FEW + 1]  # between two cells for all other numbers; missing is the last
            body = discovered.few_body(counts.tolist(), found.noise)
            if body is not None:
                bodies[attribute.name] |= body | {MIDDLE: float(np.argmax(counts))}
                low, high = body["range"]
                kept = np.append(counts[low : high + 1], found.values[-1])
                known.append(Measurement((Axis(attribute.name),), kept, found.noise))
        return known

    def _lists(
        self, table: PrivateTable, asked: Sequence[Attribute], bodies: dict[str, dict[str, Any]], notes: list[str]
    ) -> dict[str, ValueList]:
        """Fill in the values of each of these bodies."""
        if not asked:
            return {}
        if not self.budget.delta:
            for attribute in asked:
                notes.append(f"{attribute.name}: texts, whose list pure epsilon cannot buy, so the column is left out")
                bodies[attribute.name] = {"kind": "drop"}
            return {}
        table.progress(LISTS, 0, 1)
        groupings = [_grouping(a, bodies[a.name]) for a in asked]
        cost, delta = self._each(LISTS_SHARE) * len(asked), self.lists_delta * len(asked)
        lists = table.list_values(groupings, delta, cost, LISTS)
        for attribute, found in zip(asked, lists):
            kindless = left_open(attribute).what == "kind"
            bodies[attribute.name] |= discovered.listed_body(bodies[attribute.name], found, kindless)
            if not found.values:
                notes.append(f"{attribute.name}: no text is shared by enough rows, so the column is taken for an id")
                bodies[attribute.name] = {"kind": "id"}
        return {a.name: found for a, found in zip(asked, lists)}


def _most(attribute: Attribute) -> Fraction:
    """Return the largest share of the budget that an attribute may cost, of that of one column."""
    asked = left_open(attribute)
    few = LISTS_SHARE if asked.what == "kind" or asked.whole_numbers else Fraction(0)
    return {"kind": KINDS_SHARE + RANGES_SHARE + few, "range": RANGES_SHARE + few, "values": LISTS_SHARE}[asked.what]


def _names(attributes: Sequence[Attribute]) -> str:
    return short_list([a.name for a in attributes])


def _grouping(attribute: Attribute, body: Mapping[str, Any]) -> Grouping:
    missing = attribute.missing or tuple(body.get("missing", ()))
    label = body.get("other", discovered.OTHER)
    return Grouping(attribute.column, missing, (label, MISSING), bool(missing) and label != MISSING)


def _guess(attribute: Attribute, listed: bool) -> Attribute:
    domain = left_open(attribute)
    body = {**domain.body, **(_SHORT_LIST if listed and domain.what == "kind" else _PLACEHOLDERS[domain.what])}
    if body["kind"] in MOMENT_KINDS:
        body["range"] = list(ordered_scale(body["kind"]).placeholder)
    body |= {"missing": [""]} if body.get("missing") else {}  # the guess may hold a code that is a number
    return attribute_from_dict(attribute.name, body, in_file=True)
