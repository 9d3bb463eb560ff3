"""Reading: private rows of people become two counted tables, coded and put in order in memory or by a database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines.coding import CodedTable, encode_table
from understudy.engines.engine import OpenEngine
from understudy.engines.file_guard import unchanged
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import Opened, PrivateData
from understudy.engines.sql import Warehouse
from understudy.errors import UsageError
from understudy.privacy.custodian import CustodianFigures
from understudy.relations.derivation import Histories, derived_tables
from understudy.relations.panel import Panel
from understudy.relations.persons import person_numbers
from understudy.relations.sql_derivation import SqlHistories
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class PanelEngine:
    """The engines over PEOPLE and STEPS; their counts never leave the kernel."""

    people: OpenEngine
    steps: OpenEngine
    name: str = "memory"

    def fingerprint(self, key: bytes) -> str:
        """Return what tells these rows from any others to whoever has the key."""
        both = self.people.fingerprint(key) + self.steps.fingerprint(key)
        return hashlib.sha256(both.encode()).hexdigest()

    def close(self) -> None:
        self.people.close()
        self.steps.close()


@dataclass(frozen=True)
class PeopleFit(CustodianFigures):
    """How many rows of how many persons there are, and how many of them the declared `at_most` uses. Exact.

    What another `at_most` would use is not told: it is chosen from public knowledge, and epsilon does not cover a
    choice that was made by looking at the rows.
    """

    persons: int
    rows: int
    most: int
    at_most: int
    used: int

    def as_json(self) -> dict[str, Any]:
        """Return the figures with the custodian's stamp."""
        return super().as_json() | {k: int(getattr(self, k)) for k in ("persons", "rows", "most", "at_most", "used")}


def open_people(rows: PrivateData, schema: Schema) -> tuple[PanelEngine, tuple[str, ...]]:
    """Return the engines over the tables derived from these rows, and the order of the source's columns."""
    panel = Panel.of(schema)
    if (warehouse := _warehouse(rows)) is not None:
        with closed_on_error(warehouse):
            histories = SqlHistories(warehouse, panel)
            return PanelEngine(*histories.engines(), warehouse.name), histories.columns
    coded, person = _coded(rows, panel)
    derived = derived_tables(panel, coded.columns, person)
    people = MemoryEngine(derived.people, derived.persons, panel.people)
    return PanelEngine(people, MemoryEngine(derived.steps, derived.pairs, panel.steps)), coded.order


def opened_people(rows: PrivateData, schema: Schema) -> Opened:
    """Return `open_people` as what a publication opens."""
    return Opened(*open_people(rows, schema))  # type: ignore[arg-type]


def people_fit(rows: PrivateData, schema: Schema) -> PeopleFit:
    """Return the exact figures of a panel, for the custodian alone; refuse rows that are no panel."""
    panel = Panel.of(schema)
    most = panel.person.at_most
    if (warehouse := _warehouse(rows)) is not None:
        with closing(warehouse):
            found = SqlHistories(warehouse, panel).tally
            return PeopleFit(found.persons, found.rows, found.most, most, found.used)
    coded, person = _coded(rows, panel)
    histories = Histories.of(panel, coded.columns, person)
    histories.check(panel)
    counts = histories.count[histories.place == 0]
    return PeopleFit(len(counts), len(person), int(counts.max()), most, int(np.minimum(counts, most).sum()))


def _warehouse(rows: PrivateData) -> Warehouse | None:
    """Return the database that puts the rows in order; None where this process does."""
    named = rows.engine_name()
    if named in (None, "memory"):
        return None
    if named not in ("duckdb", "postgresql"):
        raise UsageError(
            "a table of people with many rows ([person]) is put in order in memory, by DuckDB or by PostgreSQL: the "
            f"engine {named} does not number a person's rows by the same rule, on which the promise rests. Leave "
            "--engine and --master out, or take --engine duckdb for a file that is larger than memory"
        )
    return rows.warehouse()


@contextmanager
def closed_on_error(warehouse: Warehouse) -> Iterator[None]:
    """Close a connection that nobody gets."""
    try:
        yield
    except BaseException:
        warehouse.close()
        raise


def _coded(rows: PrivateData, panel: Panel) -> tuple[CodedTable, NDArray[np.int64]]:
    source = rows.source(panel.schema)
    path = getattr(source, "path", None)
    with nullcontext() if path is None else unchanged(path):  # each pass has a guard, and these are two
        coded = encode_table(source, panel.schema)
        return coded, person_numbers(source, panel.schema[panel.person.id].column, coded.rows)
