"""Discovering: the rows of a table are coded on probes, and what the schema leaves open is bought from them.

Three passes over the data at most: one on the probes (and all that is declared, so that a misfit is found before
anything is charged), one that groups texts for value lists, and the one of whoever goes on with the completed schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.engines.opening import Opened, PrivateData, open_engine, open_groups
from understudy.methods import Plan, method_named
from understudy.methods.discovery import Discovered, Discovery
from understudy.methods.expected_error import expected_error, phase_error
from understudy.privacy.budget import Amount, Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.random_source import RandomSource, SystemSource
from understudy.privacy.refusals import refuse_early
from understudy.privacy.reservation import Reservation
from understudy.privacy.table import Progress
from understudy.relations.reading import opened_people
from understudy.relations.table_reading import opened_tables
from understudy.schema import Schema
from understudy.undo import undone_on_error

GUESSED = (
    "errors are expected for a public guess of what will be found: every other column without a kind a number, the "
    "rest short lists"
)


def open_rows(rows: PrivateData, schema: Schema, key: bytes | None = None) -> Opened:
    """Return an engine over the rows, coded by this schema."""
    if schema.person is not None:
        return opened_people(rows, schema)
    if schema.tables:
        return opened_tables(rows, schema)
    return open_engine(rows, schema, key)


def discovery_plan(wanted: Discovery, method: str, rows: int | None, options: Mapping[str, Any]) -> Plan:
    """Return the plan of a run that first buys what its schema leaves open: the rest on a public guess of that."""
    guessed, budget = wanted.stand_in(), wanted.budget
    rest = budget.shared(1 - wanted.cost / wanted.whole)
    made = method_named(method, options, guessed, model_error=True, budget=rest).plan(guessed, rest, rows)
    wanted.check(made.rows)
    expected = expected_error(guessed, made)
    phases = (*wanted.phases(), *(replace(p, error=phase_error(p, expected)) for p in made.phases))
    notes = (*made.notes, GUESSED, *wanted.notes())
    return replace(made, budget=budget, phases=phases, expected=expected, notes=notes)


@contextmanager
def abandoned_on_error(reservation: Reservation) -> Iterator[None]:
    """End a run where anything in this block fails: without a draw its budget is given back."""
    try:
        yield
    except BaseException as error:
        reservation.abandon(type(error).__name__)
        raise


def buy(
    rows: PrivateData,
    opened: Opened,
    wanted: Discovery,
    reservation: Reservation,
    source: RandomSource,
    progress: Progress | None = None,
) -> Discovered:
    """Return the completed schema; `opened` has the rows on the probes, and is closed."""
    probes = wanted.probes()
    try:
        groups = open_groups(rows, probes)
        return wanted.buy(LocalPrivateTable(probes, opened.engine, reservation, source, progress, groups))
    finally:
        opened.engine.close()


def buy_and_reopen(
    rows: PrivateData,
    opened: Opened,
    wanted: Discovery,
    reservation: Reservation,
    source: RandomSource,
    progress: Progress,
) -> tuple[Discovered, Opened]:
    """Buy what the schema leaves open, and open the rows again by the schema that came out."""
    with abandoned_on_error(reservation):
        found = buy(rows, opened, wanted, reservation, source, progress)
        progress("read", 0, 1, reservation.total_cost - reservation.left)
        return found, open_rows(rows, found.schema)


def discover(
    data: Any,
    schema: Schema,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: str | Path,
    cap: Amount | None = None,
    source: RandomSource | None = None,
    keep: Callable[[Discovered], None] | None = None,
) -> Discovered:
    """Buy what a schema leaves open, and nothing else: the whole budget is for that.

    `keep` is called with the outcome before the ledger closes the run, so that a killed one is continued.
    """
    wanted = Discovery.of(schema, Budget(epsilon, delta)).alone()
    wanted.check(schema.rows if schema.rows is not None else schema.rows_max)
    rows, source = PrivateData(data), source or SystemSource()
    with Ledger(ledger) as book:
        refuse_early(book, schema, wanted.budget)
        key = book.source_key()
        opened = open_rows(rows, wanted.probes(), key)
        with undone_on_error(opened.engine.close):
            reservation = book.reserve(
                schema, wanted.budget, {"method": "discovery", "options": {}},
                cap=None if cap == "none" else cap, unlimited=cap == "none", private=source.private,
                fingerprint=opened.engine.fingerprint(key),
            )  # fmt: skip
        with abandoned_on_error(reservation):
            found = buy(rows, opened, wanted, reservation, source)
            found = replace(found, schema=replace(found.schema, confirm=()))
            if keep is not None:
                keep(found)
            reservation.finish(found.schema.hash)
    return found
