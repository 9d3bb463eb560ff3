"""Publishing: from a private table to a release. The only place that builds an engine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.engines.addresses import SCHEMES, address_of, scheme_of
from understudy.engines.opening import ENGINES as ENGINES
from understudy.engines.opening import Opened, find_misfits, open_engine
from understudy.methods import Fit, Method, Plan, method_named
from understudy.privacy.budget import Amount, Budget
from understudy.privacy.entries import Head
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger import refuse_early as refuse_early
from understudy.privacy.owned_table import OwnedTable
from understudy.privacy.random_source import RandomSource, SystemSource
from understudy.privacy.reservation import Reservation
from understudy.privacy.table import PrivateTable, Progress
from understudy.release.card import Card
from understudy.release.frames import FrameType
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.schema.confirmation import check_confirmed as check_confirmed


@dataclass(frozen=True, eq=False)
class Publication:
    """A release and what only the custodian sees: timings, and whether an interrupted run was continued."""

    release: Release
    seconds: dict[str, float]
    resumed: bool
    charges: list[dict[str, Any]]


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    method: str = "auto",
    rows: int | None = None,
    **options: Any,
) -> Plan:
    """What would be spent and what error to expect. Reads no row."""
    public = as_schema(schema)
    return method_named(method, options, public).plan(public, Budget(epsilon, delta), rows)


def publish(
    data: Any,
    schema: Schema | str | Path,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    method: str = "auto",
    ledger: Ledger | str | Path | None = None,
    cap: Amount | None = None,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
    **options: Any,
) -> Release:
    """Publish a frame, file or database table under (epsilon, delta) and return the release.

    `types="declared"` says that the types of a frame's or a Parquet file's columns were chosen and not inferred from
    the rows, so that texts are texts.
    """
    return run(
        data, as_schema(schema), Budget(epsilon, delta), method, options,
        ledger=ledger, cap=cap, engine=engine, master=master, types=types,
    ).release  # fmt: skip


def run(
    data: Any,
    schema: Schema,
    budget: Budget,
    method: str,
    options: Mapping[str, Any],
    *,
    ledger: Ledger | str | Path | None = None,
    cap: Amount | None = None,
    source: RandomSource | None = None,
    progress: Progress | None = None,
    save: Callable[[Release], None] | None = None,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
) -> Publication:
    """Everything that can fail without counting comes first; then the budget is reserved; then rows are counted."""
    source = source or SystemSource()
    clock = Clock(progress)
    chosen = method_named(method, options, schema)
    check_confirmed(schema)
    chosen.plan(schema, budget, rows=schema.rows or 1000)  # refuses impossible options and sizes
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger or default_ledger(schema))
    refuse_early(book, schema, budget)
    clock("read", 0, 1, Fraction(0))
    opened = open_engine(data, schema, engine, master, types)
    try:
        return _publish(opened, chosen, schema, budget, options, book, cap, source, clock, save, data)
    finally:
        opened.engine.close()


def _publish(
    opened: Opened,
    chosen: Method,
    schema: Schema,
    budget: Budget,
    options: Mapping[str, Any],
    book: Ledger,
    cap: Amount | None,
    source: RandomSource,
    clock: Clock,
    save: Callable[[Release], None] | None,
    data: Any,
) -> Publication:
    request = {"method": chosen.name, "options": {k: str(v) for k, v in sorted(options.items())}}
    reservation = book.reserve(
        schema, budget, request, cap=None if cap == "none" else cap, unlimited=cap == "none", private=source.private
    )
    try:
        table = OwnedTable(schema, opened.engine, reservation, source, clock)
        release = _fit(chosen, table, reservation, budget, opened.columns, data, source.private)
        if save is not None:
            clock("write", 0, 1, reservation.purse)
            save(release)
        charges = reservation.charges()
        reservation.finish(release.hash)
    except BaseException as error:
        reservation.abandon(type(error).__name__)
        raise
    return Publication(release, clock.stop(), reservation.resumed, charges)


def _fit(
    method: Method,
    table: PrivateTable,
    reservation: Reservation,
    budget: Budget,
    columns: tuple[str, ...],
    data: Any,
    private: bool,
) -> Release:
    fit = method.fit(table)
    schema = table.schema
    card = Card.of(
        schema, budget, method.name, fit.facts.get("options", {}), reservation.charges(),
        reservation.account_state(), private, fit.notes,
    )  # fmt: skip
    # types only: no row stays behind
    like = None if isinstance(data, str | os.PathLike) else FrameType.of(data).under(schema)
    return release_of(fit, card, columns, reservation.head(), like)


def release_of(fit: Fit, card: Card, columns: tuple[str, ...], head: Head, like: FrameType | None = None) -> Release:
    """What leaves the building, from a fit and its card."""
    facts = {k: v for k, v in fit.facts.items() if k != "options"}
    covered = fit.model.schema  # of some methods, a part of the table's
    columns = tuple(name for name in columns if any(a.name == name for a in covered.attributes))
    return Release(
        covered, fit.model, fit.measurements, fit.rows, columns, facts, card.as_json(), head, like, fit.details
    )


def check_fit(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> list[dict[str, Any]]:
    """Every reason why the data would be refused, with the SQL that finds the cells. For the custodian."""
    from understudy.engines.finding import finding_sql

    found = find_misfits(data, schema, engine, master, types)
    table: str | tuple[str, ...] | None = str(data) if isinstance(data, str | os.PathLike) else None
    if scheme_of(data) in SCHEMES:
        table = address_of(data).table  # an address may hold a password
    return [
        {
            "kind": m.reason,
            "attribute": m.attribute,
            "message": m.message,
            "sql": finding_sql(m.attribute, schema, table) if m.reason == "cells" and m.attribute else None,
        }
        for m in found
    ]


def as_schema(schema: Schema | str | Path) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.open(schema)


def default_ledger(schema: Schema) -> Path:
    """$UNDERSTUDY_LEDGER, else beside the schema, else here."""
    named = os.environ.get("UNDERSTUDY_LEDGER")
    if named:
        return Path(named)
    return (schema.path.parent if schema.path else Path()) / "understudy-ledger.db"


class Clock:
    """Seconds by phase, passed on to a progress line."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._phase = ""
        self._since = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None:
        if phase != self._phase:
            self._close(phase)
        if self._progress is not None:
            self._progress(phase, done, of, spent)

    def _close(self, phase: str) -> None:
        now = time.perf_counter()
        if self._phase:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def stop(self) -> dict[str, float]:
        self._close("")
        return {phase: round(s, 4) for phase, s in self._seconds.items()}
