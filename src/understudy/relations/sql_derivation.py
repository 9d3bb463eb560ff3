"""Derivation in a database: PEOPLE and STEPS as queries over coded rows, with the integers that `derivation` gives.

Each person's rows are numbered by a window in the same order as in memory (place, then the row's own codes), ids are
compared byte by byte after the same rule for whole numbers, and only counts come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.engines.coding import structure_misfits
from understudy.engines.sources import Header
from understudy.engines.sql import Passes, SqlEngine, Warehouse, coded_rows, table_fit
from understudy.engines.sql_coding import Column
from understudy.errors import DataError
from understudy.relations.derivation import two_values
from understudy.relations.panel import ROWS, Panel, now, previous
from understudy.relations.persons import HEXADECIMAL, WHOLE, doubtful, no_id
from understudy.schema.scales.sql_syntax import Syntax

_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))  # what `str.strip` takes off


@dataclass(frozen=True)
class SqlTally:
    """How many rows of how many persons there are, the most of one person, those that are used, and steps. Exact."""

    rows: int
    persons: int
    most: int
    used: int

    @property
    def pairs(self) -> int:
        """How many rows STEPS has."""
        return self.used - self.persons


class SqlHistories:
    """A table in a database whose rows are those of people, in order; refused where it is no panel."""

    def __init__(self, warehouse: Warehouse, panel: Panel) -> None:
        self._warehouse = warehouse
        self._panel = panel
        self._place = {name: str(i) for i, name in enumerate(panel.schema.names)}
        self.columns = tuple(column.name for column in warehouse.columns)
        for misfit in structure_misfits(Header(self.columns, {}), panel.schema):
            raise misfit.error()
        self._ordered = warehouse.keep(self._in_order(coded_rows(warehouse, panel.schema, {"p": self._id_text()})))
        for misfit in table_fit(warehouse, panel.schema, self._ordered)[1]:
            raise misfit.error()
        self.tally = self._checked()

    def engines(self) -> tuple[SqlEngine, SqlEngine]:
        """Return the engines over PEOPLE and STEPS; both hold the connection."""
        tables = [
            (self._panel.people, self._people(), "place = 1", self.tally.persons),
            (self._panel.steps, self._steps(), f"place BETWEEN 2 AND {self._panel.person.at_most}", self.tally.pairs),
        ]
        fence = self._warehouse.syntax.fence
        people, steps = (
            SqlEngine(
                self._warehouse, schema,
                f"(SELECT {_listed(schema.names, sql)} FROM {self._ordered} WHERE {which}{fence}) AS derived", rows,
                Passes(1),
            )
            for schema, sql, which, rows in tables
        )  # fmt: skip
        return people, steps

    # -- whose rows they are ---------------------------------------------------------------------------------

    def _id_text(self) -> str:
        column = self._panel.schema[self._panel.person.id].column
        found = next(c for c in self._warehouse.columns if c.name == column)
        _check_type(found)
        syntax = self._warehouse.syntax
        text = syntax.as_text(syntax.quoted(column))
        if found.type == "decimal":  # 7.5 and 7.50 are one number
            text = f"CASE WHEN {syntax.contains(text, '.')} THEN rtrim({text}, '0') ELSE {text} END"
        return f"trim({text}, {syntax.text(_BLANKS)})"

    def _in_order(self, coded: str) -> str:
        """Return the codes with the place of each row, how many its person has, and the codes of the row before."""
        syntax, order = self._warehouse.syntax, self._panel.person.order
        codes = [f"q{at}" for at in self._place.values()]
        ties = [f"q{at}" for name, at in self._place.items() if name != order]
        whose = f"(SELECT {', '.join(codes)}, p, {_person(syntax)} AS w FROM {coded}{syntax.fence}) AS whose"
        befores = [f"lag(q{at}) OVER o AS b{at}" for at in self._place.values()]
        windows = f"WINDOW o AS (PARTITION BY w ORDER BY {', '.join([f'q{self._place[order]}', *ties])})"
        numbered = ["row_number() OVER o AS place", "count(*) OVER (PARTITION BY w) AS many", f"{_fault(syntax)} AS f"]
        return f"(SELECT {', '.join([*codes, *befores, *numbered])} FROM {whose} {windows}{syntax.fence}) AS ordered"

    def _checked(self) -> SqlTally:
        """Refuse rows that are nobody's and constants with two values; count the rest."""
        panel = self._panel
        faults = [f"max(CASE WHEN f = {fault} THEN 1 ELSE 0 END)" for fault in (1, 2)]
        faults += [f"max(CASE WHEN {_pair('q{0} <> b{0}', self._place[n])} THEN 1 ELSE 0 END)" for n in panel.constants]
        used = f"sum(CASE WHEN place <= {panel.person.at_most} THEN 1 ELSE 0 END)"
        counts = ["count(*)", "sum(CASE WHEN place = 1 THEN 1 ELSE 0 END)", "max(many)", used]
        found = self._warehouse.row(f"SELECT {', '.join([*counts, *faults])} FROM {self._ordered}")
        column = panel.schema[panel.person.id].column
        without, hexadecimal, *broken = found[len(counts) :]
        if without:
            raise no_id(column)
        if hexadecimal:
            raise DataError(
                f"some ids in {column!r} are written as hexadecimal numbers, which only the embedded engines compare "
                "with others: write them plainly in a view, or publish an exported file",
                attribute=column,
            )
        for name, flag in zip(panel.constants, broken):
            if flag:
                raise two_values(name)
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


def _check_type(column: Column) -> None:
    if column.type not in ("text", "integer", "decimal") and column.declared.lower() != "uuid":
        raise doubtful(column.name, f"of the type {column.declared}")


def _person(syntax: Syntax) -> str:
    """Return the SQL of an id that is compared byte by byte: of a whole number the digits, as in `persons`."""
    digits = syntax.group("p", WHOLE.pattern, 2)
    signed = f"CASE WHEN {syntax.group('p', WHOLE.pattern, 1)} = '-' AND {digits} <> '0' THEN '-' ELSE '' END"
    return syntax.as_text(f"CASE WHEN {syntax.matches('p', WHOLE.pattern)} THEN {signed} || {digits} ELSE p END")


def _fault(syntax: Syntax) -> str:
    hexadecimal = syntax.matches("p", HEXADECIMAL.pattern)
    return f"CASE WHEN p IS NULL OR p = '' THEN 1 WHEN {hexadecimal} THEN 2 ELSE 0 END"


def _pair(template: str, at: str) -> str:
    return f"place > 1 AND {template.format(at)}"


def _listed(names: tuple[str, ...], sql: Mapping[str, str]) -> str:
    return ", ".join(f"CAST({sql[name]} AS INTEGER) AS q{i}" for i, name in enumerate(names))
