"""Derivation in a database: PEOPLE and STEPS as queries over coded rows, with the integers that `derivation` gives.

Each person's rows are numbered by a window in the same order as in memory (place, then the row's own codes), ids are
compared byte by byte after the same rule for whole numbers, and only counts come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.engines.coding import structure_misfits
from understudy.engines.sql import Passes, SqlEngine, Warehouse, coded_rows, table_fit
from understudy.relations.derivation import falls, same_place, two_values
from understudy.relations.panel import PEOPLE, ROWS, STEPS, Panel, now, previous
from understudy.relations.sql_persons import compared, fault, faults_found, id_text, refuse_faults
from understudy.schema import Schema


@dataclass(frozen=True)
class SqlTally:
    """How many rows of how many persons there are, the most of one person, those that are used, and steps. Exact."""

    rows: int
    persons: int
    most: int
    used: int

    @property
    def pairs(self) -> int:
        """Return how many rows STEPS has."""
        return self.used - self.persons


class SqlHistories:
    """A table in a database whose rows are those of people, in order; refused where it is no panel."""

    def __init__(self, warehouse: Warehouse, panel: Panel) -> None:
        self._warehouse = warehouse
        self._panel = panel
        self._place = {name: str(i) for i, name in enumerate(panel.schema.names)}
        self.columns = tuple(column.name for column in warehouse.columns)
        for misfit in structure_misfits(self.columns, panel.schema):
            raise misfit.error()
        whose = {"p": id_text(warehouse, panel.schema[panel.person.id].column)}
        self._ordered = warehouse.keep(self._in_order(coded_rows(warehouse, panel.schema, whose)))
        for misfit in table_fit(warehouse, panel.schema, self._ordered)[1]:
            raise misfit.error()
        self.tally = self._checked()

    def engines(self) -> dict[str, SqlEngine]:
        """Return the engines over PEOPLE and STEPS; both hold the connection."""
        later = f"place BETWEEN 2 AND {self._panel.person.at_most}"
        return {
            PEOPLE: self._engine(self._panel.people, self._people(), "place = 1", self.tally.persons),
            STEPS: self._engine(self._panel.steps, self._steps(), later, self.tally.pairs),
        }

    def _engine(self, schema: Schema, sql: Mapping[str, str], which: str, rows: int) -> SqlEngine:
        listed = ", ".join(f"CAST({sql[name]} AS INTEGER) AS q{i}" for i, name in enumerate(schema.names))
        relation = f"(SELECT {listed} FROM {self._ordered} WHERE {which}{self._warehouse.syntax.fence}) AS derived"
        return SqlEngine(self._warehouse, schema, relation, rows, Passes(1))

    # -- whose rows they are ---------------------------------------------------------------------------------

    def _in_order(self, coded: str) -> str:
        """Return the codes with the place of each row, how many its person has, and the codes of the row before."""
        syntax, order = self._warehouse.syntax, self._panel.person.order
        codes = [f"q{at}" for at in self._place.values()]
        ties = [f"q{at}" for name, at in self._place.items() if name != order]
        whose = f"(SELECT {', '.join(codes)}, p, {compared('p', syntax)} AS w FROM {coded}{syntax.fence}) AS whose"
        befores = [f"lag(q{at}) OVER o AS b{at}" for at in self._place.values()]
        windows = f"WINDOW o AS (PARTITION BY w ORDER BY {', '.join([f'q{self._place[order]}', *ties])})"
        numbered = [
            "row_number() OVER o AS place",
            "count(*) OVER (PARTITION BY w) AS many",
            f"{fault('p', syntax)} AS f",
        ]
        numbered += [self._highest(name, ties) for name in self._panel.person.rising]
        return f"(SELECT {', '.join([*codes, *befores, *numbered])} FROM {whose} {windows}{syntax.fence}) AS ordered"

    def _highest(self, name: str, ties: list[str]) -> str:
        """Return the highest earlier value of a rising attribute, which no later one may be below."""
        at, order = self._place[name], self._place[self._panel.person.order]
        value = f"CASE WHEN q{at} <> {self._panel.schema[name].missing_code} THEN q{at} END"
        rows = f"PARTITION BY w ORDER BY {', '.join([f'q{order}', *ties])}"
        return f"max({value}) OVER ({rows} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS m{at}"

    def _checked(self) -> SqlTally:
        """Refuse rows that are nobody's and constants with two values; count the rest."""
        panel = self._panel
        faults = faults_found("f")
        faults += [f"max(CASE WHEN {_pair('q{0} <> b{0}', self._place[n])} THEN 1 ELSE 0 END)" for n in panel.constants]
        order = self._place[panel.person.order]
        faults += [f"max(CASE WHEN {_pair('q{0} = b{0}', order)} THEN 1 ELSE 0 END)"] if panel.person.strict else []
        rising = [self._place[name] for name in panel.person.rising]
        faults += [f"max(CASE WHEN q{at} < m{at} THEN 1 ELSE 0 END)" for at in rising]
        used = f"sum(CASE WHEN place <= {panel.person.at_most} THEN 1 ELSE 0 END)"
        counts = ["count(*)", "sum(CASE WHEN place = 1 THEN 1 ELSE 0 END)", "max(many)", used]
        found = self._warehouse.row(f"SELECT {', '.join([*counts, *faults])} FROM {self._ordered}")
        refuse_faults(found[len(counts) : len(counts) + 2], panel.schema[panel.person.id].column)
        broken = found[len(counts) + 2 :]
        refusals = [two_values(name) for name in panel.constants]
        refusals += [same_place(panel.person.order)] if panel.person.strict else []
        refusals += [falls(name) for name in panel.person.rising]
        for refusal, flag in zip(refusals, broken):
            if flag:
                raise refusal
        return SqlTally(*(int(count or 0) for count in found[: len(counts)]))

    # -- the derived tables ----------------------------------------------------------------------------------

    def _people(self) -> dict[str, str]:
        return {name: self._seen(name, "q") for name in self._panel.schema.names} | {ROWS: self._rows()}

    def _steps(self) -> dict[str, str]:
        panel = self._panel
        found = {name: f"q{self._place[name]}" for name in panel.constants} | {ROWS: self._rows()}
        for name in (panel.person.order, *panel.varying):
            found |= {previous(name): self._seen(name, "b"), now(name): self._seen(name, "q")}
        for target, change in panel.changes.items():
            at = self._place[panel.about(target)]
            found[target] = change.sql(f"b{at}", f"q{at}")
        return found

    def _seen(self, name: str, letter: str) -> str:
        own = f"{letter}{self._place[name]}"
        return self._panel.coarse.sql(own, self._warehouse.syntax) if name == self._panel.person.order else own

    def _rows(self) -> str:
        most = self._panel.person.at_most
        return f"CASE WHEN many < {most} THEN many - 1 ELSE {most - 1} END"


def _pair(template: str, at: str) -> str:
    return f"place > 1 AND {template.format(at)}"
