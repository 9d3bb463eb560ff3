"""Derivation: from coded rows and whose they are to the coded rows of PEOPLE and STEPS.

What a person adds to either table is a function of that person's rows alone: they are put in order, equal places by the
rows' own codes, and cut to the first K. Nobody else's rows move anything (relations/PROOF.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataError
from understudy.relations.changes import Codes, smallest
from understudy.relations.panel import ROWS, Panel, now, previous
from understudy.schema import Attribute

Columns = dict[str, Codes]


@dataclass(frozen=True, eq=False)
class Derived:
    """The coded columns of both tables, and how many rows each has."""

    people: Columns
    steps: Columns

    @property
    def persons(self) -> int:
        return len(self.people[ROWS])

    @property
    def pairs(self) -> int:
        return len(self.steps[ROWS])


def derived_tables(panel: Panel, columns: Mapping[str, Codes], person: NDArray[np.int64]) -> Derived:
    """Return PEOPLE and STEPS of rows in codes of the panel's schema; `person` numbers whose row each is."""
    rows = Histories.of(panel, columns, person)
    rows.check(panel)
    most = panel.person.at_most
    first, later = np.flatnonzero(rows.place == 0), np.flatnonzero((rows.place > 0) & (rows.place < most))
    count = np.minimum(rows.count, most) - 1  # the code of @rows, which begins at 1
    order, units = panel.person.order, panel.unit_map()
    people = {name: rows.columns[name][first] for name in panel.schema.names} | {ROWS: count[first]}
    people[order] = units[people[order]]
    steps = {name: rows.columns[name][later] for name in panel.constants} | {ROWS: count[later]}
    steps |= {previous(name): rows.columns[name][later - 1] for name in (order, *panel.varying)}
    steps |= {now(name): rows.columns[name][later] for name in (order, *panel.varying)}
    for target, change in panel.changes.items():
        name = panel.about(target)
        steps[target] = change.code(steps[previous(name)], steps[now(name)])
    for name in (previous(order), now(order)):
        steps[name] = units[steps[name]]
    return Derived(
        {name: smallest(people[name], panel.people[name].size) for name in panel.people.names},
        {name: smallest(steps[name], panel.steps[name].size) for name in panel.steps.names},
    )


@dataclass(frozen=True, eq=False)
class Histories:
    """Rows in the order of persons, and of each person's own order: the place of each, and how many its person has."""

    columns: Columns
    person: NDArray[np.int64]
    place: NDArray[np.int64]
    count: NDArray[np.int64]

    @staticmethod
    def of(panel: Panel, columns: Mapping[str, Codes], person: NDArray[np.int64]) -> Histories:
        """Sort rows by person, then by the order, then by their own codes."""
        order = panel.person.order
        ties = [columns[name] for name in reversed(panel.schema.names) if name != order]
        by = np.lexsort((*ties, columns[order], person))
        own = person[by]
        return Histories({name: codes[by] for name, codes in columns.items()}, own, *places_and_counts(own))

    def check(self, panel: Panel) -> None:
        """Refuse rows that break what [person] says of them."""
        self._check_constants(panel)
        order = self.columns[panel.person.order]
        if panel.person.strict and ((order[1:] == order[:-1]) & (self.place[1:] > 0)).any():
            raise same_place(panel.person.order)
        for name in panel.person.rising:
            if self._falls(name, panel.schema[name]):
                raise falls(name)

    def _falls(self, name: str, attribute: Attribute) -> bool:
        """Return whether a value is below an earlier one of the same person; missing ones are passed over."""
        codes, start = self.columns[name].astype(np.int64), self.person * attribute.size
        missing = codes == attribute.missing_code
        highest = np.maximum.accumulate(start + np.where(missing, 0, codes)) if len(codes) else codes
        return bool((~missing & (start + codes < highest)).any())

    def _check_constants(self, panel: Panel) -> None:
        """Refuse a constant attribute of which some person has two values."""
        for name in panel.constants:
            codes = self.columns[name]
            if ((codes[1:] != codes[:-1]) & (self.place[1:] > 0)).any():
                raise two_values(name)


def places_and_counts(whose: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the place of each row among those of one owner, who stand together, and how many these are.

    >>> [numbers.tolist() for numbers in places_and_counts(np.array([4, 4, 7]))]
    [[0, 1, 0], [2, 2, 1]]
    """
    starts = np.flatnonzero(np.append(True, whose[1:] != whose[:-1])) if len(whose) else np.zeros(0, dtype=np.int64)
    sizes = np.diff(np.append(starts, len(whose)))
    return np.arange(len(whose)) - np.repeat(starts, sizes), np.repeat(sizes, sizes)


def two_values(name: str) -> DataError:
    """Return the refusal of a constant attribute of which some person has two values."""
    return DataError(
        f"attribute {name!r} is declared constant, and some person has two values of it: correct the rows, or take it "
        "out of `constant` in [person]",
        attribute=name,
    )


def same_place(name: str) -> DataError:
    """Return the refusal of a person with two rows in one place of a strict order."""
    return DataError(
        f"`strict = true` in [person] says that nobody has two rows at the same {name!r}, and somebody has (values "
        "beyond its range count as its ends): correct the rows or the range, or leave `strict` out",
        attribute=name,
    )


def falls(name: str) -> DataError:
    """Return the refusal of a person of whom a rising attribute falls."""
    return DataError(
        f"attribute {name!r} is declared `rising`, and it falls from a row of some person to a later one: correct the "
        "rows, or take it out of `rising` in [person]",
        attribute=name,
    )
