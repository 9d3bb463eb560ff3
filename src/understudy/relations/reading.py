"""Reading: private rows of people become two counted tables, coded and put in order in memory or by a database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
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
from understudy.relations.panel import PEOPLE, STEPS, Panel
from understudy.relations.persons import person_numbers
from understudy.relations.sql_derivation import SqlHistories
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class DerivedEngine:
    """The engines over tables that are derived from rows, by name; their counts never leave the kernel."""

    tables: Mapping[str, OpenEngine]
    name: str = "memory"

    def fingerprint(self, key: bytes) -> str:
        """Return what tells these rows from any others to whoever has the key."""
        all_of_them = "".join(engine.fingerprint(key) for engine in self.tables.values())
        return hashlib.sha256(all_of_them.encode()).hexdigest()

    def close(self) -> None:
        for engine in self.tables.values():
            engine.close()


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


def opened_people(rows: PrivateData, schema: Schema) -> Opened:
    """Return the engines over PEOPLE and STEPS, as what a publication opens."""
    panel = Panel.of(schema)
    if (warehouse := _warehouse(rows)) is not None:
        with closed_on_error(warehouse):
            histories = SqlHistories(warehouse, panel)
            return Opened(DerivedEngine(histories.engines(), warehouse.name), histories.columns)  # type: ignore[arg-type]
    coded, person = _coded(rows, panel)
    derived = derived_tables(panel, coded.columns, person)
    people = MemoryEngine(derived.people, derived.persons, panel.people)
    steps = MemoryEngine(derived.steps, derived.pairs, panel.steps)
    return Opened(DerivedEngine({PEOPLE: people, STEPS: steps}), coded.order)  # type: ignore[arg-type]


def people_fit(rows: PrivateData, schema: Schema) -> PeopleFit:
    """Return how many rows of how many people there are, and how many are used, exactly: for the custodian alone.

    Rows without an id, and people with two values of a constant attribute, are refused with a DataError.
    """
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
