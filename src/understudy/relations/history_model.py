"""A model of histories: people from one model, each further row from a conditional network given the row before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.models.factor import MAX_CELLS, Factor, check_cells
from understudy.models.model import Evidence, Model, Rows
from understudy.privacy.measurement import Measurement
from understudy.privacy.random_source import seeded_generator
from understudy.relations.changes import StepChanges, smallest
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.relations.horizon import Horizon
from understudy.relations.panel import GAP, ROWS, Panel, previous
from understudy.relations.tilts import Move, Tie
from understudy.schema import Axis, Schema
from understudy.schema.row_major import strides

SIMULATED = 400_000  # rows that answers about rows are counted in
SPARE = 1.1  # ids, for people with fewer rows than most
BATCH = 1 << 14  # people drawn at a time


@dataclass(frozen=True, eq=False)
class HistoryModel:
    """A distribution of whole histories. Rows come person after person, with the person's number under the id's name.

    `project` counts in simulated rows, always the same ones; `persons` is how many people there are about.
    """

    panel: Panel
    people: Model
    steps: ConditionalNetwork
    moves: dict[str, Move]  # by the targets of STEPS
    persons: int
    measured: tuple[tuple[Measurement, ...], tuple[Measurement, ...]] = ((), ())  # of PEOPLE and of STEPS
    horizon: Horizon | None = None  # None: gaps are drawn without a look at the rows to come
    ties: tuple[Tie, ...] = ()  # each of an attribute with one that is constant or drawn before it

    @property
    def schema(self) -> Schema:
        """Return the schema of the rows."""
        return self.panel.schema

    @cached_property
    def mean_rows(self) -> float:
        """Return how many rows a person has on average."""
        return mean_rows(self.people)

    @property
    def rows(self) -> int:
        """Return how many rows the people have together, about."""
        return max(1, round(self.persons * self.mean_rows))

    def people_of(self, rows: int) -> int:
        """Return how many people so many rows are of, with some to spare."""
        return round(SPARE * rows / self.mean_rows) + 10

    def rows_for(self, people: int) -> int:
        """Return how many rows at most can be drawn with so many ids: the inverse of `people_of`."""
        return max(0, int((people - 11) * self.mean_rows / SPARE))

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        """Draw people until they have so many rows; the last one may be cut short."""
        drawn = list(self.batches(rows, generator))
        names = [*self.schema.names, self.panel.person.id]
        return {name: np.concatenate([part[name] for part in drawn]) for name in names}

    def batches(self, rows: int, generator: np.random.Generator) -> Iterator[Rows]:
        """Draw the same a batch of people at a time; at least one batch."""
        done = people = 0
        while True:
            wanted = min(BATCH, max(1, round((rows - done) / self.mean_rows))) if rows > done else 0
            found = self.histories(wanted, generator)
            id = self.panel.person.id
            count = min(rows - done, len(found[id]))
            yield {name: codes[:count] + (people if name == id else 0) for name, codes in found.items()}
            done, people = done + count, people + wanted
            if done >= rows:
                return

    def histories(self, people: int, generator: np.random.Generator) -> Rows:
        """Draw the whole histories of so many people."""
        first = self.people.sample(people, generator)
        own = {name: codes.astype(np.int64) for name, codes in first.items()}
        own[self.panel.person.order] = self._first_unit(own, generator)
        own |= {_last(name): self._seen(name, own[name], 0) for name in self._returning}
        rows, left = [own | {self.panel.person.id: np.arange(people)}], own[ROWS] + 1
        for at in range(1, self.panel.person.at_most):
            going = left[rows[-1][self.panel.person.id]] > at
            if not going.any():
                break
            rows.append(self._next({name: codes[going] for name, codes in rows[-1].items()}, at, generator))
        joined = {name: np.concatenate([part[name] for part in rows]) for name in rows[0]}
        by = np.argsort(joined[self.panel.person.id], kind="stable")
        found = {name: smallest(joined[name][by], self.schema[name].size) for name in self.schema.names}
        return found | {self.panel.person.id: joined[self.panel.person.id][by]}

    def _first_unit(self, people: Rows, generator: np.random.Generator) -> NDArray[np.int64]:
        """Draw where each person begins; in a strict order early enough for all rows, one after the other."""
        panel, order = self.panel, self.panel.person.order
        unit = panel.coarse.draw(people[order], generator)
        return np.minimum(unit, panel.gap.values - 1 - people[ROWS]) if panel.person.strict else unit

    @cached_property
    def _returning(self) -> tuple[str, ...]:
        """The rising attributes that may be missing: their last value is kept until they come back."""
        return tuple(name for name in self.panel.person.rising if self.schema[name].has_missing)

    def _seen(self, name: str, codes: NDArray[np.int64], before: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Return the values that are not missing, and in place of those that are the last ones before."""
        return np.where(codes == self.schema[name].missing_code, before, codes)

    def _next(self, row: Rows, at: int, generator: np.random.Generator) -> Rows:
        """Draw the row that follows each of these, with `at` rows before it."""
        panel, order = self.panel, self.panel.person.order
        given: Rows = {name: row[name] for name in (*panel.constants, ROWS)}
        given |= {previous(name): row[name] for name in panel.varying}
        given[previous(order)] = panel.coarse.code(row[order])
        found = dict(row)
        for conditional in self.steps.conditionals:
            target = conditional.child.attribute
            name, move = panel.about(target), self.moves[target]
            values, most = self._values(name, found), None
            weights = move.reach(row[name], values)
            if target == GAP:
                weights, values, most = self._ahead(row, at, weights)
            elif name in self._returning:
                change = panel.changes[target]
                assert isinstance(change, StepChanges)
                weights = weights * change.no_less(row[name], row[_last(name)])
            beside = [panel.coarse.code(found[n]) if n == order else found[n] for n in panel.schema.names if n != name]
            given[target] = self.steps.draw_one(conditional, given, weights, generator, beside)
            found[name] = move.apply(row[name], given[target], generator, values, most, beside)
        for name in self._returning:
            found[name] = np.maximum(found[name], row[_last(name)])  # missing is coded last
            found[_last(name)] = self._seen(name, found[name], row[_last(name)])
        return found

    def _values(self, name: str, row: Rows) -> NDArray[np.float64] | None:
        """Return the weight of each value of an attribute in each row, by what it is tied to; None for no ties."""
        found = None
        for tie in self.ties:
            if tie.attribute == name:
                codes = row[tie.to]
                own = tie.weights[self.panel.coarse.code(codes) if tie.to == self.panel.person.order else codes]
                found = own if found is None else found * own
        return found

    def _ahead(
        self, row: Rows, at: int, weights: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.float64] | None, NDArray[np.int64] | None]:
        """Return the weights of gaps and of units with a look at the rows to come, and the last unit for them."""
        panel, order = self.panel, self.panel.person.order
        most, ahead, left = None, None, row[ROWS] - at
        if panel.person.strict:  # so many rows come after the next one, each in a later unit
            most = panel.gap.values - 1 - left
            weights = weights * panel.gap.room(row[order], most)
        if self.horizon is not None:
            weights = weights * self.horizon.gaps(row[order], left)
            ahead = self.horizon.units(left)
        return weights, ahead, most

    # -- answers about rows ----------------------------------------------------------------------------------

    @cached_property
    def _simulated(self) -> Rows:
        return self.sample(SIMULATED, seeded_generator(1))

    def project(self, names: Sequence[str], limit: int = MAX_CELLS) -> Factor:
        """Return the table over these attributes of the rows, counted in simulated rows."""
        axes = tuple(Axis(name) for name in names)
        check_cells(cells := self.schema.cells(axes), axes, limit)
        shape = self.schema.sizes(axes)
        at: NDArray[np.int64] = np.zeros(SIMULATED, dtype=np.int64)
        for axis, stride in zip(axes, strides(shape)):
            at += self._simulated[axis.attribute].astype(np.int64) * stride
        return Factor(axes, np.bincount(at, minlength=cells).reshape(shape) / SIMULATED)

    def condition(self, evidence: Evidence) -> Model:
        """Refuse: what is given of a row says something of all rows of its person."""
        raise UsageError(
            "rows of people with many rows are not drawn under a condition: sample whole histories and keep the people "
            "you want"
        )


def _last(name: str) -> str:
    """Return what the last value of an attribute that was not missing is called while a history is drawn."""
    return f"{name}@last"


def mean_rows(people: Model) -> float:
    """Return how many rows a person of PEOPLE has on average."""
    shares = people.project([ROWS]).table
    return float(shares @ (np.arange(len(shares)) + 1))
