"""A panel: the two tables that are derived from a person's rows, as public schemas.

PEOPLE has a row for each person: what is constant, how many rows there are, and the first row. STEPS has a row for each
two consecutive rows of a person: what is known of the person, the row before, and the change to the next one. A person
has one row in the first and at most K − 1 rows in the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from understudy.errors import SchemaError
from understudy.relations.changes import Change, Coarse, Codes, StepChanges, change_of
from understudy.relations.tilts import Move
from understudy.schema import Attribute, Intervals, Schema
from understudy.schema.person import Person

ROWS, GAP = "@rows", "@gap"
PEOPLE, STEPS = "people", "steps"  # the tables that are derived
MAX_UNITS = 1024  # of an order without bins that is not made of whole units


@dataclass(frozen=True)
class Panel:
    """What follows from a schema with `[person]`. `schema` is that of the rows, the order in units of its own."""

    schema: Schema

    @staticmethod
    def of(declared: Schema) -> Panel:
        """Return the panel of a schema, in which bins that nobody declared are public ones."""
        assert declared.person is not None
        order = declared.person.order
        attributes = tuple(_in_units(a) if a.name == order else a for a in declared.attributes)
        panel = Panel(replace(declared, attributes=attributes, text=None).with_public_bins())
        panel.check_strict()
        return panel

    def check_strict(self) -> None:
        """Refuse a strict order whose values share codes, or that has too few of them for the rows of a person."""
        name, most = self.person.order, self.person.at_most
        domain = self.schema[name].intervals
        if not self.person.strict:
            return
        if domain is None or domain.steps is None or (domain.own_values > 1).any():
            raise SchemaError(
                f"`strict = true` in [person] needs an order of which every value has a bin of its own, and {name!r} "
                "has not: declare a range of whole numbers or dates without `bins`, or leave `strict` out",
                attribute=name,
            )
        if domain.size < most:
            raise SchemaError(
                f"`strict = true` in [person]: {most} rows cannot follow each other in the {domain.size} values of "
                f"{name!r}. Lower `at_most`, or leave `strict` out",
                attribute=name,
            )

    @property
    def person(self) -> Person:
        assert self.schema.person is not None
        return self.schema.person

    @property
    def constants(self) -> tuple[str, ...]:
        """Return the attributes that have one value for a person, in the order of the schema."""
        return tuple(name for name in self.schema.names if name in self.person.constant)

    @property
    def varying(self) -> tuple[str, ...]:
        """Return the attributes that may change from row to row; the order is not one of them."""
        return tuple(n for n in self.schema.names if n not in self.person.constant and n != self.person.order)

    @cached_property
    def changes(self) -> dict[str, Change]:
        """Return how the change of each target of STEPS is coded, by the target's name."""
        gap: dict[str, Change] = {GAP: self.gap}
        return gap | {changed(n): change_of(self.schema[n], n in self.person.rising) for n in self.varying}

    @cached_property
    def gap(self) -> StepChanges:
        """Return how the units between two rows are coded."""
        return StepChanges(self.schema[self.person.order].size, upward=True, strict=self.person.strict)

    @cached_property
    def coarse(self) -> Coarse:
        """Return how PEOPLE and STEPS see the order of a row."""
        return Coarse(self.schema[self.person.order].size)

    @cached_property
    def people(self) -> Schema:
        """Return the schema of PEOPLE."""
        own = [self._counted(name) for name in self.schema.names]
        return self._derived(PEOPLE, (*own, numbered(ROWS, 1, self.person.at_most)), 1)

    @cached_property
    def steps(self) -> Schema:
        """Return the schema of STEPS."""
        given = [self.schema[name] for name in self.constants]
        given += [numbered(ROWS, 1, self.person.at_most)]
        given += [replace(self._counted(n), name=previous(n)) for n in (self.person.order, *self.varying)]
        targets = [numbered(name, 0, change.size - 1) for name, change in self.changes.items()]
        values = [replace(self._counted(n), name=now(n)) for n in (self.person.order, *self.varying)]
        return self._derived(STEPS, (*given, *targets, *values), self.person.at_most - 1)

    @property
    def given(self) -> tuple[str, ...]:
        """Return the attributes of STEPS that are known before the next row is drawn."""
        return (*self.constants, ROWS, *(previous(n) for n in (self.person.order, *self.varying)))

    def about(self, target: str) -> str:
        """Return the attribute that a target of STEPS is the change of."""
        return self.person.order if target == GAP else target.removesuffix("@change")

    @property
    def homes(self) -> dict[str, str]:
        """Return the attribute of STEPS that each change starts from."""
        return {target: previous(self.about(target)) for target in self.changes}

    def moves(self) -> dict[str, Move]:
        """Return the move of each target, without weights; the order moves in units."""
        return {t: Move(change, self.schema[self.about(t)].size) for t, change in self.changes.items()}

    def _counted(self, name: str) -> Attribute:
        if name != self.person.order:
            return self.schema[name]
        return numbered(name, 0, self.coarse.size - 1)

    def _derived(self, name: str, attributes: tuple[Attribute, ...], rows: int) -> Schema:
        plain = tuple(replace(a, read_from=None) for a in attributes)
        table = f"{self.schema.name}@{name}"
        return Schema(table, plain, None, "add-remove", rows, self.schema.account, csv=self.schema.csv)

    def unit_map(self) -> Codes:
        """Return the coarse code of each unit of the order."""
        return self.coarse.code(np.arange(self.schema[self.person.order].size))


def previous(name: str) -> str:
    """Return what an attribute of the row before is called in STEPS."""
    return f"{name}@previous"


def now(name: str) -> str:
    """Return what an attribute of the row after is called in STEPS."""
    return f"{name}@now"


def changed(name: str) -> str:
    """Return what the change of an attribute is called in STEPS."""
    return f"{name}@change"


def spoken(name: str) -> str:
    """Return an attribute or axis of PEOPLE or STEPS in words for people: its own name is for files."""
    own, *marks = name.split("@")
    if not own:
        return {"rows": "number of rows", "gap": "time since the previous row"}[marks[0]]
    words = {"previous": "previous row", "now": "this row", "change": "change"}
    return ", ".join([own, *(words.get(mark, "coarsely") for mark in marks)])


def numbered(name: str, low: int, high: int) -> Attribute:
    """Return a whole number with a code for each value."""
    return Attribute(name, Intervals("integer", tuple(v - 0.5 for v in range(low, high + 2))))


def _in_units(order: Attribute) -> Attribute:
    """Return an order with a code for each unit: its values, its declared bins, or equal parts of its range."""
    if order.grid is None:
        return order
    if order.countable:
        return order.with_each_value()
    grid = order.grid
    edges = np.linspace(grid.low, grid.high, MAX_UNITS + 1)
    edges = np.unique(np.rint(edges)) if grid.scale.integral else edges
    domain = Intervals(order.kind, tuple(edges.tolist()), (), grid.format, grid.every, grid.decimals)
    return replace(order, domain=domain, taxonomy=None, grid=None)
